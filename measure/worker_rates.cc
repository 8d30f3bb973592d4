#include "measure/worker_rates.h"

#include <cstddef>
#include <limits>
#include <vector>

#include "measure/sample_sums.h"

namespace lockstep::measure {
namespace {

// Devices of one worker: those under its targets are few. Interfaces are fewer.
constexpr size_t kMaxDeviceSeries = 64;

void AppendTo(RateSeries* series, double rate, uint32_t step) {
  // A series that begins late takes over the step of the others, so that one step holds for all.
  while (series->step() < step) series->Thin();
  series->Append(rate);
}

std::vector<RateSeries*> SeriesOf(DeviceRates* rates) {
  return {&rates->bytes, &rates->requests, &rates->request_seconds};
}

std::vector<RateSeries*> SeriesOf(InterfaceRates* rates) {
  return {&rates->received.bits, &rates->received.capacity_bits, &rates->sent.bits,
          &rates->sent.capacity_bits};
}

// What comes later has done nothing before, as far as all intervals before arrived: in one that did
// not it may have begun.
void AppendEarlier(const std::vector<RateSeries*>& late, uint32_t intervals, bool all_arrived,
                   uint32_t step) {
  const double rate = all_arrived ? 0 : std::numeric_limits<double>::quiet_NaN();
  for (uint32_t i = 0; i < intervals; ++i) {
    for (RateSeries* series : late) AppendTo(series, rate, step);
  }
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
    AppendEarlier(SeriesOf(&devices[device.name()]), intervals_, all_arrived_, step);
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

void WorkerRates::AppendInterfaces(const v1::IntervalSample& sample, double seconds,
                                   uint32_t step) {
  std::map<std::string, const v1::InterfaceSample*> sampled;
  for (const v1::InterfaceSample& interface : sample.interfaces()) {
    sampled[interface.name()] = &interface;
    if (interfaces.contains(interface.name()) || interfaces.size() >= kMaxDeviceSeries) continue;
    AppendEarlier(SeriesOf(&interfaces[interface.name()]), intervals_, all_arrived_, step);
  }
  for (auto& [name, rates] : interfaces) {
    const auto found = sampled.find(name);
    const v1::InterfaceSample& i =
        found == sampled.end() ? v1::InterfaceSample::default_instance() : *found->second;
    const auto bits = [&](uint64_t bytes) { return 8 * static_cast<double>(bytes) / seconds; };
    AppendTo(&rates.received.bits, bits(i.received_bytes()), step);
    AppendTo(&rates.received.capacity_bits, static_cast<double>(i.receive_speed_bits_per_second()),
             step);
    AppendTo(&rates.sent.bits, bits(i.sent_bytes()), step);
    AppendTo(&rates.sent.capacity_bits, static_cast<double>(i.send_speed_bits_per_second()), step);
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
    AppendInterfaces(sample, seconds, step);
  }
  ++intervals_;
}

std::vector<RateSeries*> WorkerRates::OwnSeries() {
  return {&iops,      &bytes,           &latency_seconds, &steal_ratio,
          &run_queue, &throttled_ratio, &throttled_time};
}

void WorkerRates::AppendMissing(bool all, uint32_t step) {
  // Without a point of its own, all later points would stand too early, and would be added to
  // points of other workers that are of other times.
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  all_arrived_ = false;
  AppendTo(&iops, kUnknown, step);
  for (RateSeries* series : all ? OwnSeries() : std::vector<RateSeries*>()) {
    if (series != &iops) AppendTo(series, kUnknown, step);
  }
  for (auto& [name, rates] : devices) {
    for (RateSeries* series : SeriesOf(&rates)) AppendTo(series, kUnknown, step);
  }
  for (auto& [name, rates] : interfaces) {
    for (RateSeries* series : SeriesOf(&rates)) AppendTo(series, kUnknown, step);
  }
  ++intervals_;
}

void WorkerRates::ThinTo(uint32_t step) {
  const auto thin = [step](RateSeries* series) {
    while (series->step() < step) series->Thin();
  };
  for (RateSeries* series : OwnSeries()) thin(series);
  for (auto& [name, rates] : devices) {
    for (RateSeries* series : SeriesOf(&rates)) thin(series);
  }
  for (auto& [name, rates] : interfaces) {
    for (RateSeries* series : SeriesOf(&rates)) thin(series);
  }
}

}  // namespace lockstep::measure
