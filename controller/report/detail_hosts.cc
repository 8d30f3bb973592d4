#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/detail_writer.h"
#include "controller/report/finding_groups.h"
#include "controller/report/text_table.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

using common::FormatCount;
using common::FormatDuration;

// Longer tables would bury the rest of the phase. --format json has all rows.
constexpr int kThreadsShown = 16;

std::string StalledText(const v1::HostReport& host) {
  return host.has_stalled_ratio() ? absl::StrFormat("%.1f %%", 100 * host.stalled_ratio()) : "–";
}

}  // namespace

bool DetailWriter::HasInterval(const v1::OperationReport& operation) {
  return std::any_of(operation.percentiles().begin(), operation.percentiles().end(),
                     [](const v1::Percentile& p) { return p.has_low_ns(); });
}

std::vector<std::string> DetailWriter::Intervals(const std::string& name,
                                                 const v1::OperationReport& operation,
                                                 const std::vector<double>& percents) {
  std::vector<std::string> cells = {name};
  for (const double percent : percents) cells.push_back(IntervalText(operation, percent));
  return cells;
}

void DetailWriter::HostConfidence(const v1::PhaseReport& phase) {
  TextTable table({"95 % interval", "p50", "p99"});
  int shown = 0;
  for (const v1::HostReport& host : phase.hosts()) {
    if (++shown > kHostsShown) break;
    if (HasInterval(host.total())) table.Add(Intervals(host.host(), host.total(), {50, 99}));
  }
  if (!table.empty()) out_ += table.Render("    ", width_);
}

void DetailWriter::Hosts(const v1::PhaseReport& phase) {
  // All hosts share one scale. With scales of their own, a slow host would look like a fast one.
  double scale = 0;
  for (const v1::HostReport& host : phase.hosts()) {
    for (double value : host.iops_by_interval()) scale = std::max(scale, value);
  }
  // Where no host stood still the corrected p99 is the p99.
  const bool has_stalls =
      std::any_of(phase.hosts().begin(), phase.hosts().end(),
                  [](const v1::HostReport& host) { return host.stalled_ratio() >= kStallsShown; });
  TextTable table({"host", "IOPS", "MiB/s", "p50", "p99", has_stalls ? "corrected p99" : "",
                   has_stalls ? "stalled" : "", "errors", "start", "IOPS over time"},
                  {0, 9});
  int shown = 0;
  for (const v1::HostReport& host : phase.hosts()) {
    if (++shown > kHostsShown) break;
    const std::vector<double> values(host.iops_by_interval().begin(),
                                     host.iops_by_interval().end());
    // A lost host has sent no result, so it has no percentiles. Its rate is that of the samples
    // that arrived.
    table.Add({absl::StrCat(host.host(), host.lost() ? Bad(" (lost)") : ""),
               host.has_iops() ? FormatCount(host.iops()) : "-",
               host.has_iops() ? absl::StrFormat("%.1f", host.bytes_per_second() / 1048576) : "-",
               host.lost() ? "-" : PercentileText(host.total(), 50),
               host.lost() ? "-" : PercentileText(host.total(), 99),
               has_stalls ? KnownDuration(host.corrected_p99_ns()) : "",
               has_stalls ? StalledText(host) : "", host.lost() ? "-" : FormatCount(host.errors()),
               host.has_start_offset_ns()
                   ? absl::StrCat("+", FormatDuration(host.start_offset_ns()))
                   : "-",
               Sparkline(values, 30, scale)});
  }
  for (const size_t column : {size_t{6}, size_t{5}}) table.RemoveIfEmpty(column);
  out_ += table.Render("    ", width_);
  if (phase.hosts_size() > kHostsShown) {
    Line("    and ", phase.hosts_size() - kHostsShown, " more; --format json lists all");
  }
  HostConfidence(phase);
  Fairness(phase);
}

void DetailWriter::Fairness(const v1::PhaseReport& phase) {
  for (const v1::Fairness& fairness : phase.fairness()) {
    // A single value is always fair, which says nothing.
    if (fairness.count() < 2 || !fairness.has_jain()) continue;
    const std::string ratio =
        fairness.has_max_over_min() ? absl::StrFormat("%.2f", fairness.max_over_min()) : "–";
    Line(absl::StrFormat("  fairness of %s: Jain %.4f, max/min %s, variation %.1f %% (n = %d)",
                         fairness.of(), fairness.jain(), ratio, 100 * fairness.variation(),
                         fairness.count()));
  }
  std::vector<std::string> over_time;
  if (phase.has_jain_max()) {
    over_time.push_back(
        absl::StrFormat("Jain from %.4f to %.4f", phase.jain_min(), phase.jain_max()));
  }
  if (phase.p99_spread_median() > 0) {
    over_time.push_back(
        absl::StrFormat("p99 of the slowest host over the fastest's %.2f (median), %.2f (worst)",
                        phase.p99_spread_median(), phase.p99_spread_worst()));
  }
  if (!over_time.empty()) {
    Line(absl::StrCat("  over time: ", absl::StrJoin(over_time, "; ")));
  }
  // Devices() has what is of devices.
  for (const v1::FindingGroup& group : FindingGroupsOf(phase)) {
    const auto kind = measure::Parse<measure::FindingKind>(group.kind());
    if (kind && IsOfHosts(*kind)) Group(group);
  }
}

void DetailWriter::Group(const v1::FindingGroup& group) {
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

void DetailWriter::Threads(const v1::PhaseReport& phase) {
  if (phase.threads_size() > 0 && phase.threads_size() <= kThreadsShown) {
    TextTable table({"thread", "workload", "I/Os", "IOPS", "exec time", "in I/O", "fsync", "rate",
                     "think", "CPU"},
                    {0, 1});
    const auto share = [](bool is_known, double ratio) {
      return is_known ? absl::StrFormat("%.0f %%", 100 * ratio) : "–";
    };
    for (const v1::ThreadReport& t : phase.threads()) {
      table.Add(
          {absl::StrCat(t.host(), "/", t.thread()), t.workload(), FormatCount(t.operations()),
           t.has_iops() ? FormatCount(t.iops()) : "–",
           absl::StrFormat("%.3f s", t.execution_time_seconds()),
           share(t.has_wait_ratio(), t.wait_ratio()), share(t.has_fsync_ratio(), t.fsync_ratio()),
           share(t.has_rate_ratio(), t.rate_ratio()), share(t.has_think_ratio(), t.think_ratio()),
           share(t.has_cpu_ratio(), t.cpu_ratio())});
    }
    out_ += table.Render("    ", width_);
  }
  if (!phase.has_thread_fairness()) return;
  // The wording and the figures are sysbench's, for readers who compare both.
  const v1::ThreadFairness& f = phase.thread_fairness();
  Line(
      absl::StrFormat("  threads fairness: events (avg/stddev) %.4f/%.2f, execution time "
                      "(avg/stddev) %.4f/%.2f s",
                      f.events_avg(), f.events_stddev(), f.execution_time_avg_seconds(),
                      f.execution_time_stddev_seconds()));
}

}  // namespace lockstep::controller
