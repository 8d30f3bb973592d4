// support-bundle: what somebody who helps needs to know, in one file, without secrets.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/time_limit.h"
#include "common/version.h"
#include "common/version_text.h"
#include "controller/cli/commands.h"
#include "controller/cli/doctor.h"
#include "controller/cli/tar_gz.h"
#include "controller/report/json.h"
#include "doctor/redact.h"

namespace lockstep::cli {
namespace {

struct BundleFlags {
  DoctorFlags doctor;
  std::string output;
  uint32_t runs = 5;
  std::vector<std::string> logs;
  std::vector<std::string> secrets;
};

// The files of a bundle, and what is missing of them.
class Bundle {
 public:
  void Add(const std::string& path, std::string content, const std::string& note = "") {
    files_.push_back({path, std::move(content)});
    notes_.push_back(note);
  }
  void LeaveOut(const std::string& path, const std::string& why) {
    v1::SupportFile* file = manifest_.add_files();
    file->set_path(path);
    file->set_left_out(why);
  }

  // All files without secrets, the manifest first, as far as the limit lets them in.
  std::vector<PackedFile> Take(doctor::Redactor redactor, v1::SupportManifest manifest) {
    // A secret that one file shows by its key may stand alone in another.
    for (const PackedFile& file : files_) redactor.Learn(file.content);
    std::vector<PackedFile> kept = {{"manifest.json", ""}};
    size_t sum = 0;
    for (size_t i = 0; i < files_.size(); ++i) {
      std::string content = redactor.Redact(files_[i].content);
      // One large log must not keep out the small files behind it.
      if (sum + content.size() > static_cast<size_t>(limits::kSupportBundleBytes)) {
        LeaveOut(files_[i].path, "the bundle would be too large");
        continue;
      }
      sum += content.size();
      v1::SupportFile* file = manifest_.add_files();
      file->set_path(files_[i].path);
      file->set_bytes(static_cast<double>(content.size()));
      file->set_left_out(notes_[i]);
      kept.push_back({files_[i].path, std::move(content)});
    }
    *manifest.mutable_files() = manifest_.files();
    // The manifest is made last, because it lists the files that were left out. It stands first,
    // because readers begin with it.
    kept.front().content = redactor.Redact(controller::ToJson(manifest));
    return kept;
  }

 private:
  std::vector<PackedFile> files_;
  std::vector<std::string> notes_;  // of each file
  v1::SupportManifest manifest_;    // its files alone
};

// A file that may lie on a file server that is away.
absl::StatusOr<std::string> ReadInTime(const std::string& path, size_t max_bytes) {
  const auto text = std::make_shared<absl::StatusOr<std::string>>();
  const absl::Status status = common::WithinLimit(path, limits::kProbeNs, [path, max_bytes, text] {
    *text = common::ReadFile(path, max_bytes);
    return absl::OkStatus();
  });
  return status.ok() ? *text : status;
}

// The password of a line HOST:PORT:DATABASE:USER:PASSWORD of ~/.pgpass, where a backslash takes the
// meaning from the next character.
std::string PasswordOf(absl::string_view line) {
  std::string field;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ':') {
      // Only the last field is kept.
      field.clear();
    } else {
      if (line[i] == '\\' && i + 1 < line.size()) ++i;
      field += line[i];
    }
  }
  return field;
}

