#include "controller/plan/validate.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kSecond = 1000000000;


int FindTarget(const v1::JobSpec& job, const std::string& name) {
  for (int i = 0; i < job.targets_size(); ++i) {
    if (job.targets(i).name() == name) return i;
  }
  return -1;
}

// The phases' lists of targets, whatever the kind.
const google::protobuf::RepeatedPtrField<std::string>* TargetNames(const v1::PhaseSpec& phase) {
  switch (phase.kind_case()) {
    case v1::PhaseSpec::kPrepare: return &phase.prepare().targets();
    case v1::PhaseSpec::kPrecondition: return &phase.precondition().targets();
    case v1::PhaseSpec::kVerify: return &phase.verify().targets();
    case v1::PhaseSpec::kCleanup: return &phase.cleanup().targets();
    default: return nullptr;
  }
}

void FillWorkload(const v1::JobSpec& job, int index, v1::Workload* workload) {
  if (workload->name().empty()) workload->set_name(absl::StrCat("w", index));
  if (workload->targets().empty() && job.targets_size() == 1) workload->add_targets(job.targets(0).name());
  if (workload->threads() == 0) workload->set_threads(1);
  if (workload->queue_depth() == 0) workload->set_queue_depth(1);
  if (workload->block_size_bytes() == 0 && workload->block_sizes().empty()) workload->set_block_size_bytes(4096);
  if (workload->pattern().kind_case() == v1::Pattern::KIND_NOT_SET) workload->mutable_pattern()->mutable_random();
  if (!workload->has_read_ratio()) workload->set_read_ratio(1);
  if (!workload->has_direct()) workload->set_direct(true);
  if (workload->engine() == v1::ENGINE_UNSPECIFIED) workload->set_engine(v1::ENGINE_IO_URING);
  if (workload->load_case() == v1::Workload::LOAD_NOT_SET) workload->mutable_closed_loop();
}

void FillPhase(const v1::JobSpec& job, v1::PhaseSpec* phase) {
  if (phase->name().empty()) phase->set_name(KindName(*phase));
  if (phase->has_run()) {
    for (int i = 0; i < phase->run().workloads_size(); ++i) FillWorkload(job, i, phase->mutable_run()->mutable_workloads(i));
    return;
  }
  auto* names = const_cast<google::protobuf::RepeatedPtrField<std::string>*>(TargetNames(*phase));
  if (names == nullptr || !names->empty()) return;
  for (const v1::Target& target : job.targets()) {
    if (target.has_file()) *names->Add() = target.name();
  }
}

// Collects problems under a path.
class Checker {
 public:
  explicit Checker(const v1::JobSpec& job) : job_(job) {}

  std::vector<v1::Problem> Run() {
    if (job_.name().empty()) Add("name", "is missing; every job has a name");
    if (job_.interval_ns() < 100000000 || job_.interval_ns() > 60 * kSecond) Add("interval", "must lie between 100ms and 1m");
    if (job_.on_worker_loss() == v1::LOSS_POLICY_RETRY) Add("on_worker_loss", "retry is not in this version; write abort or continue");
    CheckTargets();
    if (job_.phases().empty()) Add("phases", "is empty; a job has at least one phase");
    for (int i = 0; i < job_.phases_size(); ++i) CheckPhase(absl::StrCat("phases[", i, "]"), job_.phases(i));
    return std::move(problems_);
  }

 private:
  void Add(const std::string& path, const std::string& message) {
    v1::Problem problem;
    problem.set_path(path);
    problem.set_message(message);
    problems_.push_back(std::move(problem));
  }
  void NotYet(bool used, const std::string& path, const std::string& what) {
    if (used) Add(path, absl::StrCat(what, " is not in this version"));
  }

  void CheckTargets() {
    std::set<std::string> names;
    for (int i = 0; i < job_.targets_size(); ++i) {
      const v1::Target& target = job_.targets(i);
      const std::string path = absl::StrCat("targets[", i, "]");
      if (target.name().empty()) Add(path + ".name", "is missing");
      if (!names.insert(target.name()).second) Add(path + ".name", absl::StrCat("'", target.name(), "' is the name of two targets"));
      switch (target.kind_case()) {
        case v1::Target::kFile: CheckFile(path + ".file", target); break;
        case v1::Target::kDevice: CheckDevice(path + ".device", target); break;
        case v1::Target::kIscsi: NotYet(true, path + ".iscsi", "an iSCSI target"); break;
        case v1::Target::kNull: NotYet(true, path + ".null", "a null target"); break;
        case v1::Target::KIND_NOT_SET: Add(path, "is neither a `file` nor a `device`"); break;
      }
    }
  }

