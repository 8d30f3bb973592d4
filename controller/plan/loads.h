#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// prepare, run, …
std::string KindName(const v1::PhaseSpec& phase);

// Whether a phase is measured on the fleet between a common begin and end: run, precondition,
// verify, observe.
bool IsLoad(const v1::PhaseSpec& phase);
// The load of such a phase, as a run phase: a precondition is one workload that writes everything,
// a verify one that reads and checks everything, and an observe phase has no workload. Empty for
// other kinds. Defaults are filled in.
v1::RunPhase LoadOf(const v1::JobSpec& job, const v1::PhaseSpec& phase);

// Indices of the targets that such a load writes.
std::set<uint32_t> TargetsWrittenBy(const v1::JobSpec& job, const v1::PhaseSpec& phase);

// An interval in which a worker of such a load did nothing: its number, class and times alone.
v1::IntervalSample IdleInterval(uint32_t number, const v1::RunPhase& load, int64_t interval_ns);

// Sets the engine of workloads that name none, where it is not the default one: iscsi, where all
// targets are iSCSI LUNs. Before the defaults are filled in.
void ChooseEngines(v1::JobSpec* job);

// Names the targets of each copy, and fills in its order, mix and passes, which are not those of
// other workloads. Before the defaults are filled in.
void FillCopies(v1::JobSpec* job);

// Fills in the fields that a workload leaves out, as proto/load.proto says. `index` is its position
// in the phase.
void FillWorkload(const v1::JobSpec& job, int index, v1::Workload* workload);

// Whether a limit of its own (operations, bytes, passes, runtime) may end the workload before its
// phase.
bool HasOwnEnd(const v1::Workload& workload);
// The begins of the workloads that do not begin at T, by index, in nanoseconds from T.
std::map<uint32_t, int64_t> BeginsOf(const v1::RunPhase& load);

// Whether the job chooses what it writes.
bool ChoosesContent(const v1::Workload& workload);

// The longest pause that the job lets a thread make: its think time, or the delay of a line of its
// access pattern. 0 for a workload without pauses.
int64_t LongestThinkNs(const v1::Workload& workload);

// The largest and the smallest I/O.
int64_t LargestBlock(const v1::Workload& workload);
int64_t SmallestBlock(const v1::Workload& workload);

// The list of targets of a phase, where its kind has one; else null.
const google::protobuf::RepeatedPtrField<std::string>* TargetNames(const v1::PhaseSpec& phase);

// Index of the target of this name; -1 when there is none. Goes through all of them.
int FindTarget(const v1::JobSpec& job, const std::string& name);

// The same for many names of one job: made once, each found at once. If targets share a name, the
// first one; if a sweep varies a target, its first variant. The job must outlive it.
class TargetIndex {
 public:
  explicit TargetIndex(const v1::JobSpec& job);
  int Find(absl::string_view name) const;

 private:
  absl::flat_hash_map<absl::string_view, int> numbers_;
};

}  // namespace lockstep::controller
