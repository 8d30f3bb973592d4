#include "controller/analysis/report_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/cross_check.h"
#include "controller/analysis/describe.h"
#include "controller/analysis/device_report.h"
#include "controller/analysis/expectations.h"
#include "controller/analysis/fairness.h"
#include "controller/analysis/kernel_report.h"
#include "controller/analysis/limits.h"
#include "controller/analysis/merge.h"
#include "controller/analysis/phase_view.h"
#include "controller/analysis/skew_report.h"
#include "controller/plan/loads.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kSameNs = 2000000;  // two workers' interval ends that differ by less are the same

// One run phase's report in the making.
class PhaseBuilder {
 public:
  PhaseBuilder(const storage::RunData& data, const storage::PhaseData& phase)
      : view_(data, phase), phase_(phase), run_(view_.load()), absent_(view_.Absent()) {}

  v1::PhaseReport Build() {
    FindWindow();
    AddWorkloads();
    AddHosts();
    AddThreads();
    AddDevices(view_, &report_);
    AddKernels(view_, &report_);
    AddSkew(view_, &report_);
    AddLimits(view_, &report_);
    CheckExpectations(run_.expect(), phase_.phase.state == "done" && report_.workers_lost() == 0,
                      &report_);
    AddRemarks();
    return std::move(report_);
  }

