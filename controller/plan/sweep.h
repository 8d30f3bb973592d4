#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"
#include "proto/job.pb.h"

namespace lockstep::controller {

// A point of a sweep: a value for each axis, and which repetition of it this is (from 0). Pure, all
// of it: the same sweep gives the same points and steps in the same order.
struct SweepPoint {
  std::vector<std::pair<std::string, std::string>> values;  // field and text, by axis
  std::vector<uint32_t> indices;                            // of the values on their axes
  uint32_t repeat = 0;
};

// How often its points run in all; 0 where axes of a zip differ in length.
uint64_t PointsOf(const v1::Sweep& sweep);
// The point that runs as the `run`-th, from 0, where each has new files or none.
SweepPoint PointAt(const v1::Sweep& sweep, uint32_t run);

// A phase that the sweep becomes. A sweep over file targets lays files out and removes them, too.
enum class StepKind : uint8_t { kPrepare, kRun, kCleanup };
struct SweepStep {
  StepKind kind = StepKind::kRun;
  // The point of the step. If several points share their files, the step that prepares them or
  // cleans up has the first of these.
  SweepPoint point;
};
// How many phases it becomes; 0 as PointsOf().
uint64_t StepsOf(const v1::Sweep& sweep);
SweepStep StepAt(const v1::Sweep& sweep, uint32_t step);
// The same for many steps: those of a repetition are made once. The sweep must outlive it.
class SweepSteps {
 public:
  explicit SweepSteps(const v1::Sweep& sweep);
  // Valid until the next call.
  const SweepStep& At(uint32_t step);

 private:
  const v1::Sweep& sweep_;
  const uint64_t once_;
  uint64_t repeat_ = UINT64_MAX;
  std::vector<SweepStep> steps_;  // of that repetition
};
// Whether all points have run equally often after this step.
bool EndsRepetition(const v1::Sweep& sweep, uint32_t step);

// Whether the axis varies a target: `targets.NAME.FIELD`.
bool IsOfTarget(const v1::SweepAxis& axis);
// The field that the axis varies; null if it names none.
const google::protobuf::FieldDescriptor* FieldOf(const v1::SweepAxis& axis);
// The name that the target of the job file has at this point.
std::string TargetAt(const std::string& name, const SweepPoint& point);
// Those names of the file targets that the sweep prepares, over all points, each once.
std::vector<std::string> FileVariantsOf(const v1::Sweep& sweep);

// "block_size=4KiB queue_depth=16"; of repetitions after the first with "(2)" at the end.
std::string NameOf(const SweepPoint& point);

// Sets the fields in the phase, and names the targets that it has at this point. INVALID_ARGUMENT
// when there is no such field, or the text is no value of it.
absl::Status Apply(const SweepPoint& point, v1::RunPhase* run);
absl::Status Apply(const std::string& field, const std::string& text, v1::RunPhase* run);
// Sets a field that IsOfTarget() names in that target.
absl::Status ApplyToTarget(const std::string& field, const std::string& text, v1::Target* target);

}  // namespace lockstep::controller
