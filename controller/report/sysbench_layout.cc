#include "controller/report/sysbench_layout.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/histogram.h"
#include "controller/report/kind_sums.h"
#include "controller/report/sysbench_preamble.h"
#include "controller/report/verdict.h"
#include "measure/report_states.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using measure::Operations;

constexpr double kMib = 1048576;
constexpr double kMs = 1e6;
// Reports of long runs have no more lines than this.
constexpr int64_t kMaxIntervals = 1000000;

// A line of sysbench begins with its version, and with what it was built with.
constexpr char kVersionLine[] = "sysbench 1.0.20 (layout; measured by Lockstep)\n\n";

// SysbenchLatencies of several histograms together.
struct SysbenchLatencies {
  common::Histogram histogram;
  double operations = 0, sum_ns = 0, min_ns = 0, max_ns = 0;

  void Add(const v1::LatencyHistogram& h) {
    double count = 0;
    const int buckets = std::min(h.buckets_size(), h.counts_size());
    for (int i = 0; i < buckets; ++i) {
      // A report may come from an archive: a bucket that does not exist must not become an index.
      if (h.buckets(i) >= common::kBucketCount) continue;
      histogram.AddBucket(h.buckets(i), static_cast<uint64_t>(h.counts(i)));
      count += h.counts(i);
    }
    if (!(count > 0)) return;
    min_ns = operations > 0 ? std::min(min_ns, h.min_ns()) : h.min_ns();
    max_ns = std::max(max_ns, h.max_ns());
    sum_ns += h.mean_ns() * count;
    operations += count;
  }
};

bool IsEvent(const v1::LatencyHistogram& h, const v1::PhaseReport& phase,
             const SysbenchLook& look) {
  if (!h.is_reported() || h.phase() != phase.index()) return false;
  return !measure::Is(h, Operations::kFsync) || !look.syncs_with_writes;
}

SysbenchLatencies LatenciesOf(const v1::PhaseReport& phase, const SysbenchLook& look,
                              const std::vector<v1::LatencyHistogram>& histograms) {
  SysbenchLatencies all;
  for (const v1::LatencyHistogram& h : histograms) {
    if (IsEvent(h, phase, look)) all.Add(h);
  }
  if (all.operations > 0) return all;
  // A run whose samples were removed has its report alone.
  const v1::OperationReport& total = phase.total();
  all.operations = total.operations();
  all.sum_ns = total.latency_avg_ns() * total.operations();
  all.min_ns = total.latency_min_ns();
  all.max_ns = total.latency_max_ns();
  return all;
}

double PercentileNs(const v1::PhaseReport& phase, const SysbenchLatencies& latencies, int percent) {
  if (latencies.histogram.count() > 0) {
    // sysbench prints a number also where few I/Os are there, as its readers expect.
    return std::min(latencies.histogram.Percentile(percent), latencies.max_ns);
  }
  for (const v1::Percentile& p : phase.total().percentiles()) {
    if (p.percent() == percent && p.has_latency_ns()) return p.latency_ns();
  }
  return latencies.max_ns;
}

// A line of the block of latencies: 53 columns.
std::string LatencyLine(const std::string& name, double nanoseconds) {
  constexpr int kColumns = 53;
  return absl::StrFormat("%s%*.2f\n", name, kColumns - static_cast<int>(name.size()),
                         nanoseconds / kMs);
}

std::string LatencyBlock(const v1::PhaseReport& phase, const SysbenchLook& look,
                         const SysbenchLatencies& l) {
  const double average = l.operations > 0 ? l.sum_ns / l.operations : 0;
  std::string text =
      absl::StrCat("\nLatency (ms):\n", LatencyLine("         min:", l.min_ns),
                   LatencyLine("         avg:", average), LatencyLine("         max:", l.max_ns));
  if (look.percentile == 0) {
    text += "         percentile stats:               disabled\n";
  } else {
    text += LatencyLine(absl::StrFormat("        %3dth percentile:", look.percentile),
                        PercentileNs(phase, l, look.percentile));
  }
  return text + LatencyLine("         sum:", l.sum_ns);
}

