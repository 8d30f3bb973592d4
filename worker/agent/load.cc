#include "worker/agent/load.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "worker/engine/sync_engine.h"
#include "worker/engine/uring_engine.h"

namespace lockstep::worker {
namespace {

constexpr int64_t kSpinNs = 100000;
// I/Os handed over per system call at most. A device begins with the first of a batch only when the last has been queued,
// and the block layer merges neighbours within one: small batches keep it busy. The page cache answers inside the call,
// where only the call's own cost counts. docs/performance.md has the figures.
constexpr uint32_t kDirectBatch = 8;
constexpr uint32_t kBufferedBatch = 32;
// After the threads' own drain deadline, how long a thread that hangs in a system call is waited for.
constexpr int64_t kHangGraceNs = 3000000000;

bool Writes(const v1::Workload& workload) { return workload.read_ratio() < 1; }

uint64_t ShareOf(uint64_t total, uint32_t member, uint32_t members) {
  return total / members + (member < total % members ? 1 : 0);
}

// The worker's limit in I/Os; 0 is none. A limit that leaves this worker or thread nothing counts as one I/O, so
// that a job of 3 operations over 4 threads does not become endless for the fourth.
uint64_t QuotaOf(const v1::WorkloadAssignment& assignment) {
  uint64_t quota = assignment.operations();
  if (assignment.io_size_bytes() != 0) {
    const uint64_t by_size = std::max<uint64_t>(1, assignment.io_size_bytes() / assignment.workload().block_size_bytes());
    quota = quota == 0 ? by_size : std::min(quota, by_size);
  }
  return quota;
}

int64_t CpuNs(const timeval& time) { return time.tv_sec * int64_t{1000000000} + time.tv_usec * int64_t{1000}; }

}  // namespace

Load::Load(const v1::Assignment& assignment, const common::Clock* clock)
    : assignment_(assignment), clock_(clock), timeline_(assignment.interval_ns(), assignment.run().ramp_ns()) {}

absl::StatusOr<std::shared_ptr<Load>> Load::Make(const v1::Assignment& assignment, const Guard& guard,
                                                 const RunIdentity& who, const common::Clock* clock) {
  std::shared_ptr<Load> load(new Load(assignment, clock));
  for (const v1::WorkloadAssignment& workload : assignment.run().workloads()) {
    if (absl::Status status = load->AddWorkload(workload, guard, who); !status.ok()) return status;
  }
  return load;
}

absl::Status Load::AddWorkload(const v1::WorkloadAssignment& assignment, const Guard& guard, const RunIdentity& who) {
  const v1::Workload& workload = assignment.workload();
  auto part = std::make_unique<WorkloadPart>();
  part->index = assignment.index();
  std::vector<v1::TargetAssignment> targets;
  for (const v1::TargetAssignment& target : assignment_.targets()) {
    const auto& names = workload.targets();
    if (std::find(names.begin(), names.end(), target.target().name()) != names.end()) targets.push_back(target);
  }
  OpenOptions options;
  options.write = Writes(workload);
  options.direct = workload.direct();
  options.expendable.assign(assignment_.expendable().begin(), assignment_.expendable().end());
  auto opened = OpenAll(guard, targets, who, options);
  if (!opened.ok()) return opened.status();
  part->targets = *std::move(opened);
  auto space = BlockSpace::Make(part->targets.extents, workload.block_size_bytes());
  if (!space.ok()) return space.status();
  part->space = *std::move(space);

  const bool sync = workload.engine() == v1::ENGINE_SYNC;
  const uint64_t quota = QuotaOf(assignment);
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  for (uint32_t i = 0; i < workload.threads(); ++i) {
    IoThreadSetup setup;
    setup.make_engine = sync ? NewSyncEngine : NewUringEngine;
    setup.access.order = workload.pattern().has_sequential() ? Order::kSequential : Order::kRandom;
    setup.access.read_ratio = workload.read_ratio();
    setup.access.seed = assignment.seed();
    setup.access.thread = i;
    setup.access.threads = workload.threads();
    setup.space = &part->space;
    setup.files = part->targets.descriptors();
    setup.paths = part->targets.paths;
    setup.queue_depth = workload.queue_depth();
    setup.max_batch = sync ? 1 : std::min(workload.queue_depth(), workload.direct() ? kDirectBatch : kBufferedBatch);
    setup.reads = workload.read_ratio() > 0;
    setup.writes = Writes(workload);
    setup.buffered = !workload.direct();
    setup.zeros = workload.content().has_zeros();
    setup.quota = quota == 0 ? 0 : std::max<uint64_t>(1, ShareOf(quota, i, workload.threads()));
    setup.drain_ns = assignment_.drain_ns();
    setup.spin_ns = workload.threads() <= cpus ? kSpinNs : 0;
    part->threads.push_back(std::make_unique<IoThread>(std::move(setup), &timeline_, clock_));
  }
  parts_.push_back(std::move(part));
  return absl::OkStatus();
}

void Load::ThreadMain(IoThread* thread) {
  const absl::Status armed = thread->Arm();
  bool started = false;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    ++armed_;
    if (!armed.ok() && arm_status_.ok()) arm_status_ = armed;
    changed_.notify_all();
    changed_.wait(lock, [this] { return state_ == State::kStarted || state_ == State::kCancelled; });
    started = state_ == State::kStarted;
  }
  if (started) {
    thread->Run();
  } else {
    thread->Skip();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  ++ended_;
  changed_.notify_all();
}

absl::Status Load::Arm() {
  for (const auto& part : parts_) {
    for (const auto& thread : part->threads) {
      threads_.emplace_back([self = shared_from_this(), raw = thread.get()] { self->ThreadMain(raw); });
    }
  }
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return armed_ == threads_.size(); });
  const absl::Status status = arm_status_;
  if (!status.ok()) {
    state_ = State::kCancelled;
  } else if (state_ == State::kArming) {
    state_ = State::kArmed;
  }
  lock.unlock();
  changed_.notify_all();
  if (!status.ok()) JoinThreads(true);
  return status;
}

