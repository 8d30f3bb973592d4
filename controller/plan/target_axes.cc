#include "controller/plan/target_axes.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/text.h"
#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/sweep.h"

namespace lockstep::controller {
namespace {

// As proto/job.proto says of JobSpec.targets.
constexpr size_t kMaxTargets = 256;
// Direct I/O needs blocks of the device, of at most 4 KiB.
constexpr int64_t kSmallestBlock = 4096;

class Expander {
 public:
  explicit Expander(v1::JobSpec* job) : job_(job) {}

  std::vector<v1::Problem> Run() {
    for (int p = 0; p < job_->phases_size(); ++p) {
      if (!job_->phases(p).run().has_sweep()) continue;
      AddPhase(p, job_->mutable_phases(p)->mutable_run());
    }
    if (problems_.empty()) ReplaceTargets();
    return std::move(problems_);
  }

 private:
  void Add(const std::string& path, const std::string& message) {
    v1::Problem& problem = problems_.emplace_back();
    problem.set_path(path);
    problem.set_message(message);
  }

  // The target that the axis varies. None where something is wrong, or the job is expanded already.
  const v1::Target* Varied(const std::string& path, const v1::SweepAxis& axis) {
    const std::vector<std::string> parts = absl::StrSplit(axis.field(), '.');
    const std::string name = parts.size() > 1 ? parts[1] : "";
    const std::string shown = common::Printable(name, 100);
    for (const v1::Target& target : job_->targets()) {
      if (target.variant_of() == name && !name.empty()) return nullptr;
    }
    const int index = FindTarget(*job_, name);
    if (name.empty() || index < 0) {
      Add(path + ".field",
          absl::StrCat("'", common::Printable(axis.field(), 200), "': no target is named '", shown,
                       "'; write targets.NAME.FIELD, as "
                       "targets.files.file.count"));
      return nullptr;
    }
    return &job_->targets(index);
  }

  void AddPhase(int phase, v1::RunPhase* run) {
    const std::string path = absl::StrCat("phases[", phase, "].run.sweep");
    v1::Sweep* sweep = run->mutable_sweep();
    bool lays_out = false;
    std::set<std::string> varied;
    for (int a = 0; a < sweep->axes_size(); ++a) {
      if (!IsOfTarget(sweep->axes(a))) continue;
      const std::string at = absl::StrCat(path, ".axes[", a, "]");
      const v1::Target* target = Varied(at, sweep->axes(a));
      if (target == nullptr) {
        lays_out |= sweep->has_prepare();
        continue;
      }
      CheckValues(at, sweep->axes(a), *target);
      varied.insert(target->name());
      lays_out |= target->has_file();
    }
    if (!lays_out && (sweep->has_prepare() || sweep->group() == v1::SWEEP_GROUP_FILES)) {
      Add(path,
          "prepare and group: files are for sweeps with an axis of a file target, as "
          "targets.files.file.count");
    }
    if (varied.empty() || !problems_.empty()) return;
    if (!sweep->prepare().targets().empty()) {
      return Add(path + ".prepare.targets", "is set by Lockstep: the targets that the axes vary");
    }
    NameTheOnlyTarget();
    AddVariants(path, *run, varied);
    if (!lays_out) return;
    for (const std::string& name : varied) {
      const v1::Target& target = job_->targets(FindTarget(*job_, name));
      if (target.has_file()) sweep->mutable_prepare()->add_targets(name);
    }
  }

  // Once there are several, FillJob() no longer knows which one is meant where none is named.
  void NameTheOnlyTarget() {
    if (job_->targets_size() != 1) return;
    for (v1::PhaseSpec& phase : *job_->mutable_phases()) {
      for (int w = 0; w < phase.run().workloads_size(); ++w) {
        v1::Workload* workload = phase.mutable_run()->mutable_workloads(w);
        if (workload->targets().empty()) workload->add_targets(job_->targets(0).name());
      }
    }
  }

  void CheckValues(const std::string& path, const v1::SweepAxis& axis, const v1::Target& target) {
    for (int v = 0; v < axis.values_size(); ++v) {
      v1::Target probe = target;
      const absl::Status status = ApplyToTarget(axis.field(), axis.values(v), &probe);
      if (!status.ok()) Add(absl::StrCat(path, ".values[", v, "]"), std::string(status.message()));
    }
  }

  void AddVariants(const std::string& path, const v1::RunPhase& run,
                   const std::set<std::string>& varied) {
    const uint64_t points = PointsOf(run.sweep()) / std::max(1U, run.sweep().repeat());
    // Validate() says so.
    if (points > static_cast<uint64_t>(limits::kJobSteps)) return;
    for (uint32_t i = 0; i < points; ++i) {
      const SweepPoint point = PointAt(run.sweep(), i);
      for (const std::string& name : varied) {
        const std::string variant = TargetAt(name, point);
        if (!known_.insert(variant).second) continue;
        v1::Target target = job_->targets(FindTarget(*job_, name));
        target.set_name(variant);
        target.set_variant_of(name);
        for (const auto& [field, text] : point.values) {
          // Fields of other targets, and of workloads, are not this one's. The values were checked.
          if (absl::StartsWith(field, absl::StrCat("targets.", name, "."))) {
            ApplyToTarget(field, text, &target).IgnoreError();
          }
        }
        variants_[name].push_back(std::move(target));
        if (known_.size() <= kMaxTargets) continue;
        return Add(path, absl::StrCat("makes more than ", kMaxTargets,
                                      " targets; give fewer values of fields of targets"));
      }
    }
  }

  void ReplaceTargets() {
    google::protobuf::RepeatedPtrField<v1::Target> targets;
    for (const v1::Target& target : job_->targets()) {
      const auto found = variants_.find(target.name());
      if (found == variants_.end()) {
        *targets.Add() = target;
        continue;
      }
      for (v1::Target& variant : found->second) *targets.Add() = std::move(variant);
    }
    *job_->mutable_targets() = std::move(targets);
  }

  v1::JobSpec* const job_;
  std::map<std::string, std::vector<v1::Target>> variants_;  // by the job file's target
  std::set<std::string> known_;                              // names of variants
  std::vector<v1::Problem> problems_;
};

}  // namespace

std::vector<v1::Problem> ExpandTargets(v1::JobSpec* job) { return Expander(job).Run(); }

void FillSizes(v1::JobSpec* job) {
  const bool any = std::any_of(job->targets().begin(), job->targets().end(), [](const auto& t) {
    return t.file().total_size_bytes() != 0 && t.file().size_bytes() == 0;
  });
  // The steps of a sweep are copies of its phase, so they are not made without need.
  if (!any) return;
  std::map<std::string, int64_t> blocks;  // the largest of a target's I/Os
  ForEachStep(*job, [&](const v1::PhaseSpec& step) {
    for (const v1::Workload& w : step.run().workloads()) {
      for (const std::string& name : w.targets()) {
        blocks[name] = std::max(blocks[name], LargestBlock(w));
      }
    }
  });
  for (v1::Target& target : *job->mutable_targets()) {
    if (target.file().total_size_bytes() == 0 || target.file().size_bytes() != 0) continue;
    v1::FileTarget* file = target.mutable_file();
    const int64_t block = std::max(blocks[target.name()], kSmallestBlock);
    const int64_t each = file->total_size_bytes() / std::max<int64_t>(1, file->count());
    file->set_size_bytes(each / block * block);
  }
}

}  // namespace lockstep::controller
