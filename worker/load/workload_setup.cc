#include "worker/load/workload_setup.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/ids.h"
#include "common/units.h"
#include "proto/workload.h"
#include "worker/engine/registry.h"

namespace lockstep::worker {
namespace {

constexpr int64_t kSpinNs = 100000;
// I/Os handed over per system call at most. A device begins with the first of a batch only when the
// last has been queued, and the block layer merges neighbours within one: small batches keep it
// busy. The page cache, and targets without storage, answer inside the call, where only the call's
// own cost counts. docs/performance.md has the figures.
constexpr uint32_t kDirectBatch = 8;
constexpr uint32_t kInlineBatch = 32;
constexpr uint64_t kDefaultErrorLimit = 1000;

AccessLine LineOf(const v1::Workload& w, uint32_t size, uint32_t up_to, double weight) {
  AccessLine line;
  line.block_size_bytes = size;
  line.up_to_bytes = up_to;
  line.weight = weight;
  line.read_ratio = w.read_ratio();
  line.trim_ratio = w.trim_ratio();
  line.random_ratio = w.has_random_ratio() ? w.random_ratio() : 1;
  return line;
}

std::vector<AccessLine> LinesOf(const v1::Workload& w) {
  std::vector<AccessLine> lines;
  for (const v1::AccessLine& from : w.access()) {
    AccessLine line =
        LineOf(w, static_cast<uint32_t>(from.block_size_bytes()),
               static_cast<uint32_t>(from.up_to_bytes()), from.has_weight() ? from.weight() : 1);
    line.read_ratio = from.has_read_ratio() ? from.read_ratio() : 1;
    line.trim_ratio = 0;
    line.random_ratio = from.has_random_ratio() ? from.random_ratio() : 1;
    line.align_bytes = static_cast<uint32_t>(from.align_bytes());
    line.delay_ns = from.delay_ns();
    line.burst = from.burst();
    lines.push_back(line);
  }
  for (const v1::WeightedBlockSize& from : w.block_sizes()) {
    lines.push_back(LineOf(w, static_cast<uint32_t>(from.block_size_bytes()),
                           static_cast<uint32_t>(from.up_to_bytes()),
                           from.has_weight() ? from.weight() : 1));
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

Places PlacesOf(const v1::Pattern& pattern) {
  switch (pattern.kind_case()) {
    case v1::Pattern::kZipf:
      return ZipfPlaces{pattern.zipf().theta() == 0 ? 0.99 : pattern.zipf().theta(),
                        pattern.zipf().clustered()};
    case v1::Pattern::kPareto:
      return ParetoPlaces{pattern.pareto().h() == 0 ? 0.2 : pattern.pareto().h(),
                          pattern.pareto().clustered()};
    case v1::Pattern::kNormal: {
      const v1::Normal& normal = pattern.normal();
      return NormalPlaces{normal.deviation_ratio() == 0 ? 0.1 : normal.deviation_ratio(),
                          normal.has_center_ratio() ? normal.center_ratio() : 0.5};
    }
    case v1::Pattern::kHotZones: {
      ZonedPlaces zoned;
      for (const v1::HotZone& zone : pattern.hot_zones().zones()) {
        zoned.zones.push_back({zone.io_ratio(), zone.size_ratio()});
      }
      return zoned;
    }
    default:
      return UniformPlaces{};
  }
}

Order OrderOf(const v1::Pattern& pattern) {
  if (pattern.has_sequential()) {
    return pattern.sequential().shared() ? Order::kSequentialShared : Order::kSequential;
  }
  return pattern.has_shuffled() ? Order::kShuffled : Order::kRandom;
}

// ENGINE_IO_URING is io_uring.
std::string NameOf(v1::Engine engine) {
  if (engine == v1::ENGINE_UNSPECIFIED) engine = v1::ENGINE_IO_URING;
  const std::string& name = v1::Engine_Name(engine);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "ENGINE_"));
}

EngineContext EngineContextOf(const OpenTargets& targets, const common::Clock* clock) {
  EngineContext context;
  context.clock = clock;
  if (targets.null_target) {
    context.script = {targets.null_target->latency_ns(), targets.null_target->stall_every_ns(),
                      targets.null_target->stall_ns()};
  }
  return context;
}

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

// docs/performance.md, "How many I/Os per system call".
void ChooseBatch(const v1::Workload& w, const EngineEntry& engine, bool is_inline, bool waits_many,
                 IoThreadSetup* setup) {
  const uint32_t depth = w.queue_depth();
  setup->max_batch = w.engine_options().batch();
  if (setup->max_batch == 0) {
    setup->max_batch = is_inline ? kInlineBatch : kDirectBatch;
    if (depth > 1) setup->max_batch = std::min(setup->max_batch, std::max<uint32_t>(1, depth / 2));
  }
  if (engine.one_at_a_time) setup->max_batch = 1;
  setup->max_batch = std::min(setup->max_batch, depth);
  setup->wait = w.engine_options().wait();
  if (setup->wait == 0) setup->wait = waits_many ? std::max<uint32_t>(1, depth / 2) : 1;
  setup->wait = std::min(setup->wait, depth);
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
  const std::string digits = absl::StrReplaceAll(phase.run_id(), {{"-", ""}});
  if (digits.size() == 32) {
    checks.header.run_high = std::strtoull(digits.substr(0, 16).c_str(), nullptr, 16);
    checks.header.run_low = std::strtoull(digits.substr(16).c_str(), nullptr, 16);
  }
  checks.header.phase = static_cast<uint16_t>(phase.phase());
  checks.header.attempt = static_cast<uint16_t>(phase.attempt());
  checks.header.worker = context.assignment->worker_index();
  checks.header.workload = static_cast<uint16_t>(assignment.index());
  checks.header.thread = static_cast<uint16_t>(thread);
  for (size_t i = 0; i < context.targets->paths.size(); ++i) {
    checks.places.push_back(PlaceOf(context.targets->paths[i]));
    auto ledger = context.ledgers->Find(context.targets->paths[i], context.targets->sizes[i],
                                        checks.block_size_bytes, checks.writes);
    if (!ledger.ok()) return ledger.status();
    checks.ledgers.push_back(*std::move(ledger));
  }
  return checks;
}

// Extents of the files that are this thread's: all of them, or every n-th.
std::vector<BlockSpace::Extent> ExtentsOf(const OpenTargets& targets, bool per_thread,
                                          uint32_t thread, uint32_t threads) {
  if (!per_thread) return targets.extents;
  std::vector<BlockSpace::Extent> own;
  for (size_t i = thread; i < targets.extents.size(); i += threads) {
    own.push_back(targets.extents[i]);
  }
  return own;
}

// Whether all hosts of the workload touch the same bytes.
bool IsOverlapped(const v1::Assignment& assignment, const v1::Workload& w) {
  return std::all_of(
      assignment.targets().begin(), assignment.targets().end(), [&](const v1::TargetAssignment& t) {
        return t.target().sharing() == v1::SHARING_OVERLAPPED ||
               std::find(w.targets().begin(), w.targets().end(), t.target().name()) ==
                   w.targets().end();
      });
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<IoThread>>> MakeThreads(
    const v1::WorkloadAssignment& assignment, const WorkloadContext& context) {
  const v1::Workload& w = assignment.workload();
  const OpenTargets& targets = *context.targets;
  const uint32_t threads = w.threads();
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  const bool is_inline = !w.direct() || targets.null_target.has_value() || targets.in_memory;
  // A buffered read that misses the cache completes by itself: it must not wait for others.
  const bool waits_many = is_inline && (w.direct() || !Reads(w));
  // Hosts that shuffle one target together cover it once together.
  const bool together = w.pattern().has_shuffled() && IsOverlapped(*context.assignment, w);
  const EngineEntry* engine = FindEngine(NameOf(w.engine()));
  if (engine == nullptr) {
    return absl::UnimplementedError(absl::StrCat("engine ", NameOf(w.engine()), " (",
                                                 static_cast<int>(w.engine()),
                                                 ") is not one of this worker's"));
  }
  const EngineContext made_for = EngineContextOf(targets, context.clock);
  std::vector<std::unique_ptr<IoThread>> made;
  for (uint32_t i = 0; i < threads; ++i) {
    const uint32_t fleet_thread = assignment.member() * threads + i;
    const uint32_t fleet_threads = std::max<uint32_t>(1, assignment.members()) * threads;
    AccessOptions access;
    access.lines = LinesOf(w);
    access.order = OrderOf(w.pattern());
    access.places = PlacesOf(w.pattern());
    access.file_order = w.file_order() == v1::FILE_ORDER_ROUND_ROBIN ? FileOrder::kRoundRobin
                        : w.file_order() == v1::FILE_ORDER_RANDOM    ? FileOrder::kRandom
                                                                     : FileOrder::kTogether;
    access.merge = w.merge();
    access.seed = assignment.seed();
    // Popular blocks lie where they lie in every phase of the job.
    access.common_seed =
        IsOverlapped(*context.assignment, w)
            ? assignment.common_seed()
            : common::DeriveSeed(assignment.common_seed(), context.assignment->worker_index());
    access.thread = together ? fleet_thread : w.files_per_thread() ? 0 : i;
    access.threads = together ? fleet_threads : w.files_per_thread() ? 1 : threads;
    if (w.files_per_thread()) access.seed = common::DeriveSeed(access.seed, i);
    access.shared_position = context.shared_position;
    auto own =
        Access::Make(ExtentsOf(targets, w.files_per_thread(), i, threads), std::move(access));
    if (!own.ok()) return own.status();

    IoThreadSetup setup;
    setup.make_engine = [make = engine->make, made_for] { return make(made_for); };
    setup.engine = EngineSetupOf(w, targets);
    setup.paths = targets.paths;
    ChooseBatch(w, *engine, is_inline, waits_many, &setup);
    setup.content.zeros = w.content().has_zeros();
    setup.content.fresh = w.content().random().fresh();
    setup.content.compressed_ratio =
        w.content().has_compressed_ratio() ? w.content().compressed_ratio() : 1;
    setup.content.duplicate_ratio = w.content().duplicate_ratio();
    setup.seed = common::DeriveSeed(assignment.seed(), 5000 + i);
    if (assignment.operations() != 0) {
      setup.quota = common::ShareOf(assignment.operations(), i, threads);
    }
    setup.idle = assignment.operations() != 0 && setup.quota == 0;
    if (assignment.io_size_bytes() != 0) {
      setup.quota_bytes =
          std::max<uint64_t>(1, common::ShareOf(assignment.io_size_bytes(), i, threads));
    }
    if (w.passes() != 0) {
      const uint64_t blocks = w.passes() * own->part_blocks();
      setup.quota = setup.quota == 0 ? blocks : std::min(setup.quota, blocks);
    }
    if (w.has_open_loop()) {
      Schedule::Options loop;
      loop.rate_per_second = assignment.rate_per_second() / threads;
      loop.poisson = w.open_loop().arrival() != v1::ARRIVAL_FIXED;
      loop.shift = static_cast<double>(i * std::max<uint32_t>(1, assignment.members()) +
                                       assignment.member()) /
                   fleet_threads;
      loop.ramp_to = w.open_loop().has_ramp_to_ratio() ? w.open_loop().ramp_to_ratio() : 1;
      loop.ramp_ns = loop.ramp_to == 1 ? 0
                                       : context.assignment->run().ramp_ns() +
                                             context.assignment->run().duration_ns();
      loop.seed = common::DeriveSeed(assignment.seed(), 9000 + i);
      setup.open_loop = loop;
    }
    setup.max_iops = assignment.max_iops() / threads;
    setup.max_bytes_per_second = assignment.max_throughput_bytes_per_second() / threads;
    setup.think_ns = w.think_time_ns();
    setup.think_every = std::max<uint32_t>(1, w.think_every());
    setup.sync = {setup.engine.sync_mode, w.fsync().every(), w.fsync().every_ios(),
                  w.fsync().all_files(), w.fsync().at_end()};
    auto checks = ChecksOf(assignment, context, i);
    if (!checks.ok()) return checks.status();
    setup.checks = *std::move(checks);
    setup.error_limit = w.error_limit() == 0 ? kDefaultErrorLimit : w.error_limit();
    const auto& own_cpus = w.engine_options().cpus();
    if (!own_cpus.empty()) {
      setup.placement.cpu = static_cast<int>(own_cpus.Get(static_cast<int>(i) % own_cpus.size()));
    }
    if (w.engine_options().has_numa_node()) {
      setup.placement.numa_node = static_cast<int>(w.engine_options().numa_node());
    }
    setup.placement.huge_pages = w.engine_options().huge_pages();
    setup.drain_ns = context.assignment->drain_ns();
    // Workers of one kernel share its processors.
    setup.spin_ns =
        std::max<size_t>(threads, context.assignment->run().kernel_threads()) <= cpus ? kSpinNs : 0;
    made.push_back(std::make_unique<IoThread>(std::move(setup), *std::move(own), context.timeline,
                                              context.clock));
  }
  return made;
}

}  // namespace lockstep::worker
