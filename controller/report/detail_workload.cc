#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/detail_writer.h"
#include "controller/report/text_table.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

using common::FormatCount;
using common::FormatDuration;

v1::OperationReport Named(v1::OperationReport operation, const std::string& metric) {
  operation.set_kind(absl::StrCat(operation.kind(), " ", metric));
  return operation;
}

bool IsOfResponse(const v1::OperationReport& operations) {
  return measure::Is(operations, measure::LatencyMetric::kResponseTime);
}

// Names the metric of the latencies. Workloads with a schedule report response times, others
// service times, and a total over both is neither.
std::string MetricsOf(const v1::PhaseReport& phase) {
  std::vector<std::string> response, service;
  for (const v1::WorkloadReport& workload : phase.workloads()) {
    if (workload.total().metric().empty()) continue;
    (IsOfResponse(workload.total()) ? response : service).push_back(workload.name());
  }
  const std::string of_response = "response time (intended start to completion)";
  const std::string of_service = "service time (submission to completion)";
  if (response.empty() || service.empty()) {
    return IsOfResponse(phase.total()) ? of_response : of_service;
  }
  return absl::StrCat(of_response, " of ", absl::StrJoin(response, ", "), ", ", of_service, " of ",
                      absl::StrJoin(service, ", "), ", and of all together a mixture");
}

// "0.00–2.00"; of a short time with the digits that tell its begin from its end.
std::string Seconds(double begin, double end) {
  const double length = end - begin;
  const int digits = length >= 0.1 ? 2 : length >= 0.001 ? 4 : 6;
  return absl::StrFormat("%.*f–%.*f", digits, begin, digits, end);
}

// Workloads whose rates are over another time than all together, since they ended by themselves.
std::string OwnWindows(const v1::PhaseReport& phase) {
  std::string text;
  for (const v1::WorkloadReport& w : phase.workloads()) {
    if (!(w.window_seconds() > 0) || w.window_end_seconds() <= w.window_begin_seconds() ||
        (w.window_begin_seconds() == phase.window_begin_seconds() &&
         w.window_end_seconds() == phase.window_end_seconds())) {
      continue;
    }
    absl::StrAppend(&text,
                    absl::StrCat("; of ", w.name(), " over ",
                                 Seconds(w.window_begin_seconds(), w.window_end_seconds()), " s"));
  }
  return text;
}

// If workloads ran one after the other, rates of all together are over the whole phase.
bool RanTogether(const v1::PhaseReport& phase) {
  constexpr double kSame = 0.01;  // ends that count as one differ by less
  return std::all_of(phase.workloads().begin(), phase.workloads().end(),
                     [&](const v1::WorkloadReport& w) {
                       return w.total().operations() == 0 ||
                              (w.window_end_seconds() > w.window_begin_seconds() &&
                               w.window_begin_seconds() <= phase.window_begin_seconds() + kSame &&
                               w.window_end_seconds() >= phase.window_end_seconds() - kSame);
                     });
}

}  // namespace

void DetailWriter::Workload(const v1::WorkloadReport& workload) {
  Line("  ", Bold(workload.name()), ": ", workload.summary());
  out_ += Wrapped(Dim(absl::StrFormat("%s, %.1f I/Os per submission", workload.engine(),
                                      workload.average_batch())),
                  "    ", "    ");
  TextTable table(
      {"", "IOPS", "MiB/s (MB/s)", "avg", "p50", "p95", "p99", "p99.9", "max", "errors"});
  // Block sizes are in KiB and MiB, data sheets in MB. The two figures differ by 5 %.
  const auto row = [&](const v1::OperationReport& o) {
    table.Add({o.kind(), IopsText(o),
               o.has_bytes_per_second()
                   ? absl::StrFormat("%s (%.1f)", ThroughputText(o), o.bytes_per_second() / 1e6)
                   : "–",
               KnownDuration(o.latency_avg_ns()), PercentileText(o, 50), PercentileText(o, 95),
               PercentileText(o, 99), PercentileText(o, 99.9), KnownDuration(o.latency_max_ns()),
               FormatCount(o.errors())});
  };
  for (const v1::OperationReport& operation : workload.operations()) row(operation);
  // With a single kind of operation, the total would repeat its row.
  if (workload.operations_size() > 1) row(workload.total());
  // The latencies of an open loop are response times. Beside them the service times show how long
  // the I/Os themselves took.
  for (const v1::OperationReport& operation : workload.service_times()) {
    row(Named(operation, "service"));
  }
  for (const v1::OperationReport& operation : workload.submission_latencies()) {
    row(Named(operation, "slat"));
  }
  out_ += table.Render("    ", width_);
  if (const std::string stalls = StallsText(workload); !stalls.empty()) {
    out_ += Wrapped(stalls, "      ", "    stalls: ");
  }
  Confidence(workload);
  if (!workload.limited_by().empty()) {
    out_ +=
        Wrapped(absl::StrCat(Bold(workload.limited_by()), " (", workload.limited_because(), ")"),
                "      ", "    limited by: ");
  }
  if (workload.due_per_second() > 0) {
    out_ += Wrapped(absl::StrFormat("%s I/Os per second were due; the longest backlog was %s",
                                    FormatCount(workload.due_per_second()),
                                    FormatDuration(workload.longest_backlog_ns())),
                    "      ", "    open loop: ");
  }
  Verification(workload);
  for (const std::string& note : workload.notes()) out_ += Wrapped(note, "      ", "    note: ");
  for (const std::string& error : workload.errors()) {
    out_ += Wrapped(Bad(error), "      ", "    first error on ");
  }
}

