#include "controller/analysis/busy_processors.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"

namespace lockstep::controller {
namespace {

constexpr double kBusyProcessors = 0.9;
// A share of the processors' busy time: with less it was others who took them.
constexpr double kOwnShare = 0.5;

// The workers' share of the kernel's busy processor time.
std::optional<double> OwnShare(const PhaseView& view, const v1::KernelReport& kernel, double busy) {
  if (!view.HasMeasuredUsage() || kernel.workers().empty()) return std::nullopt;
  const double cpus = view.FactOf(kernel.workers(0), "cpu.count").value_or(0);
  double own = 0;
  double seconds = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    if (self == nullptr || self->boot_id != kernel.boot_id() || !worker.has_result) continue;
    own += static_cast<double>(worker.result.cpu_user_ns() + worker.result.cpu_system_ns()) / 1e9;
    seconds = std::max(seconds, view.series().Of(worker.worker_index).measured_seconds);
  }
  if (!(cpus > 0) || !(seconds > 0)) return std::nullopt;
  return own / (busy * cpus * seconds);
}

}  // namespace

ProcessorUse ProcessorUseOf(const PhaseView& view, const v1::KernelReport& kernel) {
  ProcessorUse use;
  // Stolen time counts as busy, because the load generator could not use it either.
  const double busy = kernel.user_ratio() + kernel.system_ratio() + kernel.steal_ratio();
  use.is_busy = busy >= kBusyProcessors;
  use.text = absl::StrFormat("the processors of %s were busy for %.0f %% of the time",
                             kernel.hosts().empty() ? "?" : kernel.hosts(0), 100 * busy);
  if (!use.is_busy) return use;
  const std::optional<double> own = OwnShare(view, kernel, busy);
  if (!own) return use;
  use.by = *own < kOwnShare ? ProcessorUse::By::kOthers : ProcessorUse::By::kWorkers;
  if (use.by == ProcessorUse::By::kOthers) {
    absl::StrAppendFormat(&use.text, ", %.0f %% of that with the load generator", 100 * *own);
  }
  return use;
}

std::string BusyProcessorsOf(const PhaseView& view, const v1::PhaseReport& report,
                             uint32_t worker) {
  for (const v1::KernelReport& kernel : report.kernels()) {
    const auto& workers = kernel.workers();
    if (std::find(workers.begin(), workers.end(), worker) == workers.end()) continue;
    const ProcessorUse use = ProcessorUseOf(view, kernel);
    return use.is_busy ? use.text : "";
  }
  return "";
}

}  // namespace lockstep::controller
