#include "worker/host/disk_stats.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace lockstep::worker {
namespace {

// The unit is 512 bytes, whatever the device's logical block is (Documentation/block/stat.rst).
constexpr uint64_t kSectorBytes = 512;

uint64_t MillisecondsBetween(uint64_t earlier, uint64_t later) {
  // In 32 bits, so that a difference over one wrap is right.
  return static_cast<uint32_t>(later) - static_cast<uint32_t>(earlier) + uint64_t{0};
}

// The next word of a line, which loses it; empty at its end.
absl::string_view TakeWord(absl::string_view* line) {
  line->remove_prefix(std::min(line->size(), line->find_first_not_of(' ')));
  const absl::string_view word = line->substr(0, line->find(' '));
  line->remove_prefix(word.size());
  return word;
}

}  // namespace

std::map<std::string, v1::DeviceSample> ParseDiskStats(const std::string& text,
                                                       const std::set<std::string>* names) {
  std::map<std::string, v1::DeviceSample> devices;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint32_t major = 0;
    uint32_t minor = 0;
    if (!absl::SimpleAtoi(TakeWord(&line), &major) || !absl::SimpleAtoi(TakeWord(&line), &minor)) {
      continue;
    }
    const std::string name(TakeWord(&line));
    // Hosts of a SAN have thousands of lines. Most of the time would go into numbers that nobody
    // wants.
    if (name.empty() || (names != nullptr && !names->contains(name))) continue;
    uint64_t value[17] = {};
    int count = 0;
    while (count < 17 && absl::SimpleAtoi(TakeWord(&line), &value[count])) ++count;
    // There are 11 fields before Linux 4.18 (no discards) and 15 before 5.5 (no flushes).
    if (count < 11) continue;
    v1::DeviceSample& device = devices[name];
    device.set_name(name);
    device.set_major_number(major);
    device.set_minor_number(minor);
    device.set_reads(value[0]);
    device.set_read_merges(value[1]);
    device.set_read_bytes(value[2] * kSectorBytes);
    device.set_read_time_ms(value[3]);
    device.set_writes(value[4]);
    device.set_write_merges(value[5]);
    device.set_write_bytes(value[6] * kSectorBytes);
    device.set_write_time_ms(value[7]);
    // value[8], requests in flight, is not a counter.
    device.set_busy_time_ms(value[9]);
    device.set_queue_time_ms(value[10]);
    device.set_discards(value[11]);
    device.set_discard_merges(value[12]);
    device.set_discard_bytes(value[13] * kSectorBytes);
    device.set_discard_time_ms(value[14]);
    device.set_flushes(value[15]);
    device.set_flush_time_ms(value[16]);
  }
  return devices;
}

std::optional<v1::DeviceSample> Difference(const v1::DeviceSample& earlier,
                                           const v1::DeviceSample& later) {
  // The counters of a device that was attached anew begin at 0. Those of milliseconds are left out,
  // since they wrap at 32 bits.
  const bool backwards =
      later.reads() < earlier.reads() || later.read_merges() < earlier.read_merges() ||
      later.read_bytes() < earlier.read_bytes() || later.writes() < earlier.writes() ||
      later.write_merges() < earlier.write_merges() ||
      later.write_bytes() < earlier.write_bytes() || later.discards() < earlier.discards() ||
      later.discard_merges() < earlier.discard_merges() ||
      later.discard_bytes() < earlier.discard_bytes() || later.flushes() < earlier.flushes();
  if (backwards || later.major_number() != earlier.major_number() ||
      later.minor_number() != earlier.minor_number()) {
    return std::nullopt;
  }
  v1::DeviceSample d;
  d.set_name(later.name());
  d.set_major_number(later.major_number());
  d.set_minor_number(later.minor_number());
  d.set_reads(later.reads() - earlier.reads());
  d.set_read_merges(later.read_merges() - earlier.read_merges());
  d.set_read_bytes(later.read_bytes() - earlier.read_bytes());
  d.set_read_time_ms(MillisecondsBetween(earlier.read_time_ms(), later.read_time_ms()));
  d.set_writes(later.writes() - earlier.writes());
  d.set_write_merges(later.write_merges() - earlier.write_merges());
  d.set_write_bytes(later.write_bytes() - earlier.write_bytes());
  d.set_write_time_ms(MillisecondsBetween(earlier.write_time_ms(), later.write_time_ms()));
  d.set_discards(later.discards() - earlier.discards());
  d.set_discard_merges(later.discard_merges() - earlier.discard_merges());
  d.set_discard_bytes(later.discard_bytes() - earlier.discard_bytes());
  d.set_discard_time_ms(MillisecondsBetween(earlier.discard_time_ms(), later.discard_time_ms()));
  d.set_flushes(later.flushes() - earlier.flushes());
  d.set_flush_time_ms(MillisecondsBetween(earlier.flush_time_ms(), later.flush_time_ms()));
  d.set_busy_time_ms(MillisecondsBetween(earlier.busy_time_ms(), later.busy_time_ms()));
  d.set_queue_time_ms(MillisecondsBetween(earlier.queue_time_ms(), later.queue_time_ms()));
  return d;
}

}  // namespace lockstep::worker
