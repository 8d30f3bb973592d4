#pragma once

#include <functional>
#include <map>
#include <string>

#include "controller/runs/loop.h"
#include "storage/store.h"

namespace lockstep::controller {

// Has the store record that runs have ended. Whatever it answers, it is asked again until it has
// done so: of a run whose end is not stored the history says that it is in progress. Used only on
// the loop's deciding thread.
class RunEnds {
 public:
  RunEnds(Loop* loop, storage::RunStore* store) : loop_(loop), store_(store) {}

  // `then` is called once the store has it; after StopTrying() also when it refuses.
  void Record(const std::string& run_id, const storage::RunEnd& end, std::function<void()> then);
  // Why the store has not taken the end of a run that has ended; empty of any other run.
  std::string ProblemOf(const std::string& run_id) const;
  // This controller ends: what is not stored is left to the next.
  void StopTrying() { is_trying_ = false; }

 private:
  Loop* const loop_;
  storage::RunStore* const store_;
  bool is_trying_ = true;
  std::map<std::string, std::string> problems_;  // by run
};

}  // namespace lockstep::controller
