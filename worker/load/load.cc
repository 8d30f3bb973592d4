#include "worker/load/load.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "common/timing.h"
#include "common/units.h"
#include "proto/defaults.h"
#include "proto/workload.h"
#include "worker/host/control_groups.h"
#include "worker/host/neighbours.h"
#include "worker/host/process_io.h"
#include "worker/load/workload_setup.h"
#include "worker/load/workload_targets.h"

namespace lockstep::worker {
namespace {

// The host's counters are first read this long before T. The reading is then over when the threads
// start, and does not compete with them for a processor.
constexpr int64_t kReadAheadNs = 4 * timing::kMs;
// From this long before that reading on, the worker reads nothing else of the host.
constexpr int64_t kQuietNs = 30 * timing::kMs;
// How often the load is monitored, and how often the claims on its devices.
constexpr int64_t kMonitorNs = 200 * timing::kMs;
constexpr int64_t kClaimPollNs = 500 * timing::kMs;

v1::Assignment Filled(v1::Assignment assignment) {
  v1::FillDefaults(&assignment);
  return assignment;
}

std::set<std::string> SampledDevices(const v1::Assignment& assignment) {
  const std::vector<std::string> devices = DevicesOf(assignment);
  return {devices.begin(), devices.end()};
}

}  // namespace

std::vector<std::string> DevicesOf(const v1::Assignment& assignment) {
  std::vector<std::string> devices(assignment.sample_devices().begin(),
                                   assignment.sample_devices().end());
  devices.insert(devices.end(), assignment.nested_devices().begin(),
                 assignment.nested_devices().end());
  return devices;
}

Load::Load(const v1::Assignment& assignment, Environment environment)
    : assignment_(Filled(assignment)),
      environment_(std::move(environment)),
      clock_(environment_.clock),
      timeline_(assignment.interval_ns(), assignment.run().ramp_ns()),
      verification_(&assignment_, &environment_),
      hang_monitor_(&parts_, clock_, environment_.report),
      paths_(DevicesOf(assignment), WatchPorts(assignment)) {}

PathWatch::Ports Load::WatchPorts(const v1::Assignment& assignment) {
  PathWatch::Ports ports;
  ports.clock = clock_;
  if (assignment.run().workloads().empty()) {
    // To read the states of 64 devices costs some 3 ms. There is no I/O that could wait for them.
    ports.oldest_in_flight_ns = nullptr;
    ports.pause_ns = timing::kSecond;
  } else {
    ports.oldest_in_flight_ns = [this] { return hang_monitor_.OldestInFlightNs(); };
  }
  return ports;
}

absl::StatusOr<std::shared_ptr<Load>> Load::Make(const v1::Assignment& assignment,
                                                 const RunIdentity& who, Environment environment) {
  std::shared_ptr<Load> load(new Load(assignment, std::move(environment)));
  if (absl::Status status = load->CheckCapacity(); !status.ok()) return status;
  for (const v1::WorkloadAssignment& workload : load->assignment_.run().workloads()) {
    if (absl::Status status = load->AddWorkload(workload, who); !status.ok()) return status;
  }
  load->FindServers();
  return load;
}

// Linux overcommits memory: mmap(2) grants the buffers, and the OOM killer ends a process only when
// they are used, in the middle of the phase. The estimate refuses such a phase before T.
absl::Status Load::CheckCapacity() const {
  // The memory of a thread beside its I/O buffers: the recorder's ring, its stack, its slots.
  constexpr double kThreadBytes = 1.5 * 1048576;
  constexpr double kSlotBytes = 512;
  // Other programs keep this share of the memory that is available now.
  constexpr double kLeaveShare = 0.25;
  double threads = 0;
  double bytes = 0;
  for (const v1::WorkloadAssignment& assigned : assignment_.run().workloads()) {
    const v1::Workload& w = assigned.workload();
    double largest = static_cast<double>(w.block_size_bytes());
    for (const v1::WeightedBlockSize& line : w.block_sizes()) {
      largest = std::max({largest, static_cast<double>(line.block_size_bytes()),
                          static_cast<double>(line.up_to_bytes())});
    }
    for (const v1::AccessLine& line : w.access()) {
      largest = std::max({largest, static_cast<double>(line.block_size_bytes()),
                          static_cast<double>(line.up_to_bytes())});
    }
    // A merged I/O has one buffer for all of its blocks.
    largest *= std::max<uint32_t>(1, w.merge());
    // A copy writes from the buffer that it has read into.
    const bool two_sets = Reads(w) && Writes(w) && !w.has_copy();
    const double buffers =
        (two_sets ? 2.0 : 1.0) * w.queue_depth() + (w.content().duplicate_ratio() > 0 ? 16 : 0);
    threads += w.threads();
    bytes += w.threads() * (buffers * largest + kThreadBytes + kSlotBytes * w.queue_depth());
  }
  if (threads > static_cast<double>(limits::kThreadsOfAPhase)) {
    return absl::ResourceExhaustedError(absl::StrCat("the phase has ", threads,
                                                     " threads on this worker; the maximum is ",
                                                     limits::kThreadsOfAPhase));
  }
  const double available = AvailableMemoryBytes();
  if (available > 0 && bytes > (1 - kLeaveShare) * available) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the phase needs ", common::FormatSize(bytes), " of memory on this host for ",
                     threads, " threads and their buffers; ", common::FormatSize(available),
                     " are available, of which a quarter stays free. Use fewer threads, a smaller "
                     "queue_depth or a smaller block_size"));
  }
  return absl::OkStatus();
}