  void CheckFile(const std::string& path, const v1::Target& target) {
    const v1::FileTarget& file = target.file();
    if (file.path().empty() || file.path()[0] != '/') Add(path + ".path", absl::StrCat("'", file.path(), "' is not an absolute path"));
    if (file.size_bytes() < 4096) Add(path + ".size", "must be at least 4KiB");
    if (file.count() > 65536) Add(path + ".count", "must be at most 65536");
  }

  void CheckDevice(const std::string& path, const v1::Target& target) {
    if (target.device().path().rfind("/dev/", 0) != 0) {
      Add(path + ".path", absl::StrCat("'", target.device().path(), "' does not lie under /dev"));
    }
    if (target.sharing() == v1::SHARING_PRIVATE) Add(path, "a device is sliced or overlapped; private is for files");
  }

  void CheckPhase(const std::string& path, const v1::PhaseSpec& phase) {
    switch (phase.kind_case()) {
      case v1::PhaseSpec::kRun: return CheckRun(path + ".run", phase.run());
      case v1::PhaseSpec::kPrecondition: return NotYet(true, path + ".precondition", "a precondition phase");
      case v1::PhaseSpec::kVerify: return NotYet(true, path + ".verify", "a verify phase");
      case v1::PhaseSpec::KIND_NOT_SET: return Add(path, "has no kind: write prepare, run or cleanup");
      default: break;
    }
    const std::string kind = KindName(phase);
    const auto* names = TargetNames(phase);
    if (names->empty()) Add(absl::StrCat(path, ".", kind), "has nothing to do: the job has no file target");
    for (int i = 0; i < names->size(); ++i) {
      const int target = FindTarget(job_, names->Get(i));
      const std::string where = absl::StrCat(path, ".", kind, ".targets[", i, "]");
      if (target < 0) Add(where, absl::StrCat("no target is named '", names->Get(i), "'"));
      if (target >= 0 && !job_.targets(target).has_file()) Add(where, absl::StrCat("'", names->Get(i), "' is not a file target"));
    }
  }

  void CheckRun(const std::string& path, const v1::RunPhase& run) {
    if (run.workloads().empty()) Add(path + ".workloads", "is empty; a run phase has at least one workload");
    if (run.ramp_ns() < 0 || run.ramp_ns() % job_.interval_ns() != 0) {
      Add(path + ".ramp", absl::StrCat("must be a multiple of the interval, ", common::FormatDuration(static_cast<double>(job_.interval_ns()))));
    }
    NotYet(run.drop_caches(), path + ".drop_caches", "dropping caches");
    std::set<std::string> names;
    for (int i = 0; i < run.workloads_size(); ++i) {
      const std::string where = absl::StrCat(path, ".workloads[", i, "]");
      if (!names.insert(run.workloads(i).name()).second) Add(where + ".name", absl::StrCat("'", run.workloads(i).name(), "' is the name of two workloads"));
      CheckWorkload(where, run, run.workloads(i));
    }
  }

  void CheckWorkload(const std::string& path, const v1::RunPhase& run, const v1::Workload& w) {
    if (run.duration_ns() == 0 && w.operations() == 0 && w.io_size_bytes() == 0) {
      Add(path, "has no end: give the run a duration, or the workload operations or io_size");
    }
    if (run.ramp_ns() != 0 && run.duration_ns() == 0) Add(path, "with a ramp the run needs a duration");
    if (w.targets().empty()) Add(path + ".targets", "is empty, and the job has not exactly one target");
    const int64_t block = w.block_size_bytes();
    if (block < 512 || block > 67108864) Add(path + ".block_size", "must lie between 512 and 64MiB");
    if (w.direct() && block % 512 != 0) Add(path + ".block_size", absl::StrCat(block, " is not a multiple of 512, which O_DIRECT requires; or set direct: false"));
    if (w.read_ratio() < 0 || w.read_ratio() > 1) Add(path + ".read", "must lie between 0 and 100%");
    if (w.threads() > 1024) Add(path + ".threads", "must be at most 1024");
    if (w.queue_depth() > 4096) Add(path + ".queue_depth", "must be at most 4096");
    if (w.engine() == v1::ENGINE_SYNC && w.queue_depth() > 1) Add(path + ".queue_depth", "the sync engine has one I/O in flight per thread; raise threads instead");
    for (int i = 0; i < w.targets_size(); ++i) CheckWorkloadTarget(absl::StrCat(path, ".targets[", i, "]"), w.targets(i), w);
    NotYet(w.engine() == v1::ENGINE_LIBAIO || w.engine() == v1::ENGINE_MMAP || w.engine() == v1::ENGINE_NULL, path + ".engine", "this engine");
    NotYet(w.pattern().has_zipf(), path + ".pattern", "the zipf pattern");
    NotYet(w.has_open_loop(), path + ".open_loop", "the open loop");
    NotYet(w.max_iops() > 0, path + ".max_iops", "a cap on IOPS");
    NotYet(w.max_throughput_bytes_per_second() > 0, path + ".max_throughput", "a cap on throughput");
    NotYet(w.has_fsync(), path + ".fsync", "fsync");
    NotYet(!w.block_sizes().empty(), path + ".block_sizes", "a mix of block sizes");
    NotYet(w.think_time_ns() > 0, path + ".think_time", "think time");
    NotYet(w.trim_ratio() > 0, path + ".trim", "trim");
    NotYet(w.verify(), path + ".verify", "verification");
  }

