#include "controller/plan/validate.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/limits.h"
#include "common/units.h"
#include "controller/plan/environments.h"
#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/selection.h"
#include "controller/plan/sweep.h"
#include "controller/plan/target_rules.h"
#include "controller/plan/workload_rules.h"
#include "proto/defaults.h"
#include "proto/fields.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

// The block size of a verify phase if the job does not write the blocks itself (proto/job.proto).
constexpr int64_t kUnknownBlock = 4096;

// The phases' lists of targets, whatever the kind.
const google::protobuf::RepeatedPtrField<std::string>* TargetNames(const v1::PhaseSpec& phase) {
  switch (phase.kind_case()) {
    case v1::PhaseSpec::kPrepare:
      return &phase.prepare().targets();
    case v1::PhaseSpec::kPrecondition:
      return &phase.precondition().targets();
    case v1::PhaseSpec::kVerify:
      return &phase.verify().targets();
    case v1::PhaseSpec::kCleanup:
      return &phase.cleanup().targets();
    default:
      return nullptr;
  }
}

// Block sizes of the targets that loads so far write with headers, by name.
using VerifiedBlocks = std::map<std::string, int64_t>;

// The phase's defaults are filled in.
void NoteVerified(const v1::JobSpec& job, const v1::PhaseSpec& phase, VerifiedBlocks* blocks) {
  const auto note = [&](const auto& names, int64_t size) {
    for (const std::string& name : names) (*blocks)[name] = size;
  };
  if (phase.has_precondition() && phase.precondition().verify()) {
    const v1::PreconditionPhase& precondition = phase.precondition();
    if (precondition.targets().empty()) {
      for (const v1::Target& target : job.targets()) {
        (*blocks)[target.name()] = precondition.block_size_bytes();
      }
    }
    note(precondition.targets(), precondition.block_size_bytes());
  }
  for (const v1::Workload& w : phase.run().workloads()) {
    if (w.verify() && Writes(w)) note(w.targets(), w.block_size_bytes());
  }
}

void FillTargets(const v1::JobSpec& job, const VerifiedBlocks& verified, v1::PhaseSpec* phase) {
  auto* names = const_cast<google::protobuf::RepeatedPtrField<std::string>*>(TargetNames(*phase));
  if (names == nullptr || !names->empty()) return;
  for (const v1::Target& target : job.targets()) {
    const bool wanted =
        phase->has_verify()
            ? !target.has_null() && (verified.empty() || verified.contains(target.name()))
        : phase->has_precondition() ? !target.has_null()
                                    : target.has_file();
    if (wanted) *names->Add() = target.name();
  }
}

// Leaves 0 if the targets were written with blocks of several sizes. Validate() then asks for the
// size.
void FillVerify(const VerifiedBlocks& so_far, v1::VerifyPhase* verify) {
  if (verify->block_size_bytes() != 0) return;
  std::set<int64_t> sizes;
  for (const std::string& target : verify->targets()) {
    const auto known = so_far.find(target);
    sizes.insert(known != so_far.end() ? known->second : kUnknownBlock);
  }
  if (sizes.size() > 1) return;
  verify->set_block_size_bytes(sizes.empty() ? kUnknownBlock : *sizes.begin());
}

// Phases without a name are called by their kind, with a number where there are several.
void FillNames(v1::JobSpec* job) {
  std::set<std::string> taken;
  for (const v1::PhaseSpec& phase : job->phases()) taken.insert(phase.name());
  std::map<std::string, int> numbers;
  for (v1::PhaseSpec& phase : *job->mutable_phases()) {
    if (!phase.name().empty()) continue;
    const std::string kind = KindName(phase);
    std::string name = kind;
    while (!taken.insert(name).second) name = absl::StrCat(kind, " ", std::max(2, ++numbers[kind]));
    numbers[kind] = std::max(numbers[kind], 1);
    phase.set_name(name);
  }
}

// Collects problems under a path.
class Checker {
 public:
  explicit Checker(const v1::JobSpec& job) : job_(job) {}