// The secrets that this command itself knows. An error where a file of --secrets cannot be read:
// what is in it would be in the bundle.
absl::StatusOr<doctor::Redactor> KnownSecrets(const Context& context, const BundleFlags& flags) {
  doctor::Redactor redactor;
  constexpr size_t kMaxSecretFile = 1 << 20;
  for (const std::string& path : flags.secrets) {
    const auto text = ReadInTime(path, kMaxSecretFile);
    if (!text.ok()) {
      return absl::Status(text.status().code(),
                          absl::StrCat("--secrets ", text.status().message()));
    }
    redactor.AddSecretFile(*text);
  }
  const std::string key = common::WithoutDirectory(context.tls).key;
  if (const auto text = ReadInTime(key, kMaxSecretFile); text.ok()) {
    redactor.AddSecretFile(*text);
  }
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    redactor.Learn(text);  // a variable may be a URL with a password
    const size_t equals = text.find('=');
    if (equals != std::string::npos && doctor::NamesSecret(text.substr(0, equals))) {
      redactor.AddSecret(text.substr(equals + 1));
    }
  }
  const char* const given = getenv("PGPASSFILE");
  const char* const home = getenv("HOME");
  const std::string passwords = given != nullptr  ? given
                                : home != nullptr ? absl::StrCat(home, "/.pgpass")
                                                  : "";
  if (const auto text = ReadInTime(passwords, kMaxSecretFile); text.ok()) {
    for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
      redactor.AddSecret(PasswordOf(line));
    }
  }
  return redactor;
}

// The end of a log; of its other lines nobody asks.
void AddLog(const std::string& path, size_t number, Bundle* bundle) {
  const size_t slash = path.rfind('/');
  // The name comes from outside, and goes into an archive.
  std::string name = common::Printable(slash == std::string::npos ? path : path.substr(slash + 1));
  if (!common::IsHostName(name) || name.size() > 60) name = "log";
  name = absl::StrCat("logs/", number, "-", name);
  const auto text = ReadInTime(path, static_cast<size_t>(limits::kSupportBundleBytes));
  if (!text.ok()) {
    bundle->LeaveOut(name, std::string(text.status().message()));
    return;
  }
  constexpr auto kMax = static_cast<size_t>(limits::kSupportLogBytes);
  const bool cut = text->size() > kMax;
  // A line is kept whole: half of one may be half of a secret, which nothing recognises.
  const size_t begin = cut ? text->find('\n', text->size() - kMax) : 0;
  bundle->Add(name, begin == std::string::npos ? "" : text->substr(begin),
              cut ? "the beginning is left out" : "");
}

void AddRun(v1::Controller::Stub* stub, const std::string& run_id, Bundle* bundle) {
  const std::string folder = absl::StrCat("runs/", run_id.substr(0, 36), "/");
  grpc::ClientContext report_call;
  v1::ReportRequest report_request;
  report_request.set_run_id(run_id);
  v1::Report report;
  const grpc::Status got = stub->GetReport(&report_call, report_request, &report);
  if (got.ok()) {
    bundle->Add(folder + "report.json", controller::ToJson(report));
  } else {
    bundle->LeaveOut(folder + "report.json", got.error_message());
  }
  grpc::ClientContext job_call;
  v1::JobRequest job_request;
  job_request.set_run_id(run_id);
  v1::JobReply job;
  const grpc::Status found = stub->GetJob(&job_call, job_request, &job);
  if (!found.ok()) {
    bundle->LeaveOut(folder + "job.yaml", found.error_message());
    return;
  }
  bundle->Add(folder + "job.yaml", job.source());
  bundle->Add(folder + "job.json", controller::ToJson(job.job()));
}

void AddFromController(v1::Controller::Stub* stub, uint32_t runs, Bundle* bundle) {
  grpc::ClientContext history_call;
  v1::HistoryRequest request;
  // The controller takes 0 for its default limit.
  request.set_limit(std::max<uint32_t>(runs, 1));
  v1::HistoryReply history;
  const grpc::Status listed = stub->GetHistory(&history_call, request, &history);
  if (listed.ok()) {
    bundle->Add("history.json", controller::ToJson(history));
    for (int i = 0; i < history.runs_size() && i < static_cast<int>(runs); ++i) {
      AddRun(stub, history.runs(i).run_id(), bundle);
    }
  } else {
    bundle->LeaveOut("history.json", listed.error_message());
  }
  grpc::ClientContext audit_call;
  v1::AuditRequest audit_request;
  audit_request.set_limit(200);
  v1::AuditReply audit;
  const grpc::Status read = stub->GetAuditLog(&audit_call, audit_request, &audit);
  if (read.ok()) {
    bundle->Add("audit.json", controller::ToJson(audit));
  } else {
    bundle->LeaveOut("audit.json", read.error_message());
  }
}

