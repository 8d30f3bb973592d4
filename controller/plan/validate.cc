#include "controller/plan/validate.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/limits.h"
#include "common/units.h"
#include "controller/plan/copy_rules.h"
#include "controller/plan/environments.h"
#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/observe_rules.h"
#include "controller/plan/result_rules.h"
#include "controller/plan/selection.h"
#include "controller/plan/steady_rounds.h"
#include "controller/plan/sweep.h"
#include "controller/plan/sweep_rules.h"
#include "controller/plan/target_rules.h"
#include "controller/plan/workload_rules.h"
#include "proto/defaults.h"
#include "proto/fields.h"

namespace lockstep::controller {
namespace {

// Collects problems under a path.
class Checker {
 public:
  explicit Checker(const v1::JobSpec& job) : job_(job) {}

  std::vector<v1::Problem> Run() {
    if (job_.name().empty()) Add("name", "is missing; every job has a name");
    for (const auto& [key, value] : job_.labels()) {
      // `compare` and `history` name a label as KEY=VALUE.
      if (key.empty() || key.find('=') != std::string::npos) {
        Add("labels", absl::StrCat("'", key, "' is no name of a label: it is empty or has a ="));
      }
    }
    CheckTargets();
    if (job_.phases().empty()) Add("phases", "is empty; a job has at least one phase");
    std::set<std::string> names;
    for (int i = 0; i < job_.phases_size(); ++i) {
      // `measured: {phase: NAME}` and comparisons of runs find a phase by its name.
      if (!names.insert(job_.phases(i).name()).second) {
        Add(absl::StrCat("phases[", i, "].name"),
            absl::StrCat("'", job_.phases(i).name(), "' is the name of two phases"));
      }
      CheckPhase(absl::StrCat("phases[", i, "]"), job_.phases(i));
      headers_.Check(job_.phases(i), [&](const std::string& field, const std::string& problem) {
        Add(absl::StrCat("phases[", i, "].", field), problem);
      });
      // A curve becomes a phase for each of its shares, a sweep one for each of its points.
      // The steps of a sweep with problems are not made: it may have a million points.
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
    // The phase has it already: the sweep is not its cause.
    if (is_point_ && of_phase_.contains({path, message})) return;
    // Those beyond the limit count as well: CheckSweep() goes by the number.
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
      // Files that hosts share are divided among all of the run's, also those that were lost.
      if (target.has_file() && !target.variant_of().empty() &&
          target.sharing() != v1::SHARING_PRIVATE &&
          job_.on_worker_loss() != v1::LOSS_POLICY_ABORT) {
        Add(path + ".sharing",
            absl::StrCat("'", target.variant_of(),
                         "' varies in a sweep, whose later points would "
                         "lack the files of a lost host: make it private, or abort the run then "
                         "(on_worker_loss)"));
      }
      CheckTarget(target, [&](const std::string& field, const std::string& problem) {
        Add(path + field, problem);
      });
    }
  }

