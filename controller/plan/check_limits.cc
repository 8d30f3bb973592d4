// Limits of a whole job. They are checked before anything else reads the job: later code may then
// expand ranges and sweeps without asking again.

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/units.h"
#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/selection.h"
#include "controller/plan/sweep.h"
#include "controller/plan/validate.h"
#include "controller/plan/workload_rules.h"
#include "proto/fields.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

// Sums and products that no field's own limit holds.
class LimitChecker {
 public:
  explicit LimitChecker(const v1::JobSpec& job) : job_(job) {}

  std::vector<v1::Problem> Run() {
    // The size is checked alone. The walk over all fields costs time in proportion to it.
    if (job_.ByteSizeLong() > static_cast<size_t>(limits::kJobBytes)) {
      Add("", absl::StrCat("the job has ", job_.ByteSizeLong(), " bytes; the maximum is ",
                           limits::kJobBytes));
      return problems_;
    }
    for (const v1::FieldProblem& problem : v1::CheckFields(job_)) {
      Add(problem.path, problem.message);
    }
    // Each check relies on what the one before it has accepted, so a failure ends the sequence.
    for (const auto check : {&LimitChecker::CheckFiles, &LimitChecker::CheckNames}) {
      if (problems_.empty()) (this->*check)();
    }
    return problems_;
  }

 private:
  void Add(const std::string& path, const std::string& message) {
    v1::Problem& problem = problems_.emplace_back();
    problem.set_path(path);
    problem.set_message(message);
  }

  void CheckFiles() {
    int64_t files = 0;
    for (int t = 0; t < job_.targets_size(); ++t) {
      if (!job_.targets(t).has_file()) continue;
      const v1::FileTarget& file = job_.targets(t).file();
      // The defaults are not filled in yet. A count of 0 stands for the default, 1; the same holds
      // for threads and queue depth below.
      files += std::max<int64_t>(1, file.count());
      // Valid fields can have a product of 2^76 bytes, so it is computed in floating point.
      const double bytes =
          std::max(static_cast<double>(file.size_bytes()) * std::max<uint32_t>(1, file.count()),
                   static_cast<double>(file.total_size_bytes()));
      if (bytes > kMaxTargetBytes) {
        Add(absl::StrCat("targets[", t, "].file"), "its files together have more than 4 EiB");
      }
    }
    if (files > limits::kFilesOfAJob) {
      Add("targets", absl::StrCat("have ", files, " files; the maximum is ", limits::kFilesOfAJob,
                                  " over all targets"));
    }
    CheckWorkloads();
  }

  // The size of the unrolled job is computed without unrolling it: sweeps and curves can make
  // gigabytes of a job of 100 KB.
  void CheckSteps() {
    // Floating point does not wrap around: PointsOf() alone reaches 2^40 × 100.
    double steps = 0;
    double workloads = 0;
    double bytes = 0;
    double comparisons = 0;
    for (const v1::PhaseSpec& phase : job_.phases()) {
      const v1::RunPhase& run = phase.run();
      const double own = run.has_sweep() ? static_cast<double>(StepsOf(run.sweep()))
                                         : std::max(1, run.curve().share_ratio_size());
      steps += own;
      workloads += own * run.workloads_size();
      bytes += own * BytesOfStep(phase);
      comparisons += own * run.workloads_size() * NamedTargets(run);
    }
    if (steps > limits::kJobSteps) {
      Add("phases", absl::StrCat("become ", steps, " by their sweeps and curves; at most ",
                                 limits::kJobSteps, " are allowed"));
    }
    if (workloads > limits::kJobWorkloads) {
      Add("phases",
          absl::StrCat("have ", workloads, " workloads; the maximum is ", limits::kJobWorkloads));
    }
    if (bytes > limits::kJobBytes) {
      Add("phases", absl::StrCat("become ", common::FormatSize(bytes),
                                 " by their sweeps and curves; at most ",
                                 common::FormatSize(limits::kJobBytes), " are allowed"));
    }
    if (comparisons > limits::kJobComparisons) {
      Add("phases", absl::StrCat("have too many workloads on too many targets: comparing each "
                                 "workload with the targets of all in its phase takes ",
                                 comparisons, " comparisons; at most ", limits::kJobComparisons,
                                 " are made"));
    }
  }

