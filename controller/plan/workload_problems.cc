#include "controller/plan/workload_problems.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "controller/plan/next_phase.h"

namespace lockstep::controller {
namespace {

// The first ones tell what is wrong.
constexpr size_t kMaxProblems = 100;

}  // namespace

std::vector<std::string> ProblemsOnWorkers(
    const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
    absl::FunctionRef<bool(const v1::PhaseSpec&)> concerns,
    absl::FunctionRef<void(const WorkloadOnWorker&, const AddProblem&)> find) {
  std::map<std::string, std::string> found;  // by problem: the first host that has it
  const TargetIndex targets(job);
  const auto add_step = [&](const v1::PhaseSpec& step) {
    if (!IsLoad(step)) return;
    const v1::RunPhase load = LoadOf(job, step);
    for (const v1::Workload& w : load.workloads()) {
      const auto chosen = Select(w.hosts(), workers);
      if (!chosen.ok()) continue;  // said elsewhere
      for (const uint32_t index : *chosen) {
        if (found.size() >= kMaxProblems) return;
        find({w, workers[index], targets}, [&](const std::string& problem) {
          found.emplace(absl::StrCat(": phase ", step.name(), ", workload ", w.name(), problem),
                        workers[index].hello.host().name());
        });
      }
    }
  };
  for (const v1::PhaseSpec& phase : job.phases()) {
    if (!concerns(phase)) continue;
    v1::JobSpec bare;
    *bare.add_phases() = phase;
    ForEachStep(bare, add_step);
  }
  std::vector<std::string> problems;
  for (const auto& [problem, host] : found) problems.push_back(host + problem);
  return problems;
}

}  // namespace lockstep::controller