  void CheckPhase(const std::string& path, const v1::PhaseSpec& phase) {
    if (phase.has_run()) return CheckRun(path + ".run", phase.run());
    if (phase.has_observe()) {
      return CheckObserve(phase.observe(), [&](const std::string& field, const std::string& text) {
        Add(absl::StrCat(path, ".observe", field), text);
      });
    }
    if (phase.kind_case() == v1::PhaseSpec::KIND_NOT_SET) {
      return Add(path,
                 "has no kind: write prepare, precondition, run, observe, verify or "
                 "cleanup");
    }
    if (phase.has_precondition() && phase.precondition().has_until_steady()) {
      CheckSteady(path + ".precondition.until_steady", phase.precondition().until_steady());
    }
    const std::string kind = KindName(phase);
    const auto* names = TargetNames(phase);
    if (names->empty()) {
      Add(absl::StrCat(path, ".", kind),
          HasFileVariants()
              ? "has nothing to do: a sweep lays out and removes the files that it varies "
                "by itself; leave this phase out"
          : IsLoad(phase) ? "has nothing to do: the job has no target"
                          : "has nothing to do: the job has no file target");
    }
    bool known = true;
    for (int i = 0; i < names->size(); ++i) {
      const int target = targets_.Find(names->Get(i));
      const std::string where = absl::StrCat(path, ".", kind, ".targets[", i, "]");
      known = known && target >= 0;
      CheckVaried(where, names->Get(i), nullptr);
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
    if (phase.has_prepare()) CheckPrepare(path + ".prepare.content", phase.prepare().content());
    if (!known || !IsLoad(phase)) return;
    const v1::RunPhase load = LoadOf(job_, phase);
    CheckWorkload(job_, targets_, load, load.workloads(0),
                  [&](const std::string& field, const std::string& problem) {
                    Add(absl::StrCat(path, ".", kind, field), problem);
                  });
  }

  void CheckPrepare(const std::string& path, const v1::Content& content) {
    if (content.duplicate_ratio() > 0 || content.duplicate_blocks() != 0 ||
        content.random().fresh()) {
      Add(path, "duplicate and fresh are for workloads; a precondition phase writes such content");
    }
    if (content.has_zeros() && content.compressed_ratio() != 1) {
      Add(path, "zeros compress completely; give compressed with random content");
    }
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
    // An interval is of the ramp or measured as a whole, since its histogram cannot be divided.
    if (run.ramp_ns() < 0 || run.ramp_ns() % job_.interval_ns() != 0) {
      Add(path + ".ramp",
          absl::StrCat("must be a multiple of the interval, ",
                       common::FormatDuration(static_cast<double>(job_.interval_ns()))));
    }
    CheckEnvironment(run.environment(), [&](const std::string& field, const std::string& problem) {
      Add(absl::StrCat(path, ".environment", field), problem);
    });
    if (run.has_curve()) {
      CheckCurve(run, [&](const std::string& field, const std::string& problem) {
        Add(absl::StrCat(path, ".curve", field), problem);
      });
    }
    if (run.has_until_steady()) CheckSteady(path + ".until_steady", run.until_steady());
    CheckResultRules(job_.hosts(), run, [&](const std::string& field, const std::string& problem) {
      Add(path + field, problem);
    });
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
      for (const std::string& name : run.workloads(i).targets()) {
        CheckVaried(where + ".targets", name, &run);
        if (!run.workloads(i).verify() || !IsVaried(name)) continue;
        Add(where + ".verify", absl::StrCat("'", name,
                                            "' varies in a sweep, which removes its "
                                            "files after each point; verify a target that stays"));
      }
    }
  }

  bool HasFileVariants() const {
    return std::any_of(job_.targets().begin(), job_.targets().end(),
                       [](const v1::Target& t) { return t.has_file() && !t.variant_of().empty(); });
  }
  // Whether the name is of a target that a sweep varies, or of a variant.
  bool IsVaried(const std::string& name) const {
    const int target = targets_.Find(name);
    return target >= 0 && !job_.targets(target).variant_of().empty();
  }
  // A target that a sweep varies is there during its points alone. `run`: the phase that uses it; a
  // point of a sweep, which names variants, is not asked.
  void CheckVaried(const std::string& path, const std::string& name, const v1::RunPhase* run) {
    if (!IsVaried(name) || is_point_) return;
    const std::string prefix = absl::StrCat("targets.", name, ".");
    const bool own =
        run != nullptr &&
        std::any_of(run->sweep().axes().begin(), run->sweep().axes().end(),
                    [&](const auto& axis) { return absl::StartsWith(axis.field(), prefix); });
    if (own) return;
    Add(path, absl::StrCat("'", name,
                           "' varies in a sweep, and is there during its points alone; "
                           "name another target"));
  }

