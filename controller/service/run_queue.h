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
  // `working`: marks a run as being worked on while what is returned lives (crash_marks.h).
  explicit RunQueue(std::function<std::shared_ptr<void>(const std::string& run_id)> working)
      : working_(std::move(working)) {}

  void Add(measure::RunRecord run) { runs_.push_back(std::move(run)); }
  // In its old place: it was taken, and has to wait again.
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
  // Takes every run whose workers are all among the free ones. With all workers asked for, those
  // that are busy are waited for; and while `settling` (workers of the controller before this one
  // may still come back) nobody knows who all are.
  std::vector<Ready> TakeReady(const std::vector<PlanWorker>& attached,
                               std::vector<PlanWorker> free, bool settling);

 private:
  std::function<std::shared_ptr<void>(const std::string& run_id)> working_;
  std::deque<measure::RunRecord> runs_;
};

}  // namespace lockstep::controller
