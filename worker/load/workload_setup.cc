#include "worker/load/workload_setup.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/ids.h"
#include "common/timing.h"
#include "common/units.h"
#include "proto/workload.h"
#include "worker/engine/registry.h"
#include "worker/load/engine_choice.h"
#include "worker/load/thread_extents.h"

namespace lockstep::worker {
namespace {

// A sleeping thread wakes up some tens of microseconds late. Spinning through the last part of the
// wait makes the threads of all hosts start together.
constexpr int64_t kSpinNs = 100 * timing::kUs;

AccessLine LineOf(const v1::Workload& w, uint32_t size, uint32_t up_to, double weight) {
  AccessLine line;
  line.block_size_bytes = size;
  line.up_to_bytes = up_to;
  line.weight = weight;
  // The writes of a copy follow its reads, and have no offsets of their own.
  line.read_ratio = w.has_copy() ? 1 : w.read_ratio();
  line.trim_ratio = w.trim_ratio();
  line.random_ratio = w.random_ratio();
  return line;
}

std::vector<AccessLine> LinesOf(const v1::Workload& w) {
  std::vector<AccessLine> lines;
  for (const v1::AccessLine& from : w.access()) {
    AccessLine line = LineOf(w, static_cast<uint32_t>(from.block_size_bytes()),
                             static_cast<uint32_t>(from.up_to_bytes()), from.weight());
    line.read_ratio = from.read_ratio();
    line.trim_ratio = 0;
    line.random_ratio = from.random_ratio();
    line.align_bytes = static_cast<uint32_t>(from.align_bytes());
    line.delay_ns = from.delay_ns();
    line.burst = from.burst();
    if (from.has_io_priority()) {
      line.io_priority = static_cast<uint16_t>(PriorityOf(from.io_priority()));
    }
    lines.push_back(line);
  }
  for (const v1::WeightedBlockSize& from : w.block_sizes()) {
    lines.push_back(LineOf(w, static_cast<uint32_t>(from.block_size_bytes()),
                           static_cast<uint32_t>(from.up_to_bytes()), from.weight()));
  }
  if (lines.empty()) lines.push_back(LineOf(w, static_cast<uint32_t>(w.block_size_bytes()), 0, 1));
  // Lines of several sizes begin at multiples of the smallest, unless the job says otherwise.
  uint32_t smallest = lines[0].block_size_bytes;
  for (const AccessLine& line : lines) smallest = std::min(smallest, line.block_size_bytes);
  for (AccessLine& line : lines) {
    if (lines.size() > 1 && w.access().empty() && line.block_size_bytes % smallest == 0) {
      line.align_bytes = smallest;
    }
  }
  return lines;
}

Offsets OffsetsOf(const v1::Pattern& pattern) {
  switch (pattern.kind_case()) {
    case v1::Pattern::kZipf:
      return ZipfOffsets{pattern.zipf().theta(), pattern.zipf().clustered()};
    case v1::Pattern::kPareto:
      return ParetoOffsets{pattern.pareto().h(), pattern.pareto().clustered()};
    case v1::Pattern::kNormal:
      return NormalOffsets{pattern.normal().deviation_ratio(), pattern.normal().center_ratio()};
    case v1::Pattern::kHotZones: {
      ZonedOffsets zoned;
      for (const v1::HotZone& zone : pattern.hot_zones().zones()) {
        zoned.zones.push_back({zone.io_ratio(), zone.size_ratio()});
      }
      return zoned;
    }
    default:
      return UniformOffsets{};
  }
}

Order OrderOf(const v1::Pattern& pattern) {
  if (pattern.has_sequential()) {
    return pattern.sequential().shared()      ? Order::kSequentialShared
           : pattern.sequential().backwards() ? Order::kBackwards
                                              : Order::kSequential;
  }
  return pattern.has_shuffled() ? Order::kShuffled : Order::kRandom;
}

EngineContext EngineContextOf(const OpenTargets& targets, const WorkloadContext& from) {
  EngineContext context;
  context.clock = from.clock;
  if (from.report) context.report = from.report;
  if (targets.null_target) {
    context.script = {targets.null_target->latency_ns(), targets.null_target->stall_every_ns(),
                      targets.null_target->stall_ns()};
  }
  return context;
}

void ParseRun(const std::string& run_id, uint64_t* high, uint64_t* low) {
  const std::string digits = absl::StrReplaceAll(run_id, {{"-", ""}});
  if (digits.size() != 32) return;
  *high = std::strtoull(digits.substr(0, 16).c_str(), nullptr, 16);
  *low = std::strtoull(digits.substr(16).c_str(), nullptr, 16);
}

absl::StatusOr<BlockChecks::Options> ChecksOf(const v1::WorkloadAssignment& assignment,
                                              const WorkloadContext& context, uint32_t thread) {
  const v1::Workload& w = assignment.workload();
  BlockChecks::Options checks;
  if (!w.verify()) return checks;
  checks.reads = Reads(w);
  checks.writes = Writes(w) && !assignment.check_reads_only();
  checks.any_run = assignment.check_any_run();
  checks.sparse = assignment.check_sparse();
  checks.block_size_bytes = static_cast<uint32_t>(w.block_size_bytes());
  checks.seed = assignment.common_seed();
  const v1::PhaseId& phase = context.assignment->phase();
  ParseRun(phase.run_id(), &checks.header.run_high, &checks.header.run_low);
  if (!assignment.check_run_id().empty()) {
    ParseRun(assignment.check_run_id(), &checks.expected_run_high, &checks.expected_run_low);
  }
  // The offset is read once. A thread then needs no second clock for the time in each header, and a
  // step of the wall clock does not disorder them.
  checks.wall_offset_ns = context.clock->WallNs() - context.clock->MonotonicNs();
  for (const v1::TargetAssignment& target : context.assignment->targets()) {
    if (checks.writers.empty() && assignment.check_run_id().empty()) {
      checks.writers.assign(target.writers().begin(), target.writers().end());
      if (context.targets->files.size() == 1) {
        checks.slices_begin_bytes = target.stamp_bytes();
        checks.each_slice_bytes = target.each_slice_bytes();
      }
    }
  }
  checks.header.phase = static_cast<uint16_t>(phase.phase());
  checks.header.attempt = static_cast<uint16_t>(phase.attempt());
  checks.header.worker = context.assignment->worker_index();
  checks.header.workload = static_cast<uint16_t>(assignment.index());
  checks.header.thread = static_cast<uint16_t>(thread);
  for (const OpenedFile& file : context.targets->files) {
    checks.keys.push_back(TargetKey(file.thing));
    checks.written_since.push_back(file.written_since);
    // A ledger is needed wherever this worker or another one writes during the phase: what is known
    // then grows.
    const bool grows = checks.writes || file.written || file.written_since;
    const std::string name = LedgerNameOf(file, assignment);
    if (!grows) {
      checks.ledgers.push_back(context.ledgers->Find(name, checks.block_size_bytes));
      continue;
    }
    auto ledger =
        context.ledgers->FindOrMake(name, file.engine_file.size_bytes, checks.block_size_bytes);
    if (!ledger.ok()) return ledger.status();
    checks.ledgers.push_back(*std::move(ledger));
  }
  return checks;
}

// Whether all hosts of the workload touch the same bytes.
bool IsOverlapped(const v1::Assignment& assignment, const v1::Workload& w) {
  return std::all_of(
      assignment.targets().begin(), assignment.targets().end(), [&](const v1::TargetAssignment& t) {
        return t.target().sharing() == v1::SHARING_OVERLAPPED ||
               t.target().sharing() == v1::SHARING_OWNED ||
               std::find(w.targets().begin(), w.targets().end(), t.target().name()) ==
                   w.targets().end();
      });
}

// Makes the threads of one worker's part of a workload.
class ThreadMaker {
 public:
  ThreadMaker(const v1::WorkloadAssignment& assignment, const WorkloadContext& context,
              const EngineEntry& engine, std::shared_ptr<const CopyMap> copy)
      : assignment_(assignment),
        context_(context),
        engine_(engine),
        copy_(std::move(copy)),
        w_(assignment.workload()),
        threads_(w_.threads()),
        members_(std::max<uint32_t>(1, assignment.members())),
        overlapped_(IsOverlapped(*context.assignment, w_)) {}