absl::Status Load::AddWorkload(const v1::WorkloadAssignment& assignment, const RunIdentity& who) {
  const v1::Workload& workload = assignment.workload();
  auto part = std::make_unique<LoadPart>();
  part->index = assignment.index();
  part->stuck_after_ns = workload.stuck_after_ns();
  std::vector<v1::TargetAssignment> targets;
  for (const v1::TargetAssignment& target : assignment_.targets()) {
    const auto& names = workload.targets();
    if (std::find(names.begin(), names.end(), target.target().name()) != names.end()) {
      targets.push_back(target);
    }
  }
  OpenOptions options;
  options.expendable.assign(assignment_.expendable().begin(), assignment_.expendable().end());
  options.claims = &claims_;
  options.fences = environment_.fences;
  options.run_id = assignment_.phase().run_id();
  auto opened = OpenTargetsOf(*environment_.guard, workload, targets, who, options);
  if (!opened.ok()) return opened.status();
  part->targets = *std::move(opened);
  part->writes = Writes(workload);
  for (const OpenedFile& file : part->targets.files) {
    if (!file.is_writable) continue;
    // This must precede Prepare(), which looks ledgers up. A write without headers, or in blocks of
    // another size, makes all that was expected of the file wrong.
    const bool goes_on = workload.verify() && !workload.create();
    environment_.ledgers->Forget(file.thing, goes_on ? workload.block_size_bytes() : 0);
  }
  if (workload.verify()) {
    absl::Status status = verification_.Prepare(assignment, targets, part->targets);
    if (!status.ok()) return status;
  }
  WorkloadContext context;
  context.assignment = &assignment_;
  context.targets = &part->targets;
  context.ledgers = environment_.ledgers;
  context.shared_position = &part->shared_position;
  context.shared_mix = &part->shared_mix;
  if (workload.fsync().shared()) {
    part->shared_syncs = std::make_unique<SharedSyncs>(
        workload.fsync().every_ios(), static_cast<uint32_t>(part->targets.files.size()));
    context.shared_syncs = part->shared_syncs.get();
  }
  if (workload.flow() != 0) {
    std::unique_ptr<Flow>& flow = flows_[workload.flow_group()];
    if (flow == nullptr) flow = std::make_unique<Flow>();
    context.flow = flow->Add(workload.flow());
  }
  context.timeline = &timeline_;
  context.clock = clock_;
  context.report = environment_.report;
  auto threads = MakeThreads(assignment, context);
  if (!threads.ok()) {
    return absl::Status(
        threads.status().code(),
        absl::StrCat("workload ", workload.name(), ": ", std::string(threads.status().message())));
  }
  part->threads = *std::move(threads);
  part->reported_ns.resize(part->threads.size());
  parts_.push_back(std::move(part));
  return absl::OkStatus();
}

