#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/core/run_machine.h"

// Drivers that the tests of the run machine walk it with.

namespace lockstep::controller {

inline RunPlan Plan(uint32_t workers, LossPolicy loss = LossPolicy::kAbort,
                    uint32_t min_hosts = 1) {
  RunPlan plan;
  for (uint32_t i = 0; i < workers; ++i) plan.hosts.push_back("node" + std::to_string(i));
  plan.on_worker_loss = loss;
  plan.min_hosts = min_hosts;
  plan.arm_deadline_ns = 1000;
  plan.stop_deadline_ns = 1000;
  return plan;
}

// A job of three phases, planned one after the other.
class Planner {
 public:
  static PhasePlan Phase(size_t number) {
    const PhasePlan phases[] = {
        {.name = "prepare", .kind = PhaseKind::kPrepare, .run_deadline_ns = 1000},
        {.name = "mix", .kind = PhaseKind::kRun, .run_deadline_ns = 1000},
        {.name = "cleanup", .kind = PhaseKind::kCleanup, .run_deadline_ns = 1000, .last = true}};
    return phases[number];
  }
  explicit Planner(size_t next = 0) : next_(next) {}
  event::Planned Answer(const action::PlanNext& asked) {
    while (asked.cleanup_only && next_ < 2) ++next_;
    if (next_ == 3) return {};
    return {Phase(next_++), ""};
  }

 private:
  size_t next_;
};

template <typename A>
const A* Find(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (const A* found = std::get_if<A>(&action)) return found;
  }
  return nullptr;
}

// Walks the machine to a point of a phase.
class Driver {
 public:
  explicit Driver(RunPlan plan, ResumePoint from = {})
      : planner_(from.reached == ResumePoint::Reached::kNothing ? 0 : from.phase + 1),
        machine_(std::move(plan), Planned(std::move(from))) {
    Do(event::Begin{});
  }
  // Passes the event on and collects the actions; the next phase is planned at once.
  const std::vector<Action>& Do(const Event& event) {
    last_ = machine_.Handle(event);
    while (const auto* asked = Find<action::PlanNext>(last_)) {
      const event::Planned planned = planner_.Answer(*asked);
      last_.erase(last_.begin() + (IndexOf(asked)));
      for (Action& action : machine_.Handle(planned)) last_.push_back(std::move(action));
    }
    return last_;
  }
  void ToArming() { Do(event::PhaseRecorded{}); }
  void ToCommitting() {
    ToArming();
    for (uint32_t w : std::set<uint32_t>(machine_.members())) Do(event::Armed{w});
  }
  void ToRunning() {
    ToCommitting();
    Do(event::GoCommitted{});
  }
  void Complete() {
    ToRunning();
    for (uint32_t w : std::set<uint32_t>(machine_.members())) Deliver(w, "");
    Do(event::PhaseClosed{});
  }
  // The worker's result is stored, and it says that it does nothing any more.
  const std::vector<Action>& Deliver(uint32_t worker, const std::string& error) {
    Do(event::Idle{.worker = worker, .this_phase = true});
    return Do(event::ResultStored{worker, error});
  }
  RunMachine& machine() { return machine_; }
  const std::vector<Action>& last() const { return last_; }

 private:
  static ResumePoint Planned(ResumePoint from) {
    from.plan = Planner::Phase(from.phase);
    return from;
  }
  ptrdiff_t IndexOf(const action::PlanNext* asked) const {
    return std::find_if(
               last_.begin(), last_.end(),
               [&](const Action& a) { return std::get_if<action::PlanNext>(&a) == asked; }) -
           last_.begin();
  }
  Planner planner_;
  RunMachine machine_;
  std::vector<Action> last_;
};

}  // namespace lockstep::controller
