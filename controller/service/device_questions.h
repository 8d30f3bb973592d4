#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "controller/fleet/fleet_link.h"
#include "controller/service/loop.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// Asks every attached worker for its block devices, once per kernel, and answers with what has come in after a few seconds at the latest.
// The loop's deciding thread's own.
class DeviceQuestions {
 public:
  using Done = std::function<void(v1::DevicesReply)>;
  explicit DeviceQuestions(Loop* loop) : loop_(loop) {}
  void Start(FleetLink* fleet) { fleet_ = fleet; }
  void Ask(Done done);
  void OnAnswer(const std::string& worker_id, const v1::DeviceList& list);
  // Answers what is asked with what there is.
  void Drop();

 private:
  struct Pending {
    v1::DevicesReply reply;
    std::map<std::string, int> missing;  // worker → place in the reply
    Done done;
  };
  void Finish(uint64_t id);

  Loop* const loop_;
  FleetLink* fleet_ = nullptr;
  std::map<uint64_t, Pending> pending_;
  uint64_t made_ = 0;
};

}  // namespace lockstep::controller
