#include "controller/analysis/report_builder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/cross_check.h"
#include "controller/analysis/expectations.h"
#include "controller/analysis/fairness.h"
#include "controller/analysis/merge.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kSameNs = 2000000;  // two workers' interval ends that differ by less are the same

struct Sums {
  uint64_t operations = 0;
  uint64_t bytes = 0;
};

Sums SumsOf(const v1::IntervalSample& interval) {
  Sums sums;
  for (const v1::WorkloadSample& workload : interval.workloads()) {
    for (const v1::OperationCounters& c : workload.operations()) {
      sums.operations += c.operations();
      sums.bytes += c.bytes();
    }
  }
  return sums;
}

bool Measured(const v1::IntervalSample& interval) { return interval.interval_class() == v1::INTERVAL_CLASS_MEASURED; }

// One run phase's report in the making.
class PhaseBuilder {
 public:
  PhaseBuilder(const storage::RunData& data, const storage::PhaseData& phase)
      : data_(data), phase_(phase), run_(data.run.job.phases(static_cast<int>(phase.phase.phase)).run()) {}

  v1::PhaseReport Build() {
    FindWindow();
    AddWorkloads();
    AddHosts();
    AddThreads();
    AddDevices();
    AddKernels();
    AddSkew();
    CheckExpectations(run_.expect(), phase_.phase.state == "done" && report_.workers_lost() == 0, &report_);
    AddRemarks();
    return std::move(report_);
  }

 private:
  const storage::RunWorker* WorkerOf(uint32_t index) const {
    for (const storage::RunWorker& worker : data_.workers) {
      if (worker.worker_index == index) return &worker;
    }
    return nullptr;
  }
  std::string HostOf(uint32_t index) const {
    const storage::RunWorker* worker = WorkerOf(index);
    return worker == nullptr ? absl::StrCat("worker ", index) : worker->host;
  }

