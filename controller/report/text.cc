#include "controller/report/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/finding_groups.h"
#include "controller/report/first_screen.h"
#include "controller/report/host_figures.h"
#include "controller/report/layers_text.h"
#include "controller/report/network_figures.h"
#include "controller/report/observed_text.h"
#include "controller/report/report_writer.h"
#include "controller/report/safe_report.h"
#include "controller/report/sweep_text.h"
#include "controller/report/text_table.h"
#include "controller/report/verdict.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using common::FormatCount;
using common::FormatDuration;
using common::FormatSize;
using common::FormatThroughput;

// Longer tables would bury the rest of the phase. --format json has all rows.
constexpr int kThreadsShown = 16;
constexpr int kHostsShown = 64;
constexpr int kSharesInDetail = 64;

class Renderer : private ReportWriter {
 public:
  Renderer(const v1::Report& report, const TextOptions& options) : ReportWriter(report, options) {}

  std::string Render() {
    Head();
    for (const v1::PhaseReport& phase : report_.phases()) {
      if (!ShownTogether().contains(phase.index())) Phase(phase);
    }
    Curves();
    Sweeps(SweepDetail::kAll);
    Notes(std::numeric_limits<size_t>::max());
    Events(std::numeric_limits<size_t>::max());
    return Take();
  }

 private:
  void Phase(const v1::PhaseReport& phase) {
    Rule(absl::StrCat(
        phase.name(), phase.name() == phase.kind() ? "" : absl::StrCat(" (", phase.kind(), ")"),
        phase.duration_seconds() > 0 ? absl::StrFormat(", %.1f s", phase.duration_seconds()) : "",
        measure::Is(phase, measure::PhaseState::kDone) ? "" : absl::StrCat(", ", phase.state())));
    if (phase.has_observed()) {
      Observed(phase);
    } else if (phase.workloads().empty()) {
      Files(phase);
    } else {
      // Without a single result there are no totals. The rows of the hosts still show what they had
      // sent until they were lost.
      const bool any = phase.workers_lost() < phase.workers();
      for (const v1::WorkloadReport& workload : phase.workloads()) {
        if (any) Workload(workload);
      }
      if (any) Window(phase);
      if (any) Steady(phase, "");
      Hosts(phase);
      if (any) Threads(phase);
      if (const std::string time = TimeSpentText(phase.time_spent()); !time.empty()) {
        out_ += Wrapped(time, "      ", "  time: ");
      }
      Settings(phase);
      Devices(phase);
      out_ += RenderInterfaces(phase, width_);
      out_ += RenderNfs(phase, width_);
      Kernels(phase);
    }
    for (const v1::Expectation& e : phase.expectations()) {
      Line("  expect  ", e.met() ? Good("met   ") : Bad("FAILED"), "  ", e.text(), "   found ",
           e.found());
    }
    Promises(phase, "");
    if (phase.outage_summary().count() > 0) {
      out_ += Wrapped(phase.outage_summary().sentence(), "    ", "  ! ");
    }
    for (const v1::PromiseReport& promise : phase.promised()) {
      if (promise.exceeded()) out_ += Wrapped(promise.text(), "    ", "  ! ");
    }
    for (const std::string& remark : phase.remarks()) out_ += Wrapped(remark, "    ", "  ! ");
    for (const v1::Omission& omission : phase.omissions()) {
      out_ += Wrapped(omission.sentence(), "    ", "  ! ");
    }
  }

  void Observed(const v1::PhaseReport& phase) {
    out_ += Wrapped(SummaryOf(phase.observed()), "    ", "  ");
    for (const std::string& share : ShareSentencesOf(phase.observed(), kSharesInDetail)) {
      out_ += Wrapped(share, "    ", "  ");
    }
    out_ += Wrapped(
        absl::StrFormat("by the devices' own counters, from %.2f to %.2f s after T; this phase did "
                        "no I/O, so that there are no latencies and errors of an engine",
                        phase.window_begin_seconds(), phase.window_end_seconds()),
        "    ", "  ");
    out_ += RenderObservedHosts(phase.observed(), width_);
    Fairness(phase);
    out_ += RenderObservedDevices(phase, width_);
    for (const v1::DeviceReport& d : phase.devices()) {
      for (const v1::Finding& finding : d.findings()) {
        out_ += Wrapped(Bad(absl::StrCat(d.name(), ": ", finding.sentence())), "    ", "  ! ");
      }
    }
    out_ += RenderInterfaces(phase, width_);
    out_ += RenderNfs(phase, width_);
    Kernels(phase);
  }

