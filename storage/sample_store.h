#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/recording.h"
#include "measure/run_data.h"
#include "proto/result.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::storage {

// A batch that a worker delivered; the items are those from `first_sequence` on.
struct IngestBatch {
  v1::PhaseId phase;
  uint32_t worker_index = 0;
  uint64_t first_sequence = 0;
  std::vector<v1::DeliveryItem> items;
  int64_t go_wall_ns = 0;  // T by the controller's wall clock
};

// How much ReadIntervals() reads of an interval beside its counters: the histograms (to resume a
// phase in progress), the samples of devices and hosts (to make a report), or the histograms and
// the devices (to make a recording).
enum class IntervalDetail { kLatencies, kHosts, kTimeline };
using TakeInterval =
    std::function<absl::Status(uint32_t worker_index, const v1::IntervalSample& sample)>;

// A phase's last attempt, and the names of the run's hosts by worker index.
struct StoredPhase {
  measure::PhaseRecord phase;
  std::map<uint32_t, std::string> hosts;
};

// The samples of workers, interval by interval, and phases over time. A part of Store, whose
// contract holds: thread-safety, errors, retries.
class SampleStore {
 public:
  virtual ~SampleStore() = default;

  // Commits the batches in one transaction that moves each worker's cursor from first_sequence to
  // first_sequence + items. FAILED_PRECONDITION when a cursor is elsewhere or there is none:
  // nothing was stored then. After UNAVAILABLE, read Cursor() before sending again. If sending
  // fails again, read it once more: the first try may have come through in between.
  virtual absl::Status Ingest(const std::vector<IngestBatch>& batches) = 0;
  // Hands out what is stored of an attempt, in the order of the intervals, and of one interval in
  // the order of the workers; one at a time, whatever their number. An error of `take` ends it.
  virtual absl::Status ReadIntervals(const v1::PhaseId& phase, IntervalDetail detail,
                                     const TakeInterval& take) = 0;
  // Hands out the last writes of a run's workers to blocks with headers of the targets that `what`
  // names: attempt by attempt, and after each attempt the workers that were lost in it. An error of
  // `put` ends it. A row without runs means that the contents of blocks of other sizes are no
  // longer known; it comes before the other rows of its attempt. If `what` names a phase, only
  // those reports of its workers are handed out that `received` does not cover.
  using PutWriteLog = std::function<absl::Status(v1::WriteLogPart)>;
  virtual absl::Status ReadBlockWrites(const v1::WriteLogRequest& what, const PutWriteLog& put) = 0;
  // The next sequence number of a worker's delivery.
  virtual absl::StatusOr<uint64_t> Cursor(const v1::PhaseId& phase, uint32_t worker_index) = 0;

  // --- Timelines. ---
  // NOT_FOUND where the run has no such phase.
  virtual absl::StatusOr<StoredPhase> PhaseOf(const std::string& run_id, uint32_t phase) = 0;
  // The timeline of a phase's attempt, as it was when it ended. An earlier timeline is replaced.
  virtual absl::Status SaveTimeline(const v1::PhaseId& phase,
                                    const measure::Timeline& timeline) = 0;
  // NOT_FOUND where there is none.
  virtual absl::StatusOr<std::vector<measure::FleetPoint>> FleetTimeline(
      const v1::PhaseId& phase) = 0;
  virtual absl::StatusOr<measure::HostTable> HostTimeline(const v1::PhaseId& phase) = 0;
  // The run's phases whose last attempt has none, by number.
  virtual absl::StatusOr<std::set<uint32_t>> WithoutTimelines(const std::string& run_id) = 0;
};

}  // namespace lockstep::storage