int MakeBundle(const Context& context, BundleFlags flags) {
  const absl::Time now = absl::Now();
  const std::string name =
      "lockstep-support-" + absl::FormatTime("%Y%m%d-%H%M%S", now, absl::UTCTimeZone());
  if (flags.output.empty()) flags.output = name + ".tar.gz";
  const auto secrets = KnownSecrets(context, flags);
  if (!secrets.ok()) return Fail(secrets.status());
  Diagnosis diagnosis = Diagnose(context, flags.doctor);
  Bundle bundle;
  bundle.Add("doctor.txt", doctor::RenderDoctor(diagnosis.report, doctor::Colour::kNo));
  bundle.Add("doctor.json", doctor::DoctorJson(diagnosis.report));
  bundle.Add("version.txt", absl::StrCat(common::VersionText(), "\n"));
  for (size_t i = 0; i < flags.logs.size(); ++i) AddLog(flags.logs[i], i + 1, &bundle);
  if (diagnosis.controller != nullptr) {
    bundle.Add("status.json", controller::ToJson(diagnosis.controller->status));
    bundle.Add("store-settings.txt", diagnosis.store_settings + "\n");
    AddFromController(diagnosis.controller->stub.get(), flags.runs, &bundle);
  } else {
    bundle.LeaveOut("status.json", "no controller answers");
  }
  v1::SupportManifest manifest;
  manifest.set_at(absl::FormatTime(absl::RFC3339_sec, now, absl::UTCTimeZone()));
  manifest.set_version(common::kSoftwareVersion);
  manifest.set_commit(common::VersionCommit());
  manifest.set_redacted(true);
  manifest.set_controller(context.controller);
  const common::TlsFiles tls = common::WithoutDirectory(context.tls);
  for (const std::string& path : {tls.certificate, tls.key, tls.authority}) {
    // Paths only: the key's content is a secret.
    if (!path.empty()) manifest.add_tls_files(path);
  }
  const auto files = bundle.Take(*secrets, std::move(manifest));
  const auto packed = MakeTarGz(name, files, absl::ToUnixSeconds(now));
  if (!packed.ok()) return Fail(packed.status());
  if (absl::Status status = WriteNewPrivateFile(flags.output, *packed); !status.ok()) {
    return Fail(status);
  }
  std::cout << flags.output << ": " << files.size() << " files, " << packed->size()
            << " bytes. Secrets were taken out by their form. Names of hosts, devices, users and "
               "paths are in it: look through it before you pass it on (tar -tzf)\n";
  // Diagnose() may have left threads that hang in a file system.
  EndAtOnce(kOk);
}

}  // namespace

void AddSupportBundleCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<BundleFlags>();
  CLI::App* bundle = app->add_subcommand(
      "support-bundle",
      "Write one file for whoever helps: doctor, status, recent runs; no secrets");
  bundle->add_option("-o,--output", flags->output,
                     "A new file; otherwise lockstep-support-TIME.tar.gz here");
  bundle->add_option("--runs", flags->runs, "The newest runs, with report and job")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  bundle->add_option("--log", flags->logs, "A log file to put in: its last 4 MiB");
  bundle->add_option("--secrets", flags->secrets,
                     "A file whose lines and words must not be in the bundle (--iscsi-secrets)");
  bundle->add_option("--allow", flags->doctor.allow, "As with doctor");
  bundle->footer(
      "Examples:\n  lockstep support-bundle\n  journalctl -u lockstep-controller > "
      "controller.log; lockstep support-bundle --log controller.log");
  bundle->callback([=] { *status = MakeBundle(*context, *flags); });
}

}  // namespace lockstep::cli