// The lines of intervals that were not printed before, by their number from 0.
std::string IntervalLines(const v1::PhaseReport& phase, const SysbenchLook& look,
                          const std::vector<v1::LatencyHistogram>& histograms, int64_t printed) {
  if (look.report_interval_seconds <= 0 || histograms.empty()) return "";
  const auto step = static_cast<double>(look.report_interval_seconds);
  // An interval's end is off by what its instants are rounded to.
  constexpr double kRounding = 1e-6;
  const double lines = std::floor(WindowSeconds(phase) / step + kRounding);
  if (!(lines >= 1) || lines > static_cast<double>(kMaxIntervals)) return "";
  std::vector<SysbenchInterval> intervals(static_cast<size_t>(lines));
  for (const v1::LatencyHistogram& h : histograms) {
    if (!h.is_reported() || h.phase() != phase.index()) continue;
    const double end = h.end_seconds() - phase.window_begin_seconds();
    const double number = std::ceil(end / step - kRounding) - 1;
    if (!(number >= 0) || number >= lines) continue;
    SysbenchInterval& interval = intervals[static_cast<size_t>(number)];
    const std::optional<Operations> kind = measure::Parse<measure::Operations>(h.kind());
    if (kind == Operations::kRead) interval.read_bytes += h.bytes();
    if (kind == Operations::kWrite) interval.written_bytes += h.bytes();
    const bool is_event = IsEvent(h, phase, look);
    for (int i = 0; i < std::min(h.buckets_size(), h.counts_size()); ++i) {
      if (kind == Operations::kFsync) interval.syncs += h.counts(i);
      if (!is_event || h.buckets(i) >= common::kBucketCount) continue;
      interval.latencies.AddBucket(h.buckets(i), static_cast<uint64_t>(h.counts(i)));
    }
  }
  std::string text;
  for (int64_t i = printed; i < static_cast<int64_t>(intervals.size()); ++i) {
    text += SysbenchIntervalLine(look, i + 1, intervals[static_cast<size_t>(i)]);
  }
  return text;
}

// sysbench's execution time is what a thread spent in events. Without a schedule that is all of its
// time. With one it is the sum of its latencies; a thread's share of the sum is the share of its
// time in I/O and syncs, as latencies are not kept by thread.
struct ExecutionTimes {
  double mean = 0, deviation = 0;  // seconds
};

ExecutionTimes ExecutionTimesOf(const v1::PhaseReport& phase, const SysbenchLook& look,
                                const SysbenchLatencies& latencies) {
  const v1::ThreadFairness& f = phase.thread_fairness();
  const ExecutionTimes alive{f.execution_time_avg_seconds(), f.execution_time_stddev_seconds()};
  if (!look.is_paced) return alive;
  const auto busy = [](const v1::ThreadReport& t) {
    return (t.wait_ratio() + t.fsync_ratio()) * t.execution_time_seconds();
  };
  double all = 0;
  for (const v1::ThreadReport& t : phase.threads()) all += busy(t);
  if (!(all > 0)) return alive;
  const double threads = phase.threads_size();
  const double sum = latencies.sum_ns / 1e9;
  double squares = 0;
  for (const v1::ThreadReport& t : phase.threads()) {
    squares += std::pow(sum * busy(t) / all - sum / threads, 2);
  }
  return {sum / threads, std::sqrt(squares / threads)};
}

std::string Run(const v1::PhaseReport& phase, const SysbenchLook& look, const SysbenchData& data) {
  const KindSum reads = SumOfKind(phase, Operations::kRead);
  const KindSum writes = SumOfKind(phase, Operations::kWrite);
  const KindSum syncs = SumOfKind(phase, Operations::kFsync);
  const SysbenchLatencies latencies = LatenciesOf(phase, look, data.phases);
  double sync_events = look.syncs_with_writes ? 0 : syncs.operations;
  // The syncs at the end are in a load that ends by itself, but they are no events.
  const auto limit = static_cast<double>(look.operations);
  if (limit > 0 && phase.total().operations() + sync_events > limit) {
    sync_events = std::max(0.0, limit - phase.total().operations());
  }
  const v1::ThreadFairness& f = phase.thread_fairness();
  const double threads = std::max(1, phase.threads_size());
  const ExecutionTimes times = ExecutionTimesOf(phase, look, latencies);
  std::string text = data.has_begun ? "" : SysbenchBegin(look);
  text += IntervalLines(phase, look, data.intervals, data.printed_intervals);
  // The layout has no place without a number. sysbench prints warnings as such lines.
  if (!phase.total().has_iops()) {
    text += "WARNING: no part of the load was measured: figures of 0 are not known\n";
  }
  return absl::StrCat(
      text,
      absl::StrFormat("\nFile operations:\n"
                      "    reads/s:                      %.2f\n"
                      "    writes/s:                     %.2f\n"
                      "    fsyncs/s:                     %.2f\n",
                      reads.iops, writes.iops, syncs.iops),
      absl::StrFormat("\nThroughput:\n"
                      "    read, MiB/s:                  %.2f\n"
                      "    written, MiB/s:               %.2f\n",
                      reads.bytes_per_second / kMib, writes.bytes_per_second / kMib),
      absl::StrFormat("\nGeneral statistics:\n"
                      "    total time:                          %.4fs\n"
                      "    total number of events:              %.0f\n",
                      WindowSeconds(phase), phase.total().operations() + sync_events),
      LatencyBlock(phase, look, latencies),
      absl::StrFormat("\nThreads fairness:\n"
                      "    events (avg/stddev):           %.4f/%.2f\n"
                      "    execution time (avg/stddev):   %.4f/%.2f\n\n",
                      f.events_avg() + sync_events / threads, f.events_stddev(), times.mean,
                      times.deviation));
}

