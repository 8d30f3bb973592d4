#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/run_data.h"
#include "proto/comparison.pb.h"
#include "proto/controller.pb.h"
#include "proto/report.pb.h"
#include "storage/sample_store.h"

namespace lockstep::storage {

// A note that is to be added. Its moment is an instant, or a time after the run's start; with
// neither, it is now.
struct NewNote {
  std::string author, message;
  std::optional<int64_t> at_wall_ns;
  std::optional<int64_t> after_start_ns;
};

// Runs that have ended, their reports, and copies of them. A part of Store, whose contract holds:
// thread-safety, errors, retries.
class HistoryStore {
 public:
  virtual ~HistoryStore() = default;

  // The full id of `last`, of a UUID or of the start of one. NOT_FOUND, or INVALID_ARGUMENT when
  // several match.
  virtual absl::StatusOr<std::string> ResolveRun(const std::string& text) = 0;
  virtual absl::StatusOr<measure::RunRecord> GetRun(const std::string& run_id) = 0;
  // Without its intervals.
  virtual absl::StatusOr<measure::RunData> LoadRun(const std::string& run_id) = 0;
  // Newest first.
  virtual absl::StatusOr<v1::HistoryReply> History(const v1::HistoryRequest& request) = 0;

  // Changes labels; the run's labels as they are then.
  virtual absl::StatusOr<v1::LabelsReply> SetLabels(const std::string& run_id,
                                                    const v1::LabelsRequest& change) = 0;
  // Adds a note to a run in any state, and returns it as an event of severity `note`.
  // RESOURCE_EXHAUSTED when the run has limits::kNotesOfARun already, INVALID_ARGUMENT for a time
  // that cannot be one of the run's, FAILED_PRECONDITION for one after a start that was not yet. A
  // call whose answer is lost may have added it.
  virtual absl::StatusOr<v1::EventReport> AddNote(const std::string& run_id,
                                                  const NewNote& note) = 0;
  // Removes a note, and returns it. `author`: only if it is this one's, else PERMISSION_DENIED.
  // NOT_FOUND where there is no such note. A call whose answer is lost may have removed it. No
  // other note of the run ever gets its number.
  virtual absl::StatusOr<v1::EventReport> RemoveNote(const std::string& run_id, uint32_t number,
                                                     const std::optional<std::string>& author) = 0;
  // The notes of a run, by their times.
  virtual absl::StatusOr<std::vector<v1::EventReport>> Notes(const std::string& run_id) = 0;
  // Removes runs that have ended, or their samples alone. A run whose
  // lost workers may still be writing stays. If a run's samples go, the result of `report_of` is
  // kept.
  using MakeReport = std::function<absl::StatusOr<v1::Report>(const std::string& run_id)>;
  virtual absl::StatusOr<v1::PruneReply> Prune(const v1::PruneRequest& request,
                                               const MakeReport& report_of) = 0;
  // The report of a run whose samples were pruned, as it was before; none of any other.
  virtual absl::StatusOr<std::optional<v1::Report>> KeptReport(const std::string& run_id) = 0;
  // All that is kept of a run that has ended, part by part, in one snapshot. An error of `put` ends
  // it. FAILED_PRECONDITION while the run is queued or in progress.
  using PutPart = std::function<absl::Status(v1::ArchivePart part)>;
  virtual absl::Status ExportRun(const std::string& run_id, const PutPart& put) = 0;
  // Stores such a run; `take` gives the parts, and none after the last. All or nothing: a part that
  // cannot be is INVALID_ARGUMENT, a run that is here already ALREADY_EXISTS, another version of
  // the tables FAILED_PRECONDITION. `check` sees what would be stored and may refuse it. Returns
  // the run's id.
  using TakePart = std::function<absl::StatusOr<std::optional<v1::ArchivePart>>()>;
  using ReadStored =
      std::function<absl::Status(const v1::PhaseId&, IntervalDetail, const TakeInterval&)>;
  using CheckRun = std::function<absl::Status(const measure::RunData&, const ReadStored&)>;
  virtual absl::StatusOr<std::string> ImportRun(const TakePart& take, const CheckRun& check) = 0;
  // The figures of these runs over their whole fleets, in the order of the ids; runs that are not
  // there are left out.
  virtual absl::StatusOr<std::vector<v1::RunFigures>> Figures(
      const std::vector<std::string>& run_ids) = 0;

  // --- Reports. ---
  // Keeps what the report of a run that has ended says, for questions that are answered without its
  // samples. An earlier report is replaced.
  virtual absl::Status SaveReport(const std::string& run_id, const v1::Report& report) = 0;
  // The report of this version that SaveReport() kept; none if there is none. Without series:
  // hosts' and the fleet's rates are in the timeline.
  virtual absl::StatusOr<std::optional<v1::Report>> SavedReport(const std::string& run_id) = 0;
  // Runs that have ended and of which that is not kept, or by an older version; newest first.
  virtual absl::StatusOr<std::vector<std::string>> WithoutFigures(uint32_t max_runs) = 0;
};

}  // namespace lockstep::storage