 private:
  // The intervals that all workers measured from end to end: figures compare hosts over them alone.
  void FindWindow() {
    report_.set_workers(static_cast<uint32_t>(phase_.workers.size() + absent_.size()));
    report_.set_workers_lost(static_cast<uint32_t>(absent_.size()));
    report_.set_interval_seconds(static_cast<double>(phase_.phase.interval_ns) / 1e9);
    // interval → workers, least and greatest end
    std::map<uint32_t, std::pair<uint32_t, std::pair<int64_t, int64_t>>> seen;
    uint32_t present = 0;
    double first_done = 0;
    double last_done = 0;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      if (!worker.has_result) {
        report_.set_workers_lost(report_.workers_lost() + 1);
        continue;
      }
      if (!PhaseView::Worked(worker)) continue;
      ++present;
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!PhaseView::Measured(interval)) continue;
        auto& [count, ends] = seen[interval.interval()];
        ends.first = count == 0 ? interval.end_ns() : std::min(ends.first, interval.end_ns());
        ends.second = count == 0 ? interval.end_ns() : std::max(ends.second, interval.end_ns());
        ++count;
      }
      const double done =
          static_cast<double>(worker.result.last_io_ns() - worker.result.go_ns()) / 1e9;
      first_done = present == 1 ? done : std::min(first_done, done);
      last_done = std::max(last_done, done);
    }
    report_.set_first_done_seconds(first_done);
    report_.set_last_done_seconds(last_done);
    for (const auto& [number, entry] : seen) {
      if (entry.first == present && entry.second.second - entry.second.first <= kSameNs) {
        common_.insert(number);
      }
    }
    int64_t begin = 0;
    int64_t end = 0;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!PhaseView::Worked(worker) || common_.count(interval.interval()) == 0) continue;
        begin = end == 0 ? interval.begin_ns() : std::min(begin, interval.begin_ns());
        end = std::max(end, interval.end_ns());
      }
    }
    if (common_.empty()) {  // shorter than an interval, or nobody ran at the same time
      begin = phase_.phase.ramp_ns;
      end = static_cast<int64_t>(last_done * 1e9);
    }
    window_seconds_ = static_cast<double>(end - begin) / 1e9;
    report_.set_window_begin_seconds(static_cast<double>(begin) / 1e9);
    report_.set_window_end_seconds(static_cast<double>(end) / 1e9);
    report_.set_duration_seconds(last_done);
  }

  // Whether rates of this interval count.
  bool InWindow(const v1::IntervalSample& interval) const {
    return common_.empty() ? PhaseView::Measured(interval)
                           : common_.count(interval.interval()) != 0;
  }

  void AddWorkloads() {
    // Rates over the window, latencies over everything measured.
    std::map<uint32_t, std::map<v1::OperationKind, IoSums>> rates;
    // of each workload's last interval with an I/O: one may end before the window does
    std::map<uint32_t, double> ends;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!worker.has_result || !InWindow(interval)) continue;
        for (const v1::WorkloadSample& workload : interval.workloads()) {
          for (const v1::OperationCounters& c : workload.operations()) {
            if (c.operations() != 0) {
              ends[workload.workload()] =
                  std::max(ends[workload.workload()], static_cast<double>(interval.end_ns()) / 1e9);
            }
            rates[workload.workload()][c.kind()].operations += c.operations();
            rates[workload.workload()][c.kind()].bytes += c.bytes();
          }
        }
      }
    }
    MergedCounters everything;
    IoSums all;
    for (int w = 0; w < run_.workloads_size(); ++w) {
      MergedKinds kinds;
      const double own_seconds =
          std::min(window_seconds_, ends[w] - report_.window_begin_seconds());
      v1::WorkloadReport* out = report_.add_workloads();
      out->set_name(run_.workloads(w).name());
      out->set_summary(DescribeWorkload(run_.workloads(w)));
      CollectWorkload(w, &kinds, out);
      MergedCounters total;
      IoSums sums;
      for (const auto& [kind, counters] : kinds) {
        *out->add_operations() =
            WithRate(counters.Report(KindText(kind), 0), rates[w][kind], own_seconds);
        if (counters.has_response()) {
          *out->add_service_times() =
              WithRate(counters.ReportOf(v1::METRIC_SERVICE_TIME, KindText(kind)), rates[w][kind],
                       own_seconds);
        }
        if (counters.has_submission()) {
          *out->add_submission_latencies() =
              WithRate(counters.ReportOf(v1::METRIC_SUBMISSION_LATENCY, KindText(kind)),
                       rates[w][kind], own_seconds);
        }
        if (kind == v1::OPERATION_KIND_FSYNC) continue;  // no I/O
        total.Add(counters);
        sums.operations += rates[w][kind].operations;
        sums.bytes += rates[w][kind].bytes;
      }
      *out->mutable_total() = WithRate(total.Report("total", 0), sums, own_seconds);
      everything.Add(total);
      all.operations += sums.operations;
      all.bytes += sums.bytes;
    }
    *report_.mutable_total() = WithRate(everything.Report("total", 0), all, window_seconds_);
  }

  void CollectWorkload(int index, MergedKinds* kinds, v1::WorkloadReport* out) {
    std::set<std::string> notes;
    double batches = 0;
    int counted = 0;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      for (const v1::WorkloadResult& result : worker.result.workloads()) {
        if (result.workload() != static_cast<uint32_t>(index)) continue;
        for (const v1::OperationCounters& c : result.measured()) (*kinds)[c.kind()].Add(c);
        if (out->engine().empty()) out->set_engine(result.engine());
        notes.insert(result.notes().begin(), result.notes().end());
        if (!result.first_error().empty()) {
          out->add_errors(
              absl::StrCat(view_.HostOf(worker.worker_index), ": ", result.first_error()));
        }
        AddOpenLoop(result, out);
        AddVerification(result.verification(), view_.HostOf(worker.worker_index), out);
        batches += result.average_batch();
        ++counted;
      }
    }
    for (const std::string& note : notes) out->add_notes(note);
    if (counted != 0) out->set_average_batch(batches / counted);
  }

  void AddOpenLoop(const v1::WorkloadResult& result, v1::WorkloadReport* out) const {
    const double seconds = static_cast<double>(phase_.phase.ramp_ns + run_.duration_ns()) / 1e9;
    if (seconds > 0) {
      out->set_due_per_second(out->due_per_second() + static_cast<double>(result.due()) / seconds);
    }
    out->set_unstarted(out->unstarted() + static_cast<double>(result.unstarted()));
    out->set_longest_backlog_ns(
        std::max(out->longest_backlog_ns(), static_cast<double>(result.longest_backlog_ns())));
    out->set_retries(out->retries() + static_cast<double>(result.retries()));
  }

  static void AddVerification(const v1::Verification& found, const std::string& host,
                              v1::WorkloadReport* out) {
    if (found.checked() + found.not_checkable() == 0) return;
    v1::VerificationReport* v = out->mutable_verification();
    v->set_checked(v->checked() + static_cast<double>(found.checked()));
    v->set_not_checkable(v->not_checkable() + static_cast<double>(found.not_checkable()));
    const std::pair<uint64_t, const char*> kinds[] = {{found.corrupt(), "corrupt"},
                                                      {found.stale(), "stale"},
                                                      {found.misplaced(), "misplaced"},
                                                      {found.torn(), "torn"},
                                                      {found.never_written(), "never written"}};
    for (const auto& [count, name] : kinds) {
      if (count == 0) continue;
      v->set_mismatches(v->mismatches() + static_cast<double>(count));
      v->set_by_verdict(absl::StrCat(v->by_verdict(), v->by_verdict().empty() ? "" : ", ", count,
                                     " ", name, " on ", host));
    }
    const char* verdicts[] = {"", "corrupt", "stale", "misplaced", "torn", "never written"};
    for (const v1::Mismatch& m : found.mismatches()) {
      if (v->details_size() >= 20) break;
      v->add_details(absl::StrCat(
          host, ": ", verdicts[m.verdict()], " at offset ", m.offset(), " of ", m.path(),
          ": expected ", m.expected(), "; found ", m.found(),
          m.found_file().empty()
              ? ""
              : absl::StrCat(" (saved on the host: ", m.found_file(),
                             m.expected_file().empty() ? "" : absl::StrCat(", ", m.expected_file()),
                             ")")));
    }
  }

  static v1::OperationReport WithRate(v1::OperationReport report, const IoSums& sums,
                                      double seconds) {
    if (seconds <= 0) return report;
    report.set_iops(static_cast<double>(sums.operations) / seconds);
    report.set_bytes_per_second(static_cast<double>(sums.bytes) / seconds);
    return report;
  }

  void AddHosts() {
    std::vector<double> rates;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      v1::HostReport* host = report_.add_hosts();
      host->set_host(view_.HostOf(worker.worker_index));
      host->set_worker_index(worker.worker_index);
      host->set_lost(!worker.has_result);
      IoSums sums;
      double known_seconds = 0;
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!PhaseView::Measured(interval)) continue;
        const IoSums here = SumsOf(interval);
        const double seconds = static_cast<double>(interval.end_ns() - interval.begin_ns()) / 1e9;
        if (seconds > 0) host->add_iops_by_interval(static_cast<double>(here.operations) / seconds);
        known_seconds += seconds;
        if (worker.has_result && !InWindow(interval)) continue;
        sums.operations += here.operations;
        sums.bytes += here.bytes;
      }
      // A lost host's rates are over what is known of it.
      const double seconds = worker.has_result ? window_seconds_ : known_seconds;
      if (seconds > 0) {
        host->set_iops(static_cast<double>(sums.operations) / seconds);
        host->set_bytes_per_second(static_cast<double>(sums.bytes) / seconds);
      }
      MergedCounters merged;
      for (const v1::WorkloadResult& result : worker.result.workloads()) {
        for (const v1::OperationCounters& c : result.measured()) {
          if (c.kind() != v1::OPERATION_KIND_FSYNC) merged.Add(c);
        }
      }
      host->set_p50_ns(merged.latencies().Percentile(50));
      host->set_p99_ns(merged.latencies().Percentile(99));
      host->set_errors(static_cast<double>(merged.errors()));
      if (PhaseView::Worked(worker)) {
        host->set_last_done_seconds(
            static_cast<double>(worker.result.last_io_ns() - worker.result.go_ns()) / 1e9);
      }
      if (PhaseView::Worked(worker)) rates.push_back(host->iops());
    }
    for (const storage::RunWorker* worker : absent_) {
      v1::HostReport* host = report_.add_hosts();
      host->set_host(worker->host);
      host->set_worker_index(worker->worker_index);
      host->set_lost(true);
    }
    *report_.add_fairness() = FairnessOf("IOPS over hosts", rates);
    int longest = 0;
    for (const v1::HostReport& host : report_.hosts()) {
      longest = std::max(longest, host.iops_by_interval_size());
    }
    for (int i = 0; i < longest; ++i) {
      double sum = 0;
      for (const v1::HostReport& host : report_.hosts()) {
        sum += i < host.iops_by_interval_size() ? host.iops_by_interval(i) : 0;
      }
      report_.add_iops_by_interval(sum);
    }
  }

  void AddThreads() {
    std::vector<double> events;
    std::vector<double> times;
    std::vector<double> rates;
    double user = 0;
    double system = 0;
    double operations = 0;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      user += static_cast<double>(worker.result.cpu_user_ns());
      system += static_cast<double>(worker.result.cpu_system_ns());
      for (const v1::WorkloadResult& w : worker.result.workloads()) {
        for (const auto* list : {&w.ramp(), &w.measured(), &w.drain()}) {
          for (const v1::OperationCounters& c : *list) {
            if (c.kind() != v1::OPERATION_KIND_FSYNC) {
              operations += static_cast<double>(c.operations());
            }
          }
        }
      }
      for (const v1::ThreadResult& t : worker.result.threads()) {
        v1::ThreadReport* thread = report_.add_threads();
        thread->set_host(view_.HostOf(worker.worker_index));
        if (static_cast<int>(t.workload()) < run_.workloads_size()) {
          thread->set_workload(run_.workloads(static_cast<int>(t.workload())).name());
        }
        thread->set_thread(t.thread());
        thread->set_operations(static_cast<double>(t.operations()));
        const double seconds = static_cast<double>(t.execution_time_ns()) / 1e9;
        thread->set_execution_time_seconds(seconds);
        if (seconds > 0) thread->set_iops(static_cast<double>(t.operations()) / seconds);
        // Ramp and drain included, like the times themselves.
        const double alive = std::max(static_cast<double>(t.execution_time_ns()),
                                      static_cast<double>(t.wait_time_ns() + t.fsync_time_ns() +
                                                          t.rate_time_ns() + t.think_time_ns()));
        if (alive > 0) {
          thread->set_wait_ratio(static_cast<double>(t.wait_time_ns()) / alive);
          thread->set_fsync_ratio(static_cast<double>(t.fsync_time_ns()) / alive);
          thread->set_rate_ratio(static_cast<double>(t.rate_time_ns()) / alive);
          thread->set_think_ratio(static_cast<double>(t.think_time_ns()) / alive);
          thread->set_cpu_ratio(static_cast<double>(t.cpu_time_ns()) / alive);
        }
        events.push_back(thread->operations());
        times.push_back(seconds);
        rates.push_back(thread->iops());
      }
    }
    *report_.add_fairness() = FairnessOf("IOPS over threads", rates);
    const MeanDeviation e = MeanDeviationOf(events);
    const MeanDeviation t = MeanDeviationOf(times);
    v1::ThreadFairness* fairness = report_.mutable_thread_fairness();
    fairness->set_events_avg(e.mean);
    fairness->set_events_stddev(e.deviation);
    fairness->set_execution_time_avg_seconds(t.mean);
    fairness->set_execution_time_stddev_seconds(t.deviation);
    if (operations > 0) {
      report_.set_worker_cpu_user_ns_per_io(user / operations);
      report_.set_worker_cpu_system_ns_per_io(system / operations);
    }
  }

  bool NoStorage() const {
    return std::all_of(
        run_.workloads().begin(), run_.workloads().end(), [this](const v1::Workload& w) {
          const int target =
              w.targets().empty() ? -1 : FindTarget(view_.data().run.job, w.targets(0));
          return target >= 0 && view_.data().run.job.targets(target).has_null();
        });
  }

  // When samples of every host are there, lost ones' included.
  void FindValid() {
    double from = 0;
    double to = std::numeric_limits<double>::infinity();
    if (!absent_.empty()) return;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      double first = std::numeric_limits<double>::infinity();
      double last = 0;
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!PhaseView::Measured(interval)) continue;
        first = std::min(first, static_cast<double>(interval.begin_ns()) / 1e9);
        last = std::max(last, static_cast<double>(interval.end_ns()) / 1e9);
      }
      // it had nothing to do
      if (last == 0 && worker.has_result && worker.result.workloads().empty()) continue;
      from = std::max(from, first);
      to = std::min(to, last);
    }
    if (!(to > from)) return;
    report_.set_valid_from_seconds(from);
    report_.set_valid_to_seconds(to);
  }

  // Seconds of a host that are not there, between some that are.
  void AddGaps(const storage::WorkerPhaseData& worker) {
    uint32_t next = 0;
    for (const v1::IntervalSample& interval : worker.intervals) {
      if (interval.interval() > next) {
        const uint32_t last = interval.interval() - 1;
        report_.add_remarks(absl::StrFormat(
            "GAP: %s has no sample of interval%s", view_.HostOf(worker.worker_index),
            last == next ? absl::StrFormat(" %d", next)
                         : absl::StrFormat("s %d to %d", next, last)));
      }
      next = interval.interval() + 1;
    }
  }

  void AddRemarks() {
    if (view_.IsSynthetic()) {
      report_.add_remarks(
          "SYNTHETIC: no I/O was done (lockstep-worker --simulate): all figures are made up");
    }
    if (phase_.phase.attempt > 1) {
      report_.add_remarks(
          absl::StrFormat("attempt %d: what was measured in earlier ones is not in these figures; "
                          "the events say why they were given up",
                          phase_.phase.attempt));
    }
    if (report_.workers_lost() != 0) {
      FindValid();
      const std::string valid =
          report_.valid_to_seconds() > report_.valid_from_seconds()
              ? absl::StrFormat("samples of all %d are there from %.2f to %.2f s after T",
                                report_.workers(), report_.valid_from_seconds(),
                                report_.valid_to_seconds())
              : "at no time are there samples of all";
      const uint32_t left = report_.workers() - report_.workers_lost();
      report_.add_remarks(absl::StrFormat(
          "DEGRADED: results of %d of %d hosts; %s; %s", left, report_.workers(),
          left > 0 ? "figures are of those alone"
                   : "there are no figures but the hosts' rates over time, from their samples",
          valid));
    }
    for (const storage::WorkerPhaseData& worker : phase_.workers) AddGaps(worker);
    if (common_.empty() && report_.total().operations() > 0) {
      report_.add_remarks(
          "no whole interval in which all hosts ran: rates are over the whole phase");
    }
    for (const v1::KernelReport& kernel : report_.kernels()) {
      if (kernel.user_ratio() + kernel.system_ratio() + kernel.steal_ratio() < 0.9) continue;
      report_.add_remarks(absl::StrFormat(
          "the processors of %s were busy for %.0f %% of the time: the load generator, not the "
          "storage, may be what was measured",
          kernel.hosts(0),
          100 * (kernel.user_ratio() + kernel.system_ratio() + kernel.steal_ratio())));
    }
    if (report_.devices().empty() && report_.total().operations() > 0 && !view_.IsSynthetic()) {
      report_.add_remarks(NoStorage() ? "no storage: these are the load generator's own figures"
                                      : "no block device underneath: memory or a network was "
                                        "measured, and nothing could be cross-checked");
    }
    for (const v1::DeviceReport& device : report_.devices()) {
      if (device.cross_check().verdict() == v1::CrossCheck::PAGE_CACHE) {
        report_.add_remarks(absl::StrCat(device.name(), ": ", device.cross_check().reason()));
      }
    }
    for (const v1::WorkloadReport& w : report_.workloads()) {
      // An arrival or two at the very end are no backlog.
      if (w.unstarted() > 0.001 * w.total().operations() && w.longest_backlog_ns() > 1e7) {
        report_.add_remarks(absl::StrFormat(
            "%s: BACKLOG: %s I/Os that were due (%.1f %%) were never started; the schedule ran "
            "ahead by up to %s. The rate is beyond what was served, and percentiles leave those "
            "I/Os out",
            w.name(), common::FormatCount(w.unstarted()),
            100 * w.unstarted() / std::max(1.0, w.unstarted() + w.total().operations()),
            common::FormatDuration(w.longest_backlog_ns())));
      }
      if (w.has_verification()) {
        v1::Expectation* e = report_.add_expectations();
        const v1::VerificationReport& v = w.verification();
        e->set_text(
            absl::StrCat(w.name(), ": every block that could be checked is as it was written"));
        e->set_found(v.mismatches() > 0 ? v.by_verdict()
                     : v.checked() > 0
                         ? absl::StrFormat("%s of %s checked, all as written",
                                           common::FormatCount(v.checked()),
                                           common::FormatCount(v.checked() + v.not_checkable()))
                         : "none could be checked");
        // Nothing to check is no failure of a mixed load; of a phase that is there to check it is.
        e->set_held(v.mismatches() == 0 && (v.checked() > 0 || phase_.phase.kind != "verify"));
        if (v.not_checkable() > v.checked()) {
          report_.add_remarks(absl::StrFormat(
              "%s: %s of %s blocks read could not be checked, because nothing is known of what "
              "they must hold: they are neither proved right nor wrong",
              w.name(), common::FormatCount(v.not_checkable()),
              common::FormatCount(v.checked() + v.not_checkable())));
        }
      }
      if (w.verification().mismatches() > 0) {
        report_.add_remarks(
            absl::StrCat(w.name(), ": VERIFICATION FAILED: ", w.verification().by_verdict()));
      }
    }
    if (report_.total().errors() > 0) {
      report_.add_remarks(absl::StrFormat("%.0f I/Os failed; they are in no rate and no latency",
                                          report_.total().errors()));
    }
    if (report_.total().short_transfers() > 0) {
      report_.add_remarks(absl::StrFormat("%.0f I/Os moved fewer bytes than asked for",
                                          report_.total().short_transfers()));
    }
  }

  const PhaseView view_;
  const storage::PhaseData& phase_;
  const v1::RunPhase& run_;  // the view's
  const std::vector<const storage::RunWorker*> absent_;
  v1::PhaseReport report_;
  std::set<uint32_t> common_;
  double window_seconds_ = 0;
};

