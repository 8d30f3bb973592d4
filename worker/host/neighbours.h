#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "proto/result.pb.h"
#include "worker/host/control_groups.h"

namespace lockstep::worker {

// What else goes on around this process while a load runs: other programs' I/O (/proc/PID/io), the
// quota of its control groups, its network's TCP counters. Not thread-safe.
class Neighbours {
 public:
  // Reads the counters as they are now. `with_programs`: also those of other programs, unless
  // `late` says that there is no time left; what they do is not known then. Some 20 µs for each.
  void Begin(bool with_programs, const std::function<bool()>& late);
  // Adds what has happened since.
  void End(v1::PhaseResult* result) const;

 private:
  struct Io {
    uint64_t read_bytes = 0, write_bytes = 0;
    uint32_t parent = 0;  // process id
  };
  using Programs = std::map<uint32_t, Io>;  // by process id
  static bool ReadPrograms(const std::function<bool()>& late, Programs* programs);

  bool knows_programs_ = false;
  Programs programs_;
  std::map<std::string, QuotaPeriods> quotas_;
  uint64_t segments_ = 0, retransmits_ = 0;
};

// OutSegs and RetransSegs of /proc/net/snmp; zeros where there are none.
struct TcpCounters {
  uint64_t segments = 0, retransmits = 0;
};
TcpCounters ParseTcp(const std::string& snmp);

}  // namespace lockstep::worker
