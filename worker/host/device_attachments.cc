#include "worker/host/device_attachments.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace lockstep::worker {

DeviceAttachments::DeviceAttachments(const std::set<std::string>& names, std::string root)
    : root_(std::move(root)) {
  for (const std::string& name : names) {
    const uint64_t sequence = SequenceOf(name);
    if (sequence != 0) sequences_[name] = sequence;
  }
}

uint64_t DeviceAttachments::SequenceOf(const std::string& name) const {
  uint64_t sequence = 0;
  const std::string text =
      common::ReadTrimmed(absl::StrCat(root_, "/sys/class/block/", name, "/diskseq"));
  return absl::SimpleAtoi(text, &sequence) ? sequence : 0;
}

std::vector<std::string> DeviceAttachments::TakeEnded() {
  std::vector<std::string> ended;
  for (const auto& [name, sequence] : sequences_) {
    if (SequenceOf(name) != sequence) ended.push_back(name);
  }
  for (const std::string& name : ended) sequences_.erase(name);
  return ended;
}

}  // namespace lockstep::worker