v1::PhaseReport BuildFilePhase(const storage::RunData& data, const storage::PhaseData& phase) {
  v1::PhaseReport report;
  const PhaseView view(data, phase);
  std::vector<std::string> without;
  for (const storage::RunWorker* worker : view.Absent()) without.push_back(worker->host);
  report.set_workers(static_cast<uint32_t>(phase.workers.size() + without.size()));
  for (const storage::WorkerPhaseData& worker : phase.workers) {
    if (!worker.has_result) without.push_back(view.HostOf(worker.worker_index));
    report.set_files_made(report.files_made() + static_cast<double>(worker.result.files_made()));
    report.set_files_reused(report.files_reused() +
                            static_cast<double>(worker.result.files_reused()));
    report.set_files_removed(report.files_removed() +
                             static_cast<double>(worker.result.files_removed()));
    report.set_bytes_written(report.bytes_written() +
                             static_cast<double>(worker.result.bytes_written()));
    const double seconds =
        static_cast<double>(worker.result.end_ns() - worker.result.go_ns()) / 1e9;
    if (worker.result.go_ns() != 0) {
      report.set_duration_seconds(std::max(report.duration_seconds(), seconds));
    }
  }
  report.set_workers_lost(static_cast<uint32_t>(without.size()));
  const bool over = phase.phase.state != "arming" && phase.phase.state != "running";
  if (over && !without.empty()) {
    report.add_remarks(absl::StrCat(
        "not done, or not known, on ", absl::StrJoin(without, ", "), ", lost or stopped before",
        phase.phase.kind == "cleanup" ? ": files that prepare made there are still there" : ""));
  }
  return report;
}

