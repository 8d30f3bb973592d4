#pragma once

#include <cstdint>
#include <string>

#include "proto/job.pb.h"

namespace lockstep::controller {

// The facts about a phase's job that a report in sysbench's layout shows: from its fields, and from
// the label that a translated line of sysbench has (frontends/sysbench/sysbench.h).
struct SysbenchLook {
  // The phase is a line of sysbench, so it prints what sysbench prints, also for prepare and
  // cleanup.
  bool is_line = false;
  // The phase has one workload on files with one block size, which a preamble can describe.
  bool has_preamble = false;
  int percentile = 95;  // 0: none
  int64_t report_interval_seconds = 0;
  // A sync belongs to the write before it, and is no event.
  bool syncs_with_writes = false;
  // Events begin by a schedule (--rate), so that threads also wait between them.
  bool is_paced = false;
  uint64_t operations = 0;  // the limit of events; 0: none
  std::string preamble;     // from "Running the test" to "Threads started!"
  uint32_t files = 0;
  int64_t file_bytes = 0;
};
// `phase`: its name. `workers`: how many hosts had the workload. `job` is valid, its defaults
// filled in. Pure.
SysbenchLook SysbenchLookOf(const v1::JobSpec& job, const std::string& phase, uint32_t workers);

}  // namespace lockstep::controller
