#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "proto/result.pb.h"

namespace lockstep::worker {

// Counters of proc_pid_io(5) of a process, its ended threads and children that it waited for.
struct ProcessIoCounters {
  uint64_t read_bytes = 0;       // that it had fetched from storage
  uint64_t write_bytes = 0;      // that it dirtied in the page cache, or wrote past it
  uint64_t cancelled_bytes = 0;  // of dirty pages that were truncated before they reached storage
};
// Nothing where the text is empty: the kernel does not count, or does not tell this process.
std::optional<ProcessIoCounters> ParseProcessIo(const std::string& io);

// The I/O that this process itself requested from storage while a load ran. It does not contain the
// bytes of its load that the page cache served. Not thread-safe.
class OwnIo {
 public:
  void Begin();
  // Sets own_read_bytes and own_write_bytes to what has happened since Begin(), or neither where
  // the kernel does not count.
  void End(v1::PhaseResult* result) const;

 private:
  std::optional<ProcessIoCounters> begin_;
};

}  // namespace lockstep::worker
