#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/stamp_record.h"
#include "proto/devices.pb.h"
#include "proto/inspection.pb.h"

namespace lockstep::controller {

// The stamps of the store: which count, and which were released. A worker knows that a stamp is
// whole and signed; whether it counts is decided here, by its number. Each device has one that
// counts at most: enrolling it anew, from whatever host, and releasing it end the others, so that
// somebody who saved these and writes them back has a device that is not enrolled. Not thread-safe.
class StampRegistry {
 public:
  // `stamps`: as Store::Stamps().
  explicit StampRegistry(const std::vector<measure::StampRecord>& stamps = {});

  // As the calls of Store.
  void Add(const std::vector<measure::StampRecord>& stamps);
  void End(const std::vector<std::string>& numbers, const std::string& by, int64_t at_wall_ns);

  // Why a stamp does not count, in words that go on from "its stamp"; empty for one that does.
  std::string WhyNot(const std::string& number) const;
  // The history of a device, by enrolling and releasing it, as a text to compare: another one after
  // each of these.
  std::string HistoryOf(const std::string& device_key) const;
  // The numbers of the device's stamps that count.
  std::vector<std::string> LiveOf(const std::string& device_key) const;

  // Devices whose stamps do not count are shown as not enrolled, with the reason.
  void Judge(v1::DevicesReply* fleet) const;
  // Targets on such devices are refused.
  void Judge(v1::Inspection* inspection) const;

 private:
  void Insert(const measure::StampRecord& stamp);

  std::map<std::string, measure::StampRecord> stamps_;  // by number
  std::map<std::string, std::set<std::string>> live_;   // by device key: numbers
  std::map<std::string, std::string> newest_;           // by device key: its last stamp
};

}  // namespace lockstep::controller