  // The intervals that all workers measured from end to end: figures compare hosts over them alone.
  void FindWindow() {
    report_.set_workers(static_cast<uint32_t>(phase_.workers.size()));
    report_.set_interval_seconds(static_cast<double>(phase_.phase.interval_ns) / 1e9);
    std::map<uint32_t, std::pair<uint32_t, std::pair<int64_t, int64_t>>> seen;  // interval → workers, least and greatest end
    uint32_t present = 0;
    double first_done = 0;
    double last_done = 0;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      if (!worker.has_result) {
        report_.set_workers_lost(report_.workers_lost() + 1);
        continue;
      }
      if (!Worked(worker)) continue;
      ++present;
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!Measured(interval)) continue;
        auto& [count, ends] = seen[interval.interval()];
        ends.first = count == 0 ? interval.end_ns() : std::min(ends.first, interval.end_ns());
        ends.second = count == 0 ? interval.end_ns() : std::max(ends.second, interval.end_ns());
        ++count;
      }
      const double done = static_cast<double>(worker.result.last_io_ns() - worker.result.go_ns()) / 1e9;
      first_done = present == 1 ? done : std::min(first_done, done);
      last_done = std::max(last_done, done);
    }
    report_.set_first_done_seconds(first_done);
    report_.set_last_done_seconds(last_done);
    for (const auto& [number, entry] : seen) {
      if (entry.first == present && entry.second.second - entry.second.first <= kSameNs) common_.insert(number);
    }
    int64_t begin = 0;
    int64_t end = 0;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!Worked(worker) || common_.count(interval.interval()) == 0) continue;
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

  // Whether the worker has a workload in the phase and completed an I/O: others take part in no comparison.
  static bool Worked(const storage::WorkerPhaseData& worker) { return worker.has_result && worker.result.last_io_ns() != 0; }

  // Whether rates of this interval count.
  bool InWindow(const v1::IntervalSample& interval) const {
    return common_.empty() ? Measured(interval) : common_.count(interval.interval()) != 0;
  }


  void AddWorkloads() {
    // Rates over the window, latencies over everything measured.
    std::map<uint32_t, std::map<v1::OperationKind, Sums>> rates;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!worker.has_result || !InWindow(interval)) continue;
        for (const v1::WorkloadSample& workload : interval.workloads()) {
          for (const v1::OperationCounters& c : workload.operations()) {
            rates[workload.workload()][c.kind()].operations += c.operations();
            rates[workload.workload()][c.kind()].bytes += c.bytes();
          }
        }
      }
    }
    MergedCounters everything;
    Sums all;
    for (int w = 0; w < run_.workloads_size(); ++w) {
      MergedKinds kinds;
      v1::WorkloadReport* out = report_.add_workloads();
      out->set_name(run_.workloads(w).name());
      out->set_summary(Summary(run_.workloads(w)));
      CollectWorkload(w, &kinds, out);
      MergedCounters total;
      Sums sums;
      for (const auto& [kind, counters] : kinds) {
        *out->add_operations() = WithRate(counters.Report(KindText(kind), 0), rates[w][kind]);
        total.Add(counters);
        sums.operations += rates[w][kind].operations;
        sums.bytes += rates[w][kind].bytes;
      }
      *out->mutable_total() = WithRate(total.Report("total", 0), sums);
      everything.Add(total);
      all.operations += sums.operations;
      all.bytes += sums.bytes;
    }
    *report_.mutable_total() = WithRate(everything.Report("total", 0), all);
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
        if (!result.first_error().empty()) out->add_errors(absl::StrCat(HostOf(worker.worker_index), ": ", result.first_error()));
        batches += result.average_batch();
        ++counted;
      }
    }
    for (const std::string& note : notes) out->add_notes(note);
    if (counted != 0) out->set_average_batch(batches / counted);
  }

  v1::OperationReport WithRate(v1::OperationReport report, const Sums& sums) const {
    if (window_seconds_ <= 0) return report;
    report.set_iops(static_cast<double>(sums.operations) / window_seconds_);
    report.set_bytes_per_second(static_cast<double>(sums.bytes) / window_seconds_);
    return report;
  }

  static std::string Summary(const v1::Workload& w) {
    const std::string mix = w.read_ratio() >= 1 ? "reads" : w.read_ratio() <= 0 ? "writes" : absl::StrFormat("%.4g %% reads", 100 * w.read_ratio());
    return absl::StrCat(w.pattern().has_sequential() ? "sequential " : "random ", common::FormatSize(static_cast<double>(w.block_size_bytes())), " ", mix, ", ",
                        w.threads(), w.threads() == 1 ? " thread" : " threads", " × depth ", w.queue_depth(), ", ", w.direct() ? "direct" : "buffered");
  }

  void AddHosts() {
    std::vector<double> rates;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      v1::HostReport* host = report_.add_hosts();
      host->set_host(HostOf(worker.worker_index));
      host->set_worker_index(worker.worker_index);
      host->set_lost(!worker.has_result);
      Sums sums;
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!Measured(interval)) continue;
        const Sums here = SumsOf(interval);
        const double seconds = static_cast<double>(interval.end_ns() - interval.begin_ns()) / 1e9;
        if (seconds > 0) host->add_iops_by_interval(static_cast<double>(here.operations) / seconds);
        if (!InWindow(interval)) continue;
        sums.operations += here.operations;
        sums.bytes += here.bytes;
      }
      if (window_seconds_ > 0) {
        host->set_iops(static_cast<double>(sums.operations) / window_seconds_);
        host->set_bytes_per_second(static_cast<double>(sums.bytes) / window_seconds_);
      }
      MergedCounters merged;
      for (const v1::WorkloadResult& result : worker.result.workloads()) {
        for (const v1::OperationCounters& c : result.measured()) merged.Add(c);
      }
      host->set_p50_ns(merged.latencies().Percentile(50));
      host->set_p99_ns(merged.latencies().Percentile(99));
      host->set_errors(static_cast<double>(merged.errors()));
      if (Worked(worker)) host->set_last_done_seconds(static_cast<double>(worker.result.last_io_ns() - worker.result.go_ns()) / 1e9);
      if (Worked(worker)) rates.push_back(host->iops());
    }
    *report_.add_fairness() = FairnessOf("IOPS over hosts", rates);
    int longest = 0;
    for (const v1::HostReport& host : report_.hosts()) longest = std::max(longest, host.iops_by_interval_size());
    for (int i = 0; i < longest; ++i) {
      double sum = 0;
      for (const v1::HostReport& host : report_.hosts()) sum += i < host.iops_by_interval_size() ? host.iops_by_interval(i) : 0;
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
          for (const v1::OperationCounters& c : *list) operations += static_cast<double>(c.operations());
        }
      }
      for (const v1::ThreadResult& t : worker.result.threads()) {
        v1::ThreadReport* thread = report_.add_threads();
        thread->set_host(HostOf(worker.worker_index));
        if (static_cast<int>(t.workload()) < run_.workloads_size()) thread->set_workload(run_.workloads(static_cast<int>(t.workload())).name());
        thread->set_thread(t.thread());
        thread->set_operations(static_cast<double>(t.operations()));
        const double seconds = static_cast<double>(t.execution_time_ns()) / 1e9;
        thread->set_execution_time_seconds(seconds);
        if (seconds > 0) thread->set_iops(static_cast<double>(t.operations()) / seconds);
        const double alive = static_cast<double>(t.wait_time_ns() + t.cpu_time_ns());
        if (alive > 0) {
          thread->set_wait_ratio(static_cast<double>(t.wait_time_ns()) / alive);
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

  // What the engines of one kernel did to one device. False when a workload's targets lie on several devices.
  void EngineBytes(const std::string& boot_id, const std::string& device, CrossCheckInput* input, v1::DeviceReport* out) const {
    std::set<double> blocks;
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      const storage::RunWorker* self = WorkerOf(worker.worker_index);
      if (self == nullptr || self->boot_id != boot_id) continue;
      bool sees = false;
      for (const v1::WorkloadResult& result : worker.result.workloads()) {
        if (static_cast<int>(result.workload()) >= run_.workloads_size()) continue;
        const v1::Workload& workload = run_.workloads(static_cast<int>(result.workload()));
        bool here = false;
        bool elsewhere = false;
        for (const v1::TargetInspection& target : self->inspection.targets()) {
          const std::string& name = data_.run.job.targets(static_cast<int>(target.target())).name();
          if (std::find(workload.targets().begin(), workload.targets().end(), name) == workload.targets().end()) continue;
          (target.device_name() == device ? here : elsewhere) = true;
          if (target.device_name() == device) out->set_identity(target.device_identity());
        }
        if (!here) continue;
        sees = true;
        if (elsewhere) input->attributable = false;
        if (!workload.direct()) input->buffered = true;
        blocks.insert(static_cast<double>(workload.block_size_bytes()));
        for (const auto* list : {&result.ramp(), &result.measured(), &result.drain()}) {
          for (const v1::OperationCounters& c : *list) {
            (c.kind() == v1::OPERATION_KIND_READ ? input->engine_read_bytes : input->engine_write_bytes) += static_cast<double>(c.bytes());
          }
        }
      }
      if (sees) out->add_hosts(self->host);
    }
    if (blocks.size() == 1) input->block_bytes = *blocks.begin();
  }

  void AddDevices() {
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      const storage::RunWorker* self = WorkerOf(worker.worker_index);
      std::map<std::string, std::pair<v1::DeviceSample, double>> measured;  // by name: sums, seconds
      std::map<std::string, CrossCheckInput> inputs;
      for (const v1::IntervalSample& interval : worker.intervals) {
        for (const v1::DeviceSample& d : interval.devices()) {
          CrossCheckInput& input = inputs[d.name()];
          input.device_read_bytes += static_cast<double>(d.read_bytes());
          input.device_write_bytes += static_cast<double>(d.write_bytes());
          input.device_reads += static_cast<double>(d.reads());
          input.device_writes += static_cast<double>(d.writes());
          if (Measured(interval)) AddDeviceSample(d, interval, &measured[d.name()]);
        }
      }
      for (auto& [name, input] : inputs) {
        v1::DeviceReport* out = report_.add_devices();
        out->set_name(name);
        FillDevice(measured[name].first, measured[name].second, out);
        if (self != nullptr) EngineBytes(self->boot_id, name, &input, out);
        out->set_engine_read_bytes(input.engine_read_bytes);
        out->set_engine_write_bytes(input.engine_write_bytes);
        out->set_device_read_bytes(input.device_read_bytes);
        out->set_device_write_bytes(input.device_write_bytes);
        *out->mutable_cross_check() = CrossCheckOf(input);
      }
    }
  }

  static void AddDeviceSample(const v1::DeviceSample& d, const v1::IntervalSample& interval, std::pair<v1::DeviceSample, double>* sums) {
    v1::DeviceSample& s = sums->first;
    s.set_reads(s.reads() + d.reads());
    s.set_read_merges(s.read_merges() + d.read_merges());
    s.set_read_bytes(s.read_bytes() + d.read_bytes());
    s.set_read_time_ms(s.read_time_ms() + d.read_time_ms());
    s.set_writes(s.writes() + d.writes());
    s.set_write_merges(s.write_merges() + d.write_merges());
    s.set_write_bytes(s.write_bytes() + d.write_bytes());
    s.set_write_time_ms(s.write_time_ms() + d.write_time_ms());
    s.set_flushes(s.flushes() + d.flushes());
    s.set_busy_time_ms(s.busy_time_ms() + d.busy_time_ms());
    s.set_queue_time_ms(s.queue_time_ms() + d.queue_time_ms());
    sums->second += static_cast<double>(interval.end_ns() - interval.begin_ns()) / 1e9;
  }

  static void FillDevice(const v1::DeviceSample& d, double seconds, v1::DeviceReport* out) {
    if (seconds <= 0) return;
    const auto per = [](uint64_t sum, uint64_t count) { return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count); };
    out->set_reads_per_second(static_cast<double>(d.reads()) / seconds);
    out->set_read_bytes_per_second(static_cast<double>(d.read_bytes()) / seconds);
    out->set_read_merges_per_second(static_cast<double>(d.read_merges()) / seconds);
    out->set_read_await_ms(per(d.read_time_ms(), d.reads()));
    out->set_read_request_bytes(per(d.read_bytes(), d.reads()));
    out->set_writes_per_second(static_cast<double>(d.writes()) / seconds);
    out->set_write_bytes_per_second(static_cast<double>(d.write_bytes()) / seconds);
    out->set_write_merges_per_second(static_cast<double>(d.write_merges()) / seconds);
    out->set_write_await_ms(per(d.write_time_ms(), d.writes()));
    out->set_write_request_bytes(per(d.write_bytes(), d.writes()));
    out->set_flushes_per_second(static_cast<double>(d.flushes()) / seconds);
    out->set_queue_size(static_cast<double>(d.queue_time_ms()) / 1000 / seconds);
    out->set_busy_ratio(std::min(1.0, static_cast<double>(d.busy_time_ms()) / 1000 / seconds));
  }

  void AddKernels() {
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      const storage::RunWorker* self = WorkerOf(worker.worker_index);
      v1::KernelReport kernel;
      double seconds = 0;
      double switches = 0;
      double busy = 0;
      double interrupts = 0;
      int samples = 0;
      for (const v1::IntervalSample& interval : worker.intervals) {
        if (!interval.has_host() || !Measured(interval)) continue;
        const v1::HostSample& h = interval.host();
        const double length = static_cast<double>(interval.end_ns() - interval.begin_ns()) / 1e9;
        seconds += length;
        ++samples;
        switches += static_cast<double>(h.context_switches());
        interrupts += static_cast<double>(h.interrupts());
        busy += static_cast<double>(h.cpu_busy_ns());
        kernel.set_user_ratio(kernel.user_ratio() + h.user_ratio() * length);
        kernel.set_system_ratio(kernel.system_ratio() + h.system_ratio() * length);
        kernel.set_iowait_ratio(kernel.iowait_ratio() + h.iowait_ratio() * length);
        kernel.set_steal_ratio(kernel.steal_ratio() + h.steal_ratio() * length);
        kernel.set_idle_ratio(kernel.idle_ratio() + h.idle_ratio() * length);
        kernel.set_run_queue_avg(kernel.run_queue_avg() + h.run_queue());
        kernel.set_blocked_avg(kernel.blocked_avg() + h.blocked());
      }
      if (seconds <= 0 || self == nullptr) continue;
      kernel.set_boot_id(self->boot_id);
      kernel.set_user_ratio(kernel.user_ratio() / seconds);
      kernel.set_system_ratio(kernel.system_ratio() / seconds);
      kernel.set_iowait_ratio(kernel.iowait_ratio() / seconds);
      kernel.set_steal_ratio(kernel.steal_ratio() / seconds);
      kernel.set_idle_ratio(kernel.idle_ratio() / seconds);
      kernel.set_run_queue_avg(kernel.run_queue_avg() / samples);
      kernel.set_blocked_avg(kernel.blocked_avg() / samples);
      kernel.set_context_switches_per_second(switches / seconds);
      kernel.set_interrupts_per_second(interrupts / seconds);
      double operations = 0;
      for (const storage::WorkerPhaseData& other : phase_.workers) {
        const storage::RunWorker* neighbour = WorkerOf(other.worker_index);
        if (neighbour == nullptr || neighbour->boot_id != self->boot_id) continue;
        kernel.add_hosts(neighbour->host);
        for (const v1::IntervalSample& interval : other.intervals) {
          if (Measured(interval)) operations += static_cast<double>(SumsOf(interval).operations);
        }
      }
      if (operations > 0) {
        kernel.set_context_switches_per_io(switches / operations);
        kernel.set_cpu_ns_per_io(busy / operations);
      }
      *report_.add_kernels() = std::move(kernel);
    }
  }

  // First I/Os, mapped to the controller's clock.
  void AddSkew() {
    int64_t first = 0;
    int64_t last = 0;
    int64_t first_bound = 0;
    int64_t last_bound = 0;
    bool any = false;
    const auto start_of = [](const storage::WorkerPhaseData& w) { return w.result.first_io_ns() - w.clock.offset_ns; };
    for (const storage::WorkerPhaseData& worker : phase_.workers) {
      if (!worker.has_result || worker.result.first_io_ns() == 0) continue;
      const int64_t start = start_of(worker);
      if (!any || start < first) {
        first = start;
        first_bound = worker.clock.bound_ns;
      }
      if (!any || start > last) {
        last = start;
        last_bound = worker.clock.bound_ns;
      }
      any = true;
    }
    if (!any) return;
    report_.set_start_skew_ns(static_cast<double>(last - first));
    report_.set_start_skew_bound_ns(static_cast<double>(first_bound + last_bound));
    for (v1::HostReport& host : *report_.mutable_hosts()) {
      for (const storage::WorkerPhaseData& worker : phase_.workers) {
        if (worker.worker_index != host.worker_index() || worker.result.first_io_ns() == 0) continue;
        host.set_start_offset_ns(static_cast<double>(start_of(worker) - first));
        host.set_start_bound_ns(static_cast<double>(worker.clock.bound_ns));
      }
    }
    const double limit = static_cast<double>(run_.start_skew_limit_ns());
    if (limit > 0 && report_.start_skew_ns() > limit) {
      report_.set_invalid(true);
      report_.add_remarks(absl::StrFormat("INVALID: the start skew of %s is beyond the job's limit of %s", common::FormatDuration(report_.start_skew_ns()), common::FormatDuration(limit)));
    }
  }

  void AddRemarks() {
    if (report_.workers_lost() != 0) {
      report_.add_remarks(absl::StrFormat("DEGRADED: results of %d of %d hosts; figures are of those alone", report_.workers() - report_.workers_lost(), report_.workers()));
    }
    if (common_.empty() && report_.total().operations() > 0) {
      report_.add_remarks("no whole interval in which all hosts ran: rates are over the whole phase");
    }
    for (const v1::KernelReport& kernel : report_.kernels()) {
      if (kernel.user_ratio() + kernel.system_ratio() + kernel.steal_ratio() < 0.9) continue;
      report_.add_remarks(absl::StrFormat("the processors of %s were busy for %.0f %% of the time: the load generator, not the storage, may be what was measured",
                                          kernel.hosts(0), 100 * (kernel.user_ratio() + kernel.system_ratio() + kernel.steal_ratio())));
    }
    if (report_.devices().empty() && report_.total().operations() > 0) {
      report_.add_remarks("no block device underneath: memory or a network was measured, and nothing could be cross-checked");
    }
    for (const v1::DeviceReport& device : report_.devices()) {
      if (device.cross_check().verdict() == v1::CrossCheck::PAGE_CACHE) report_.add_remarks(absl::StrCat(device.name(), ": ", device.cross_check().reason()));
    }
    if (report_.total().errors() > 0) report_.add_remarks(absl::StrFormat("%.0f I/Os failed; they are in no rate and no latency", report_.total().errors()));
    if (report_.total().short_transfers() > 0) report_.add_remarks(absl::StrFormat("%.0f I/Os moved fewer bytes than asked for", report_.total().short_transfers()));
  }

  const storage::RunData& data_;
  const storage::PhaseData& phase_;
  const v1::RunPhase& run_;
  v1::PhaseReport report_;
  std::set<uint32_t> common_;
  double window_seconds_ = 0;
};

v1::PhaseReport BuildFilePhase(const storage::PhaseData& phase) {
  v1::PhaseReport report;
  report.set_workers(static_cast<uint32_t>(phase.workers.size()));
  for (const storage::WorkerPhaseData& worker : phase.workers) {
    if (!worker.has_result) report.set_workers_lost(report.workers_lost() + 1);
    report.set_files_made(report.files_made() + static_cast<double>(worker.result.files_made()));
    report.set_files_reused(report.files_reused() + static_cast<double>(worker.result.files_reused()));
    report.set_files_removed(report.files_removed() + static_cast<double>(worker.result.files_removed()));
    report.set_bytes_written(report.bytes_written() + static_cast<double>(worker.result.bytes_written()));
    const double seconds = static_cast<double>(worker.result.end_ns() - worker.result.go_ns()) / 1e9;
    if (worker.result.go_ns() != 0) report.set_duration_seconds(std::max(report.duration_seconds(), seconds));
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
    declared += probe.expectations_size();
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
    v1::PhaseReport built = phase.phase.kind == "run" && known ? PhaseBuilder(data, phase).Build() : BuildFilePhase(phase);
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
