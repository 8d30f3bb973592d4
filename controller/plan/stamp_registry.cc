#include "controller/plan/stamp_registry.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace lockstep::controller {

StampRegistry::StampRegistry(const std::vector<measure::StampRecord>& stamps) {
  for (const measure::StampRecord& stamp : stamps) Insert(stamp);
}

void StampRegistry::Insert(const measure::StampRecord& stamp) {
  stamps_[stamp.number] = stamp;
  // Store::Stamps() returns the records in the order of enrolment, so the last one stays.
  newest_[stamp.device_key] = stamp.number;
  if (stamp.ended_ns == 0) live_[stamp.device_key].insert(stamp.number);
}

void StampRegistry::Add(const std::vector<measure::StampRecord>& stamps) {
  for (const measure::StampRecord& stamp : stamps) {
    // A new enrolment ends every earlier stamp of the device, whichever host wrote it. Otherwise a
    // saved copy of an old stamp would enrol the device again when somebody writes it back.
    End(LiveOf(stamp.device_key), stamp.enrolled_by, stamp.enrolled_ns);
    Insert(stamp);
  }
}

void StampRegistry::End(const std::vector<std::string>& numbers, const std::string& by,
                        int64_t at_wall_ns) {
  for (const std::string& number : numbers) {
    const auto stamp = stamps_.find(number);
    // The first end is kept: WhyNot() tells who released the device.
    if (stamp == stamps_.end() || stamp->second.ended_ns != 0) continue;
    stamp->second.ended_by = by;
    stamp->second.ended_ns = at_wall_ns;
    live_[stamp->second.device_key].erase(number);
  }
}

std::string StampRegistry::WhyNot(const std::string& number) const {
  const auto stamp = stamps_.find(number);
  // The store has the number before a worker may write the stamp. A number that it does not know
  // proves nothing, even if the signature is valid.
  if (stamp == stamps_.end()) return "is not known to this controller's store";
  if (stamp->second.ended_ns == 0) return "";
  return absl::StrCat(
      "was released by ", stamp->second.ended_by, " at ",
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixNanos(stamp->second.ended_ns),
                       absl::UTCTimeZone()),
      " and written back since");
}

std::vector<std::string> StampRegistry::LiveOf(const std::string& device_key) const {
  const auto live = live_.find(device_key);
  if (live == live_.end()) return {};
  return {live->second.begin(), live->second.end()};
}

std::string StampRegistry::HistoryOf(const std::string& device_key) const {
  const auto newest = newest_.find(device_key);
  if (newest == newest_.end()) return "";
  return absl::StrCat(newest->second, " ended ", stamps_.at(newest->second).ended_ns);
}

void StampRegistry::Judge(v1::DevicesReply* fleet) const {
  for (v1::HostDevices& host : *fleet->mutable_hosts()) {
    for (v1::BlockDevice& device : *host.mutable_devices()) {
      if (device.stamp_number().empty()) continue;
      const std::string why = WhyNot(device.stamp_number());
      if (why.empty()) continue;
      device.clear_enrolled();
      // A reason that the worker found itself, a mount for example, is the stronger one and is
      // kept.
      if (device.in_use().empty()) device.set_in_use("carries a stamp that " + why);
    }
  }
}

void StampRegistry::Judge(v1::Inspection* inspection) const {
  for (v1::TargetInspection& found : *inspection->mutable_targets()) {
    // The worker's own refusal is kept: it names what the operator has to fix first.
    if (found.stamp_number().empty() || !found.refused().empty()) continue;
    const std::string why = WhyNot(found.stamp_number());
    if (why.empty()) continue;
    const std::string path = found.paths().empty() ? found.device_identity() : found.paths(0);
    found.set_refused(
        absl::StrCat(path, ": its stamp ", why,
                     ", so that what lies on it may be somebody's; enrol it (lockstep "
                     "devices enroll ",
                     path,
                     ") or take the stamp off (lockstep "
                     "devices release ",
                     path, ")"));
  }
}

}  // namespace lockstep::controller