  // An upper bound for one step of the phase, with the defaults that are filled in later.
  double BytesOfStep(const v1::PhaseSpec& phase) const {
    // The defaults of a workload: numbers, a name and the only target's name.
    constexpr double kFilledIn = 256;
    const v1::RunPhase& run = phase.run();
    const double workloads = run.workloads_size();
    auto bytes = static_cast<double>(phase.ByteSizeLong());
    if (run.has_sweep()) bytes -= static_cast<double>(run.sweep().ByteSizeLong());
    if (run.has_curve()) bytes -= static_cast<double>(run.curve().ByteSizeLong());
    bytes += workloads * kFilledIn;
    // Its targets' names are filled in, too.
    for (const v1::Workload& w : run.workloads()) {
      bytes += static_cast<double>(w.copy().ByteSizeLong());
    }
    for (const v1::SweepAxis& axis : run.sweep().axes()) {
      size_t longest = 0;
      for (const std::string& value : axis.values()) longest = std::max(longest, value.size());
      // The value stands in each workload and in the step's name.
      bytes +=
          static_cast<double>(longest) * (workloads + 1) + static_cast<double>(axis.field().size());
    }
    // A phase of another kind may name no targets. FillJob() then lists them in it by name.
    if (phase.has_run()) return bytes;
    for (const v1::Target& target : job_.targets()) {
      bytes += static_cast<double>(target.name().size() + 2);
    }
    return bytes;
  }

  // Targets that the workloads name, each as often as it is named.
  double NamedTargets(const v1::RunPhase& run) const {
    double named = 0;
    for (const v1::Workload& w : run.workloads()) named += std::max(1, w.targets_size());
    return named;
  }

  void CheckWorkloads() {
    CheckSteps();
    for (int p = 0; p < job_.phases_size(); ++p) {
      const v1::RunPhase& run = job_.phases(p).run();
      int64_t threads = 0;
      int64_t in_flight = 0;
      for (const v1::Workload& w : run.workloads()) {
        const int64_t own = std::max<uint32_t>(1, w.threads());
        threads += own;
        in_flight += own * std::max<uint32_t>(1, w.queue_depth());
      }
      const std::string path = absl::StrCat("phases[", p, "].run.workloads");
      if (threads > limits::kThreadsOfAPhase) {
        Add(path, absl::StrCat("have ", threads, " threads on a worker; the maximum is ",
                               limits::kThreadsOfAPhase));
      }
      if (in_flight > limits::kInFlightOfAPhase) {
        Add(path, absl::StrCat("have ", in_flight, " I/Os in flight on a worker; the maximum is ",
                               limits::kInFlightOfAPhase));
      }
    }
  }

  // Limits the host names that ranges stand for, in one selector and over the whole job. Each
  // workload has a selector of its own, so the product matters. The first problem is enough: once
  // the total is used up, every further selector would repeat it.
  void CheckNames() {
    CheckHosts(job_.hosts(), "hosts");
    for (int p = 0; p < job_.phases_size(); ++p) {
      for (int w = 0; w < job_.phases(p).run().workloads_size() && problems_.empty(); ++w) {
        CheckHosts(job_.phases(p).run().workloads(w).hosts(),
                   absl::StrCat("phases[", p, "].run.workloads[", w, "].hosts"));
      }
    }
  }

  void CheckHosts(const v1::HostSelector& hosts, const std::string& path) {
    size_t left = std::min<size_t>(limits::kHostNames, names_left_);
    for (int i = 0; i < hosts.names_size(); ++i) {
      const auto names = ExpandHostNames(hosts.names(i), left);
      if (!names.ok()) {
        return Add(absl::StrCat(path, ".names[", i, "]"), std::string(names.status().message()));
      }
      left -= std::min(left, names->size());
      names_left_ -= std::min(names_left_, names->size());
    }
  }

  // Just below 2^62. Offsets count over all files of a target, one after the other, and these
  // offsets and sums of two of them must fit 64 bits.
  static constexpr double kMaxTargetBytes = 4.6e18;
  const v1::JobSpec& job_;
  size_t names_left_ = limits::kSelectorNames;
  std::vector<v1::Problem> problems_;
};

}  // namespace

std::vector<v1::Problem> CheckLimits(const v1::JobSpec& job) { return LimitChecker(job).Run(); }

}  // namespace lockstep::controller
