#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/fleet/fleet_link.h"
#include "controller/service/loop.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// Asks every attached worker for its block devices, once per kernel, and answers after a few
// seconds at the latest with what has come in. One question to the workers at a time, at most one a
// second, serves all callers. Used only on the loop's deciding thread.
class DeviceQuestions {
 public:
  using Done = std::function<void(const v1::DevicesReply&)>;
  explicit DeviceQuestions(Loop* loop) : loop_(loop) {}
  void Start(FleetLink* fleet) { fleet_ = fleet; }
  // False, and nothing done, when too many wait already.
  bool Ask(Done done);
  void OnAnswer(const std::string& worker_id, const v1::DeviceList& list);
  // Answers what is asked with what there is.
  void Drop();

 private:
  void Finish(uint64_t id);

  Loop* const loop_;
  FleetLink* fleet_ = nullptr;
  uint64_t made_ = 0;          // the question that is under way, or the last
  std::vector<Done> waiting_;  // for its answer; empty when none is under way
  v1::DevicesReply reply_;
  std::map<std::string, int> missing_;  // worker → place in the reply
  bool fresh_ = false;                  // the reply is of a moment ago
};

}  // namespace lockstep::controller
