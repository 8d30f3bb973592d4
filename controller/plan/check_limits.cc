// What a job may ask for at the most, before anything else is done with it.

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/units.h"
#include "controller/plan/loads.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/selection.h"
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
    if (job_.ByteSizeLong() > static_cast<size_t>(limits::kJobBytes)) {
      Add("", absl::StrCat("the job has ", job_.ByteSizeLong(), " bytes; the most is ",
                           limits::kJobBytes));
      return problems_;
    }
    for (const v1::FieldProblem& problem : v1::CheckFields(job_)) {
      Add(problem.path, problem.message);
    }
    // Each of these works with what the one before it has let pass.
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
      files += std::max<int64_t>(1, file.count());
      if (static_cast<double>(file.size_bytes()) * std::max<uint32_t>(1, file.count()) >
          kMostTargetBytes) {
        Add(absl::StrCat("targets[", t, "].file"), "its files together have more than 4 EiB");
      }
    }
    if (files > limits::kFilesOfAJob) {
      Add("targets", absl::StrCat("have ", files, " files; the most is ", limits::kFilesOfAJob,
                                  " over all targets"));
    }
    CheckWorkloads();
  }

  void CheckWorkloads() {
    int64_t workloads = 0;
    for (int p = 0; p < job_.phases_size(); ++p) {
      const v1::RunPhase& run = job_.phases(p).run();
      workloads += int64_t{run.workloads_size()} * std::max(1, run.curve().share_ratio_size());
      int64_t threads = 0;
      int64_t in_flight = 0;
      for (const v1::Workload& w : run.workloads()) {
        const int64_t own = std::max<uint32_t>(1, w.threads());
        threads += own;
        in_flight += own * std::max<uint32_t>(1, w.queue_depth());
      }
      const std::string path = absl::StrCat("phases[", p, "].run.workloads");
      if (threads > limits::kThreadsOfAPhase) {
        Add(path, absl::StrCat("have ", threads, " threads on a worker; the most is ",
                               limits::kThreadsOfAPhase));
      }
      if (in_flight > limits::kInFlightOfAPhase) {
        Add(path, absl::StrCat("have ", in_flight, " I/Os in flight on a worker; the most is ",
                               limits::kInFlightOfAPhase));
      }
    }
    if (workloads > limits::kJobWorkloads) {
      Add("phases",
          absl::StrCat("have ", workloads, " workloads; the most is ", limits::kJobWorkloads));
    }
  }

  // Names that ranges stand for: at most so many in a selector, and so many times that in all
  // workloads' together.
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

  static constexpr double kMostTargetBytes = 4.6e18;
  const v1::JobSpec& job_;
  size_t names_left_ = limits::kSelectorNames;
  std::vector<v1::Problem> problems_;
};

}  // namespace

std::vector<v1::Problem> CheckLimits(const v1::JobSpec& job) { return LimitChecker(job).Run(); }

}  // namespace lockstep::controller
