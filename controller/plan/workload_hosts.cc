#include "controller/plan/workload_hosts.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

class WorkloadHosts {
 public:
  WorkloadHosts(const v1::JobSpec& job, const std::vector<PlanWorker>& workers)
      : job_(job), workers_(workers) {}

  // Each point of a sweep has hosts and a mix of its own, so that the job's phase does not tell.
  void AddStep(const v1::PhaseSpec& step) {
    const v1::RunPhase load = LoadOf(job_, step);
    std::map<std::string, std::set<uint32_t>> writers;  // by target
    std::set<uint32_t> all;
    bool is_known = true;
    for (const v1::Workload& w : load.workloads()) {
      const auto chosen = Select(w.hosts(), workers_);
      if (!chosen.ok()) {
        is_known = false;
        // Without this the phase would fail, after all that comes before it.
        Add(absl::StrCat("selector ", w.name(), w.hosts().ShortDebugString()),
            absl::StrCat("phase ", step.name(), ", workload ", w.name(), ": ",
                         std::string(chosen.status().message())));
        continue;
      }
      all.insert(chosen->begin(), chosen->end());
      for (const std::string& name : w.targets()) {
        if (v1::WritesTo(w, name)) writers[name].insert(chosen->begin(), chosen->end());
      }
    }
    // The expectation could only fail, at the end of the phase.
    if (is_known && load.expect().has_fairness() && all.size() == 1) {
      Add(absl::StrCat("fairness ", load.expect().fairness()),
          absl::StrCat("phase ", step.name(), ": expect.fairness cannot be met: it is over hosts, ",
                       "and only ", workers_[*all.begin()].hello.host().name(),
                       " runs the phase; let two or more hosts run it, or leave fairness out"));
    }
    for (const v1::Target& target : job_.targets()) {
      // Only an owned target promises its readers that at most one host writes it.
      if (target.sharing() != v1::SHARING_OWNED) continue;
      const size_t count = writers[target.name()].size();
      if (count <= 1) continue;
      Add(absl::StrCat("owned ", target.name()),
          absl::StrCat("phase ", step.name(), ": target ", target.name(), " is owned, and ", count,
                       " hosts write it; let one do it: hosts: {count: 1} in the workload that "
                       "writes"));
    }
  }

  std::vector<std::string> Take() { return std::move(problems_); }

 private:
  void Add(const std::string& key, std::string problem) {
    // A sweep of a thousand points would otherwise repeat the problem a thousand times.
    if (known_.insert(key).second) problems_.push_back(std::move(problem));
  }

  const v1::JobSpec& job_;
  const std::vector<PlanWorker>& workers_;
  std::set<std::string> known_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> HostProblems(const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers) {
  WorkloadHosts hosts(job, workers);
  ForEachStep(job, [&](const v1::PhaseSpec& step) { hosts.AddStep(step); });
  return hosts.Take();
}

}  // namespace lockstep::controller