  std::vector<v1::Problem> Run() {
    if (job_.name().empty()) Add("name", "is missing; every job has a name");
    for (const auto& [key, value] : job_.labels()) {
      if (key.empty() || key.find('=') != std::string::npos) {
        Add("labels", absl::StrCat("'", key, "' is no name of a label: it is empty or has a ="));
      }
    }
    CheckTargets();
    if (job_.phases().empty()) Add("phases", "is empty; a job has at least one phase");
    std::set<std::string> names;
    for (int i = 0; i < job_.phases_size(); ++i) {
      if (!names.insert(job_.phases(i).name()).second) {
        Add(absl::StrCat("phases[", i, "].name"),
            absl::StrCat("'", job_.phases(i).name(), "' is the name of two phases"));
      }
      CheckPhase(absl::StrCat("phases[", i, "]"), job_.phases(i));
      // A curve becomes a phase for each of its shares, a sweep one for each of its points.
      if (job_.phases(i).run().has_sweep() && !CheckSweep(i)) continue;
      if (!job_.phases(i).run().has_curve() && !job_.phases(i).run().has_sweep()) continue;
      v1::JobSpec curve;
      *curve.add_phases() = job_.phases(i);
      ForEachStep(curve, [&](const v1::PhaseSpec& step) {
        // The first of mere repetitions has the phase's own name.
        if (step.name() != job_.phases(i).name() && !names.insert(step.name()).second) {
          Add(absl::StrCat("phases[", i, "].run.",
                           job_.phases(i).run().has_sweep() ? "sweep" : "curve.share"),
              absl::StrCat("makes two phases of the name '", step.name(), "'"));
        }
      });
    }
    return std::move(problems_);
  }

 private:
  void Add(const std::string& path, const std::string& message) {
    ++found_;
    if (problems_.size() >= limits::kJobProblems) return;
    v1::Problem problem;
    problem.set_path(path);
    problem.set_message(message);
    problems_.push_back(std::move(problem));
  }
  void CheckTargets() {
    std::set<std::string> names;
    for (int i = 0; i < job_.targets_size(); ++i) {
      const v1::Target& target = job_.targets(i);
      const std::string path = absl::StrCat("targets[", i, "]");
      if (!target.name().empty() && !names.insert(target.name()).second) {
        Add(path + ".name", absl::StrCat("'", target.name(), "' is the name of two targets"));
      }
      CheckTarget(target, [&](const std::string& field, const std::string& problem) {
        Add(path + field, problem);
      });
    }
  }

  void CheckPhase(const std::string& path, const v1::PhaseSpec& phase) {
    if (phase.has_run()) return CheckRun(path + ".run", phase.run());
    if (phase.kind_case() == v1::PhaseSpec::KIND_NOT_SET) {
      return Add(path, "has no kind: write prepare, precondition, run, verify or cleanup");
    }
    if (phase.has_precondition() && phase.precondition().has_until_steady()) {
      CheckSteady(path + ".precondition.until_steady", phase.precondition().until_steady());
    }
    const std::string kind = KindName(phase);
    const auto* names = TargetNames(phase);
    if (names->empty()) {
      Add(absl::StrCat(path, ".", kind), IsLoad(phase)
                                             ? "has nothing to do: the job has no target"
                                             : "has nothing to do: the job has no file target");
    }
    bool known = true;
    for (int i = 0; i < names->size(); ++i) {
      const int target = targets_.Find(names->Get(i));
      const std::string where = absl::StrCat(path, ".", kind, ".targets[", i, "]");
      known = known && target >= 0;
      if (target < 0) Add(where, absl::StrCat("no target is named '", names->Get(i), "'"));
      if (target >= 0 && !IsLoad(phase) && !job_.targets(target).has_file()) {
        Add(where, absl::StrCat("'", names->Get(i), "' is not a file target"));
      }
      if (target >= 0 && IsLoad(phase) && job_.targets(target).has_null()) {
        Add(where,
            absl::StrCat("'", names->Get(i), "' is a null target: there is nothing to ", kind));
      }
    }
    if (phase.has_verify() && phase.verify().block_size_bytes() == 0) {
      return Add(path + ".verify.block_size",
                 "its targets were written with blocks of several sizes: give the size, and a "
                 "verify phase for each");
    }
    if (phase.has_verify()) CheckReaders(path + ".verify", phase.verify());
    if (phase.has_prepare() && (phase.prepare().content().duplicate_ratio() > 0 ||
                                phase.prepare().content().random().fresh())) {
      Add(path + ".prepare.content",
          "duplicate and fresh are for workloads; a precondition phase writes such content");
    }
    if (phase.has_prepare() && phase.prepare().content().has_zeros() &&
        phase.prepare().content().compressed_ratio() != 1) {
      Add(path + ".prepare.content",
          "zeros compress completely; give compressed with random content");
    }
    if (!known || !IsLoad(phase)) return;
    const v1::RunPhase load = LoadOf(job_, phase);
    CheckWorkload(job_, targets_, load, load.workloads(0),
                  [&](const std::string& field, const std::string& problem) {
                    Add(absl::StrCat(path, ".", kind, field), problem);
                  });
  }

