#pragma once

#include <cstdint>
#include <vector>

#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {

// The working sets of jobs that write copies (dedupe_mode=working_set). Each clone has a set in
// fio, or a part of one set of all jobs. Here the blocks of all sets are one set: there are as many
// of them, with as many copies.
class WorkingSets {
 public:
  // A workload of `clones` clones over all hosts, each of `bytes`. Says where its number of blocks
  // comes from; null if the job has no working set. `workload` outlives Join().
  const Origin* Add(const SectionReader& reader, const Job& job, int64_t bytes, double clones,
                    v1::Workload* workload);
  // After the last one: gives those that share a set the blocks of all.
  void Join();

 private:
  std::vector<v1::Workload*> shared_;
  bool has_own_ = false;
};

}  // namespace lockstep::frontends::fio
