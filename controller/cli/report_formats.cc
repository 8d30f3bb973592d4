#include "controller/cli/report_formats.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "controller/report/csv.h"
#include "controller/report/fio_json.h"
#include "controller/report/fio_text.h"
#include "controller/report/github.h"
#include "controller/report/histogram_logs.h"
#include "controller/report/json.h"
#include "controller/report/junit.h"
#include "controller/report/markdown.h"
#include "controller/report/other_layouts.h"
#include "controller/report/safe_report.h"
#include "controller/report/sysbench_layout.h"
#include "controller/report/text.h"
#include "controller/report/tool_tables.h"
#include "web/page_export.h"

namespace lockstep::cli {
namespace {

using Histograms = std::vector<v1::LatencyHistogram>;

enum class Needs {
  kReport,
  kPhaseHistograms,
  kIntervalHistograms,
  kFioText,
  kVdbench,
  kPage,
  kSysbench
};

// The needs of a format, and the way to make it. Text is not in the list, because its colours and
// its width depend on the terminal.
struct Maker {
  const char* name;
  Needs needs;
  std::string (*make)(const v1::Report& report, const Histograms& histograms);
  const char* missing = "";  // what a run lacks of which it makes nothing
};

const Maker kMakers[] = {
    {"json", Needs::kReport,
     [](const v1::Report& r, const Histograms&) { return controller::ToJson(r); }},
    {"csv", Needs::kReport,
     [](const v1::Report& r, const Histograms&) { return controller::RenderCsv(r); }},
    {"html", Needs::kPage, nullptr},
    {"markdown", Needs::kReport,
     [](const v1::Report& r, const Histograms&) { return controller::RenderMarkdown(r); }},
    {"junit", Needs::kReport,
     [](const v1::Report& r, const Histograms&) { return controller::RenderRunJUnit(r); }},
    {"github", Needs::kReport,
     [](const v1::Report& r, const Histograms&) { return controller::RenderGithub(r); }},
    {"fio", Needs::kPhaseHistograms, &controller::RenderFioJson},
    {"fio-text", Needs::kFioText, nullptr, "phase with load"},
    {"fio-log", Needs::kIntervalHistograms,
     [](const v1::Report&, const Histograms& h) { return controller::RenderFioLog(h); }},
    {"hlog", Needs::kIntervalHistograms,
     [](const v1::Report&, const Histograms& h) { return controller::RenderHlog(h); }},
    {"sysbench", Needs::kSysbench, nullptr, "phase of kind run with I/O"},
    {"iometer", Needs::kReport,
     [](const v1::Report& r, const Histograms&) { return controller::RenderIometer(r); },
     "phase with load"},
    {"vdbench", Needs::kVdbench, nullptr, "phase with load"},
    {"iops", Needs::kReport,
     [](const v1::Report& r, const Histograms&) { return controller::RenderIops(r); },
     "sweep over block_size alone, with points that were run"},
    {"iozone", Needs::kReport,
     [](const v1::Report& r, const Histograms&) { return controller::RenderIozone(r); },
     "sweep of one or two axes, block_size the last, with points that were run"},
};

grpc::Status Fetch(v1::Controller::Stub* stub, const std::string& run_id, Needs needs,
                   const std::string& host, Histograms* histograms) {
  grpc::ClientContext call;
  v1::HistogramsRequest request;
  request.set_run_id(run_id);
  request.set_intervals(needs == Needs::kIntervalHistograms);
  request.set_host(host);
  const auto reader = stub->GetHistograms(&call, request);
  v1::HistogramsReply reply;
  while (reader->Read(&reply)) {
    for (v1::LatencyHistogram& histogram : *reply.mutable_histograms()) {
      // Intervals are used for their reported latencies only. A long run has many of them, so the
      // other histograms are dropped as they arrive.
      const bool wanted = needs == Needs::kPhaseHistograms || histogram.is_reported();
      // The run may be imported: a bucket that does not exist must not reach the encoders.
      if (wanted && controller::IsWhole(histogram)) histograms->push_back(std::move(histogram));
    }
  }
  return reader->Finish();
}

// The histograms of intervals, for what can be printed without them. The samples of an old run may
// have been pruned.
grpc::Status FetchIfKept(v1::Controller::Stub* stub, const std::string& run_id,
                         const std::string& host, Histograms* intervals) {
  const grpc::Status fetched = Fetch(stub, run_id, Needs::kIntervalHistograms, host, intervals);
  return fetched.error_code() == grpc::StatusCode::FAILED_PRECONDITION ? grpc::Status::OK : fetched;
}

absl::StatusOr<std::string> Sysbench(v1::Controller::Stub* stub, const v1::Report& report,
                                     const LiveSysbench* live) {
  const std::string& run_id = report.run().run_id();
  grpc::ClientContext call;
  v1::JobRequest request;
  request.set_run_id(run_id);
  v1::JobReply reply;
  if (const grpc::Status got = stub->GetJob(&call, request, &reply); !got.ok()) return ToAbsl(got);
  controller::SysbenchData data;
  if (live != nullptr) {
    data.has_begun = live->has_begun();
    data.printed_intervals = live->printed_intervals();
  }
  data.job = std::move(*reply.mutable_job());
  grpc::Status fetched = Fetch(stub, run_id, Needs::kPhaseHistograms, "", &data.phases);
  if (fetched.ok() && controller::WantsSysbenchIntervals(data.job)) {
    fetched = FetchIfKept(stub, run_id, "", &data.intervals);
  }
  if (!fetched.ok()) return ToAbsl(fetched);
  return controller::RenderSysbench(report, data);
}

// If a host is named, the report is already that host's.
absl::StatusOr<std::string> FromIntervals(v1::Controller::Stub* stub, Needs needs,
                                          const v1::Report& report, const std::string& host) {
  Histograms phases;
  Histograms intervals;
  const std::string& run_id = report.run().run_id();
  grpc::Status fetched = FetchIfKept(stub, run_id, host, &intervals);
  if (fetched.ok() && needs == Needs::kFioText) {
    fetched = Fetch(stub, run_id, Needs::kPhaseHistograms, host, &phases);
  }
  if (!fetched.ok()) return ToAbsl(fetched);
  if (needs == Needs::kVdbench) return controller::RenderVdbench(report, intervals);
  return controller::RenderFioText(report, phases, intervals);
}

// The figures of one host, as a report of its own.
v1::Report OnlyHost(v1::Report report, const std::string& name) {
  for (v1::PhaseReport& phase : *report.mutable_phases()) {
    const auto host = std::find_if(phase.hosts().begin(), phase.hosts().end(),
                                   [&](const v1::HostReport& h) { return h.host() == name; });
    if (host == phase.hosts().end()) {
      // Formats make an entry for each workload. Without this, a phase would be shown in which the
      // host took no part.
      phase.clear_workloads();
      continue;
    }
    for (v1::WorkloadReport& workload : *phase.mutable_workloads()) {
      workload.clear_operations();
      workload.mutable_settings()->set_workers(0);
      for (const v1::HostWorkloadReport& own : host->workloads()) {
        if (own.name() != workload.name()) continue;
        *workload.mutable_operations() = own.operations();
        workload.mutable_settings()->set_workers(1);
      }
    }
    google::protobuf::RepeatedPtrField<v1::ThreadReport> threads;
    for (const v1::ThreadReport& thread : phase.threads()) {
      if (thread.host() == name) *threads.Add() = thread;
    }
    *phase.mutable_threads() = std::move(threads);
    *phase.mutable_total() = host->total();
    *phase.mutable_iops_by_interval() = host->iops_by_interval();
    phase.set_workers_lost(host->lost() ? 1 : 0);
    phase.set_workers(1);
  }
  return report;
}

}  // namespace

std::vector<std::string> ReportFormats() {
  std::vector<std::string> names = {"text"};
  for (const Maker& maker : kMakers) names.push_back(maker.name);
  return names;
}

absl::StatusOr<std::string> FetchReport(const Context& context, v1::Controller::Stub* stub,
                                        const std::string& run_id, const ReportFormat& format,
                                        v1::Report* report) {
  grpc::ClientContext call;
  v1::ReportRequest request;
  request.set_run_id(run_id);
  const grpc::Status status = stub->GetReport(&call, request, report);
  if (!status.ok()) return ToAbsl(status);
  const auto* maker = std::find_if(std::begin(kMakers), std::end(kMakers),
                                   [&](const Maker& m) { return m.name == format.name; });
  if (maker == std::end(kMakers)) {
    // Lines of more than 100 columns are hard to read, however wide the terminal is.
    const size_t width = context.Width();
    return controller::RenderText(
        *report, {context.Colour(1), width == 0 ? 100 : std::min<size_t>(width, 100), format.detail,
                  context.up_command});
  }
  // Further requests name the run by the report's id: `last` could be another run by then.
  if (maker->needs == Needs::kPage) {
    auto page = web::ExportPage(stub, nullptr, report->run().run_id());
    if (!page.ok()) return page.status();
    return std::move(page->html);
  }
  Histograms histograms;
  const bool has_histograms =
      maker->needs == Needs::kPhaseHistograms || maker->needs == Needs::kIntervalHistograms;
  if (has_histograms) {
    const grpc::Status fetched =
        Fetch(stub, report->run().run_id(), maker->needs, format.host, &histograms);
    if (!fetched.ok()) return ToAbsl(fetched);
  }
  // Formats without histograms have all hosts side by side. --host is for the others.
  const bool from_intervals = maker->needs == Needs::kFioText || maker->needs == Needs::kVdbench;
  const bool whole = format.host.empty() || !(has_histograms || from_intervals);
  std::string text;
  if (maker->needs == Needs::kSysbench) {
    auto made = Sysbench(stub, *report, format.live);
    if (!made.ok()) return made.status();
    text = *std::move(made);
  } else if (from_intervals) {
    auto made = FromIntervals(stub, maker->needs, whole ? *report : OnlyHost(*report, format.host),
                              format.host);
    if (!made.ok()) return made.status();
    text = *std::move(made);
  } else {
    text = maker->make(whole ? *report : OnlyHost(*report, format.host), histograms);
  }
  // A script would take an empty file for a success.
  if (text.empty() && *maker->missing != '\0') {
    return absl::FailedPreconditionError(absl::StrCat("the run has no ", maker->missing,
                                                      ", which --format ", format.name, " shows"));
  }
  return text;
}

}  // namespace lockstep::cli