  void CheckReaders(const std::string& path, const v1::VerifyPhase& verify) {
    if (!verify.of_run().empty() && verify.any_run()) {
      Add(path + ".of_run", "names one run; any_run accepts all");
    }
    const bool others = verify.readers() == v1::READERS_RING || verify.readers() == v1::READERS_ALL;
    for (const std::string& name : verify.targets()) {
      const int target = targets_.Find(name);
      if (target < 0 || !others) continue;
      const v1::Sharing sharing = job_.targets(target).sharing();
      if (sharing == v1::SHARING_PRIVATE) {
        Add(path + ".readers",
            absl::StrCat("'", name, "' is private: no host sees what another one has written"));
      } else if (sharing == v1::SHARING_OWNED || sharing == v1::SHARING_OVERLAPPED) {
        Add(path + ".readers",
            absl::StrCat("every host reads all of '", name, "' in any case; leave readers out"));
      }
    }
  }

  void CheckRun(const std::string& path, const v1::RunPhase& run) {
    if (run.workloads().empty()) {
      Add(path + ".workloads", "is empty; a run phase has at least one workload");
    }
    if (run.ramp_ns() < 0 || run.ramp_ns() % job_.interval_ns() != 0) {
      Add(path + ".ramp",
          absl::StrCat("must be a multiple of the interval, ",
                       common::FormatDuration(static_cast<double>(job_.interval_ns()))));
    }
    CheckEnvironment(run.environment(), [&](const std::string& field, const std::string& problem) {
      Add(absl::StrCat(path, ".environment", field), problem);
    });
    if (run.has_curve()) CheckCurve(path, run);
    if (run.has_until_steady()) CheckSteady(path + ".until_steady", run.until_steady());
    if (run.has_until_steady() && run.duration_ns() > 0 &&
        run.duration_ns() < int64_t{run.until_steady().window()} * run.until_steady().round_ns()) {
      Add(path + ".until_steady",
          absl::StrFormat(
              "cannot be reached: its window of %d rounds of %s is longer than the "
              "duration, %s",
              run.until_steady().window(),
              common::FormatDuration(static_cast<double>(run.until_steady().round_ns())),
              common::FormatDuration(static_cast<double>(run.duration_ns()))));
    }
    if (run.expect().steady() && !run.has_until_steady()) {
      Add(path + ".expect.steady", "needs until_steady, which says what steady is");
    }
    std::set<std::string> names;
    for (int i = 0; i < run.workloads_size(); ++i) {
      const std::string where = absl::StrCat(path, ".workloads[", i, "]");
      if (!names.insert(run.workloads(i).name()).second) {
        Add(where + ".name",
            absl::StrCat("'", run.workloads(i).name(), "' is the name of two workloads"));
      }
      CheckWorkload(job_, targets_, run, run.workloads(i),
                    [&](const std::string& field, const std::string& problem) {
                      Add(where + field, problem);
                    });
    }
  }

  void CheckSteady(const std::string& path, const v1::SteadyState& steady) {
    if (steady.round_ns() % job_.interval_ns() != 0) {
      Add(path + ".round",
          absl::StrCat("must be a multiple of the interval, ",
                       common::FormatDuration(static_cast<double>(job_.interval_ns()))));
    }
  }

  void CheckAxes(const std::string& path, const v1::RunPhase& run) {
    v1::RunPhase alone = run;
    alone.clear_sweep();
    for (int a = 0; a < run.sweep().axes_size(); ++a) {
      const v1::SweepAxis& axis = run.sweep().axes(a);
      const std::string at = absl::StrCat(path, ".axes[", a, "].values");
      std::set<std::string> seen;
      if (axis.values().empty()) Add(at, "is empty");
      for (int other = 0; other < a; ++other) {
        if (run.sweep().axes(other).field() != axis.field()) continue;
        Add(absl::StrCat(path, ".axes[", a, "].field"),
            absl::StrCat("'", axis.field(), "' is on two axes"));
      }
      for (int v = 0; v < axis.values_size(); ++v) {
        v1::RunPhase probe = alone;
        const std::string where = absl::StrCat(at, "[", v, "]");
        const absl::Status status = Apply(axis.field(), axis.values(v), &probe);
        if (!status.ok()) Add(where, std::string(status.message()));
        const bool zip = run.sweep().combine() == v1::SWEEP_COMBINE_ZIP;
        if (!seen.insert(axis.values(v)).second && !zip) {
          Add(where, absl::StrCat("'", axis.values(v), "' is there twice"));
        }
      }
    }
  }