void FillSummary(const storage::RunData& data, v1::Report* report) {
  v1::RunSummary* summary = report->mutable_run();
  summary->set_run_id(data.run.run_id);
  summary->set_job_name(data.run.job.name());
  summary->set_owner(data.run.owner);
  *summary->mutable_labels() = data.run.job.labels();
  summary->set_state(data.run.state);
  summary->set_outcome(data.run.outcome);
  summary->set_submitted_at(data.run.submitted_at);
  summary->set_started_at(data.run.started_at);
  summary->set_ended_at(data.run.ended_at);
  summary->set_hosts(static_cast<uint32_t>(data.workers.size()));
  summary->set_degraded(data.run.degraded);
  int expected = 0;
  int held = 0;
  for (const v1::PhaseReport& phase : report->phases()) {
    for (const v1::Expectation& e : phase.expectations()) {
      ++expected;
      held += e.held();
    }
    if (phase.kind() != "run" || summary->iops() > 0) continue;
    summary->set_iops(phase.total().iops());
    summary->set_bytes_per_second(phase.total().bytes_per_second());
  }
  // Expectations of phases that never came are not held either.
  int declared = 0;
  for (const v1::PhaseSpec& phase : data.run.job.phases()) {
    v1::PhaseReport probe;
    CheckExpectations(phase.run().expect(), false, &probe);
    declared += probe.expectations_size() + (phase.run().start_skew_limit_ns() > 0 ? 1 : 0);
  }
  // What verification found is expected without being declared.
  for (const v1::PhaseReport& phase : report->phases()) {
    for (const v1::WorkloadReport& w : phase.workloads()) declared += w.has_verification();
  }
  report->set_expectations_held(held == declared);
  if (declared > 0) summary->set_expectations(absl::StrCat(held, " of ", declared, " held"));
}

}  // namespace

v1::Report BuildReport(const storage::RunData& data) {
  v1::Report report;
  report.set_description(data.run.job.description());
  for (const storage::PhaseData& phase : data.phases) {
    const bool known = static_cast<int>(phase.phase.phase) < data.run.job.phases_size();
    v1::PhaseReport built =
        known && IsLoad(data.run.job.phases(static_cast<int>(phase.phase.phase)))
            ? PhaseBuilder(data, phase).Build()
            : BuildFilePhase(data, phase);
    built.set_name(phase.phase.name);
    built.set_kind(phase.phase.kind);
    built.set_index(phase.phase.phase);
    built.set_state(phase.phase.state);
    if (!phase.phase.reason.empty()) built.add_remarks(phase.phase.reason);
    *report.add_phases() = std::move(built);
  }
  for (const v1::EventReport& event : data.events) *report.add_events() = event;
  for (const auto& [name, value] : data.environment) (*report.mutable_environment())[name] = value;
  report.set_seed(absl::StrCat(data.run.seed));
  FillSummary(data, &report);
  return report;
}

}  // namespace lockstep::controller
