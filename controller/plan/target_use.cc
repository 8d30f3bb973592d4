// Which targets a job writes, and which it lays out.

#include <map>
#include <string>
#include <vector>

#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/validate.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

// A phase of the job names the target that its sweep varies, which stands for the first variant.
// The points do the same with the others.
std::vector<TargetUse> WithVariants(const v1::JobSpec& job, std::vector<TargetUse> use) {
  std::map<std::string, TargetUse> first;
  for (size_t t = 0; t < use.size(); ++t) {
    const std::string& name = job.targets(static_cast<int>(t)).variant_of();
    if (!name.empty()) use[t] = first.emplace(name, use[t]).first->second;
  }
  return use;
}

}  // namespace

std::vector<TargetUse> UseOfTargets(const v1::JobSpec& job) {
  std::vector<TargetUse> use(static_cast<size_t>(job.targets_size()));
  const TargetIndex targets(job);
  const auto mark = [&](const auto& names, bool TargetUse::*what) {
    for (const std::string& name : names) {
      const int found = targets.Find(name);
      if (found >= 0) use[static_cast<size_t>(found)].*what = true;
    }
  };
  for (const v1::PhaseSpec& phase : job.phases()) {
    if (phase.has_precondition()) mark(phase.precondition().targets(), &TargetUse::written);
    if (phase.has_prepare()) mark(phase.prepare().targets(), &TargetUse::prepared);
    if (!phase.has_run()) continue;
    // A target counts as written if any point of the sweep writes it. No axis can set the list of
    // targets, so it is left out of the copies: the deciding thread calls this, and all runs wait.
    v1::JobSpec bare;
    *bare.add_phases() = phase;
    v1::RunPhase* run = bare.mutable_phases(0)->mutable_run();
    for (v1::Workload& w : *run->mutable_workloads()) w.clear_targets();
    std::vector<TargetUse> of_workloads(static_cast<size_t>(run->workloads_size()));
    ForEachStep(bare, [&](const v1::PhaseSpec& step) {
      if (!step.has_run()) return;
      for (size_t i = 0; i < of_workloads.size(); ++i) {
        const v1::Workload& w = step.run().workloads(static_cast<int>(i));
        of_workloads[i].written |= Writes(w);
        of_workloads[i].prepared |= w.create();
      }
    });
    for (size_t i = 0; i < of_workloads.size(); ++i) {
      const v1::Workload& w = phase.run().workloads(static_cast<int>(i));
      std::vector<std::string> names(w.targets().begin(), w.targets().end());
      if (w.has_copy()) names = {w.copy().to()};
      if (of_workloads[i].written) mark(names, &TargetUse::written);
      if (of_workloads[i].prepared) mark(names, &TargetUse::prepared);
    }
    mark(phase.run().sweep().prepare().targets(), &TargetUse::prepared);
  }
  return WithVariants(job, std::move(use));
}

}  // namespace lockstep::controller
