#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "frontends/sysbench/options.h"
#include "proto/job.pb.h"

namespace lockstep::frontends::sysbench {

// --file-test-mode.
struct Mode {
  const char* name;
  bool reads, writes, is_random;
};
// Null where the option is missing or wrong, which is an error then.
const Mode* ModeOf(const Line& line);

// The parts of the job that a `run` line becomes.
struct RunParts {
  v1::RunPhase* run;
  v1::JobSpec* job;       // for what is of the whole job
  int64_t file_size = 0;  // bytes
  uint32_t hosts = 1;
  // Says where a field comes from: of the run ("duration"), of its workload
  // ("workloads[0].threads").
  std::function<void(const std::string& field, const Origin& origin)> set;
};
void SetRun(const Line& line, const Mode& mode, const RunParts& parts);

}  // namespace lockstep::frontends::sysbench
