#include "controller/plan/direct_blocks.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/plan/workload_problems.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

// Validation refuses every job with direct I/O of other sizes than multiples of this.
constexpr uint32_t kSmallestLogicalBlock = 512;

// A field of a workload that decides where its I/Os begin or end.
struct BlockField {
  std::string name;
  int64_t bytes = 0;
};

std::vector<BlockField> FieldsOf(const v1::Workload& w) {
  std::vector<BlockField> fields;
  if (w.block_sizes().empty() && w.access().empty()) {
    fields.push_back({"block_size", w.block_size_bytes()});
  }
  for (const v1::WeightedBlockSize& line : w.block_sizes()) {
    fields.push_back({"block_sizes", line.block_size_bytes()});
  }
  for (const v1::AccessLine& line : w.access()) {
    if (line.has_weight() && line.weight() == 0) continue;  // never drawn
    fields.push_back({"access.block_size", line.block_size_bytes()});
    fields.push_back({"access.align", line.align_bytes()});
  }
  // I/Os begin at multiples of the sum, and follow each other from there.
  const v1::Sequential& sequential = w.pattern().sequential();
  fields.push_back({sequential.skip_after_bytes() == 0 ? "pattern.sequential.skip"
                                                       : "pattern.sequential.skip_after plus skip",
                    v1::SkipSpanOf(sequential)});
  fields.push_back({"region.offset", w.region().offset_bytes()});
  // The first thread's region begins at the offset itself.
  if (w.threads() > 1) fields.push_back({"region.increment", w.region().increment_bytes()});
  return fields;
}

void AddProblemsOfTarget(const v1::JobSpec& job, const v1::Workload& w,
                         const v1::TargetInspection& found, const AddProblem& add) {
  const v1::Target& target = job.targets(static_cast<int>(found.target()));
  const uint32_t block = found.direct_block_bytes();
  for (const BlockField& field : FieldsOf(w)) {
    if (field.bytes % block == 0) continue;
    const std::string of =
        target.has_iscsi() ? "LUN" : absl::StrCat("device (", found.device_name(), ")");
    add(absl::StrCat(", target ", target.name(), ": ", field.name, " ",
                     common::FormatSize(static_cast<double>(field.bytes)),
                     " is no multiple of the logical block of its ", of, ", ",
                     common::FormatSize(block), ", which direct I/O requires; use a multiple",
                     target.has_iscsi() ? "" : ", or set direct: false"));
  }
}

}  // namespace

std::vector<std::string> DirectBlockProblems(const v1::JobSpec& job,
                                             const std::vector<PlanWorker>& workers) {
  const bool has_large_blocks =
      std::any_of(workers.begin(), workers.end(), [](const PlanWorker& worker) {
        const auto& targets = worker.inspection.targets();
        return std::any_of(targets.begin(), targets.end(), [](const v1::TargetInspection& found) {
          return found.direct_block_bytes() > kSmallestLogicalBlock;
        });
      });
  if (!has_large_blocks) return {};
  const auto any_phase = [](const v1::PhaseSpec&) { return true; };
  const auto find = [&](const WorkloadOnWorker& on, const AddProblem& add) {
    const auto& names = on.workload.targets();
    for (const v1::TargetInspection& found : on.worker.inspection.targets()) {
      if (found.target() >= static_cast<uint32_t>(job.targets_size())) continue;
      const v1::Target& target = job.targets(static_cast<int>(found.target()));
      if (found.direct_block_bytes() == 0 || !(on.workload.direct() || target.has_iscsi()) ||
          std::find(names.begin(), names.end(), target.name()) == names.end()) {
        continue;
      }
      AddProblemsOfTarget(job, on.workload, found, add);
    }
  };
  return ProblemsOnWorkers(job, workers, any_phase, find);
}

}  // namespace lockstep::controller
