#include "controller/analysis/observed_figures.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "controller/analysis/figure_table.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using measure::Unit;
using DeviceFigures = v1::DeviceReport;
using HostFigures = v1::KernelReport;

template <auto kHas, auto kGet>
std::optional<double> OfDevice(const DeviceFigures& device) {
  return (device.*kHas)() ? std::optional<double>((device.*kGet)()) : std::nullopt;
}

// Reports have waits in milliseconds, comparisons have all times in nanoseconds.
template <auto kHas, auto kGet>
std::optional<double> WaitOf(const DeviceFigures& device) {
  return (device.*kHas)() ? std::optional<double>(1e6 * (device.*kGet)()) : std::nullopt;
}

template <auto kHas, auto kGet>
std::optional<double> OfKernel(const HostFigures& kernel) {
  return (kernel.*kHas)() ? std::optional<double>((kernel.*kGet)()) : std::nullopt;
}

constexpr char kRequestRate[] = "requests_per_second";
constexpr char kByteRate[] = "throughput";
constexpr char kRequestSize[] = "request_size";
constexpr char kAwait[] = "await";

}  // namespace

const ObservedFigureKind kObservedFigures[] = {
    {"read", kRequestRate, Unit::kPerSecond,
     &OfDevice<&DeviceFigures::has_reads_per_second, &DeviceFigures::reads_per_second>, nullptr},
    {"read", kByteRate, Unit::kBytesPerSecond,
     &OfDevice<&DeviceFigures::has_read_bytes_per_second, &DeviceFigures::read_bytes_per_second>,
     nullptr},
    {"read", kRequestSize, Unit::kBytes,
     &OfDevice<&DeviceFigures::has_read_request_bytes, &DeviceFigures::read_request_bytes>,
     nullptr},
    {"read", kAwait, Unit::kNanoseconds,
     &WaitOf<&DeviceFigures::has_read_await_ms, &DeviceFigures::read_await_ms>, nullptr},
    {"write", kRequestRate, Unit::kPerSecond,
     &OfDevice<&DeviceFigures::has_writes_per_second, &DeviceFigures::writes_per_second>, nullptr},
    {"write", kByteRate, Unit::kBytesPerSecond,
     &OfDevice<&DeviceFigures::has_write_bytes_per_second, &DeviceFigures::write_bytes_per_second>,
     nullptr},
    {"write", kRequestSize, Unit::kBytes,
     &OfDevice<&DeviceFigures::has_write_request_bytes, &DeviceFigures::write_request_bytes>,
     nullptr},
    {"write", kAwait, Unit::kNanoseconds,
     &WaitOf<&DeviceFigures::has_write_await_ms, &DeviceFigures::write_await_ms>, nullptr},
    {"discard", kRequestRate, Unit::kPerSecond,
     &OfDevice<&DeviceFigures::has_discards_per_second, &DeviceFigures::discards_per_second>,
     nullptr},
    {"discard", kByteRate, Unit::kBytesPerSecond,
     &OfDevice<&DeviceFigures::has_discard_bytes_per_second,
               &DeviceFigures::discard_bytes_per_second>,
     nullptr},
    {"discard", kAwait, Unit::kNanoseconds,
     &WaitOf<&DeviceFigures::has_discard_await_ms, &DeviceFigures::discard_await_ms>, nullptr},
    {"flush", kRequestRate, Unit::kPerSecond,
     &OfDevice<&DeviceFigures::has_flushes_per_second, &DeviceFigures::flushes_per_second>,
     nullptr},
    {"flush", kAwait, Unit::kNanoseconds,
     &WaitOf<&DeviceFigures::has_flush_await_ms, &DeviceFigures::flush_await_ms>, nullptr},
    {"", "queue", Unit::kRequests,
     &OfDevice<&DeviceFigures::has_queue_size, &DeviceFigures::queue_size>, nullptr},
    {"", "busy", Unit::kRatio,
     &OfDevice<&DeviceFigures::has_busy_ratio, &DeviceFigures::busy_ratio>, nullptr},
    {"", "cpu", Unit::kRatio, nullptr,
     [](const HostFigures& kernel) {
       return std::optional(kernel.user_ratio() + kernel.system_ratio());
     }},
    {"", "iowait", Unit::kRatio, nullptr,
     [](const HostFigures& kernel) { return std::optional(kernel.iowait_ratio()); }},
    {"", "context_switches_per_second", Unit::kPerSecond, nullptr,
     &OfKernel<&HostFigures::has_context_switches_per_second,
               &HostFigures::context_switches_per_second>},
    {"", "interrupts_per_second", Unit::kPerSecond, nullptr,
     &OfKernel<&HostFigures::has_interrupts_per_second, &HostFigures::interrupts_per_second>},
};
const int kObservedFigureCount = static_cast<int>(std::size(kObservedFigures));

v1::DeviceReport AsDevice(const v1::ObservedFigures& total) {
  v1::DeviceReport device;
  device.set_reads_per_second(total.reads_per_second());
  device.set_writes_per_second(total.writes_per_second());
  device.set_read_bytes_per_second(total.read_bytes_per_second());
  device.set_write_bytes_per_second(total.write_bytes_per_second());
  if (total.has_read_request_bytes()) device.set_read_request_bytes(total.read_request_bytes());
  if (total.has_write_request_bytes()) device.set_write_request_bytes(total.write_request_bytes());
  if (total.has_read_await_ms()) device.set_read_await_ms(total.read_await_ms());
  if (total.has_write_await_ms()) device.set_write_await_ms(total.write_await_ms());
  device.set_queue_size(total.queue_size());
  // The busiest device's.
  device.set_busy_ratio(total.busy_ratio());
  return device;
}

void AddObservedPhases(const v1::Report& report, v1::RunFigures* run) {
  for (const v1::PhaseReport& phase : report.phases()) {
    // A phase that did not end has the figures of a part of its time.
    if (!phase.has_observed() || !measure::Is(phase, measure::PhaseState::kDone)) continue;
    v1::ObservedPhaseOfRun* observed = run->add_observed();
    observed->set_name(phase.name());
    observed->set_index(phase.index());
    observed->set_invalid(phase.invalid());
    *observed->mutable_devices() = phase.devices();
    *observed->mutable_kernels() = phase.kernels();
    *observed->mutable_total() = phase.observed().total();
  }
}

std::string WhyNotObserved(const v1::RunFigures& run) {
  if (run.observed().empty()) return "it has no observe phase";
  if (const std::string why = WhyUnfit(run); !why.empty()) return why;
  for (const v1::ObservedPhaseOfRun& phase : run.observed()) {
    if (phase.invalid()) return absl::StrCat("its phase ", phase.name(), " is invalid");
  }
  return "";
}

}  // namespace lockstep::controller