std::string Prepare(const v1::PhaseReport& phase, const SysbenchLook& look) {
  const auto total = static_cast<double>(look.file_bytes) * look.files;
  std::string text = absl::StrFormat(
      "%s%d files, %dKb each, %.0fMb total\nCreating files for the test...\n"
      "Extra file open flags: (none)\n",
      kVersionLine, look.files, look.file_bytes / 1024, std::floor(total / kMib));
  // Which ones were kept is not in the report.
  const bool all_made = phase.files_reused() == 0;
  const bool none_made = phase.files_made() == 0;
  for (uint32_t i = 0; i < look.files && (all_made || none_made); ++i) {
    absl::StrAppend(
        &text, all_made ? "Creating file test_file." : "Reusing existing file test_file.", i, "\n");
  }
  if (!(phase.bytes_written() > 0)) return text + "No bytes written.\n";
  const double seconds = phase.duration_seconds();
  return absl::StrCat(
      text,
      absl::StrFormat("%.0f bytes written in %.2f seconds (%.2f MiB/sec).\n", phase.bytes_written(),
                      seconds, seconds > 0 ? phase.bytes_written() / kMib / seconds : 0));
}

}  // namespace

std::string SysbenchBegin(const SysbenchLook& look) {
  return look.has_preamble ? absl::StrCat(kVersionLine, look.preamble) : "";
}

std::string SysbenchIntervalLine(const SysbenchLook& look, int64_t number,
                                 const SysbenchInterval& interval) {
  const auto step = static_cast<double>(look.report_interval_seconds);
  return absl::StrFormat(
      "[ %.0fs ] reads: %4.2f MiB/s writes: %4.2f MiB/s fsyncs: %4.2f/s "
      "latency (ms,%d%%): %4.3f\n",
      static_cast<double>(number) * step, interval.read_bytes / step / kMib,
      interval.written_bytes / step / kMib, interval.syncs / step, look.percentile,
      interval.latencies.Percentile(look.percentile) / kMs);
}

bool WantsSysbenchIntervals(const v1::JobSpec& job) {
  return std::any_of(job.phases().begin(), job.phases().end(), [&](const v1::PhaseSpec& phase) {
    // The number of hosts makes no difference to this field.
    return SysbenchLookOf(job, phase.name(), 1).report_interval_seconds > 0;
  });
}

std::string RenderSysbench(const v1::Report& report, const SysbenchData& data) {
  std::string out;
  for (const v1::PhaseReport& phase : report.phases()) {
    const uint32_t workers =
        phase.workloads().empty() ? 1 : phase.workloads(0).settings().workers();
    const SysbenchLook look = SysbenchLookOf(data.job, phase.name(), workers);
    if (measure::Is(phase, measure::PhaseKind::kRun) && !phase.workloads().empty()) {
      out += Run(phase, look, data);
    } else if (!look.is_line || !measure::Is(phase, measure::PhaseState::kDone)) {
      // sysbench would have ended with an error.
      continue;
    } else if (measure::Is(phase, measure::PhaseKind::kPrepare) && look.files > 0) {
      out += Prepare(phase, look);
    } else if (measure::Is(phase, measure::PhaseKind::kCleanup)) {
      absl::StrAppend(&out, kVersionLine, "Removing test files...\n");
    }
  }
  return out;
}

}  // namespace lockstep::controller