void Load::ThreadMain(IoThread* thread) {
  pthread_setname_np(pthread_self(), "lockstep-io");
  // A thread that cannot arm waits for the start like the others. Load::Arm() counts all threads
  // before it cancels them.
  const absl::Status armed = thread->Arm();
  bool started = false;
  {
    common::MutexLock lock(&mutex_);
    ++armed_;
    if (!armed.ok() && arm_status_.ok()) arm_status_ = armed;
    changed_.NotifyAll();
    changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return state_ == State::kStarted || state_ == State::kCancelled;
    });
    started = state_ == State::kStarted;
  }
  if (started) {
    thread->Run();
  } else {
    thread->Skip();
  }
  common::MutexLock lock(&mutex_);
  ++ended_;
  changed_.NotifyAll();
}

absl::Status Load::Arm() {
  absl::Status unstarted;
  for (const auto& part : parts_) {
    for (const auto& thread : part->threads) {
      try {
        threads_.emplace_back(
            [self = shared_from_this(), raw = thread.get()] { self->ThreadMain(raw); });
      } catch (const std::system_error& error) {
        unstarted = absl::ResourceExhaustedError(absl::StrCat(
            "thread ", threads_.size() + 1, " of the phase cannot be started: ", error.what(),
            "; see the limits on processes of this user and of its cgroup"));
        break;
      }
    }
    if (!unstarted.ok()) break;
  }
  common::MutexLock lock(&mutex_);
  // Threads that have started are waited for even where others could not be: they can only be
  // cancelled once they wait for the start.
  changed_.Wait(
      &lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return armed_ == threads_.size(); });
  absl::Status status = unstarted.ok() ? arm_status_ : unstarted;
  lock.Unlock();
  // The lock is released: both may start a thread, and StopNow() must not wait for that.
  if (status.ok()) status = paths_.Begin();
  if (status.ok()) status = verification_.Begin();
  lock.Lock();
  // StopNow() may have cancelled the load while the lock was released. Its state must stand.
  if (!status.ok()) {
    state_ = State::kCancelled;
  } else if (state_ == State::kArming) {
    state_ = State::kArmed;
  }
  lock.Unlock();
  changed_.NotifyAll();
  if (!status.ok()) JoinThreads();
  return status;
}

void Load::Start(int64_t go_ns) {
  const v1::RunAssignment& run = assignment_.run();
  const int64_t hard_stop_ns = assignment_.hard_stop_ns();
  // A load that ends by its own count ends at the hard stop at the latest: the controller gives the
  // targets to others after that instant, without asking.
  const int64_t load_ns = run.duration_ns() == 0
                              ? hard_stop_ns
                              : std::min(run.ramp_ns() + run.duration_ns(), hard_stop_ns);
  // Without a workload of its own and without a common end there is nothing to wait for.
  const bool idle = parts_.empty() && run.duration_ns() == 0;
  common::MutexLock lock(&mutex_);
  if (state_ != State::kArmed) return;
  timeline_.Begin(go_ns, idle ? 0 : load_ns);
  // The command to end may have come before the start. It waits in last_interval_, since the grid
  // of intervals begins with T.
  if (last_interval_) EndAfterLocked(*last_interval_);
  state_ = State::kStarted;
  changed_.NotifyAll();
}

