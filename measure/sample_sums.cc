#include "measure/sample_sums.h"

#include <algorithm>

namespace lockstep::measure {
namespace {

double SampleSeconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

}  // namespace

void AddPaths(const v1::DeviceSample& d, const v1::IntervalSample& sample, bool is_silent,
              PathSums* sums) {
  // A device without multipath reports no paths at all. A device that had paths before and reports
  // none has lost all of them, which counts.
  if (d.paths() == 0 && sums->paths == 0) return;
  if (sums->paths == 0) sums->min_running = d.paths();
  sums->paths = std::max(sums->paths, d.paths());
  sums->min_running = std::min(sums->min_running, d.paths_running());
  if (d.paths_running() >= sums->paths) return;
  if (sums->seconds == 0) sums->begin_seconds = SampleSeconds(sample.begin_ns());
  sums->end_seconds = SampleSeconds(sample.end_ns());
  const double seconds = SampleSeconds(sample.end_ns() - sample.begin_ns());
  sums->seconds += seconds;
  if (is_silent) sums->silent_seconds += seconds;
}

void AddDevice(const v1::DeviceSample& d, bool measured, double seconds, DeviceSums* sums) {
  sums->nested = d.nested();
  sums->read_bytes += static_cast<double>(d.read_bytes());
  sums->write_bytes += static_cast<double>(d.write_bytes());
  sums->reads += static_cast<double>(d.reads());
  sums->writes += static_cast<double>(d.writes());
  sums->discard_bytes += static_cast<double>(d.discard_bytes());
  if (!measured) return;
  sums->measured_seconds += seconds;
  v1::DeviceSample& s = sums->measured;
  s.set_reads(s.reads() + d.reads());
  s.set_read_merges(s.read_merges() + d.read_merges());
  s.set_read_bytes(s.read_bytes() + d.read_bytes());
  s.set_read_time_ms(s.read_time_ms() + d.read_time_ms());
  s.set_writes(s.writes() + d.writes());
  s.set_write_merges(s.write_merges() + d.write_merges());
  s.set_write_bytes(s.write_bytes() + d.write_bytes());
  s.set_write_time_ms(s.write_time_ms() + d.write_time_ms());
  s.set_discards(s.discards() + d.discards());
  s.set_discard_merges(s.discard_merges() + d.discard_merges());
  s.set_discard_bytes(s.discard_bytes() + d.discard_bytes());
  s.set_discard_time_ms(s.discard_time_ms() + d.discard_time_ms());
  s.set_flushes(s.flushes() + d.flushes());
  s.set_flush_time_ms(s.flush_time_ms() + d.flush_time_ms());
  s.set_busy_time_ms(s.busy_time_ms() + d.busy_time_ms());
  s.set_queue_time_ms(s.queue_time_ms() + d.queue_time_ms());
}

namespace {

void AddMemory(const v1::HostSample& h, double seconds, HostSums* sums) {
  const auto bytes = [](uint64_t value) { return static_cast<double>(value); };
  // A kernel, or the worker of an earlier version, may not tell a figure. As 0 it would lower the
  // mean of the samples that have it.
  if (h.has_free_bytes()) sums->free.Add(bytes(h.free_bytes()), 1);
  if (h.has_dirty_bytes()) sums->dirty.Add(bytes(h.dirty_bytes()), 1);
  sums->dirty_max = std::max(sums->dirty_max, bytes(h.dirty_bytes()));
  if (h.has_swap_used_bytes()) sums->swap_used.Add(bytes(h.swap_used_bytes()), 1);
  if (h.has_buffers_bytes()) sums->buffers.Add(bytes(h.buffers_bytes()), 1);
  if (h.has_cached_bytes() && h.has_slab_reclaimable_bytes()) {
    sums->cache.Add(bytes(h.cached_bytes()) + bytes(h.slab_reclaimable_bytes()), 1);
  }
  if (h.has_writeback_bytes()) sums->writeback.Add(bytes(h.writeback_bytes()), 1);
  if (h.has_page_bytes()) {
    sums->swap_in.Add(bytes(h.swap_in_pages()) * h.page_bytes(), seconds);
    sums->swap_out.Add(bytes(h.swap_out_pages()) * h.page_bytes(), seconds);
  }
  if (h.has_block_in_bytes()) sums->block_in.Add(bytes(h.block_in_bytes()), seconds);
  if (h.has_block_out_bytes()) sums->block_out.Add(bytes(h.block_out_bytes()), seconds);
}

}  // namespace

void AddHost(const v1::HostSample& h, double seconds, HostSums* sums) {
  AddMemory(h, seconds, sums);
  ++sums->samples;
  sums->seconds += seconds;
  sums->context_switches += static_cast<double>(h.context_switches());
  sums->interrupts += static_cast<double>(h.interrupts());
  sums->cpu_busy_ns += static_cast<double>(h.cpu_busy_ns());
  // Shares count by time: the last interval may have another length.
  sums->user += h.user_ratio() * seconds;
  sums->system += h.system_ratio() * seconds;
  sums->iowait += h.iowait_ratio() * seconds;
  sums->steal += h.steal_ratio() * seconds;
  sums->idle += h.idle_ratio() * seconds;
  // These are states at an instant, not shares of the interval: they are averaged over the samples.
  sums->run_queue += h.run_queue();
  sums->blocked += h.blocked();
}

double ThrottledSeconds(const v1::QuotaSample& quota, double seconds) {
  const auto throttled = static_cast<double>(quota.throttled_periods());
  if (quota.period_ns() > 0) return throttled * static_cast<double>(quota.period_ns()) / 1e9;
  // The length of a period is not known: the periods that were counted stand for the interval.
  return quota.periods() > 0 ? seconds * throttled / static_cast<double>(quota.periods()) : 0;
}

void AddQuota(const v1::QuotaSample& quota, bool measured, double seconds, QuotaSums* sums) {
  ++sums->samples;
  if (!measured || !(seconds > 0)) return;
  const double throttled = ThrottledSeconds(quota, seconds);
  sums->throttled_seconds += throttled;
  sums->max_ratio = std::max(sums->max_ratio, std::min(1.0, throttled / seconds));
}

void AddInterface(const v1::InterfaceSample& i, double seconds, InterfaceSums* sums) {
  sums->seconds += seconds;
  sums->received_bytes += static_cast<double>(i.received_bytes());
  sums->received_packets += static_cast<double>(i.received_packets());
  sums->received_drops += static_cast<double>(i.received_drops());
  sums->received_errors += static_cast<double>(i.received_errors());
  sums->sent_bytes += static_cast<double>(i.sent_bytes());
  sums->sent_packets += static_cast<double>(i.sent_packets());
  sums->sent_drops += static_cast<double>(i.sent_drops());
  sums->sent_errors += static_cast<double>(i.sent_errors());
  const auto add = [&](uint64_t bits_per_second, KnownSum* capacity) {
    capacity->Add(static_cast<double>(bits_per_second) * seconds, seconds);
  };
  if (i.has_receive_speed_bits_per_second()) {
    add(i.receive_speed_bits_per_second(), &sums->receive_capacity);
  }
  if (i.has_send_speed_bits_per_second()) {
    add(i.send_speed_bits_per_second(), &sums->send_capacity);
  }
}

void AddNfs(const v1::NfsSample& n, NfsSums* sums) {
  sums->operations += static_cast<double>(n.operations());
  sums->transmissions += static_cast<double>(n.transmissions());
  sums->timeouts += static_cast<double>(n.timeouts());
  sums->sent_bytes += static_cast<double>(n.sent_bytes());
  sums->received_bytes += static_cast<double>(n.received_bytes());
  sums->queue_time_ms += static_cast<double>(n.queue_time_ms());
  sums->round_trip_ms += static_cast<double>(n.round_trip_ms());
  sums->execution_ms += static_cast<double>(n.execution_ms());
}

}  // namespace lockstep::measure
