#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "proto/worker.pb.h"
#include "worker/load/load_part.h"
#include "worker/load/write_follower.h"
#include "worker/verify/block_checks.h"

namespace lockstep::worker {

// What a load's verification rests on: the write log of other workers, which it fetches before the
// load and follows while the load runs, and this worker's own writes, which it reports. Used by the
// load's own thread; what it points to outlives it.
class LoadVerification {
 public:
  LoadVerification(const v1::Assignment* assignment, const LoadEnvironment* environment)
      : assignment_(*assignment),
        environment_(*environment),
        clock_(environment->clock),
        follower_(environment->write_log, environment->clock) {}

  // Fetches what others have written to the blocks that the workload reads or writes, and follows
  // what they write to them from Begin() on.
  absl::Status Prepare(const v1::WorkloadAssignment& workload,
                       const std::vector<v1::TargetAssignment>& targets, const OpenTargets& opened);
  absl::Status Begin() { return follower_.Begin(); }
  void End() { follower_.End(); }
  // Before the load: blocks that are about to be written without headers, or in blocks of another
  // size, are not known to the write log any more.
  void ReportOverwritten(const LoadParts& parts);
  // What was written to blocks with headers since the last report, once a second from `go_ns` on.
  void ReportWrites(int64_t go_ns);
  // The rest of it, and blocks whose writes were in flight at the end: their content is not known.
  void ReportLastWrites(int64_t go_ns);
  // Of blocks that are not what was written: adds who wrote what is missing, and when.
  void ExplainMissing(const LoadParts& parts);

 private:
  using Missing = std::multimap<std::pair<uint64_t, uint64_t>, BlockChecks::Missing>;

  absl::Status LoadExpected(const v1::WorkloadAssignment& assignment,
                            const std::vector<v1::TargetAssignment>& targets,
                            const OpenTargets& opened);
  absl::Status FollowWrites(const v1::WorkloadAssignment& assignment, const OpenTargets& opened);
  const v1::WorkloadAssignment* AssignmentOf(const LoadPart& part) const;
  // By its name on the target; empty when it is not known.
  std::string WriterOf(const LoadPart& part, const v1::WriteLogPart& told) const;
  static void ExplainFrom(const v1::WriteLogPart& told, const std::string& writer_name,
                          Missing* missing);
  void Report(int64_t go_ns, bool in_flight);

  const v1::Assignment& assignment_;
  const LoadEnvironment& environment_;
  const common::Clock* const clock_;
  WriteFollower follower_;
  int64_t reported_ns_ = 0;
};

}  // namespace lockstep::worker
