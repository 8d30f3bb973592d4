#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/fleet/fleet_link.h"
#include "controller/runs/loop.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

// Queries every attached worker for its block devices and answers after a few seconds at the latest
// with what has come in. One query of the workers at a time serves all callers. Workers that are
// lost before they answer are left out. Used only on the loop's deciding thread.
class DeviceQueries {
 public:
  enum class Kind {
    // Workers look at their devices; at most once a second.
    kInspect,
    // Only what the kernels say, at this moment.
    kKernelOnly,
    // Workers look at their devices, at this moment.
    kFreshInspect,
  };
  using Done = std::function<void(const v1::DevicesReply&)>;
  DeviceQueries(Loop* loop, Kind kind) : loop_(loop), kind_(kind) {}
  void Start(FleetLink* fleet) { fleet_ = fleet; }
  // False, and nothing done, when too many wait already.
  bool Query(Done done);
  // Makes the last answer stale.
  void Renew() { fresh_ = false; }
  void OnAnswer(const std::string& worker_id, const v1::DeviceList& list);
  void OnLost(const std::string& worker_id);
  // Answers what is asked with what there is.
  void Drop();

 private:
  void Finish(uint64_t id);

  // Questions of different kinds never have the same number.
  uint64_t NextId() {
    constexpr uint64_t kKinds = 3;
    return made_ = (made_ / kKinds + 1) * kKinds + static_cast<uint64_t>(kind_);
  }

  Loop* const loop_;
  const Kind kind_;
  FleetLink* fleet_ = nullptr;
  uint64_t made_ = 0;          // the query that is under way, or the last
  std::vector<Done> waiting_;  // for its answer; empty when none is under way
  v1::DevicesReply reply_;
  std::map<std::string, int> missing_;  // worker → index in the reply
  std::set<int> lost_;                  // indexes in the reply
  bool fresh_ = false;                  // the reply is of a moment ago
};

}  // namespace lockstep::controller