  // The point as a phase of its own.
  void CheckPoint(const std::string& path, const v1::RunPhase& run, const SweepPoint& point) {
    const size_t before = problems_.size();
    v1::RunPhase at = run;
    at.clear_sweep();
    Apply(point, &at).IgnoreError();
    CheckRun("", at);
    for (int w = 0; w < at.workloads_size(); ++w) {
      const v1::Workload& base = run.workloads(w);
      const v1::Workload& swept = at.workloads(w);
      if (swept.name() != base.name() ||
          swept.open_loop().measured().phase() != base.open_loop().measured().phase()) {
        Add("", "names cannot be swept");
      }
      // A later verify phase has one block size for all points.
      if (swept.verify() != base.verify() ||
          (swept.verify() && swept.block_size_bytes() != base.block_size_bytes())) {
        Add("", "verify, and the block size of what is verified, cannot be swept");
      }
    }
    for (size_t i = before; i < problems_.size(); ++i) {
      v1::Problem& problem = problems_[i];
      problem.set_message(absl::StrCat("at ", NameOf(point), ": ", problem.path(),
                                       problem.path().empty() ? "" : " ", problem.message()));
      problem.set_path(path);
    }
  }

  // Whether the sweep's points can be made phases.
  bool CheckSweep(int phase) {
    const std::string path = absl::StrCat("phases[", phase, "].run.sweep");
    const v1::RunPhase& run = job_.phases(phase).run();
    const size_t before = found_;
    if (run.has_curve()) Add(path, "and a curve do not go together; make two phases");
    if (run.sweep().axes().empty() && run.sweep().repeat() < 2) {
      Add(path, "has no axes, and repeats nothing");
    }
    CheckRepetitions(path, run.sweep());
    CheckAxes(path, run);
    const uint64_t points = PointsOf(run.sweep());
    if (points == 0) Add(path, "combines axes of different lengths; a zip needs equal ones");
    if (points > limits::kJobSteps) {
      Add(path, absl::StrCat("has ", points, " points; the most are ", limits::kJobSteps));
    }
    for (uint32_t step = 0; found_ == before && step < points; ++step) {
      const SweepPoint point = PointAt(run.sweep(), step);
      // The first round covers all points. Later rounds repeat them under other names.
      if (point.repeat > 0) break;
      CheckPoint(path, run, point);
    }
    return found_ == before;
  }

  void CheckRepetitions(const std::string& path, const v1::Sweep& sweep) {
    const uint32_t repeat = std::max(1U, sweep.repeat());
    if (sweep.warm_up() >= repeat) {
      Add(path + ".warm_up", absl::StrCat("of ", sweep.warm_up(), " leaves none of the ", repeat,
                                          " repetitions; raise `repeat`"));
    } else if (sweep.has_until() && repeat - sweep.warm_up() < sweep.until().least()) {
      Add(path + ".until",
          absl::StrCat("needs ", sweep.until().least(), " repetitions beside ", sweep.warm_up(),
                       " to warm up; `repeat` is their limit, raise it"));
    }
  }

  void CheckCurve(const std::string& path, const v1::RunPhase& run) {
    if (run.curve().share_ratio().empty()) Add(path + ".curve", "has no shares");
    for (double share : run.curve().share_ratio()) {
      if (!(share > 0)) Add(path + ".curve", "shares must be above 0");
    }
    const bool open = std::any_of(run.workloads().begin(), run.workloads().end(),
                                  [](const v1::Workload& w) { return w.has_open_loop(); });
    if (!open) {
      Add(path + ".curve",
          "repeats the phase at shares of an open loop's rate; no workload has an open_loop");
    }
  }

  const v1::JobSpec& job_;
  const TargetIndex targets_{job_};
  std::vector<v1::Problem> problems_;
  size_t found_ = 0;  // problems, with those beyond the limit
};

}  // namespace

