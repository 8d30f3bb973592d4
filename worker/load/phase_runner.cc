#include "worker/load/phase_runner.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/mutex.h"
#include "common/timing.h"
#include "measure/states.h"
#include "proto/fields.h"
#include "worker/host/block_devices.h"
#include "worker/host/observed_devices.h"
#include "worker/targets/prepare.h"

namespace lockstep::worker {
namespace {

constexpr int64_t kProgressNs = 200 * timing::kMs;

}  // namespace

PhaseRunner::PhaseRunner(Parts parts, PhaseCallbacks callbacks)
    : parts_(std::move(parts)), callbacks_(std::move(callbacks)), fences_(callbacks_.report) {}

PhaseRunner::~PhaseRunner() {
  StopNow("");
  if (thread_.joinable()) thread_.join();
}

absl::Status PhaseRunner::Assign(const v1::Assignment& assignment) {
  common::MutexLock lock(&mutex_);
  if (const std::string wrong = v1::FirstProblem(assignment); !wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the assignment is invalid: ", wrong));
  }
  if (busy_) {
    return absl::FailedPreconditionError(
        absl::StrCat("still busy with phase ", phase_.phase(), " of run ", phase_.run_id()));
  }
  // The join cannot block on mutex_: a thread clears busy_ only after its last use of it.
  if (thread_.joinable()) thread_.join();
  phase_ = assignment.phase();
  go_ns_ = 0;
  stop_ = false;
  busy_ = true;
  try {
    thread_ = std::thread([this, assignment] { Main(assignment); });
  } catch (const std::system_error& error) {
    busy_ = false;
    return absl::ResourceExhaustedError(
        absl::StrCat("no thread can be started on this host: ", error.what()));
  }
  return absl::OkStatus();
}

absl::Status PhaseRunner::Go(const v1::Go& go) {
  common::MutexLock lock(&mutex_);
  if (!busy_ || !SamePhase(go.phase(), phase_)) {
    return absl::FailedPreconditionError(absl::StrCat("no phase ", go.phase().phase(), " of run ",
                                                      go.phase().run_id(), " is armed"));
  }
  go_ns_ = go.at_ns();
  changed_.NotifyAll();
  return absl::OkStatus();
}

void PhaseRunner::StopAt(const v1::StopAt& stop) {
  common::MutexLock lock(&mutex_);
  if (busy_ && SamePhase(stop.phase(), phase_) && load_ != nullptr) {
    load_->StopAtEndOf(stop.interval());
  }
}

void PhaseRunner::StopNow(const std::string& run_id) {
  common::MutexLock lock(&mutex_);
  if (!busy_ || (!run_id.empty() && run_id != phase_.run_id())) return;
  stop_ = true;
  if (load_ != nullptr) load_->StopNow();
  changed_.NotifyAll();
}

std::optional<int64_t> PhaseRunner::AwaitGo() {
  common::MutexLock lock(&mutex_);
  changed_.Wait(&lock,
                [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return go_ns_ != 0 || stop_; });
  if (stop_) return std::nullopt;
  return go_ns_;
}

void PhaseRunner::Fail(const v1::PhaseId& phase, const absl::Status& status) {
  v1::PhaseFailed failed;
  *failed.mutable_phase() = phase;
  failed.set_reason(std::string(status.message()));
  // A phase that fails before its load may have changed the settings already.
  for (const v1::SettingChange& change : parts_.environment->Restore()) {
    if (!change.not_restored().empty())
      callbacks_.report(measure::Severity::kError, change.not_restored());
  }
  // As with a result, the controller may answer a failure with the next assignment at once.
  busy_ = false;
  callbacks_.failed(failed);
}

void PhaseRunner::Main(v1::Assignment assignment) {
  const RunIdentity who = {parts_.host, assignment.worker_index()};
  ledgers_.BeginRun(assignment.phase().run_id());
  fences_.ReleaseOthers(assignment.phase().run_id());
  switch (assignment.kind_case()) {
    case v1::Assignment::kRun:
      return RunLoad(assignment, who);
    case v1::Assignment::kPrepare:
      return DoFiles(assignment,
                     [&](v1::PhaseResult* result) { return Prepare(assignment, who, result); });
    case v1::Assignment::kCleanup:
      return DoFiles(assignment,
                     [&](v1::PhaseResult* result) { return Cleanup(assignment, who, result); });
    case v1::Assignment::KIND_NOT_SET:
      return Fail(
          assignment.phase(),
          absl::InvalidArgumentError("an assignment of a kind that this worker does not know"));
  }
}

absl::Status PhaseRunner::ChangeSettings(const v1::RunAssignment& run) const {
  // All changes are collected and checked before the first is made: if the policy refuses one
  // device, the others stay as they are.
  const KernelSettings kernel;
  std::vector<WantedSetting> wanted;
  const auto add = [&](const v1::Environment& environment, const auto& devices) -> absl::Status {
    for (const std::string& name : devices) {
      const v1::BlockDevice device = ThisKernel().Describe(name);
      if (absl::Status may = parts_.policy->MayChangeDevice(device); !may.ok()) return may;
      auto settings = kernel.OfDevice(environment, name);
      if (!settings.ok()) return settings.status();
      wanted.insert(wanted.end(), settings->begin(), settings->end());
    }
    return absl::OkStatus();
  };
  v1::Environment queue = run.environment();
  queue.clear_remount();
  queue.clear_read_ahead_bytes();
  // A message without a field has size 0. Without settings of queues no device needs to be allowed.
  if (queue.ByteSizeLong() != 0) {
    if (absl::Status status = add(queue, run.settings_devices()); !status.ok()) return status;
  }
  // The read-ahead comes last, because other settings of the same device imply one (kOrder in
  // keeper.cc).
  if (run.environment().has_read_ahead_bytes()) {
    v1::Environment read_ahead;
    read_ahead.set_read_ahead_bytes(run.environment().read_ahead_bytes());
    if (absl::Status status = add(read_ahead, run.read_ahead_devices()); !status.ok()) {
      return status;
    }
  }
  for (const v1::Remount& remount : run.environment().remount()) {
    if (!run.remounts() || remount.options().empty()) continue;
    if (absl::Status may = parts_.policy->MayRemount(remount.path()); !may.ok()) return may;
    auto setting = kernel.OfMount(remount);
    if (!setting.ok()) return setting.status();
    wanted.push_back(*std::move(setting));
  }
  return parts_.environment->Apply(wanted);
}

void PhaseRunner::RunLoad(const v1::Assignment& assignment, const RunIdentity& who) {
  // An observe phase. Other phases sample devices underneath their targets, which the guard opens.
  if (assignment.targets().empty()) {
    doing_ = "looking up the devices to observe";
    const absl::Status status =
        CheckSampled(*parts_.guard, parts_.policy->observes(), DevicesOf(assignment),
                     {assignment.sample_mounts().begin(), assignment.sample_mounts().end()});
    if (!status.ok()) return Fail(assignment.phase(), status);
  }
  doing_ = "changing settings";
  if (absl::Status status = ChangeSettings(assignment.run()); !status.ok()) {
    return Fail(assignment.phase(), status);
  }
  RunLoadAsItIs(assignment, who);
}

void PhaseRunner::AwaitOthers(const v1::Assignment& assignment, const Load& load) {
  // A load that ends by its own count has no common end to wait for.
  if (assignment.run().duration_ns() == 0) return;
  common::MutexLock lock(&mutex_);
  // The end may move to an earlier instant, which StopAt() does not announce to this condition:
  // hence the short waits.
  while (!stop_ && parts_.clock->MonotonicNs() < load.end_ns()) {
    changed_.WaitFor(&lock, std::chrono::milliseconds(50),
                     [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_.load(); });
  }
}

void PhaseRunner::RunLoadAsItIs(const v1::Assignment& assignment, const RunIdentity& who) {
  if (assignment.run().drop_caches()) {
    doing_ = "dropping caches";
    if (absl::Status status = DropCaches(); !status.ok()) return Fail(assignment.phase(), status);
  }
  Load::Environment environment;
  environment.guard = parts_.guard;
  environment.clock = parts_.clock;
  environment.ledgers = &ledgers_;
  environment.fences = &fences_;
  environment.write_log = callbacks_.write_log;
  environment.block_writes = [this, phase = assignment.phase()](const v1::BlockWrites& writes) {
    callbacks_.block_writes(phase, writes);
  };
  environment.mismatch_directory = parts_.mismatch_directory;
  environment.report = callbacks_.report;
  doing_ = "opening targets";
  auto made = Load::Make(assignment, who, std::move(environment));
  if (!made.ok()) return Fail(assignment.phase(), made.status());
  const std::shared_ptr<Load> load = *made;
  {
    common::MutexLock lock(&mutex_);
    load_ = load;
    // A stop that came while the load was being made found no load_. It is made up for under the
    // same lock.
    if (stop_) load->StopNow();
  }
  doing_ = "registering buffers and starting threads";
  const absl::Status status = load->Arm();
  if (!status.ok()) {
    common::MutexLock lock(&mutex_);
    load_.reset();
  }
  if (!status.ok()) return Fail(assignment.phase(), status);
  v1::Armed armed;
  *armed.mutable_phase() = assignment.phase();
  for (const std::string& note : load->notes()) armed.add_notes(note);
  load->AddRanges(&armed);
  callbacks_.armed(armed);
  doing_ = "running or draining the load";
  if (const auto go_ns = AwaitGo()) load->Start(*go_ns);
  v1::PhaseResult result = load->Wait(
      [&](v1::IntervalSample sample) { callbacks_.sample(assignment.phase(), std::move(sample)); });
  fences_.ReportForeignKeys(assignment.phase().run_id());
  if (parts_.environment->has_changes()) {
    // Workers of the same kernel work under the same settings.
    AwaitOthers(assignment, *load);
    // The kernel waits for all I/O of a queue before it changes it.
    for (v1::SettingChange& change :
         load->hangs() ? parts_.environment->Leave("an I/O of the device has not come back; the "
                                                   "next phase, or the next start of this worker, "
                                                   "restores the setting")
                       : parts_.environment->Restore()) {
      if (!change.not_restored().empty())
        callbacks_.report(measure::Severity::kError, change.not_restored());
      *result.add_settings() = std::move(change);
    }
  }
  {
    common::MutexLock lock(&mutex_);
    load_.reset();
  }
  // The controller may answer a result with the next assignment at once, which must not find the
  // worker busy.
  busy_ = false;
  callbacks_.result(assignment.phase(), std::move(result));
}

absl::Status PhaseRunner::DropCaches() const {
  // The kernel drops clean pages only; dirty ones must be written first
  // (Documentation/admin-guide/sysctl/vm.rst, drop_caches). 3 stands for the page cache and the
  // slab objects.
  sync();
  const int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  const bool done = fd >= 0 && write(fd, "3", 1) == 1;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (done) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("drop_caches: /proc/sys/vm/drop_caches: ", common::ErrnoText(error),
                   "; the worker must be root of the host, or leave drop_caches out"));
}

