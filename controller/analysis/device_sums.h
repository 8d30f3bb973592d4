#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/analysis/phase_view.h"
#include "proto/observed.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Devices added up, by their own counters.
class DeviceSum {
 public:
  void Add(const v1::DeviceReport& d);
  void Add(const DeviceSum& other);
  uint32_t devices() const { return devices_; }
  double iops() const { return reads_ + writes_; }
  double bytes() const { return read_bytes_ + write_bytes_; }
  v1::ObservedFigures Figures() const;

 private:
  uint32_t devices_ = 0;
  double reads_ = 0, writes_ = 0;
  double read_bytes_ = 0, write_bytes_ = 0;
  double read_ms_ = 0, write_ms_ = 0;  // of waiting, in a second
  double queue_ = 0, busy_ = 0;
  std::string busiest_;
};

// A device as one host sees it.
struct DeviceOnHost {
  DeviceSum sum;
  std::string name, identity;
  std::vector<std::string> hosts;  // several if they share a kernel
  double engine_iops = 0;
  bool agrees = true;  // the cross-check, where one was made
};

// A phase's devices by DeviceKey(), host by host. The paths of a LUN have its identity, and so has
// the multipath device that is built on them. Only those count that sums over devices include.
class DevicesByKey {
 public:
  // `host`: any name that devices of one host have in common.
  void Add(const std::string& host, const std::string& key, const v1::DeviceReport& d);
  std::map<std::string, std::vector<DeviceOnHost>> Take() const;

 private:
  struct Both {
    DeviceOnHost plain, nested;
  };
  std::map<std::pair<std::string, std::string>, Both> devices_;  // by key and host
};

// Which devices of an observe phase: kAskedFor leaves out those that are sampled only because they
// lie underneath others.
enum class ObservedLayers { kAll, kAskedFor };

// The same of an observe phase, whose devices are in `report` already. Lost hosts are left out.
std::map<std::string, std::vector<DeviceOnHost>> ObservedByKey(const PhaseView& view,
                                                               const v1::PhaseReport& report,
                                                               ObservedLayers layers);

}  // namespace lockstep::controller
