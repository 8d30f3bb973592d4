// The guard's part about devices that a job names by what they are.

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "worker/host/block_devices.h"
#include "worker/host/guard.h"

namespace lockstep::worker {
namespace {

// Capacities are rounded: a drive that is sold as 3.84 TB has 3,840,755,982,336 bytes.
constexpr double kCapacityWithin = 0.01;
constexpr size_t kMaxShown = 8;

bool IsWanted(const v1::DeviceTarget& wanted, const v1::BlockDevice& device) {
  // A partition matches only by its own identity. It has its disk's model and serial, so that a
  // rule for disks would fit it, too.
  if (!device.disk_identity().empty() && wanted.identity().empty()) return false;
  if (!wanted.identity().empty() && wanted.identity() != device.identity()) return false;
  if (!wanted.serial().empty() && wanted.serial() != device.serial()) return false;
  if (!wanted.transport().empty() && wanted.transport() != device.transport()) return false;
  if (!wanted.model().empty() && fnmatch(wanted.model().c_str(), device.model().c_str(), 0) != 0) {
    return false;
  }
  const auto capacity = static_cast<double>(wanted.capacity_bytes());
  return capacity == 0 || std::abs(static_cast<double>(device.size_bytes()) - capacity) <=
                              kCapacityWithin * capacity;
}

std::string Describe(const v1::DeviceTarget& wanted) {
  std::vector<std::string> words;
  if (!wanted.identity().empty()) words.push_back("identity " + wanted.identity());
  if (!wanted.serial().empty()) words.push_back("serial " + wanted.serial());
  if (!wanted.model().empty()) words.push_back("model " + wanted.model());
  if (!wanted.transport().empty()) words.push_back("transport " + wanted.transport());
  if (wanted.capacity_bytes() != 0) {
    words.push_back("capacity " + common::FormatSize(static_cast<double>(wanted.capacity_bytes())));
  }
  return absl::StrJoin(words, ", ");
}

std::string List(const std::vector<const v1::BlockDevice*>& devices) {
  std::vector<std::string> words;
  for (const v1::BlockDevice* device : devices) {
    if (words.size() == kMaxShown) {
      words.push_back(absl::StrCat(devices.size() - kMaxShown, " more"));
      break;
    }
    std::string facts = common::FormatSize(static_cast<double>(device->size_bytes()));
    for (const std::string& fact :
         {device->model(), device->transport(),
          device->serial().empty() ? "" : "serial " + device->serial(), device->identity()}) {
      if (!fact.empty()) absl::StrAppend(&facts, ", ", fact);
    }
    words.push_back(absl::StrCat(device->path(), " (", facts, ")"));
  }
  return absl::StrJoin(words, "; ");
}

}  // namespace

absl::StatusOr<std::string> Guard::FindDevice(const v1::DeviceTarget& wanted) const {
  const std::vector<v1::BlockDevice> all = ThisKernel().List();
  std::vector<const v1::BlockDevice*> allowed;
  std::vector<const v1::BlockDevice*> matching;
  for (const v1::BlockDevice& device : all) {
    if (!Allows(device)) continue;
    allowed.push_back(&device);
    if (IsWanted(wanted, device)) matching.push_back(&device);
  }
  // A LUN is used by the device over all of its paths, not by one of these.
  std::set<std::string> mapped;
  for (const v1::BlockDevice* device : matching) {
    if (device->transport() == "multipath") mapped.insert(device->identity());
  }
  std::erase_if(matching, [&](const v1::BlockDevice* device) {
    return device->transport() != "multipath" && mapped.contains(device->identity());
  });
  if (matching.size() == 1) return matching.front()->path();
  if (matching.empty()) {
    return absl::NotFoundError(absl::StrCat("no device that this worker's --allow names has ",
                                            Describe(wanted), "; it names ",
                                            allowed.empty() ? "none that is here" : List(allowed)));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      matching.size(), " devices have ", Describe(wanted),
      ", so that nobody knows which is meant: ", List(matching), "; name one by its identity"));
}

}  // namespace lockstep::worker