  absl::StatusOr<std::unique_ptr<IoThread>> Make(uint32_t thread) const {
    auto access = MakeAccess(thread);
    if (!access.ok()) return access.status();
    IoThreadSetup setup;
    ChooseEngine(&setup);
    ChooseContent(thread, &setup);
    ChooseLimits(thread, *access, &setup);
    ChooseStarts(thread, &setup);
    ChoosePlacement(thread, &setup);
    auto checks = ChecksOf(assignment_, context_, thread);
    if (!checks.ok()) return checks.status();
    setup.checks = *std::move(checks);
    return std::make_unique<IoThread>(std::move(setup), *std::move(access), context_.timeline,
                                      context_.clock);
  }

 private:
  absl::StatusOr<Access> MakeAccess(uint32_t thread) const {
    auto extents = ThreadExtents(w_, *context_.targets, thread);
    if (!extents.ok()) return extents.status();
    return Access::Make(*extents, AccessOf(thread));
  }

  AccessOptions AccessOf(uint32_t thread) const {
    const bool own = HasOwnExtents(w_);
    // Hosts that shuffle one target together cover it once together.
    const bool together = w_.pattern().has_shuffled() && overlapped_;
    AccessOptions access;
    access.lines = LinesOf(w_);
    access.order = OrderOf(w_.pattern());
    access.offsets = OffsetsOf(w_.pattern());
    access.file_order = w_.file_order() == v1::FILE_ORDER_ROUND_ROBIN ? FileOrder::kRoundRobin
                        : w_.file_order() == v1::FILE_ORDER_RANDOM    ? FileOrder::kRandom
                                                                      : FileOrder::kTogether;
    access.merge = w_.merge();
    ChooseSteps(&access);
    // A thread with files or a region of its own is thread 0 of 1. With the common seed all threads
    // would draw the same sequence.
    access.seed = own ? common::DeriveSeed(assignment_.seed(), thread) : assignment_.seed();
    // The popular blocks are the same in every phase of the job. A later phase would otherwise read
    // blocks that an earlier one has not warmed up.
    access.common_seed = overlapped_ ? assignment_.common_seed()
                                     : common::DeriveSeed(assignment_.common_seed(),
                                                          context_.assignment->worker_index());
    const uint32_t sharing = own ? 1 : threads_;  // threads of a worker with the same extents
    access.thread = (together ? assignment_.member() * sharing : 0) + (own ? 0 : thread);
    access.threads = together ? members_ * sharing : sharing;
    access.shared_position = context_.shared_position;
    if (w_.mix() == v1::MIX_EXACT) access.shared_mix = context_.shared_mix;
    return access;
  }