void Load::Start(int64_t go_ns) {
  const v1::RunAssignment& run = assignment_.run();
  const int64_t load_ns = run.duration_ns() == 0 ? run.hard_stop_ns()
                                                 : std::min(run.ramp_ns() + run.duration_ns(), run.hard_stop_ns());
  // Without a workload of its own and without a common end there is nothing to wait for.
  const bool idle = parts_.empty() && run.duration_ns() == 0;
  std::lock_guard<std::mutex> lock(mutex_);
  if (state_ != State::kArmed) return;
  timeline_.Begin(go_ns, idle ? 0 : load_ns);
  state_ = State::kStarted;
  changed_.notify_all();
}

void Load::StopNow() {
  stopped_early_ = true;
  std::lock_guard<std::mutex> lock(mutex_);
  if (state_ == State::kStarted) {
    timeline_.EndAt(std::max(clock_->MonotonicNs(), timeline_.go_ns()));
  } else {
    state_ = State::kCancelled;
    changed_.notify_all();
  }
}

void Load::StopAtEndOf(uint32_t interval) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (state_ != State::kStarted) return;
  stopped_early_ = true;
  timeline_.EndAt(timeline_.BeginOf(interval + 1));
}

void Load::JoinThreads(bool complete) {
  for (std::thread& thread : threads_) {
    if (complete) {
      thread.join();
    } else {
      thread.detach();  // it holds a reference to this object
    }
  }
  threads_.clear();
}

v1::PhaseResult Load::Wait(const Collector::Sink& sink) {
  std::vector<Collector::Source> sources;
  for (const auto& part : parts_) {
    for (size_t i = 0; i < part->threads.size(); ++i) {
      sources.push_back({&part->threads[i]->recorder(), part->index, static_cast<uint32_t>(i), part->space.block_size_bytes()});
    }
  }
  Collector::Options options;
  options.sample_devices.assign(assignment_.sample_devices().begin(), assignment_.sample_devices().end());
  options.sample_host = assignment_.sample_host();
  Collector collector(&timeline_, clock_, std::move(sources), std::move(options), sink);

  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return state_ == State::kStarted || state_ == State::kCancelled; });
    if (state_ == State::kCancelled) {
      lock.unlock();
      JoinThreads(true);
      v1::PhaseResult result;
      result.set_stopped_early(true);
      return result;
    }
  }
  rusage before = {};
  getrusage(RUSAGE_SELF, &before);
  clock_->SleepUntil(timeline_.go_ns());
  collector.Begin();
  const bool complete = collector.Run([this] { return timeline_.load_end_ns() + assignment_.drain_ns() + kHangGraceNs; });
  JoinThreads(complete);
  v1::PhaseResult result = MakeResult(&collector, complete);
  rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  result.set_cpu_user_ns(CpuNs(after.ru_utime) - CpuNs(before.ru_utime));
  result.set_cpu_system_ns(CpuNs(after.ru_stime) - CpuNs(before.ru_stime));
  return result;
}

