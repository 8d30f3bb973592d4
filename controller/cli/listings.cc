// status, history, hosts, forget.

#include <cmath>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/commands.h"
#include "controller/cli/releases.h"
#include "controller/report/json.h"
#include "controller/report/text_table.h"
#include "proto/fields.h"

namespace lockstep::cli {
namespace {

using controller::TextTable;

// A list has a line for each run. Its report has the whole sentence.
constexpr size_t kShownConclusion = 80;
constexpr size_t kShownHosts = 40;
constexpr int kShownCertificates = 20;  // a fleet's expire together, often

// "done, degraded: vm-9 and 1 more lost".
std::string StateText(const v1::RunSummary& run) {
  // Reports of earlier versions do not name the hosts.
  const std::string lost =
      run.lost_hosts().empty()
          ? ""
          : absl::StrCat(": ", common::Printable(run.lost_hosts(), kShownHosts), " lost");
  return absl::StrCat(run.state(), run.degraded() ? absl::StrCat(", degraded", lost) : "",
                      run.invalid() ? ", INVALID" : "");
}

void PrintRuns(const google::protobuf::RepeatedPtrField<v1::RunSummary>& runs, size_t width) {
  TextTable table({"run", "job", "state", "submitted (UTC)", "by", "hosts", "IOPS", "MiB/s",
                   "expectations", "conclusion"},
                  {0, 1, 2, 3, 4, 8, 9}, {0, 2});
  for (const v1::RunSummary& run : runs) {
    // Commands accept the start of an id, so eight digits are enough, and leave the row its room.
    table.Add({run.run_id().substr(0, 8), common::Printable(run.job_name(), 60), StateText(run),
               run.submitted_at(), common::Printable(run.owner(), 40),
               run.hosts() > 0 ? absl::StrCat(run.hosts()) : "-",
               // A run without a measured phase has no rate. A 0 would look like storage that does
               // nothing.
               run.iops() > 0 ? common::FormatCount(run.iops()) : "-",
               run.iops() > 0 ? absl::StrFormat("%.1f", run.bytes_per_second() / 1048576) : "-",
               run.expectations(), common::Printable(run.conclusion(), kShownConclusion)});
  }
  std::cout << table.Render("", width);
}

// Certificates that have expired or will soon. Nothing where all are valid for long.
void PrintCertificates(const v1::StatusReply& reply) {
  if (!reply.certificate().problem().empty()) {
    std::cout << "CERTIFICATES: the controller cannot use its files as they are now: "
              << common::Printable(reply.certificate().problem(), 400) << "\n";
  }
  if (!reply.certificate().warning().empty()) {
    std::cout << "CERTIFICATE: the controller's " << reply.certificate().warning() << "\n";
  }
  int left_out = 0;
  int shown = 0;
  for (const v1::AttachedWorker& worker : reply.workers()) {
    if (worker.certificate().warning().empty()) continue;
    if (++shown > kShownCertificates) {
      ++left_out;
      continue;
    }
    std::cout << "CERTIFICATE: " << common::Printable(worker.hello().host().name(), 60)
              << "'s connection has one that " << worker.certificate().warning() << "\n";
  }
  if (left_out > 0) {
    std::cout << "CERTIFICATE: of " << left_out << " more workers; --format json has all\n";
  }
}

void PrintStatus(const v1::StatusReply& reply, size_t width) {
  std::cout << "controller " << reply.version() << SpokenProtocols(reply) << ", epoch "
            << reply.epoch() << "\nstore: " << reply.store() << "\nyou are " << reply.principal()
            << ", " << reply.role() << "\n"
            << reply.workers_size()
            << (reply.workers_size() == 1 ? " worker attached\n" : " workers attached\n")
            << OtherReleases(reply);
  PrintCertificates(reply);
  const v1::StoreState& store = reply.store_state();
  if (store.unavailable()) {
    std::cout << absl::StrFormat(
        "THE STORE IS %s for %.0f s: running phases spool their samples (%s of %s), no new one "
        "starts\n  %s\n",
        store.slow() ? "TOO SLOW" : "UNAVAILABLE", store.unavailable_seconds(),
        common::FormatSize(store.spooled_bytes()), common::FormatSize(store.spool_limit_bytes()),
        store.reason());
  }
  if (reply.runs().empty()) {
    std::cout << "nothing is queued or running\n";
  } else {
    PrintRuns(reply.runs(), width);
  }
  for (const v1::RunSummary& run : reply.runs()) {
    if (run.end_problem().empty()) continue;
    std::cout << absl::StrFormat(
        "run %s HAS ENDED, and the store does not take its end; the controller retries until it "
        "does\n"
        "  %s\n",
        run.run_id().substr(0, 8), common::Printable(run.end_problem(), 400));
  }
}

void PrintHosts(const v1::StatusReply& reply, size_t width) {
  TextTable table({"host", "cpus", "memory", "kernel", "clock bound", "drift ppm", "round trip",
                   "wall clock", "run", "may use"},
                  {0, 3, 8, 9}, {0});
  for (const v1::AttachedWorker& worker : reply.workers()) {
    const v1::HostFacts& host = worker.hello().host();
    table.Add(
        {host.name(), absl::StrCat(host.cpus()),
         // The kernel reports less than what is installed, since it reserves some (MemTotal,
         // proc(5)). Whole GiB are the size that people know.
         common::FormatSize(std::round(static_cast<double>(host.memory_bytes()) / 1073741824) *
                            1073741824),
         host.kernel(), absl::StrCat("±", common::FormatDuration(worker.clock_bound_ns())),
         absl::StrFormat("%.1f ± %.1f", worker.clock_drift_ppm(), worker.clock_drift_bound_ppm()),
         common::FormatDuration(worker.round_trip_ns()),
         absl::StrCat(worker.wall_difference_ns() < 0 ? "" : "+",
                      common::FormatDuration(worker.wall_difference_ns())),
         worker.disconnected()     ? "DISCONNECTED"
         : worker.run_id().empty() ? "free"
                                   : worker.run_id().substr(0, 8),
         absl::StrJoin(worker.hello().allow(), " ")});
  }
  std::cout << (table.empty() ? "no worker is attached; start one with lockstep-worker "
                                "--controller …, or some here with lockstep up\n"
                              : table.Render("", width));
}

int ForgetHost(const Context& context, const std::string& host) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::ForgetRequest request;
  request.set_host(host);
  v1::ForgetReply reply;
  const grpc::Status status = (*stub)->Forget(&call, request, &reply);
  if (!status.ok()) return Fail(status);
  std::cout << (reply.forgotten() == 0 ? "no certificate was bound to the host name "
                                       : "another certificate may now attach as ")
            << common::Printable(host) << "\n";
  return kOk;
}

int ShowStatus(const Context& context, const std::string& format,
               void (*print)(const v1::StatusReply&, size_t width)) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::StatusReply reply;
  const grpc::Status status = (*stub)->GetStatus(&call, {}, &reply);
  if (!status.ok()) return Fail(status);
  if (format == "json") {
    std::cout << controller::ToJson(reply);
    return kOk;
  }
  // Names and reasons come from workers and jobs. The JSON writer escapes them, a terminal does
  // not.
  v1::CleanTexts(&reply);
  print(reply, context.Width());
  if (const std::string warning = context.CertificateWarning(); !warning.empty()) {
    std::cerr << "warning: " << warning << "\n";
  }
  return kOk;
}

