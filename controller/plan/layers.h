#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "proto/worker.pb.h"

namespace lockstep::controller {

// The block devices underneath a target, each once, in the order of its layers.
struct TargetDevices {
  std::vector<std::string> top;  // none of them lies underneath another one
  // Underneath these, and devices that lie over one of these although nothing lies over them.
  std::vector<std::string> lower;
};
// Without layers, as of an older worker, TargetInspection::device_name alone is on top. The
// worker's numbers are not trusted: one that is out of order stands for no layer.
TargetDevices DevicesUnder(const v1::Inspection& inspection, const v1::TargetInspection& target);
// The first of these devices whose file the kernel caches; empty where none is.
std::string CachedDeviceAmong(const v1::Inspection& inspection, const TargetDevices& devices);

// The layer with this number, from 1; null where there is none.
const v1::StorageLayer* LayerOf(const v1::Inspection& inspection, uint32_t number);
// The layers underneath the one with this number that it may name: their numbers are smaller.
std::vector<uint32_t> PartsOf(const v1::Inspection& inspection, uint32_t number);
// The nearest devices among and underneath these layers, through file systems.
std::vector<uint32_t> NearestDevices(const v1::Inspection& inspection,
                                     const std::vector<uint32_t>& from);

// The devices of one kernel that a phase samples.
struct KernelDevices {
  std::map<std::string, std::set<std::string>> below;  // the devices directly underneath each
  std::set<std::string> tops;                          // of its targets

  // Adds those underneath a target.
  void Add(const v1::Inspection& inspection, const v1::TargetInspection& target);
  // Those whose figures add up: each byte passes one of them. They are the topmost devices of the
  // targets. One that lies over another one of them gives way to the devices underneath it.
  std::set<std::string> Counted() const;
};

}  // namespace lockstep::controller
