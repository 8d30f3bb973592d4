#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lockstep::worker {

// Notices that a device which is sampled by its name was detached, or that another one has got its
// name: the kernel's number of the attachment (diskseq, from Linux 5.15 on) is another one then.
// Devices without such a number are not watched. Not thread-safe.
class DeviceAttachments {
 public:
  // `names`: of whole disks, as they are now. `root` is where /sys is looked up.
  explicit DeviceAttachments(const std::set<std::string>& names, std::string root = "");
  // Those that are not what they were; each once.
  std::vector<std::string> TakeEnded();

 private:
  uint64_t SequenceOf(const std::string& name) const;

  const std::string root_;
  std::map<std::string, uint64_t> sequences_;  // by name
};

}  // namespace lockstep::worker
