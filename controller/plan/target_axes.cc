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
    Restore();
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

  // Takes an earlier expansion back. A job that is submitted again has been expanded, and one from
  // outside may have variants that no sweep of it makes.
  void Restore() {
    std::map<std::string, const v1::Target*> varied;
    for (const v1::Target& target : job_->swept_targets()) varied.emplace(target.name(), &target);
    google::protobuf::RepeatedPtrField<v1::Target> targets;
    for (const v1::Target& target : job_->targets()) {
      if (target.variant_of().empty()) {
        *targets.Add() = target;
        continue;
      }
      const auto found = varied.find(target.variant_of());
      if (found == varied.end()) continue;
      // It stands where its first variant was, so that the order remains.
      *targets.Add() = *found->second;
      targets.rbegin()->clear_variant_of();
      varied.erase(found);
    }
    if (!job_->swept_targets().empty()) {
      for (v1::PhaseSpec& phase : *job_->mutable_phases()) {
        if (!phase.run().sweep().has_prepare()) continue;
        phase.mutable_run()->mutable_sweep()->mutable_prepare()->clear_targets();
      }
    }
    *job_->mutable_targets() = std::move(targets);
    job_->clear_swept_targets();
  }

  // The target that the axis varies; null where there is none.
  const v1::Target* Varied(const std::string& path, const v1::SweepAxis& axis) {
    const std::vector<std::string> parts = absl::StrSplit(axis.field(), '.');
    const std::string name = parts.size() > 1 ? parts[1] : "";
    const std::string shown = common::Printable(name, 100);
    const int index = FindTarget(*job_, name);
    if (name.empty() || index < 0) {
      // The field goes on behind the dot of such a name, so that it would not be known where.
      const auto dotted =
          std::find_if(job_->targets().begin(), job_->targets().end(), [&](const auto& target) {
            return target.name().find('.') != std::string::npos &&
                   absl::StartsWith(axis.field(), absl::StrCat("targets.", target.name(), "."));
          });
      Add(path + ".field",
          absl::StrCat(
              "'", common::Printable(axis.field(), 200), "': ",
              dotted != job_->targets().end()
                  ? absl::StrCat("target '", common::Printable(dotted->name(), 100),
                                 "' cannot be varied, because its name has a dot; rename it")
                  : absl::StrCat("no target is named '", shown,
                                 "'; write targets.NAME.FIELD, as targets.files.file.count")));
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
      if (target == nullptr) continue;
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
    for (const std::string& name : varied) {
      if (IsUsed(*run, name)) continue;
      return Add(path,
                 absl::StrCat("varies target '", name, "', which no workload of the phase uses"));
    }
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

  static bool IsUsed(const v1::RunPhase& run, const std::string& target) {
    return std::any_of(run.workloads().begin(), run.workloads().end(), [&](const v1::Workload& w) {
      return w.copy().from() == target || w.copy().to() == target ||
             std::find(w.targets().begin(), w.targets().end(), target) != w.targets().end();
    });
  }

  void CheckValues(const std::string& path, const v1::SweepAxis& axis, const v1::Target& target) {
    for (int v = 0; v < axis.values_size(); ++v) {
      // Each value is tried alone, so that the message names the value that is wrong.
      v1::Target probe = target;
      const absl::Status status = ApplyToTarget(axis.field(), axis.values(v), &probe);
      if (!status.ok()) Add(absl::StrCat(path, ".values[", v, "]"), std::string(status.message()));
    }
  }

  void AddVariants(const std::string& path, const v1::RunPhase& run,
                   const std::set<std::string>& varied) {
    // Repetitions use the variants of the first round again.
    const uint64_t points = PointsOf(run.sweep()) / std::max(1U, run.sweep().repeat());
    // Validate() says so.
    if (points > static_cast<uint64_t>(limits::kJobSteps)) return;
    for (uint32_t i = 0; i < points; ++i) {
      const SweepPoint point = PointAt(run.sweep(), i);
      for (const std::string& name : varied) {
        const std::string variant = TargetAt(name, point);
        v1::Target target = job_->targets(FindTarget(*job_, name));
        target.set_name(variant);
        target.set_variant_of(name);
        for (const auto& [field, text] : point.values) {
          // Fields of other targets, and of workloads, are not this one's. The values were checked.
          if (absl::StartsWith(field, absl::StrCat("targets.", name, "."))) {
            ApplyToTarget(field, text, &target).IgnoreError();
          }
        }
        // TargetAt() shortens long names, so that two variants of different targets can get the
        // same one.
        const auto [known, is_new] = known_.emplace(variant, target.SerializeAsString());
        if (!is_new && known->second != target.SerializeAsString()) {
          return Add(path, absl::StrCat("gives two targets the name '", variant, "'; give '", name,
                                        "' a shorter name"));
        }
        if (!is_new) continue;
        variants_[name].push_back(std::move(target));
        if (known_.size() + static_cast<size_t>(job_->targets_size()) <= kMaxTargets) continue;
        return Add(path,
                   absl::StrCat("makes more than ", kMaxTargets,
                                " targets, with the job's others; give fewer values of fields "
                                "of targets"));
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
      *job_->add_swept_targets() = target;
      for (v1::Target& variant : found->second) *targets.Add() = std::move(variant);
    }
    *job_->mutable_targets() = std::move(targets);
  }

  v1::JobSpec* const job_;
  std::map<std::string, std::vector<v1::Target>> variants_;  // by the job file's target
  std::map<std::string, std::string> known_;                 // variants by name
  std::vector<v1::Problem> problems_;
};

}  // namespace

std::vector<v1::Problem> ExpandTargets(v1::JobSpec* job) { return Expander(job).Run(); }

uint32_t FirstVariantOf(const v1::JobSpec& job, uint32_t target) {
  const std::string& name = job.targets(static_cast<int>(target)).variant_of();
  for (int t = 0; !name.empty() && t < static_cast<int>(target); ++t) {
    if (job.targets(t).variant_of() == name) return static_cast<uint32_t>(t);
  }
  return target;
}

std::vector<v1::Problem> FillSizes(v1::JobSpec* job) {
  std::vector<v1::Problem> problems;
  const bool any = std::any_of(job->targets().begin(), job->targets().end(),
                               [](const auto& t) { return t.file().total_size_bytes() != 0; });
  // The steps of a sweep are copies of its phase, so they are not made without need.
  if (!any) return problems;
  std::map<std::string, int64_t> blocks;  // the largest of a target's I/Os
  ForEachStep(*job, [&](const v1::PhaseSpec& step) {
    for (const v1::Workload& w : step.run().workloads()) {
      for (const std::string& name : w.targets()) {
        blocks[name] = std::max(blocks[name], LargestBlock(w));
      }
    }
  });
  for (int t = 0; t < job->targets_size(); ++t) {
    const v1::FileTarget& file = job->targets(t).file();
    if (file.total_size_bytes() == 0) continue;
    const int64_t block = std::max(blocks[job->targets(t).name()], kSmallestBlock);
    const int64_t each = file.total_size_bytes() / std::max<int64_t>(1, file.count());
    // No I/O of the largest size would reach a rest that is smaller than it.
    const int64_t size = each / block * block;
    // A job that is submitted again has both.
    if (file.size_bytes() == 0) job->mutable_targets(t)->mutable_file()->set_size_bytes(size);
    if (job->targets(t).file().size_bytes() == size) continue;
    v1::Problem& problem = problems.emplace_back();
    problem.set_path(absl::StrCat("targets[", t, "].file.size"));
    problem.set_message("and total_size differ; leave one of them out");
  }
  return problems;
}

}  // namespace lockstep::controller