  // How the offsets follow one another.
  void ChooseSteps(AccessOptions* access) const {
    access->skip_bytes = static_cast<uint64_t>(w_.pattern().sequential().skip_bytes());
    access->skip_after_bytes = static_cast<uint64_t>(w_.pattern().sequential().skip_after_bytes());
    access->sequence = std::max(1U, w_.sequence().length());
    access->following = w_.sequence().order() == v1::SEQUENCE_ORDER_IDENTICAL
                            ? Following::kRepeat
                            : Following::kContinue;
    // Headers lie at multiples of the block size, where each reader looks for them.
    const bool one_size = access->lines.size() == 1 &&
                          access->lines[0].up_to_bytes <= access->lines[0].block_size_bytes;
    const bool is_exact = w_.region().offset_bytes() != 0 || w_.region().increment_bytes() != 0;
    if (is_exact && one_size && !w_.verify() && access->file_order == FileOrder::kTogether) {
      access->first_offset = FirstOffset::kExact;
    }
  }

  void ChooseEngine(IoThreadSetup* setup) const {
    const OpenTargets& targets = *context_.targets;
    setup->make_engine = [make = engine_.make, made_for = EngineContextOf(targets, context_)] {
      return make(made_for);
    };
    for (const EngineEntry* fallback : FallbacksOf(w_, targets)) {
      setup->fallbacks.emplace_back(
          [make = fallback->make, made_for = EngineContextOf(targets, context_)] {
            return make(made_for);
          });
    }
    setup->engine = EngineSetupOf(w_, targets);
    setup->paths = targets.paths();
    const bool is_inline = !w_.direct() || targets.null_target.has_value() || targets.in_memory;
    const bool may_miss_cache = !w_.direct() && Reads(w_);
    // A read that misses the cache must not wait for others.
    const Completion completion = !is_inline       ? Completion::kByDevice
                                  : may_miss_cache ? Completion::kMostlyInCall
                                                   : Completion::kInCall;
    ChooseBatch(w_, engine_, completion, setup);
    setup->sync = {setup->engine.sync_mode, w_.fsync().every(),  w_.fsync().every_ios(),
                   w_.fsync().all_files(),  w_.fsync().at_end(), w_.fsync().shared()};
    setup->shared_syncs = context_.shared_syncs;
  }