  void CheckSteady(const std::string& path, const v1::SteadyState& steady) {
    // A round is made of whole intervals: workers report nothing finer.
    if (steady.round_ns() % job_.interval_ns() != 0) {
      Add(path + ".round",
          absl::StrCat("must be a multiple of the interval, ",
                       common::FormatDuration(static_cast<double>(job_.interval_ns()))));
    }
    if (steady.range_ratio() >= 1) {
      Add(path + ".range",
          "must be below 100%: a fall could never be found, because no rate falls by more than "
          "its whole mean");
    }
  }

  // The point as a phase of its own.
  void CheckPoint(const std::string& path, const v1::RunPhase& run, const SweepPoint& point) {
    const size_t before = problems_.size();
    v1::RunPhase at = run;
    DropSweep(&at);
    // CheckAxes() has applied each value, and points are checked only where it found nothing wrong.
    Apply(point, &at).IgnoreError();
    is_point_ = true;
    CheckRun("", at);
    is_point_ = false;
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
      // A path begins with the dot that would follow the phase.
      const absl::string_view field = absl::StripPrefix(problem.path(), ".");
      problem.set_message(absl::StrCat("at ", NameOf(point), ": ", field, field.empty() ? "" : " ",
                                       problem.message()));
      problem.set_path(path);
    }
  }

  // Remembers the problems of the phase, by the paths that CheckPoint() gives them.
  void RememberProblemsOf(const std::string& path) {
    of_phase_.clear();
    for (const v1::Problem& problem : problems_) {
      absl::string_view field = problem.path();
      if (!absl::ConsumePrefix(&field, path)) continue;
      of_phase_.emplace(field, problem.message());
    }
  }

  // Whether the sweep's points can be made phases.
  bool CheckSweep(int phase) {
    const std::string path = absl::StrCat("phases[", phase, "].run.sweep");
    RememberProblemsOf(absl::StrCat("phases[", phase, "].run"));
    const v1::RunPhase& run = job_.phases(phase).run();
    const size_t before = found_;
    if (run.has_curve()) Add(path, "and a curve do not go together; make two phases");
    if (run.sweep().axes().empty() && run.sweep().repeat() < 2) {
      Add(path, "has no axes, and repeats nothing");
    }
    const auto add = [&](const std::string& field, const std::string& problem) {
      Add(path + field, problem);
    };
    CheckRepetitions(run.sweep(), add);
    if (run.sweep().has_until_steady()) CheckRounds(run, add);
    if (run.sweep().has_prepare()) {
      CheckPrepare(path + ".prepare.content", run.sweep().prepare().content());
    }
    CheckAxes(run, add);
    const uint64_t points = PointsOf(run.sweep());
    if (points == 0) Add(path, "combines axes of different lengths; a zip needs equal ones");
    if (points > limits::kJobSteps) {
      Add(path, absl::StrCat("has ", points, " points; the most are ", limits::kJobSteps));
    } else if (StepsOf(run.sweep()) > limits::kJobSteps) {
      Add(path, absl::StrCat("has ", points, " points, which become ", StepsOf(run.sweep()),
                             " phases with those that make and remove files; the most are ",
                             limits::kJobSteps));
    }
    for (uint32_t i = 0; found_ == before && i < points; ++i) {
      const SweepPoint point = PointAt(run.sweep(), i);
      // The first round covers all points. Later rounds repeat them under other names.
      if (point.repeat > 0) break;
      CheckPoint(path, run, point);
    }
    return found_ == before;
  }

  const v1::JobSpec& job_;
  const TargetIndex targets_{job_};
  HeaderOwners headers_;
  std::vector<v1::Problem> problems_;
  size_t found_ = 0;       // problems, with those beyond the limit
  bool is_point_ = false;  // the phase that is checked is a point of a sweep
  // Paths and messages of the problems of the phase whose points are checked.
  std::set<std::pair<std::string, std::string>> of_phase_;
};

}  // namespace

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

std::vector<std::string> Warnings(const v1::JobSpec& job) {
  std::vector<std::string> warnings;
  for (const v1::PhaseSpec& phase : job.phases()) {
    for (const v1::Workload& w : phase.run().workloads()) {
      // io_submit(2) of buffered I/O returns only when the I/O is done.
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
