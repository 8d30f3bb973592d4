#pragma once

#include <optional>
#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The bytes that engines moved on a device, and the device's own counters, over the same time.
struct CrossCheckInput {
  double engine_read_bytes = 0, engine_write_bytes = 0;
  double device_read_bytes = 0, device_write_bytes = 0;
  double device_reads = 0, device_writes = 0;  // requests
  double engine_trim_bytes = 0, device_discard_bytes = 0;
  // No file system is between them, which may keep what it is told to trim, or discard it later.
  bool trims_reach_device = true;
  double block_bytes = 0;    // of the workloads; 0 when they differ
  bool buffered = false;     // one of the workloads goes through the page cache
  bool attributable = true;  // every workload's I/O goes to this device alone
  std::string concurrent;    // other runs that used the device at the same time, in words
  // The bytes that other programs of the kernel moved at the same time and that can have been on
  // this device, and their names. They matter where the page cache may stand in for as many bytes
  // of the load.
  double others_read_bytes = 0, others_write_bytes = 0;
  std::string others;
  // The kernel's counts of the workers themselves, wherever the bytes went; absent where it did not
  // count on one of them. `own_is_here`: they did I/O nowhere else.
  std::optional<double> own_read_bytes, own_write_bytes;
  bool own_is_here = false;
  // What the load wrote through the page cache was written back by the end of the phase: its last
  // writes were synced.
  bool synced = false;
  std::string beyond;  // that the device's counters are of a longer time; empty: they are not
  std::string within;  // that they are of a shorter time; empty: they are not
  bool lost = false;   // a host was lost, and what it did is not among the engines' bytes
};

// Compares them and says why in one sentence.
v1::CrossCheck CrossCheckOf(const CrossCheckInput& input);

}  // namespace lockstep::controller
