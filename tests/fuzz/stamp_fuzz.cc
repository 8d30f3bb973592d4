// Bytes that somebody writes over an enrolled device's stamps: changes to a stamp that counts, as
// triples of offset, length and value; or a whole first block. A stamp counts if nothing has
// changed, and only then.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "worker/host/device_stamp.h"

namespace {

using namespace lockstep::worker;

constexpr uint64_t kSize = 64 << 20;
constexpr char kIdentity[] = "naa.600";

struct Enrolled {
  std::shared_ptr<MarkKeys> keys = MarkKeys::Temporary();
  StampBytes bytes = *ComposeStamp({kIdentity, kSize, "17", "alice", "2026-11-24"}, *keys);
};

DeviceStamp::State Read(const Enrolled& enrolled, const StampBytes& bytes) {
  const auto stamp = ReadStamp(
      [&bytes](uint64_t offset, uint32_t length) -> absl::StatusOr<std::string> {
        const bool is_first = offset < kStampBytes;
        const std::string& end = is_first ? bytes.first : bytes.last;
        return end.substr(is_first ? offset : offset - (kSize - kStampBytes), length);
      },
      kIdentity, kSize, *enrolled.keys);
  if (!stamp.ok()) __builtin_trap();
  const bool is_broken = stamp->state == DeviceStamp::State::kBroken;
  if (is_broken == stamp->message.empty()) __builtin_trap();
  return stamp->state;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Enrolled enrolled;
  StampBytes bytes = enrolled.bytes;
  if (size > 0 && data[0] == 'w') {
    // A block of somebody's own, over and over, at one end or both.
    std::string block(reinterpret_cast<const char*>(data) + 1, size - 1);
    block.resize(4096, '\0');
    for (uint64_t at = 0; at < kStampBytes; at += block.size()) {
      bytes.first.replace(at, block.size(), block);
      if (size % 2 == 0) bytes.last.replace(at, block.size(), block);
    }
  }
  for (size_t at = 1; size > 0 && data[0] != 'w' && at + 6 <= size; at += 6) {
    uint32_t where = 0;
    memcpy(&where, data + at, sizeof where);
    std::string& end = (where & 1) != 0 ? bytes.first : bytes.last;
    const uint64_t from = (where >> 1) % kStampBytes;
    const uint64_t length = std::min<uint64_t>(data[at + 4], kStampBytes - from);
    end.replace(from, length, std::string(length, static_cast<char>(data[at + 5])));
  }
  const bool is_same = bytes.first == enrolled.bytes.first && bytes.last == enrolled.bytes.last;
  const bool counts = Read(enrolled, bytes) == DeviceStamp::State::kCounts;
  if (counts != is_same) __builtin_trap();
  return 0;
}
