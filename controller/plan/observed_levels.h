#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/plan/assign.h"
#include "proto/inspection.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// Which of the devices that an observe phase sees on one kernel are added up. Each byte is to count
// once, and at the level at which programs asked for it: a mirror writes each block to several
// disks. The rule:
//
// - The topmost devices count: those on which no other observed device is built.
// - If a device underneath was asked for, too, and is in use itself, by a file system on one of its
//   partitions or by swap space, it counts in place of those above it, whose requests are among its
//   own. That holds only if each of those lies on one device after the other. A device over several
//   ones (a mirror, a stripe, a multipath device) keeps its place: its bytes and those of its parts
//   differ. The other bytes of its parts are then in no sum.
class ObservedLevels {
 public:
  // Workers of one kernel may see different devices.
  void Add(const v1::ObservedDevices& seen);
  std::set<std::string> Counted() const;

 private:
  // Whether of any two devices underneath this one, one lies underneath the other.
  bool IsChain(const std::string& device) const;

  std::map<std::string, std::set<std::string>> beneath_;  // of each device
  std::set<std::string> in_use_;
};

// Says what each member samples in an observe phase: each device and each mount of a kernel by the
// first member that sees it. `observe`: ObserveIndexOf().
void AssignObserving(const SettledRun& run, int observe, std::vector<v1::Assignment>* assignments);

}  // namespace lockstep::controller
