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

// The data for a load's verification. It fetches the write log of other workers before the load,
// follows it while the load runs, and reports this worker's own writes. The load's own thread uses
// it. The objects that it points to outlive it.
class LoadVerification {
 public:
  LoadVerification(const v1::Assignment* assignment, const LoadEnvironment* environment)
      : assignment_(*assignment),
        environment_(*environment),
        clock_(environment->clock),
        follower_(environment->write_log, environment->clock) {}

  // Fetches the writes of other workers to the blocks that the workload reads or writes. After
  // Begin() it follows their further writes.
  absl::Status Prepare(const v1::WorkloadAssignment& workload,
                       const std::vector<v1::TargetAssignment>& targets, const OpenTargets& opened);
  absl::Status Begin() { return follower_.Begin(); }
  void End() { follower_.End(); }
  // Before the load: reports the blocks that will be written without headers, or in blocks of
  // another size. The write log then drops them.
  void ReportOverwritten(const LoadParts& parts);
  // Reports the writes to blocks with headers since the last report, once a second after `go_ns`.
  void ReportWrites(int64_t go_ns);
  // Reports the remaining writes, and the blocks whose writes were in flight at the end, so that
  // their content is not known.
  void ReportLastWrites(int64_t go_ns);
  // For each missing write, adds to the mismatch which worker made it, and when.
  void ExplainMissing(const LoadParts& parts);

 private:
  using Missing = std::multimap<std::pair<uint64_t, uint64_t>, BlockChecks::Missing>;

  absl::Status LoadExpected(const v1::WorkloadAssignment& assignment,
                            const std::vector<v1::TargetAssignment>& targets,
                            const OpenTargets& opened);
  absl::Status FollowWrites(const v1::WorkloadAssignment& assignment, const OpenTargets& opened);
  const v1::WorkloadAssignment* AssignmentOf(const LoadPart& part) const;
  // The writer's name on the target. Empty if it is not known.
  std::string WriterOf(const LoadPart& part, const v1::WriteLogPart& written) const;
  static void ExplainFrom(const v1::WriteLogPart& written, const std::string& writer_name,
                          Missing* missing);
  void Report(int64_t go_ns, BlockLedger::Writes which);

  const v1::Assignment& assignment_;
  const LoadEnvironment& environment_;
  const common::Clock* const clock_;
  WriteFollower follower_;
  int64_t reported_ns_ = 0;
};

}  // namespace lockstep::worker
