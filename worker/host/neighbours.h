#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "proto/result.pb.h"
#include "worker/host/control_groups.h"

namespace lockstep::worker {

// Fields of a process in proc_pid_stat(5).
struct ProgramStat {
  std::string name;
  uint32_t parent = 0;         // process id
  uint64_t child_faults = 0;   // of children that have ended and were waited for
  uint64_t started_ticks = 0;  // since the boot; with the process id it names one process
};
ProgramStat ParseProgramStat(const std::string& stat);

// Whether it is the kernel's worker of a loop device: what it reads and writes, somebody else has
// asked the loop device for, and is counted with them.
bool IsLoopWorker(const ProgramStat& program);

// A program's name for a person. `before`: as it was when the load began; no name if the program
// has begun since. `own_bytes`: of `bytes`, what its threads that still run have moved.
std::string ProgramName(const ProgramStat& before, const ProgramStat& now, uint64_t own_bytes,
                        uint64_t bytes);

// Measures the surroundings of this process while a load runs: other programs' I/O (/proc/PID/io),
// the quota of its control groups, its network's TCP counters. Not thread-safe.
class Neighbours {
 public:
  // Reads the counters as they are now. `with_programs`: also those of other programs, unless
  // `late` says that there is no time left; what they do is not known then. Some 20 µs for each.
  void Begin(bool with_programs, const std::function<bool()>& late);
  // Adds what has happened since. `load_seconds`: from T until now.
  void End(double load_seconds, v1::PhaseResult* result) const;

 private:
  struct Io {
    uint64_t read_bytes = 0, write_bytes = 0;
    ProgramStat stat;
  };
  using Programs = std::map<uint32_t, Io>;  // by process id
  static bool ReadPrograms(const std::function<bool()>& late, Programs* programs);

  bool knows_programs_ = false;
  Programs programs_;
  int64_t programs_ns_ = 0;  // when they were read
  std::map<std::string, QuotaPeriods> quotas_;
  uint64_t segments_ = 0, retransmits_ = 0;
};

// OutSegs and RetransSegs of /proc/net/snmp; zeros where there are none.
struct TcpCounters {
  uint64_t segments = 0, retransmits = 0;
};
TcpCounters ParseTcp(const std::string& snmp);

}  // namespace lockstep::worker