  void Files(const v1::PhaseReport& phase) {
    std::vector<std::string> parts;
    if (phase.files_made() > 0) {
      parts.push_back(absl::StrCat(
          Plural(phase.files_made(), "file"), " made, ", FormatSize(phase.bytes_written()),
          " written",
          phase.duration_seconds() > 0
              ? absl::StrCat(" at ",
                             FormatThroughput(phase.bytes_written() / phase.duration_seconds()))
              : ""));
    }
    if (phase.files_reused() > 0) {
      parts.push_back(
          absl::StrCat(Plural(phase.files_reused(), "file"), " kept, which fit already"));
    }
    if (phase.files_removed() > 0) {
      parts.push_back(absl::StrCat(Plural(phase.files_removed(), "file"), " removed"));
    }
    const bool done = measure::Is(phase, measure::PhaseState::kDone);
    // A worker that failed or was stopped reports the reason, not what it had done until then.
    const std::string none =
        done ? "there was nothing to do"
        : phase.kind() == "prepare"
            ? "not done; the workers removed the files that they had made, as far as they could"
            : "not done; how far it came is not known";
    out_ += Wrapped(parts.empty() ? none
                                  : absl::StrCat(absl::StrJoin(parts, "; "),
                                                 done ? "" : "; the others did not finish"),
                    "  ", "  ");
  }

