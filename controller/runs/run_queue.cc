#include "controller/runs/run_queue.h"

#include <algorithm>

namespace lockstep::controller {

bool RunQueue::Has(const std::string& run_id) const {
  return std::any_of(runs_.begin(), runs_.end(),
                     [&](const measure::RunRecord& run) { return run.run_id == run_id; });
}

bool RunQueue::Remove(const std::string& run_id) {
  const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const measure::RunRecord& run) {
    return run.run_id == run_id;
  });
  if (found == runs_.end()) return false;
  runs_.erase(found);
  return true;
}

std::vector<RunQueue::Ready> RunQueue::TakeReady(const std::vector<PlanWorker>& attached,
                                                 std::vector<PlanWorker> free, bool settling) {
  std::vector<Ready> taken;
  for (auto run = runs_.begin(); run != runs_.end();) {
    // If the job makes this process crash here, the next one knows which run it was (crash_loop.h).
    const std::shared_ptr<void> mark = working_(run->run_id);
    const v1::HostSelector& hosts = run->job.hosts();
    const bool whoever_is_there = hosts.count() == 0 && hosts.names_size() == 0;
    const auto chosen = Select(hosts, free);
    const auto of_all = Select(hosts, attached);
    // A job for all hosts is ready once as many are free as are attached. For any other selector
    // the two sizes are equal.
    if ((settling && whoever_is_there) || !chosen.ok() || !of_all.ok() ||
        chosen->size() != of_all->size()) {
      ++run;
      continue;
    }
    Ready ready{std::move(*run), {}};
    for (uint32_t index : *chosen) ready.workers.push_back(free[index]);
    for (const PlanWorker& worker : ready.workers) {
      // A later run of the queue must not get the same workers in this round.
      free.erase(std::find_if(free.begin(), free.end(), [&](const PlanWorker& w) {
        return w.hello.worker_id() == worker.hello.worker_id();
      }));
    }
    run = runs_.erase(run);
    taken.push_back(std::move(ready));
  }
  return taken;
}

}  // namespace lockstep::controller
