#include "measure/worker_rates.h"

#include <cstddef>

#include "measure/sample_sums.h"

namespace lockstep::measure {
namespace {

// Devices of one worker: those under its targets are few.
constexpr size_t kMaxDeviceSeries = 64;

void AppendTo(RateSeries* series, double rate, uint32_t step) {
  // A series that begins late takes over the step of the others, so that one step holds for all.
  while (series->step() < step) series->Thin();
  series->Append(rate);
}

}  // namespace

void WorkerRates::AppendDevices(const v1::IntervalSample& sample, double seconds, uint32_t step) {
  std::map<std::string, const v1::DeviceSample*> sampled;
  for (const v1::DeviceSample& device : sample.devices()) {
    sampled[device.name()] = &device;
    // Nothing is concluded from the series of a device whose bytes another one has.
    if (device.nested() || devices.contains(device.name()) || devices.size() >= kMaxDeviceSeries) {
      continue;
    }
    // A device that comes later has done nothing before.
    DeviceRates& late = devices[device.name()];
    for (uint32_t i = 0; i < intervals_; ++i) {
      for (RateSeries* series : {&late.bytes, &late.requests, &late.request_seconds}) {
        AppendTo(series, 0, step);
      }
    }
  }
  // A device that is missing in a sample gets a point of 0: all series of a worker are equally
  // long, and their points stand for the same intervals.
  for (auto& [name, rates] : devices) {
    const auto found = sampled.find(name);
    const v1::DeviceSample& d =
        found == sampled.end() ? v1::DeviceSample::default_instance() : *found->second;
    AppendTo(&rates.bytes, static_cast<double>(d.read_bytes() + d.write_bytes()) / seconds, step);
    AppendTo(&rates.requests, static_cast<double>(d.reads() + d.writes()) / seconds, step);
    AppendTo(&rates.request_seconds,
             static_cast<double>(d.read_time_ms() + d.write_time_ms()) / 1e3 / seconds, step);
  }
}

void WorkerRates::Append(const v1::IntervalSample& sample, const IoSums& ios,
                         double latency_seconds_sum, bool all, uint32_t step) {
  // PhaseSeries::AddUp() passes no interval without a length, so that the rates may divide by it.
  const double seconds = static_cast<double>(sample.end_ns() - sample.begin_ns()) / 1e9;
  AppendTo(&iops, static_cast<double>(ios.operations) / seconds, step);
  if (all) {
    AppendTo(&bytes, static_cast<double>(ios.bytes) / seconds, step);
    AppendTo(&latency_seconds, latency_seconds_sum / seconds, step);
    AppendTo(&steal_ratio, sample.host().steal_ratio(), step);
    AppendTo(&run_queue, sample.host().run_queue(), step);
    AppendTo(&throttled_ratio, ThrottledSeconds(sample.quota(), seconds) / seconds, step);
    AppendTo(&throttled_time,
             static_cast<double>(sample.quota().throttled_time_ns()) / 1e9 / seconds, step);
    AppendDevices(sample, seconds, step);
  }
  ++intervals_;
}

void WorkerRates::ThinTo(uint32_t step) {
  const auto thin = [step](RateSeries* series) {
    while (series->step() < step) series->Thin();
  };
  for (RateSeries* series : {&iops, &bytes, &latency_seconds, &steal_ratio, &run_queue,
                             &throttled_ratio, &throttled_time}) {
    thin(series);
  }
  for (auto& [name, rates] : devices) {
    for (RateSeries* series : {&rates.bytes, &rates.requests, &rates.request_seconds}) thin(series);
  }
}

}  // namespace lockstep::measure
