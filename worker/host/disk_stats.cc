#include "worker/host/disk_stats.h"

#include <cstdint>
#include <sstream>

namespace lockstep::worker {
namespace {

// The unit is 512 bytes, whatever the device's logical block is (Documentation/block/stat.rst).
constexpr uint64_t kSectorBytes = 512;

uint64_t MillisecondsBetween(uint64_t earlier, uint64_t later) {
  // In 32 bits, so that a difference over one wrap is right.
  return static_cast<uint32_t>(later) - static_cast<uint32_t>(earlier) + uint64_t{0};
}

}  // namespace

std::map<std::string, v1::DeviceSample> ParseDiskStats(const std::string& text) {
  std::map<std::string, v1::DeviceSample> devices;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    uint32_t major = 0;
    uint32_t minor = 0;
    std::string name;
    if (!(fields >> major >> minor >> name)) continue;
    uint64_t value[17] = {};
    int count = 0;
    while (count < 17 && fields >> value[count]) ++count;
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