void FillJob(v1::JobSpec* job) {
  // FillDefaults() gives every workload an engine. LUNs must have theirs before that.
  ChooseEngines(job);
  v1::FillDefaults(job);
  for (v1::Target& target : *job->mutable_targets()) {
    if (target.sharing() == v1::SHARING_INTERLEAVED && target.stripe_bytes() == 0) {
      target.set_stripe_bytes(1 << 20);
    }
    if (target.sharing() != v1::SHARING_UNSPECIFIED) continue;
    target.set_sharing(target.has_file()   ? v1::SHARING_PRIVATE
                       : target.has_null() ? v1::SHARING_OVERLAPPED
                                           : v1::SHARING_SLICED);
  }
  FillNames(job);
  VerifiedBlocks verified;
  for (v1::PhaseSpec& phase : *job->mutable_phases()) {
    for (int i = 0; i < phase.run().workloads_size(); ++i) {
      FillWorkload(*job, i, phase.mutable_run()->mutable_workloads(i));
    }
    NoteVerified(*job, phase, &verified);
  }
  VerifiedBlocks so_far;
  for (v1::PhaseSpec& phase : *job->mutable_phases()) {
    FillTargets(*job, verified, &phase);
    if (phase.has_verify()) FillVerify(so_far, phase.mutable_verify());
    NoteVerified(*job, phase, &so_far);
  }
}

std::vector<v1::Problem> Validate(const v1::JobSpec& job) { return Checker(job).Run(); }

std::vector<uint32_t> TargetsOf(const v1::JobSpec& job, const v1::PhaseSpec& phase) {
  std::set<uint32_t> used;
  const TargetIndex targets(job);
  const auto add = [&](const auto& names) {
    for (const std::string& name : names) {
      const int index = targets.Find(name);
      if (index >= 0) used.insert(index);
    }
  };
  if (phase.has_run()) {
    for (const v1::Workload& workload : phase.run().workloads()) add(workload.targets());
  } else if (const auto* names = TargetNames(phase)) {
    add(*names);
  }
  return {used.begin(), used.end()};
}

std::vector<TargetUse> UseOfTargets(const v1::JobSpec& job) {
  std::vector<TargetUse> use(static_cast<size_t>(job.targets_size()));
  const TargetIndex targets(job);
  const auto mark = [&](const auto& names, bool TargetUse::*what) {
    for (const std::string& name : names) {
      const int found = targets.Find(name);
      if (found >= 0) use[static_cast<size_t>(found)].*what = true;
    }
  };
  for (const v1::PhaseSpec& phase : job.phases()) {
    if (phase.has_precondition()) mark(phase.precondition().targets(), &TargetUse::written);
    if (phase.has_prepare()) mark(phase.prepare().targets(), &TargetUse::prepared);
    if (!phase.has_run()) continue;
    // A target counts as written if any point of the sweep writes it. No axis can set the list of
    // targets, so it is left out of the copies: the deciding thread calls this, and all runs wait.
    v1::JobSpec bare;
    *bare.add_phases() = phase;
    v1::RunPhase* run = bare.mutable_phases(0)->mutable_run();
    for (v1::Workload& w : *run->mutable_workloads()) w.clear_targets();
    std::vector<TargetUse> of_workloads(static_cast<size_t>(run->workloads_size()));
    ForEachStep(bare, [&](const v1::PhaseSpec& step) {
      for (size_t i = 0; i < of_workloads.size(); ++i) {
        const v1::Workload& w = step.run().workloads(static_cast<int>(i));
        of_workloads[i].written |= Writes(w);
        of_workloads[i].prepared |= w.create();
      }
    });
    for (size_t i = 0; i < of_workloads.size(); ++i) {
      const v1::Workload& w = phase.run().workloads(static_cast<int>(i));
      if (of_workloads[i].written) mark(w.targets(), &TargetUse::written);
      if (of_workloads[i].prepared) mark(w.targets(), &TargetUse::prepared);
    }
  }
  return use;
}

std::vector<std::string> Warnings(const v1::JobSpec& job) {
  std::vector<std::string> warnings;
  for (const v1::PhaseSpec& phase : job.phases()) {
    for (const v1::Workload& w : phase.run().workloads()) {
      if (w.engine() == v1::ENGINE_LIBAIO && !w.direct() && w.queue_depth() > 1) {
        warnings.push_back(absl::StrCat(
            "phase ", phase.name(), ", workload ", w.name(),
            ": libaio without direct: true does one I/O at a time, whatever the queue depth (",
            w.queue_depth(), "); choose direct: true, io_uring, or more threads"));
      }
    }
  }
  return warnings;
}

}  // namespace lockstep::controller