  void ChooseContent(uint32_t thread, IoThreadSetup* setup) const {
    const v1::Content& content = w_.content();
    setup->content.zeros = content.has_zeros();
    setup->content.fresh = content.random().fresh();
    setup->content.compressed_ratio = content.compressed_ratio();
    setup->content.duplicate_ratio = content.duplicate_ratio();
    if (content.duplicate_blocks() != 0) {
      setup->content.duplicate_blocks = content.duplicate_blocks();
    }
    // Access derives its seed from the same one and the thread's number. The 5000 keeps the content
    // independent of the offsets.
    setup->seed = common::DeriveSeed(assignment_.seed(), 5000 + thread);
  }

  void ChooseLimits(uint32_t thread, const Access& access, IoThreadSetup* setup) const {
    if (assignment_.operations() != 0) {
      setup->quota = common::ShareOf(assignment_.operations(), thread, threads_);
      setup->idle = setup->quota == 0;
    }
    if (assignment_.io_size_bytes() != 0) {
      // 0 bytes would mean no limit. A thread without a share does one I/O instead.
      setup->quota_bytes =
          std::max<uint64_t>(1, common::ShareOf(assignment_.io_size_bytes(), thread, threads_));
    }
    if (w_.passes() != 0) {
      const uint64_t blocks = w_.passes() * access.part_blocks();
      setup->quota = setup->quota == 0 ? blocks : std::min(setup->quota, blocks);
    }
    setup->copy = copy_;
    // With more threads than blocks several threads would copy the same one.
    if (copy_ != nullptr && access.own_blocks() == 0) setup->idle = true;
    setup->error_limit = w_.error_limit();
    setup->drain_ns = context_.assignment->drain_ns();
  }

  void ChooseStarts(uint32_t thread, IoThreadSetup* setup) const {
    const v1::RunAssignment& run = context_.assignment->run();
    setup->flow = context_.flow;
    setup->begin_ns = w_.start_delay_ns();
    setup->end_ns = v1::OwnEndNs(w_, run.ramp_ns());
    setup->start.max_iops = assignment_.max_iops() / threads_;
    setup->start.max_bytes_per_second = assignment_.max_throughput_bytes_per_second() / threads_;
    setup->start.reads = LimitOf(w_.read_limit());
    setup->start.writes = LimitOf(w_.write_limit());
    setup->start.think_ns = w_.think_time_ns();
    setup->start.think_every = w_.think_every();
    if (!w_.has_open_loop()) return;
    const v1::OpenLoop& from = w_.open_loop();
    const int64_t end = setup->end_ns != 0       ? setup->end_ns
                        : run.duration_ns() == 0 ? 0
                                                 : run.ramp_ns() + run.duration_ns();
    Schedule::Options loop;
    loop.rate_per_second = assignment_.rate_per_second() / threads_;
    loop.poisson = from.arrival() != v1::ARRIVAL_FIXED;
    // With fixed gaps, threads that all began at T would send in one burst each time. The shift
    // spreads the threads of all hosts evenly over a gap.
    loop.shift =
        static_cast<double>(thread * members_ + assignment_.member()) / (members_ * threads_);
    loop.ramp_to = from.ramp_to_ratio();
    loop.ramp_ns = loop.ramp_to == 1 ? 0 : end - setup->begin_ns;
    loop.seed = common::DeriveSeed(assignment_.seed(), 9000 + thread);
    setup->start.open_loop = loop;
  }