int ShowHistory(const Context& context, const v1::HistoryRequest& request,
                const std::string& format) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::HistoryReply reply;
  const grpc::Status status = (*stub)->GetHistory(&call, request, &reply);
  if (!status.ok()) return Fail(status);
  if (format == "json") {
    std::cout << controller::ToJson(reply);
  } else if (reply.runs().empty()) {
    std::cout << "no runs\n";
  } else {
    v1::CleanTexts(&reply);
    PrintRuns(reply.runs(), context.Width());
    const double shown = request.offset() + reply.runs_size();
    if (shown < reply.total()) {
      std::cout << absl::StrFormat("%.0f more; --offset %.0f shows the next ones\n",
                                   reply.total() - shown, shown);
    }
  }
  return kOk;
}

void AddHistory(CLI::App* app, const Context* context, int* status,
                const std::shared_ptr<std::string>& format) {
  const auto request = std::make_shared<v1::HistoryRequest>();
  // 0 leaves the limit to the controller, whose defaults for runs and for trends differ.
  const auto limit = std::make_shared<uint32_t>(0);  // the controller's default
  const auto offset = std::make_shared<uint32_t>(0);
  const auto trends = std::make_shared<bool>(false);
  CLI::App* history = app->add_subcommand("history", "Runs, newest first");
  history->add_option("-n,--limit", *limit, "How many; 20, with --trends 100")
      ->check(CLI::Range(int64_t{1}, limits::kHistoryLimit));
  history->add_option("--offset", *offset, "Skip this many of the newest");
  history->add_flag("--trends", *trends,
                    "Each figure's course over these runs, and where its level changed");
  AddRunFilter(history, request->mutable_filter());
  history->add_option("--format", *format, "How to print")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  history->footer(
      "Example:\n  lockstep history --job mixed --label array=a7 --since 2026-11-01 -n 5");
  history->callback([=] {
    request->set_limit(*limit);
    request->set_offset(*offset);
    *status = *trends ? ShowTrends(*context, *request, *format)
                      : ShowHistory(*context, *request, *format);
  });
}

}  // namespace

