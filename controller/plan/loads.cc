#include "controller/plan/loads.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "proto/defaults.h"
#include "proto/workload.h"

namespace lockstep::controller {

std::string KindName(const v1::PhaseSpec& phase) {
  switch (phase.kind_case()) {
    case v1::PhaseSpec::kPrepare:
      return "prepare";
    case v1::PhaseSpec::kPrecondition:
      return "precondition";
    case v1::PhaseSpec::kRun:
      return "run";
    case v1::PhaseSpec::kVerify:
      return "verify";
    case v1::PhaseSpec::kCleanup:
      return "cleanup";
    case v1::PhaseSpec::kObserve:
      return "observe";
    case v1::PhaseSpec::KIND_NOT_SET:
      break;
  }
  return "";
}

bool IsLoad(const v1::PhaseSpec& phase) {
  return phase.has_run() || phase.has_precondition() || phase.has_verify() || phase.has_observe();
}

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

int FindTarget(const v1::JobSpec& job, const std::string& name) {
  for (int i = 0; i < job.targets_size(); ++i) {
    if (job.targets(i).name() == name) return i;
  }
  return -1;
}

TargetIndex::TargetIndex(const v1::JobSpec& job) {
  // emplace() keeps the first of several targets with one name, as FindTarget() does.
  for (int i = 0; i < job.targets_size(); ++i) numbers_.emplace(job.targets(i).name(), i);
  for (int i = 0; i < job.targets_size(); ++i) {
    if (!job.targets(i).variant_of().empty()) numbers_.emplace(job.targets(i).variant_of(), i);
  }
}

int TargetIndex::Find(absl::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? -1 : found->second;
}

namespace {

// Whether all targets of a workload that names no engine are LUNs.
bool IsOnLuns(const v1::JobSpec& job, const v1::Workload& workload) {
  // A job without LUNs, the usual case, builds no index for each of its workloads.
  if (std::none_of(job.targets().begin(), job.targets().end(),
                   [](const v1::Target& target) { return target.has_iscsi(); })) {
    return false;
  }
  const TargetIndex targets(job);
  // A job with one target need not name it: FillWorkload() adds it after ChooseEngines() has run.
  const bool only = workload.targets().empty() && job.targets_size() == 1;
  // A mixture keeps the default engine, and Validate() reports it.
  return only ? job.targets(0).has_iscsi()
              : !workload.targets().empty() &&
                    std::all_of(workload.targets().begin(), workload.targets().end(),
                                [&](const std::string& name) {
                                  const int index = targets.Find(name);
                                  return index >= 0 && job.targets(index).has_iscsi();
                                });
}

// A job that sets what only io_uring has wants io_uring, although it does not name it.
bool WantsUring(const v1::EngineOptions& options) {
  return options.submission_polling() || options.completion_polling() || options.unregistered() ||
         options.task_work() != v1::TASK_WORK_UNSPECIFIED;
}

void ChooseEngine(const v1::JobSpec& job, v1::Workload* workload) {
  if (workload->engine() != v1::ENGINE_UNSPECIFIED) return;
  // LUNs have one engine, so a job does not have to choose it.
  if (IsOnLuns(job, *workload)) {
    workload->set_engine(v1::ENGINE_ISCSI);
  } else if (!workload->engine_options().has_fallback() &&
             !WantsUring(workload->engine_options())) {
    // FillDefaults() will write io_uring, as if the job had named it. Only here it is known that
    // the job did not.
    workload->mutable_engine_options()->set_fallback(true);
  }
}

}  // namespace

v1::IntervalSample IdleInterval(uint32_t number, const v1::RunPhase& load, int64_t interval_ns) {
  // A load without a duration ends by operations or bytes, at a time that is not known. None of its
  // intervals counts as drain.
  const int64_t load_end = load.duration_ns() > 0 ? load.ramp_ns() + load.duration_ns()
                                                  : std::numeric_limits<int64_t>::max();
  const int64_t begin = int64_t{number} * interval_ns;
  const int64_t end = begin + interval_ns;
  v1::IntervalSample idle;
  idle.set_interval(number);
  idle.set_interval_class(end <= load.ramp_ns() ? v1::INTERVAL_CLASS_RAMP
                          : begin >= load_end   ? v1::INTERVAL_CLASS_DRAIN
                                                : v1::INTERVAL_CLASS_MEASURED);
  idle.set_begin_ns(std::min(begin, load_end));
  idle.set_end_ns(std::min(end, load_end));
  return idle;
}

void ChooseEngines(v1::JobSpec* job) {
  for (v1::PhaseSpec& phase : *job->mutable_phases()) {
    for (int i = 0; i < phase.run().workloads_size(); ++i) {
      ChooseEngine(*job, phase.mutable_run()->mutable_workloads(i));
    }
  }
}

namespace {

void FillCopy(v1::Workload* workload) {
  if (!workload->has_copy()) return;
  if (workload->targets().empty()) {
    workload->add_targets(workload->copy().from());
    workload->add_targets(workload->copy().to());
  }
  // Each block is read once and written once.
  if (!workload->has_read_ratio()) workload->set_read_ratio(0.5);
  if (workload->pattern().kind_case() == v1::Pattern::KIND_NOT_SET) {
    workload->mutable_pattern()->mutable_sequential();
  }
  if (workload->passes() == 0) workload->set_passes(1);
}

}  // namespace

void FillCopies(v1::JobSpec* job) {
  for (v1::PhaseSpec& phase : *job->mutable_phases()) {
    for (int i = 0; i < phase.run().workloads_size(); ++i) {
      FillCopy(phase.mutable_run()->mutable_workloads(i));
    }
  }
}

void FillWorkload(const v1::JobSpec& job, int index, v1::Workload* workload) {
  FillCopy(workload);
  if (workload->name().empty()) workload->set_name(absl::StrFormat("w%d", index));
  if (workload->targets().empty() && job.targets_size() == 1) {
    workload->add_targets(job.targets(0).name());
  }
  ChooseEngine(job, workload);
  v1::FillDefaults(workload);
}

namespace {

v1::Workload PreconditionLoad(v1::PreconditionPhase from) {
  v1::FillDefaults(&from);
  v1::Workload w;
  w.set_name("precondition");
  *w.mutable_targets() = from.targets();
  w.set_passes(from.passes());
  w.set_block_size_bytes(from.block_size_bytes());
  w.set_queue_depth(from.queue_depth());
  if (from.random()) {
    // Shuffled, not random: a pass writes each block exactly once. A pass at random offsets would
    // leave 37 % of the blocks unwritten.
    w.mutable_pattern()->mutable_shuffled();
  } else {
    w.mutable_pattern()->mutable_sequential();
  }
  *w.mutable_content() = from.content();
  w.set_read_ratio(0);
  w.set_verify(from.verify());
  w.set_direct(from.direct());
  return w;
}

v1::Workload VerifyLoad(v1::VerifyPhase from) {
  v1::FillDefaults(&from);
  v1::Workload w;
  w.set_name("verify");
  *w.mutable_targets() = from.targets();
  // A single pass reads every block once, and ends the phase without a duration.
  w.set_passes(1);
  w.set_block_size_bytes(from.block_size_bytes());
  w.set_queue_depth(from.queue_depth());
  if (from.random()) {
    // Shuffled, not random: a pass at random offsets would leave blocks unread.
    w.mutable_pattern()->mutable_shuffled();
  } else {
    w.mutable_pattern()->mutable_sequential();
  }
  w.set_read_ratio(1);
  w.set_verify(true);
  w.set_direct(from.direct());
  return w;
}

}  // namespace

v1::RunPhase LoadOf(const v1::JobSpec& job, const v1::PhaseSpec& phase) {
  v1::RunPhase load;
  if (phase.has_run()) load = phase.run();
  if (phase.has_precondition()) {
    *load.add_workloads() = PreconditionLoad(phase.precondition());
    if (phase.precondition().has_until_steady()) {
      *load.mutable_until_steady() = phase.precondition().until_steady();
    }
  }
  if (phase.has_verify()) *load.add_workloads() = VerifyLoad(phase.verify());
  // Nothing but a common begin and end, between which devices and hosts are sampled.
  if (phase.has_observe()) {
    load.set_duration_ns(phase.observe().duration_ns());
    if (phase.observe().has_abort_if()) *load.mutable_abort_if() = phase.observe().abort_if();
  }
  for (int i = 0; i < load.workloads_size(); ++i) {
    FillWorkload(job, i, load.mutable_workloads(i));
  }
  if (load.has_until_steady()) v1::FillDefaults(load.mutable_until_steady());
  // Only one worker may write an owned target. The precondition is a single workload, so the limit
  // holds for its other targets, too.
  const auto& written = phase.precondition().targets();
  if (written.empty()) return load;
  const TargetIndex targets(job);
  if (std::any_of(written.begin(), written.end(), [&](const std::string& name) {
        const int index = targets.Find(name);
        return index >= 0 && job.targets(index).sharing() == v1::SHARING_OWNED;
      })) {
    load.mutable_workloads(0)->mutable_hosts()->set_count(1);
  }
  return load;
}

bool HasOwnEnd(const v1::Workload& workload) {
  return workload.operations() != 0 || workload.io_size_bytes() != 0 || workload.passes() != 0 ||
         workload.runtime_ns() != 0;
}

std::map<uint32_t, int64_t> BeginsOf(const v1::RunPhase& load) {
  std::map<uint32_t, int64_t> begins;
  for (int w = 0; w < load.workloads_size(); ++w) {
    const int64_t delay = load.workloads(w).start_delay_ns();
    if (delay > 0) begins.emplace(static_cast<uint32_t>(w), delay);
  }
  return begins;
}

bool ChoosesContent(const v1::Workload& w) {
  return w.content().kind_case() != v1::Content::KIND_NOT_SET ||
         w.content().compressed_ratio() != 1 || w.content().duplicate_ratio() > 0;
}

int64_t LongestThinkNs(const v1::Workload& w) {
  int64_t longest = w.think_time_ns();
  for (const v1::AccessLine& line : w.access()) longest = std::max(longest, line.delay_ns());
  return longest;
}

int64_t LargestBlock(const v1::Workload& w) {
  int64_t largest = w.block_sizes().empty() && w.access().empty() ? w.block_size_bytes() : 0;
  for (const v1::WeightedBlockSize& line : w.block_sizes()) {
    largest = std::max({largest, line.block_size_bytes(), line.up_to_bytes()});
  }
  for (const v1::AccessLine& line : w.access()) {
    largest = std::max({largest, line.block_size_bytes(), line.up_to_bytes()});
  }
  // Merging joins up to `merge` neighbouring blocks into one I/O.
  return largest * std::max<int64_t>(1, w.merge());
}

int64_t SmallestBlock(const v1::Workload& w) {
  int64_t smallest =
      w.block_sizes().empty() && w.access().empty() ? w.block_size_bytes() : INT64_MAX;
  for (const v1::WeightedBlockSize& line : w.block_sizes()) {
    smallest = std::min(smallest, line.block_size_bytes());
  }
  for (const v1::AccessLine& line : w.access()) {
    smallest = std::min(smallest, line.block_size_bytes());
  }
  // A block without a neighbour is not merged, so `merge` does not raise the smallest I/O.
  return smallest;
}

std::set<uint32_t> TargetsWrittenBy(const v1::JobSpec& job, const v1::PhaseSpec& phase) {
  const TargetIndex index(job);
  std::set<uint32_t> written;
  // LoadOf() turns a precondition into a workload, so that its writes are found here, too.
  const v1::RunPhase load = LoadOf(job, phase);
  for (const v1::Workload& workload : load.workloads()) {
    for (const std::string& name : workload.targets()) {
      if (!WritesTo(workload, name)) continue;
      if (const int target = index.Find(name); target >= 0) {
        written.insert(static_cast<uint32_t>(target));
      }
    }
  }
  return written;
}

}  // namespace lockstep::controller