  void CheckWorkloadTarget(const std::string& path, const std::string& name, const v1::Workload& w) {
    const int index = FindTarget(job_, name);
    if (index < 0) return Add(path, absl::StrCat("no target is named '", name, "'"));
    const v1::Target& target = job_.targets(index);
    if (target.has_file() && target.file().size_bytes() < w.block_size_bytes()) {
      Add(path, absl::StrCat("a file of ", common::FormatSize(static_cast<double>(target.file().size_bytes())), " holds no block of ",
                             common::FormatSize(static_cast<double>(w.block_size_bytes()))));
    }
  }

  const v1::JobSpec& job_;
  std::vector<v1::Problem> problems_;
};

}  // namespace

std::string KindName(const v1::PhaseSpec& phase) {
  switch (phase.kind_case()) {
    case v1::PhaseSpec::kPrepare: return "prepare";
    case v1::PhaseSpec::kPrecondition: return "precondition";
    case v1::PhaseSpec::kRun: return "run";
    case v1::PhaseSpec::kVerify: return "verify";
    case v1::PhaseSpec::kCleanup: return "cleanup";
    case v1::PhaseSpec::KIND_NOT_SET: break;
  }
  return "";
}

void FillDefaults(v1::JobSpec* job) {
  if (job->interval_ns() == 0) job->set_interval_ns(kSecond);
  if (job->on_worker_loss() == v1::LOSS_POLICY_UNSPECIFIED) job->set_on_worker_loss(v1::LOSS_POLICY_ABORT);
  if (job->min_hosts() == 0) job->set_min_hosts(1);
  v1::Deadlines* deadlines = job->mutable_deadlines();
  if (deadlines->arm_ns() == 0) deadlines->set_arm_ns(60 * kSecond);
  if (deadlines->drain_ns() == 0) deadlines->set_drain_ns(60 * kSecond);
  if (deadlines->prepare_ns() == 0) deadlines->set_prepare_ns(3600 * kSecond);
  for (v1::Target& target : *job->mutable_targets()) {
    if (target.has_file() && target.file().count() == 0) target.mutable_file()->set_count(1);
    if (target.sharing() == v1::SHARING_UNSPECIFIED) target.set_sharing(target.has_file() ? v1::SHARING_PRIVATE : v1::SHARING_SLICED);
  }
  for (v1::PhaseSpec& phase : *job->mutable_phases()) FillPhase(*job, &phase);
}

std::vector<v1::Problem> Validate(const v1::JobSpec& job) { return Checker(job).Run(); }

std::vector<uint32_t> TargetsOf(const v1::JobSpec& job, const v1::PhaseSpec& phase) {
  std::set<uint32_t> used;
  const auto add = [&](const auto& names) {
    for (const std::string& name : names) {
      const int index = FindTarget(job, name);
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

bool IsWritten(const v1::JobSpec& job, int target) {
  const std::string& name = job.targets(target).name();
  for (const v1::PhaseSpec& phase : job.phases()) {
    if (phase.has_precondition() && std::count(phase.precondition().targets().begin(), phase.precondition().targets().end(), name) != 0) return true;
    for (const v1::Workload& w : phase.run().workloads()) {
      if (w.read_ratio() < 1 && std::count(w.targets().begin(), w.targets().end(), name) != 0) return true;
    }
  }
  return false;
}

bool IsPrepared(const v1::JobSpec& job, int target) {
  const std::string& name = job.targets(target).name();
  return std::any_of(job.phases().begin(), job.phases().end(), [&](const v1::PhaseSpec& phase) {
    return phase.has_prepare() && std::count(phase.prepare().targets().begin(), phase.prepare().targets().end(), name) != 0;
  });
}

}  // namespace lockstep::controller