void PhaseRunner::DoFiles(const v1::Assignment& assignment,
                          const std::function<absl::Status(v1::PhaseResult*)>& work) {
  // Nothing is touched before the go. A phase in which another worker fails to arm leaves no files
  // and removes none.
  v1::Armed armed;
  *armed.mutable_phase() = assignment.phase();
  callbacks_.armed(armed);
  v1::PhaseResult result;
  doing_ = "working on files";
  if (const auto go_ns = AwaitGo()) {
    parts_.clock->SleepUntil(*go_ns);
    result.set_go_ns(*go_ns);
    const absl::Status status = work(&result);
    // Work that is stopped ends with an error (CANCELLED), which is no failure of the phase.
    if (!status.ok() && !stop_) return Fail(assignment.phase(), status);
  }
  result.set_stopped_early(stop_);
  result.set_end_ns(parts_.clock->MonotonicNs());
  busy_ = false;
  callbacks_.result(assignment.phase(), std::move(result));
}

absl::Status PhaseRunner::Prepare(const v1::Assignment& assignment, const RunIdentity& who,
                                  v1::PhaseResult* result) {
  std::atomic<int64_t> said_ns{0};
  const auto progress = [&](uint64_t done, uint64_t total) {
    // Several threads, and fast storage: a few words a second are enough.
    const int64_t now = parts_.clock->MonotonicNs();
    int64_t before = said_ns;
    if (done != total &&
        (now - before < kProgressNs || !said_ns.compare_exchange_strong(before, now))) {
      return;
    }
    v1::PhaseProgress report;
    *report.mutable_phase() = assignment.phase();
    report.set_done_bytes(done);
    report.set_total_bytes(total);
    callbacks_.progress(report);
  };
  const auto prepared = PrepareFiles(*parts_.guard, assignment, who, stop_, progress);
  if (!prepared.ok()) return prepared.status();
  result->set_files_made(prepared->files_made);
  result->set_files_reused(prepared->files_reused);
  result->set_bytes_written(prepared->bytes_written);
  for (const v1::LeftContent& left : prepared->left_contents) *result->add_left_contents() = left;
  return absl::OkStatus();
}

absl::Status PhaseRunner::Cleanup(const v1::Assignment& assignment, const RunIdentity& who,
                                  v1::PhaseResult* result) const {
  const int64_t until = result->go_ns() + assignment.hard_stop_ns();
  const auto removed = RemoveFiles(*parts_.guard, assignment, who, [&] {
    return assignment.hard_stop_ns() > 0 && parts_.clock->MonotonicNs() >= until;
  });
  if (!removed.ok()) return removed.status();
  result->set_files_removed(*removed);
  return absl::OkStatus();
}

}  // namespace lockstep::worker
