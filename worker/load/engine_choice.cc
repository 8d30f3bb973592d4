#include "worker/load/engine_choice.h"

#include <linux/ioprio.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "proto/workload.h"

namespace lockstep::worker {
namespace {

// I/Os handed over per system call at most. A device begins with the first of a batch only when the
// last has been queued, and the block layer merges neighbours within one: small batches keep it
// busy. The page cache, and targets without storage, answer inside the call, where only the call's
// own cost counts. docs/performance.md has the figures.
constexpr uint32_t kDirectBatch = 8;
constexpr uint32_t kInlineBatch = 32;

TaskWork TaskWorkOf(v1::TaskWork task_work) {
  switch (task_work) {
    case v1::TASK_WORK_DEFERRED:
      return TaskWork::kDeferred;
    case v1::TASK_WORK_COOPERATIVE:
      return TaskWork::kCooperative;
    case v1::TASK_WORK_PLAIN:
      return TaskWork::kPlain;
    default:
      return TaskWork::kByRule;
  }
}

}  // namespace

// ENGINE_IO_URING is io_uring.
std::string NameOf(v1::Engine engine) {
  const std::string& name = v1::Engine_Name(engine);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "ENGINE_"));
}

EngineSetup EngineSetupOf(const v1::Workload& w, const OpenTargets& targets) {
  EngineSetup setup;
  setup.files = targets.engine_files();
  setup.queue_depth = w.queue_depth();
  setup.buffered_writes = !w.direct() && Writes(w) && !targets.null_target;
  setup.sync_mode = w.fsync().mode() == v1::SYNC_MODE_FDATASYNC         ? SyncMode::kFdatasync
                    : w.fsync().mode() == v1::SYNC_MODE_SYNC_FILE_RANGE ? SyncMode::kSyncFileRange
                                                                        : SyncMode::kFsync;
  setup.task_work = TaskWorkOf(w.engine_options().task_work());
  setup.submission_polling = w.engine_options().submission_polling();
  setup.completion_polling = w.engine_options().completion_polling();
  setup.unregistered = w.engine_options().unregistered();
  setup.timed_submission = w.submission_latency();
  return setup;
}

int PriorityOf(const v1::IoPriority& priority) {
  switch (priority.class_()) {
    case v1::IO_PRIORITY_CLASS_REALTIME:
      return IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, priority.level());
    case v1::IO_PRIORITY_CLASS_IDLE:
      return IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0);
    default:
      return IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, priority.level());
  }
}

std::vector<const EngineEntry*> FallbacksOf(const v1::Workload& w, const OpenTargets& targets) {
  std::vector<const EngineEntry*> found;
  if (w.engine() != v1::ENGINE_IO_URING || !w.engine_options().fallback()) return found;
  std::vector<v1::Engine> candidates = {v1::ENGINE_LIBAIO};
  // An engine of one I/O at a time has neither a queue nor a time of submission, and its I/Os have
  // no priorities of their own.
  const bool has_priorities =
      std::any_of(w.access().begin(), w.access().end(),
                  [](const v1::AccessLine& line) { return line.has_io_priority(); });
  if (w.queue_depth() == 1 && !w.submission_latency() && !has_priorities)
    candidates.push_back(v1::ENGINE_SYNC);
  const std::vector<EngineFile> files = targets.engine_files();
  for (const v1::Engine candidate : candidates) {
    const EngineEntry* engine = FindEngine(NameOf(candidate));
    if (engine != nullptr && std::all_of(files.begin(), files.end(), engine->reaches)) {
      found.push_back(engine);
    }
  }
  return found;
}

void ChooseBatch(const v1::Workload& w, const EngineEntry& engine, Completion completion,
                 IoThreadSetup* setup) {
  const uint32_t depth = w.queue_depth();
  setup->max_batch = w.engine_options().batch();
  if (setup->max_batch == 0) {
    setup->max_batch = completion == Completion::kByDevice ? kDirectBatch : kInlineBatch;
    // A batch of the whole depth would leave the device idle while it is being prepared. With half
    // of the depth, the other half is in flight.
    if (depth > 1) setup->max_batch = std::min(setup->max_batch, std::max<uint32_t>(1, depth / 2));
  }
  if (engine.one_at_a_time) setup->max_batch = 1;
  setup->max_batch = std::min(setup->max_batch, depth);
  setup->wait = w.engine_options().wait();
  if (setup->wait == 0) {
    setup->wait = completion == Completion::kInCall ? std::max<uint32_t>(1, depth / 2) : 1;
  }
  setup->wait = std::min(setup->wait, depth);
}

}  // namespace lockstep::worker