  // A thread's share of a limit of the fleet.
  StartGate::Limit LimitOf(const v1::DirectionLimit& limit) const {
    const double all = static_cast<double>(members_) * threads_;
    return {limit.iops() / all, limit.throughput_bytes_per_second() / all};
  }

  void ChoosePlacement(uint32_t thread, IoThreadSetup* setup) const {
    const v1::EngineOptions& options = w_.engine_options();
    if (!options.cpus().empty()) {
      setup->placement.cpu =
          static_cast<int>(options.cpus(static_cast<int>(thread) % options.cpus_size()));
    }
    if (options.has_numa_node()) setup->placement.numa_node = static_cast<int>(options.numa_node());
    setup->placement.cpu_nodes.assign(options.cpu_nodes().begin(), options.cpu_nodes().end());
    setup->placement.interleave_nodes.assign(options.interleave_nodes().begin(),
                                             options.interleave_nodes().end());
    setup->placement.huge_pages = options.huge_pages();
    for (const v1::AccessLine& line : w_.access()) {
      if (line.has_io_priority()) {
        setup->placement.line_priorities.push_back(PriorityOf(line.io_priority()));
      }
    }
    if (w_.has_io_priority()) setup->placement.io_priority = PriorityOf(w_.io_priority());
    // Workers of one kernel share its processors. If there are more threads than processors, a
    // thread that spins would keep another one from being ready at T.
    const auto cpus = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
    const uint32_t all = std::max(threads_, context_.assignment->run().kernel_threads());
    setup->spin_ns = all <= cpus ? kSpinNs : 0;
  }

  const v1::WorkloadAssignment& assignment_;
  const WorkloadContext& context_;
  const EngineEntry& engine_;
  const std::shared_ptr<const CopyMap> copy_;  // null where the workload is none
  const v1::Workload& w_;
  const uint32_t threads_;
  const uint32_t members_;  // hosts of the workload
  const bool overlapped_;
};

}  // namespace

std::string LedgerNameOf(const OpenedFile& file, const v1::WorkloadAssignment& assignment) {
  return assignment.check_run_id().empty()
             ? file.thing
             : absl::StrCat(file.thing, " of run ", assignment.check_run_id());
}

absl::StatusOr<std::vector<std::unique_ptr<IoThread>>> MakeThreads(
    const v1::WorkloadAssignment& assignment, const WorkloadContext& context) {
  const v1::Workload& w = assignment.workload();
  const EngineEntry* engine = FindEngine(NameOf(w.engine()));
  if (engine == nullptr) {
    return absl::UnimplementedError(absl::StrCat("engine ", NameOf(w.engine()), " (",
                                                 static_cast<int>(w.engine()),
                                                 ") is not one of this worker's"));
  }
  for (const OpenedFile& file : context.targets->files) {
    if (engine->reaches(file.engine_file)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("engine ", engine->name, " does no I/O on ", file.path));
  }
  std::shared_ptr<const CopyMap> copy;
  if (w.has_copy()) {
    auto map = CopyMap::Make(context.targets->extents, context.targets->copy_extents,
                             static_cast<uint32_t>(w.block_size_bytes()));
    if (!map.ok()) return map.status();
    copy = std::make_shared<const CopyMap>(*std::move(map));
  }
  const ThreadMaker maker(assignment, context, *engine, std::move(copy));
  std::vector<std::unique_ptr<IoThread>> made;
  for (uint32_t i = 0; i < w.threads(); ++i) {
    auto thread = maker.Make(i);
    if (!thread.ok()) return thread.status();
    made.push_back(*std::move(thread));
  }
  return made;
}

}  // namespace lockstep::worker