void Load::StopNow() {
  common::MutexLock lock(&mutex_);
  if (state_ == State::kStarted) {
    // A load that is stopped before T ends at T. An earlier end would give its samples a negative
    // begin, which the controller refuses.
    const int64_t now = std::max(clock_->MonotonicNs(), timeline_.go_ns());
    if (now < timeline_.load_end_ns()) stopped_early_ = true;
    timeline_.EndAt(now);
  } else {
    stopped_early_ = true;
    state_ = State::kCancelled;
    changed_.NotifyAll();
  }
}

void Load::StopAtEndOf(uint32_t interval) {
  common::MutexLock lock(&mutex_);
  last_interval_ = interval;
  if (state_ == State::kStarted) EndAfterLocked(interval);
}

void Load::EndAfterLocked(uint32_t interval) {
  // A command that comes too late ends the load with the interval in progress. I/Os that have
  // completed after the named interval cannot be taken back.
  const int64_t into = clock_->MonotonicNs() - timeline_.go_ns();
  const auto current = static_cast<uint32_t>(std::max<int64_t>(0, into) / timeline_.interval_ns());
  const int64_t end = timeline_.BeginOf(std::max(interval, current) + 1);
  if (end < timeline_.load_end_ns()) stopped_early_ = true;
  timeline_.EndAt(end);
}

void Load::Monitor() {
  const int64_t now = clock_->MonotonicNs();
  if (now - monitored_ns_ < kMonitorNs) return;
  monitored_ns_ = now;
  // One that gave up ends the load for all: the phase has failed, and the others' I/O serves
  // nothing any more.
  const bool failed = std::any_of(parts_.begin(), parts_.end(), [](const auto& part) {
    return std::any_of(part->threads.begin(), part->threads.end(),
                       [](const auto& thread) { return thread->failed(); });
  });
  if (failed) timeline_.EndAt(std::max(now, timeline_.go_ns()));
  MonitorClaims(now);
  ReportPaths();
  hang_monitor_.Poll();
}

// When the worker that claims a device for all workers of this kernel is gone, this one takes the
// claim over. When somebody else was faster, the load ends: its device is another program's now.
void Load::MonitorClaims(int64_t now_ns) {
  if (now_ns - claims_polled_ns_ < kClaimPollNs || !claim_error_.empty()) return;
  claims_polled_ns_ = now_ns;
  const absl::Status status = claims_.ClaimReleased();
  if (status.ok()) return;
  claim_error_ = std::string(status.message());
  timeline_.EndAt(std::max(now_ns, timeline_.go_ns()));
}

void Load::ReportPaths() {
  for (const PathWatch::Event& event : paths_.TakeEvents()) {
    const auto since = static_cast<double>(event.at_ns - timeline_.go_ns());
    environment_.report(event.is_loss ? measure::Severity::kWarning : measure::Severity::kInfo,
                        absl::StrCat(common::FormatDuration(std::max(0.0, since)),
                                     " after the start: ", event.text));
  }
}

void Load::ReportEndedDevice(const std::string& name) {
  const auto since = static_cast<double>(clock_->MonotonicNs() - timeline_.go_ns());
  environment_.report(measure::Severity::kWarning,
                      absl::StrCat(name, " was detached, or is another device, ",
                                   common::FormatDuration(std::max(0.0, since)),
                                   " after the start: its counters end there"));
}

void Load::JoinThreads() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Load::DetachThreads() {
  for (std::thread& thread : threads_) thread.detach();
  threads_.clear();
}