v1::PhaseResult Load::MakeResult(Collector* collector, bool complete) const {
  v1::PhaseResult result;
  result.set_go_ns(timeline_.go_ns());
  result.set_end_ns(clock_->MonotonicNs());
  result.set_intervals(collector->intervals());
  result.set_stopped_early(stopped_early_);
  if (!complete) result.set_error(absl::StrCat("a thread hangs in an I/O: ", OldestInFlight(0)));
  std::vector<v1::WorkloadResult> workloads = collector->TakeResults();
  size_t source = 0;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const WorkloadPart& part = *parts_[p];
    auto found = std::find_if(workloads.begin(), workloads.end(),
                              [&](const v1::WorkloadResult& w) { return w.workload() == part.index; });
    v1::WorkloadResult* workload = result.add_workloads();
    if (found != workloads.end()) *workload = std::move(*found);
    std::set<std::string> notes;
    uint64_t exchanges = 0;
    uint64_t submitted = 0;
    for (size_t i = 0; i < part.threads.size(); ++i, ++source) {
      if (!complete && !part.threads[i]->recorder().finished()) continue;
      const IoThreadOutcome& outcome = part.threads[i]->outcome();
      if (result.error().empty()) result.set_error(outcome.fatal);
      if (workload->first_error().empty()) workload->set_first_error(outcome.first_error);
      workload->set_engine(outcome.engine);
      notes.insert(outcome.notes.begin(), outcome.notes.end());
      exchanges += outcome.exchanges;
      submitted += outcome.submitted;
      if (outcome.first_io_ns != 0 && (result.first_io_ns() == 0 || outcome.first_io_ns < result.first_io_ns())) {
        result.set_first_io_ns(outcome.first_io_ns);
      }
      result.set_last_io_ns(std::max(result.last_io_ns(), outcome.last_io_ns));
      v1::ThreadResult* thread = result.add_threads();
      thread->set_workload(part.index);
      thread->set_thread(static_cast<uint32_t>(i));
      thread->set_operations(collector->thread_sums()[source].operations);
      thread->set_bytes(collector->thread_sums()[source].bytes);
      thread->set_errors(collector->thread_sums()[source].errors);
      const int64_t begin = std::max(outcome.first_io_ns, timeline_.ramp_end_ns());
      const int64_t end = std::min(outcome.last_io_ns, timeline_.load_end_ns());
      thread->set_execution_time_ns(std::max<int64_t>(0, end - begin));
      thread->set_cpu_time_ns(outcome.cpu_ns);
      thread->set_wait_time_ns(std::max<int64_t>(0, outcome.last_io_ns - outcome.first_io_ns - outcome.cpu_ns));
      thread->set_voluntary_context_switches(outcome.voluntary_switches);
      thread->set_involuntary_context_switches(outcome.involuntary_switches);
    }
    if (exchanges != 0) workload->set_average_batch(static_cast<double>(submitted) / static_cast<double>(exchanges));
    for (const std::string& note : notes) workload->add_notes(note);
  }
  return result;
}

std::vector<std::string> Load::notes() const {
  std::set<std::string> notes;
  for (const auto& part : parts_) {
    for (const auto& thread : part->threads) notes.insert(thread->outcome().notes.begin(), thread->outcome().notes.end());
  }
  return {notes.begin(), notes.end()};
}

std::string Load::OldestInFlight(int64_t limit_ns) const {
  for (const auto& part : parts_) {
    for (const auto& thread : part->threads) {
      std::string text = thread->OldestInFlight(clock_->MonotonicNs(), limit_ns);
      if (!text.empty()) return text;
    }
  }
  return "";
}

}  // namespace lockstep::worker