  void Workload(const v1::WorkloadReport& workload) {
    Line("  ", Bold(workload.name()), ": ", workload.summary());
    out_ += Wrapped(Dim(absl::StrFormat("%s, %.1f I/Os per submission", workload.engine(),
                                        workload.average_batch())),
                    "    ", "    ");
    TextTable table(
        {"", "IOPS", "MiB/s (MB/s)", "avg", "p50", "p95", "p99", "p99.9", "max", "errors"});
    // Block sizes are in KiB and MiB, data sheets in MB. The two figures differ by 5 %.
    const auto row = [&](const v1::OperationReport& o) {
      table.Add({o.kind(), FormatCount(o.iops()),
                 absl::StrFormat("%.1f (%.1f)", o.bytes_per_second() / 1048576,
                                 o.bytes_per_second() / 1e6),
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

  // Whether any of the percentiles has a confidence interval.
  static bool HasInterval(const v1::OperationReport& operation) {
    return std::any_of(operation.percentiles().begin(), operation.percentiles().end(),
                       [](const v1::Percentile& p) { return p.has_low_ns(); });
  }

  static std::vector<std::string> Intervals(const std::string& name,
                                            const v1::OperationReport& operation,
                                            const std::vector<double>& percents) {
    std::vector<std::string> cells = {name};
    for (const double percent : percents) cells.push_back(IntervalText(operation, percent));
    return cells;
  }

  // How certain the percentiles above are.
  void Confidence(const v1::WorkloadReport& workload) {
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

  void HostConfidence(const v1::PhaseReport& phase) {
    TextTable table({"95 % interval", "p50", "p99"});
    int shown = 0;
    for (const v1::HostReport& host : phase.hosts()) {
      if (++shown > kHostsShown) break;
      if (HasInterval(host.total())) table.Add(Intervals(host.host(), host.total(), {50, 99}));
    }
    if (!table.empty()) out_ += table.Render("    ", width_);
  }

  static v1::OperationReport Named(v1::OperationReport operation, const std::string& metric) {
    operation.set_kind(absl::StrCat(operation.kind(), " ", metric));
    return operation;
  }

  void Verification(const v1::WorkloadReport& workload) {
    if (!workload.has_verification()) return;
    // Without a single block checked, no mismatch was found either. That must not look like a
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

  // Names the metric of the latencies. Workloads with a schedule report response times, others
  // service times, and a total over both is neither.
  static std::string MetricsOf(const v1::PhaseReport& phase) {
    std::vector<std::string> response, service;
    for (const v1::WorkloadReport& workload : phase.workloads()) {
      if (workload.total().metric().empty()) continue;
      (workload.total().metric() == "response_time" ? response : service)
          .push_back(workload.name());
    }
    const std::string of_response = "response time (intended start to completion)";
    const std::string of_service = "service time (submission to completion)";
    if (response.empty() || service.empty()) {
      return phase.total().metric() == "response_time" ? of_response : of_service;
    }
    return absl::StrCat(of_response, " of ", absl::StrJoin(response, ", "), ", ", of_service,
                        " of ", absl::StrJoin(service, ", "), ", and of all together a mixture");
  }

  // Workloads whose rates are over another time than all together, since they ended by themselves.
  static std::string OwnWindows(const v1::PhaseReport& phase) {
    std::string text;
    for (const v1::WorkloadReport& w : phase.workloads()) {
      if (!(w.window_seconds() > 0) || w.window_end_seconds() <= w.window_begin_seconds() ||
          (w.window_begin_seconds() == phase.window_begin_seconds() &&
           w.window_end_seconds() == phase.window_end_seconds())) {
        continue;
      }
      absl::StrAppend(&text, absl::StrFormat("; of %s over %.2f–%.2f s", w.name(),
                                             w.window_begin_seconds(), w.window_end_seconds()));
    }
    return text;
  }

  // Where workloads ran one after the other, rates of all together are over the whole phase.
  static bool RanTogether(const v1::PhaseReport& phase) {
    constexpr double kSame = 0.01;  // ends that count as one differ by less
    return std::all_of(phase.workloads().begin(), phase.workloads().end(),
                       [&](const v1::WorkloadReport& w) {
                         return w.total().operations() == 0 ||
                                (w.window_end_seconds() > w.window_begin_seconds() &&
                                 w.window_begin_seconds() <= phase.window_begin_seconds() + kSame &&
                                 w.window_end_seconds() >= phase.window_end_seconds() - kSame);
                       });
  }

  void Window(const v1::PhaseReport& phase) {
    const char* when = !RanTogether(phase)        ? "the whole phase"
                       : phase.workers_lost() > 0 ? "when all that ended ran"
                                                  : "when all ran";
    out_ += Wrapped(
        absl::StrFormat("latency is %s; rates over %.2f–%.2f s after T, %s", MetricsOf(phase),
                        phase.window_begin_seconds(), phase.window_end_seconds(), when) +
            OwnWindows(phase),
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

  void Hosts(const v1::PhaseReport& phase) {
    // All hosts share one scale. With scales of their own, a slow host would look like a fast one.
    double scale = 0;
    for (const v1::HostReport& host : phase.hosts()) {
      for (double value : host.iops_by_interval()) scale = std::max(scale, value);
    }
    TextTable table({"host", "IOPS", "MiB/s", "p50", "p99", "errors", "start", "IOPS over time"},
                    {0, 7});
    int shown = 0;
    for (const v1::HostReport& host : phase.hosts()) {
      if (++shown > kHostsShown) break;
      const std::vector<double> values(host.iops_by_interval().begin(),
                                       host.iops_by_interval().end());
      // A lost host has sent no result, so it has no percentiles. Its rate is that of the samples
      // that arrived.
      table.Add({absl::StrCat(host.host(), host.lost() ? Bad(" (lost)") : ""),
                 FormatCount(host.iops()),
                 absl::StrFormat("%.1f", host.bytes_per_second() / 1048576),
                 host.lost() ? "-" : PercentileText(host.total(), 50),
                 host.lost() ? "-" : PercentileText(host.total(), 99),
                 host.lost() ? "-" : FormatCount(host.errors()),
                 host.lost() ? "-" : absl::StrCat("+", FormatDuration(host.start_offset_ns())),
                 Sparkline(values, 30, scale)});
    }
    out_ += table.Render("    ", width_);
    if (phase.hosts_size() > kHostsShown) {
      Line("    and ", phase.hosts_size() - kHostsShown, " more; --format json lists all");
    }
    HostConfidence(phase);
    Fairness(phase);
  }

  void Fairness(const v1::PhaseReport& phase) {
    for (const v1::Fairness& fairness : phase.fairness()) {
      // A single value is always fair, which says nothing.
      if (fairness.count() < 2) continue;
      Line(absl::StrFormat("  fairness of %s: Jain %.4f, max/min %.2f, variation %.1f %% (n = %d)",
                           fairness.of(), fairness.jain(), fairness.max_over_min(),
                           100 * fairness.variation(), fairness.count()));
    }
    // With a single host or interval the range stays 0 (AddJainRange()).
    if (phase.jain_max() > 0) {
      Line(absl::StrFormat(
          "  over time: Jain from %.4f to %.4f%s", phase.jain_min(), phase.jain_max(),
          phase.p99_spread_median() > 0
              ? absl::StrFormat("; p99 of the slowest host over the fastest's "
                                "%.2f (median), %.2f (worst)",
                                phase.p99_spread_median(), phase.p99_spread_worst())
              : ""));
    }
    // Devices() has what is of devices.
    for (const v1::FindingGroup& group : FindingGroupsOf(phase)) {
      if (group.kind() == "straggler" || group.kind() == "slow" || group.kind() == "starvation") {
        Group(group);
      }
    }
  }

  void Group(const v1::FindingGroup& group) {
    constexpr size_t kNamed = 16;
    out_ += Wrapped(Bad(group.sentence()), "    ", "  ! ");
    // The sentence of a single finding has its host and its reason.
    if (group.findings() < 2) return;
    if (group.causes().empty()) out_ += Wrapped(NamesText(group.hosts(), kNamed), "      ", "    ");
    for (const v1::FindingCause& cause : group.causes()) {
      out_ += Wrapped(absl::StrCat(cause.cause(), ": ", NamesText(cause.hosts(), kNamed), "; on ",
                                   cause.hosts(0), ": ", cause.reason()),
                      "      ", "    ");
    }
  }

  void Threads(const v1::PhaseReport& phase) {
    if (phase.threads_size() > 0 && phase.threads_size() <= kThreadsShown) {
      TextTable table({"thread", "workload", "I/Os", "IOPS", "exec time", "in I/O", "fsync", "rate",
                       "think", "CPU"},
                      {0, 1});
      const auto share = [](double ratio) { return absl::StrFormat("%.0f %%", 100 * ratio); };
      for (const v1::ThreadReport& t : phase.threads()) {
        table.Add({absl::StrCat(t.host(), "/", t.thread()), t.workload(),
                   FormatCount(t.operations()), FormatCount(t.iops()),
                   absl::StrFormat("%.3f s", t.execution_time_seconds()), share(t.wait_ratio()),
                   share(t.fsync_ratio()), share(t.rate_ratio()), share(t.think_ratio()),
                   share(t.cpu_ratio())});
      }
      out_ += table.Render("    ", width_);
    }
    // The wording and the figures are sysbench's, for readers who compare both.
    const v1::ThreadFairness& f = phase.thread_fairness();
    Line(
        absl::StrFormat("  threads fairness: events (avg/stddev) %.4f/%.2f, execution time "
                        "(avg/stddev) %.4f/%.2f s",
                        f.events_avg(), f.events_stddev(), f.execution_time_avg_seconds(),
                        f.execution_time_stddev_seconds()));
  }

  void Settings(const v1::PhaseReport& phase) {
    for (const v1::SettingReport& s : phase.settings()) {
      // A setting that already had the value changed nothing.
      if (s.before() == s.value()) continue;
      out_ += Wrapped(absl::StrCat(s.thing(), " ", s.name(), " ", s.value(), " instead of ",
                                   s.before(), " on ", absl::StrJoin(s.hosts(), ", "),
                                   s.not_restored().empty() ? "; restored" : Bad("; NOT restored")),
                      "    ", "  setting: ");
    }
  }

  void Devices(const v1::PhaseReport& phase) {
    if (phase.devices().empty()) return;
    out_ += RenderIostat(phase, width_);
    out_ += RenderLayers(phase, width_);
    int shown = 0;
    for (const v1::DeviceReport& d : phase.devices()) CrossCheck(d, ++shown <= kHostsShown);
  }

  // Of a large fleet only those devices are named that do not agree.
  void CrossCheck(const v1::DeviceReport& d, bool shows_agreement) {
    const bool fine = d.cross_check().verdict() == v1::CrossCheck::VERDICT_AGREE;
    if (d.has_cross_check() && (shows_agreement || !fine)) {
      const std::string verdict = CrossCheckText(d.cross_check());
      out_ += Wrapped(
          absl::StrCat(d.name(), " against the engines of ", d.hosts_size(),
                       d.hosts_size() == 1 ? " host: " : " hosts: ",
                       fine ? Good(verdict) : Bad(verdict), " (", d.cross_check().reason(), ")"),
          "    ", "  cross-check: ");
    }
    for (const v1::Finding& finding : d.findings()) {
      out_ += Wrapped(Bad(absl::StrCat(d.name(), ": ", finding.sentence())), "    ", "  ! ");
    }
  }

  void Kernels(const v1::PhaseReport& phase) {
    int shown = 0;
    for (const v1::KernelReport& k : phase.kernels()) {
      if (++shown > kHostsShown) {
        Line("    and ", phase.kernels_size() - kHostsShown,
             " more kernels; --format json lists all");
        break;
      }
      out_ += Wrapped(RenderVmstat(k), "    ", absl::StrCat("  ", HostsOf(k), ": "));
      const std::string memory = RenderMemory(k);
      if (!memory.empty()) out_ += Wrapped(memory, "      ", "    ");
      const std::string per_io = RenderPerIo(phase, k);
      if (!per_io.empty()) Line("    per I/O: " + per_io);
      if (!k.others().empty()) {
        out_ += Wrapped(absl::StrJoin(k.others(), ", "), "      ", "    other programs: ");
      }
    }
  }
};

}  // namespace

std::string RenderText(const v1::Report& report, const TextOptions& options) {
  // A report may come from an archive that somebody else made. A terminal must not obey its texts.
  const v1::Report safe = SafeToShow(report);
  return options.detail ? Renderer(safe, options).Render() : RenderFirstScreen(safe, options);
}

}  // namespace lockstep::controller