void DetailWriter::Confidence(const v1::WorkloadReport& workload) {
  TextTable table({"95 % interval", "p50", "p95", "p99", "p99.9"});
  const auto add = [&](const v1::OperationReport& operation) {
    if (!HasInterval(operation)) return;
    table.Add(Intervals(operation.kind(), operation, {50, 95, 99, 99.9}));
  };
  for (const v1::OperationReport& operation : workload.operations()) add(operation);
  for (const v1::OperationReport& operation : workload.service_times()) {
    add(Named(operation, "service"));
  }
  for (const v1::OperationReport& operation : workload.submission_latencies()) {
    add(Named(operation, "slat"));
  }
  if (!table.empty()) out_ += table.Render("    ", width_);
}

void DetailWriter::Verification(const v1::WorkloadReport& workload) {
  if (!workload.has_verification()) return;
  // Without a single block checked, no mismatch was found either. The text must not look like a
  // success.
  const v1::VerificationReport& v = workload.verification();
  const std::string verdict =
      v.mismatches() > 0
          ? Bad(absl::StrCat(absl::StrCat(FormatCount(v.mismatches()),
                                          v.mismatches() == 1 ? " MISMATCH" : " MISMATCHES"),
                             ": ", v.by_verdict()))
      : v.checked() > 0 ? Good("all as written")
                        : Bad("nothing verified");
  out_ += Wrapped(
      absl::StrCat(
          Plural(v.checked(), "block"), " checked, ", verdict,
          v.not_checkable() > 0
              ? absl::StrCat("; ", FormatCount(v.not_checkable()),
                             " could NOT be checked (not written by this run, or being written)")
              : ""),
      "      ", "    verified: ");
  if (!v.rests_on().empty()) out_ += Wrapped(v.rests_on(), "      ", "    ");
  for (const std::string& detail : v.details()) {
    out_ += Wrapped(Bad(detail), "        ", "      ");
  }
}

void DetailWriter::Window(const v1::PhaseReport& phase) {
  const char* when = !RanTogether(phase)        ? "the whole phase"
                     : phase.workers_lost() > 0 ? "when all that ended ran"
                                                : "when all ran";
  const std::string rates =
      phase.window_end_seconds() > phase.window_begin_seconds()
          ? absl::StrCat("rates over ",
                         Seconds(phase.window_begin_seconds(), phase.window_end_seconds()),
                         " s after T, ", when)
          : "no rates, because no part of the load was measured";
  out_ += Wrapped(absl::StrCat("latency is ", MetricsOf(phase), "; ", rates) + OwnWindows(phase),
                  "    ", "  ");
  if (phase.start_skew_hosts() > 1) {
    const std::string limit =
        phase.start_skew_limit_ns() > 0
            ? absl::StrCat("; limit ", FormatDuration(phase.start_skew_limit_ns()))
            : "";
    Line(absl::StrFormat(
        "  first done %.3f s, last done %.3f s; start skew %s ± %s over %d hosts%s",
        phase.first_done_seconds(), phase.last_done_seconds(),
        FormatDuration(phase.start_skew_ns()), FormatDuration(phase.start_skew_bound_ns()),
        phase.start_skew_hosts(), limit));
  }
}

}  // namespace lockstep::controller