void AddRunFilter(CLI::App* command, v1::RunFilter* filter) {
  const auto text = [command](const char* name, std::string* field, const char* what) {
    command->add_option_function<std::string>(
        name,
        [field, name](const std::string& value) {
          // An empty value would count as no filter. With an unset shell variable, prune could then
          // match more runs than meant.
          if (value.empty())
            throw CLI::ValidationError(name, "is empty; leave it out, or say which");
          *field = value;
        },
        what);
  };
  text("--job", filter->mutable_job_name(), "Only of this job's name");
  text("--owner", filter->mutable_owner(), "Only of this owner");
  text("--host", filter->mutable_host(), "Only those in which this host took part");
  text("--device", filter->mutable_device(),
       "Only those on this device: its identity, or its name on a host");
  text("--state", filter->mutable_state(), "Only in this state: done, failed, aborted, …");
  text("--since", filter->mutable_since(),
       "Only those submitted at this time or later: 2026-11-22");
  text("--until", filter->mutable_until(), "Only those submitted before this time");
  command
      ->add_option_function<std::vector<std::string>>(
          "--label",
          [filter](const std::vector<std::string>& pairs) {
            for (const std::string& pair : pairs) {
              const size_t equals = pair.find('=');
              if (equals == 0 || equals == std::string::npos) {
                throw CLI::ValidationError("--label", "write key=value, not '" + pair + "'");
              }
              (*filter->mutable_labels())[pair.substr(0, equals)] = pair.substr(equals + 1);
            }
          },
          "Only with this label, key=value; several may be given")
      // Otherwise CLI11 would take the words that follow as labels, too, such as the RUNS of
      // compare.
      ->allow_extra_args(false);
}

void AddListingCommands(CLI::App* app, const Context* context, int* status) {
  // A command line has one command, so that all of them can share the value of --format.
  const auto format = std::make_shared<std::string>("text");
  const auto listing = [=](const char* name, const char* what,
                           void (*print)(const v1::StatusReply&, size_t)) {
    CLI::App* command = app->add_subcommand(name, what);
    command->add_option("--format", *format, "How to print")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    command->footer(absl::StrCat("Example:\n  lockstep ", name));
    command->callback([=] { *status = ShowStatus(*context, *format, print); });
  };
  listing("status", "The controller's activity", PrintStatus);
  listing("hosts", "The attached workers, their clocks and what they may use", PrintHosts);
  const auto host = std::make_shared<std::string>();
  CLI::App* forget = app->add_subcommand(
      "forget",
      "Let another certificate attach under a host's name, after the machine was replaced (admin)");
  forget->add_option("HOST", *host, "The host's name")->required();
  forget->footer("Example:\n  lockstep forget node7");
  forget->callback([=] { *status = ForgetHost(*context, *host); });

  AddHistory(app, context, status, format);
}

}  // namespace lockstep::cli