Collector::Options Load::SamplingOptions(DeviceAttachments* attachments) {
  Collector::Options options;
  options.sample_devices = SampledDevices(assignment_);
  options.nested_devices.insert(assignment_.nested_devices().begin(),
                                assignment_.nested_devices().end());
  options.sample_host = assignment_.sample_host();
  // A quota holds up the threads of a load. Without one there is nothing to explain by it.
  options.sample_quota = !parts_.empty();
  options.network = &network_;
  options.paths = [this](const std::string& device) {
    const PathWatch::Count count = paths_.CountOf(device);
    return std::pair(count.paths, count.running);
  };
  // The devices under a load are open, and cannot be exchanged.
  if (parts_.empty()) {
    options.ended_devices = [this, attachments] {
      std::vector<std::string> ended = attachments->TakeEnded();
      for (const std::string& name : ended) ReportEndedDevice(name);
      return ended;
    };
  }
  options.tick = [this] {
    Monitor();
    verification_.ReportWrites(timeline_.go_ns());
  };
  return options;
}

v1::PhaseResult Load::Wait(const Collector::Sink& sink) {
  std::vector<Collector::Source> sources;
  for (const auto& part : parts_) {
    for (size_t i = 0; i < part->threads.size(); ++i) {
      sources.push_back({&part->threads[i]->recorder(), part->index});
    }
  }
  DeviceAttachments attachments(SampledDevices(assignment_));
  Collector collector(&timeline_, clock_, std::move(sources), SamplingOptions(&attachments), sink);

  {
    common::MutexLock lock(&mutex_);
    changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return state_ == State::kStarted || state_ == State::kCancelled;
    });
    if (state_ == State::kCancelled) {
      lock.Unlock();
      JoinThreads();
      v1::PhaseResult result;
      result.set_stopped_early(true);
      return result;
    }
  }
  verification_.ReportOverwritten(parts_);
  Neighbours neighbours;
  neighbours.Begin(assignment_.sample_host(), [this] {
    return clock_->MonotonicNs() > timeline_.go_ns() - kReadAheadNs - kQuietNs;
  });
  OwnIo own_io;
  own_io.Begin();
  // Nothing of ours runs before T: read then, the counters do not take the processor from threads
  // that start.
  clock_->SleepUntil(timeline_.go_ns() - kReadAheadNs);
  collector.Begin();
  // The grace is for threads that notice the end of the drain by themselves. A thread that is still
  // silent after it is stuck in the kernel.
  const bool complete = collector.Run(
      [this] { return timeline_.load_end_ns() + assignment_.drain_ns() + timing::kHangGraceNs; });
  complete ? JoinThreads() : DetachThreads();
  verification_.End();
  paths_.End();
  ReportPaths();
  // A thread that gives up at the drain deadline ends, but its I/O stays in flight.
  hangs_ = !complete || hang_monitor_.OldestInFlightNs() != 0;
  verification_.ReportLastWrites(timeline_.go_ns());
  if (!hangs_) verification_.ExplainMissing(parts_);
  v1::PhaseResult result = MakeResult(&collector, complete);
  result.set_cpu_user_ns(collector.cpu_user_ns());
  result.set_cpu_system_ns(collector.cpu_system_ns());
  result.set_usage_is_measured(true);
  result.set_sampled_ns(collector.sampled_ns());
  collector.throttles().AddTo(&result);
  own_io.End(&result);
  neighbours.End(static_cast<double>(clock_->MonotonicNs() - timeline_.go_ns()) / 1e9, &result);
  network_.AddRoutes(&result);
  // An I/O that hangs may still change the content after it was described.
  if (!hangs_) AddLeftContents(&result);
  return result;
}

void Load::AddRanges(v1::Armed* armed) const {
  for (const auto& part : parts_) {
    armed->mutable_file_ranges()->append(part->targets.file_ranges);
    for (const v1::ByteRange& place : part->targets.ranges) *armed->add_ranges() = place;
  }
}

std::vector<std::string> Load::notes() const {
  std::set<std::string> notes;
  for (const auto& part : parts_) {
    for (const auto& thread : part->threads) {
      notes.insert(thread->outcome().notes.begin(), thread->outcome().notes.end());
    }
  }
  return {notes.begin(), notes.end()};
}

}  // namespace lockstep::worker
