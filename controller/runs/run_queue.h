#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/plan/selection.h"
#include "measure/run_data.h"

namespace lockstep::controller {

// Runs that wait for workers, oldest first. Not thread-safe.
class RunQueue {
 public:
  // `working`: marks a run as being worked on for as long as the returned object lives
  // (crash_marks.h).
  explicit RunQueue(std::function<std::shared_ptr<void>(const std::string& run_id)> working)
      : working_(std::move(working)) {}

  void Add(measure::RunRecord run) { runs_.push_back(std::move(run)); }
  // Puts back, at the front, a run that was taken and has to wait again.
  void AddFirst(measure::RunRecord run) { runs_.push_front(std::move(run)); }
  bool empty() const { return runs_.empty(); }
  size_t size() const { return runs_.size(); }
  bool Has(const std::string& run_id) const;
  // False when it is not here.
  bool Remove(const std::string& run_id);

  struct Ready {
    measure::RunRecord run;
    std::vector<PlanWorker> workers;
  };
  // Takes every run whose workers are all free. A job for all workers waits for the busy ones.
  // While `settling` it waits, too: workers of the previous controller may still come back, so that
  // it is not known yet who all are.
  std::vector<Ready> TakeReady(const std::vector<PlanWorker>& attached,
                               std::vector<PlanWorker> free, bool settling);

 private:
  std::function<std::shared_ptr<void>(const std::string& run_id)> working_;
  std::deque<measure::RunRecord> runs_;
};

}  // namespace lockstep::controller
