#include "controller/plan/assign.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/timing.h"
#include "common/units.h"
#include "controller/plan/layers.h"
#include "controller/plan/loads.h"
#include "controller/plan/observed_levels.h"
#include "controller/plan/observes.h"
#include "controller/plan/reservation.h"
#include "controller/plan/validate.h"
#include "proto/workload.h"

namespace lockstep::controller {

uint64_t TargetBytes(const v1::Target& target, const PlanWorker& worker, uint32_t index) {
  if (target.has_file()) return uint64_t{target.file().count()} * target.file().size_bytes();
  if (target.has_null()) return target.null().size_bytes();
  if (target.device().size_bytes() != 0) return target.device().size_bytes();
  if (target.iscsi().size_bytes() != 0) return target.iscsi().size_bytes();
  for (const v1::TargetInspection& found : worker.inspection.targets()) {
    if (found.target() == index) return found.size_bytes();
  }
  return 0;
}

// All parts are equal and the rest at the end stays unused: a worker finds the writer of a block by
// dividing the offset by the length of a part.
uint64_t SliceBytes(uint64_t total, uint64_t count) {
  uint64_t unit = 1 << 20;
  if (total / count < unit) unit = 4096;
  return total / unit / count * unit;
}

namespace {

using timing::kSecond;
// A phase that ends by bytes or operations alone ends after this at the latest.
constexpr int64_t kMaxPhaseNs = int64_t{7} * 24 * 3600 * kSecond;

// Gives worker number `position` of `count` its part.
void Slice(uint64_t total, uint64_t position, uint64_t count, v1::TargetAssignment* out) {
  const uint64_t bytes = SliceBytes(total, count);
  out->set_slice_begin_bytes(position * bytes);
  // A length of 0 would mean the whole target.
  out->set_slice_length_bytes(std::max<uint64_t>(bytes, 1));
}

// Whether this worker's own workloads write the target: others' say nothing about what it opens.
bool IsWrittenBy(const v1::RunAssignment& load, const std::string& name) {
  return std::any_of(
      load.workloads().begin(), load.workloads().end(), [&](const v1::WorkloadAssignment& w) {
        return WritesTo(w.workload(), name) &&
               std::find(w.workload().targets().begin(), w.workload().targets().end(), name) !=
                   w.workload().targets().end();
      });
}

// The part of shared targets that a worker gets in a phase. It is the part of its own number,
// unless the worker reads what others have written.
struct Part {
  uint64_t position = 0;
  uint64_t count = 1;
};
Part PartOf(const v1::PhaseSpec& phase, uint32_t worker, const std::vector<uint32_t>& members,
            uint64_t workers) {
  switch (phase.verify().readers()) {
    case v1::READERS_RING: {
      // Each member reads the part of the next member that is left. Nobody reads the parts of lost
      // workers in this phase.
      const auto self = std::find(members.begin(), members.end(), worker);
      const bool is_last = self == members.end() || self + 1 == members.end();
      return {is_last ? members.front() : *(self + 1), workers};
    }
    case v1::READERS_ALL:
      return {0, 1};
    default:
      return {worker, workers};
  }
}

// The writers of a target, for messages about its blocks: a host, and its path where that differs.
std::vector<std::string> WritersOf(const SettledRun& run, uint32_t index) {
  std::vector<std::string> paths;
  for (const PlanWorker& worker : run.workers) {
    std::string& path = paths.emplace_back();
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.target() == index && found.paths_size() > 0) path = found.paths(0);
    }
  }
  const bool is_one = std::set<std::string>(paths.begin(), paths.end()).size() < 2;
  std::vector<std::string> writers;
  for (size_t w = 0; w < run.workers.size(); ++w) {
    writers.push_back(run.workers[w].hello.host().name());
    if (!is_one && !paths[w].empty()) absl::StrAppend(&writers.back(), " as ", paths[w]);
  }
  return writers;
}

// Tells a worker all it needs to know of a target whose blocks are verified.
void DescribeBlocks(const SettledRun& run, const v1::RunPhase& load, v1::TargetAssignment* target) {
  const std::string& name = target->target().name();
  const bool is_verified =
      std::any_of(load.workloads().begin(), load.workloads().end(), [&](const v1::Workload& w) {
        return w.verify() &&
               std::find(w.targets().begin(), w.targets().end(), name) != w.targets().end();
      });
  if (!is_verified) return;
  target->set_is_shared(target->target().sharing() != v1::SHARING_PRIVATE);
  // Every assignment of the phase repeats this list, so that it grows with the square of the fleet.
  // Messages about larger fleets have numbers instead of names.
  constexpr size_t kMaxNamed = 256;
  if (run.workers.size() <= kMaxNamed) {
    for (std::string& writer : WritersOf(run, target->index())) {
      target->add_writers(std::move(writer));
    }
  }
  if (target->target().sharing() != v1::SHARING_SLICED) return;
  v1::TargetAssignment first;
  Slice(TargetBytes(target->target(), run.workers.front(), target->index()), 0, run.workers.size(),
        &first);
  target->set_each_slice_bytes(first.slice_length_bytes());
}

// Whether any phase of the job copies to the target, or to the one that it is a variant of.
bool IsCopiedTo(const v1::JobSpec& job, const v1::Target& target) {
  const std::string& name = target.variant_of().empty() ? target.name() : target.variant_of();
  for (const v1::PhaseSpec& phase : job.phases()) {
    for (const v1::Workload& w : phase.run().workloads()) {
      if (w.has_copy() && (w.copy().to() == name || w.copy().to() == target.name())) return true;
    }
  }
  return false;
}

v1::TargetAssignment AssignTarget(const SettledRun& run, uint32_t index, uint32_t worker,
                                  uint64_t position, uint64_t count) {
  const v1::Target& target = run.job.targets(static_cast<int>(index));
  v1::TargetAssignment out;
  out.set_index(index);
  *out.mutable_target() = target;
  if (target.sharing() == v1::SHARING_SLICED) {
    Slice(TargetBytes(target, run.workers[worker], index), position, count, &out);
  }
  if (target.sharing() == v1::SHARING_INTERLEAVED) {
    out.set_stripe_bytes(static_cast<uint64_t>(target.stripe_bytes()));
    out.set_first_stripe(static_cast<uint32_t>(position));
    out.set_stripe_step(static_cast<uint32_t>(count));
  }
  for (const v1::TargetInspection& found : run.workers[worker].inspection.targets()) {
    if (found.target() != index) continue;
    out.set_stamp_bytes(found.stamp_bytes());
    out.set_stamp_number(found.stamp_number());
    *out.mutable_foreign_files() = found.foreign_files();
  }
  out.set_owner_only(IsCopiedTo(run.job, target));
  if (target.has_file()) {
    const uint64_t files = target.file().count();
    // The workers share the files of a shared target. The end of one part is computed as the begin
    // of the next, so each file has exactly one worker.
    const bool shared = target.sharing() != v1::SHARING_PRIVATE;
    const uint64_t first = shared ? files * position / count : 0;
    const uint64_t last = shared ? files * (position + 1) / count : files;
    out.set_first_file(static_cast<uint32_t>(first));
    out.set_file_count(static_cast<uint32_t>(last - first));
  }
  return out;
}

// Says which device was inspected, and, of several workers that write to one device under one
// kernel, that the first of them holds it for all.
void DescribeDevice(const SettledRun& run, uint32_t worker, std::set<std::string>* held,
                    v1::TargetAssignment* out) {
  if (!out->target().has_device() && !out->target().has_iscsi()) return;
  for (const v1::TargetInspection& found : run.workers[worker].inspection.targets()) {
    if (found.target() != out->index()) continue;
    out->set_path(found.path());
    out->set_device_identity(found.device_identity());
    out->set_disk_sequence(found.disk_sequence());
    out->set_content_fingerprint(found.content_fingerprint());
    if (!out->written() || out->target().has_iscsi()) continue;
    const std::string device = absl::StrCat(run.workers[worker].hello.host().boot_id(), "/",
                                            found.device_major(), ":", found.device_minor());
    // A second open(2) of a block device with O_EXCL fails with EBUSY, so one worker of a kernel
    // claims it for all.
    out->set_held_by_peer(!held->insert(device).second);
  }
}

// Says of which targets another worker writes the same bytes in the phase.
void DescribeWriters(std::vector<v1::Assignment>* assignments) {
  std::map<uint32_t, std::set<uint32_t>> writers;  // by target
  for (const v1::Assignment& a : *assignments) {
    for (const v1::TargetAssignment& target : a.targets()) {
      const v1::Sharing sharing = target.target().sharing();
      // Only these kinds let two workers reach the same bytes while one of them writes.
      const bool is_common = sharing == v1::SHARING_OWNED || sharing == v1::SHARING_OVERLAPPED;
      if (target.written() && is_common) writers[target.index()].insert(a.worker_index());
    }
  }
  for (v1::Assignment& a : *assignments) {
    for (v1::TargetAssignment& target : *a.mutable_targets()) {
      const auto found = writers.find(target.index());
      target.set_written_since(found != writers.end() && !found->second.contains(a.worker_index()));
    }
  }
}

void DescribeDevices(const SettledRun& run, std::vector<v1::Assignment>* assignments) {
  std::set<std::string> held;
  for (v1::Assignment& a : *assignments) {
    // A worker can reach one device through several targets, and claims it once. Its targets are
    // compared with what earlier workers hold, not with each other.
    std::set<std::string> held_here = held;
    for (v1::TargetAssignment& target : *a.mutable_targets()) {
      target.set_written(IsWrittenBy(a.run(), target.target().name()));
      std::set<std::string> others = held;
      DescribeDevice(run, a.worker_index(), &others, &target);
      held_here.insert(others.begin(), others.end());
    }
    held = std::move(held_here);
  }
}

// The targets of a worker's inspection that the phase uses.
std::vector<const v1::TargetInspection*> UsedTargets(const PlanWorker& worker,
                                                     const std::vector<uint32_t>& targets) {
  std::vector<const v1::TargetInspection*> used;
  for (const v1::TargetInspection& found : worker.inspection.targets()) {
    if (std::find(targets.begin(), targets.end(), found.target()) != targets.end()) {
      used.push_back(&found);
    }
  }
  return used;
}

// Says which devices each member samples for its kernel: those underneath the phase's targets, each
// by the first member that sees it.
void AssignSampling(const SettledRun& run, const std::vector<uint32_t>& targets,
                    std::vector<v1::Assignment>* assignments) {
  std::map<std::string, KernelDevices> kernels;  // by boot id
  for (const v1::Assignment& a : *assignments) {
    const PlanWorker& worker = run.workers[a.worker_index()];
    for (const v1::TargetInspection* found : UsedTargets(worker, targets)) {
      kernels[worker.hello.host().boot_id()].Add(worker.inspection, *found);
    }
  }
  std::map<std::string, std::set<std::string>> counted;
  for (const auto& [boot_id, devices] : kernels) counted[boot_id] = devices.Counted();
  std::map<std::string, std::set<std::string>> taken;
  std::set<std::string> sampled_hosts;
  for (v1::Assignment& a : *assignments) {
    const PlanWorker& worker = run.workers[a.worker_index()];
    const std::string& boot_id = worker.hello.host().boot_id();
    a.set_sample_host(sampled_hosts.insert(boot_id).second);
    const auto add = [&](const std::vector<std::string>& devices) {
      for (const std::string& device : devices) {
        if (!taken[boot_id].insert(device).second) continue;
        counted[boot_id].contains(device) ? a.add_sample_devices(device)
                                          : a.add_nested_devices(device);
      }
    };
    for (const v1::TargetInspection* found : UsedTargets(worker, targets)) {
      const TargetDevices devices = DevicesUnder(worker.inspection, *found);
      add(devices.top);
      add(devices.lower);
    }
  }
}

// The changes of the phase's environment that this worker makes for its kernel: each device once.
void AssignSettings(const SettledRun& run, const v1::RunPhase& load,
                    const std::vector<uint32_t>& targets, uint32_t worker,
                    std::set<std::string>* taken, v1::RunAssignment* out) {
  if (!load.has_environment()) return;
  *out->mutable_environment() = load.environment();
  const PlanWorker& self = run.workers[worker];
  const std::string& boot_id = self.hello.host().boot_id();
  for (const v1::TargetInspection* found : UsedTargets(self, targets)) {
    for (const std::string& device : found->settings_devices()) {
      if (taken->insert(absl::StrCat(boot_id, "/queue ", device)).second) {
        out->add_settings_devices(device);
      }
    }
    for (const std::string& device : found->read_ahead_devices()) {
      if (taken->insert(absl::StrCat(boot_id, "/read-ahead ", device)).second) {
        out->add_read_ahead_devices(device);
      }
    }
  }
  out->set_remounts(taken->insert(boot_id).second);
}

// The position of a workload's seed. Those from 1,000,000 on are the seeds that all phases share.
// They would be those of phase 1,000, so that later phases have the next ones.
uint64_t SeedPosition(uint64_t phase_index, uint64_t workload) {
  return (phase_index < 1000 ? phase_index : phase_index + 1) * 1000 + workload;
}

absl::Status AssignWorkloads(const SettledRun& run, const v1::PhaseSpec& spec, uint32_t phase_index,
                             const std::vector<uint32_t>& members,
                             std::vector<v1::Assignment>* assignments) {
  const v1::RunPhase phase = LoadOf(run.job, spec);
  std::vector<PlanWorker> fleet;
  for (uint32_t member : members) fleet.push_back(run.workers[member]);
  for (int w = 0; w < phase.workloads_size(); ++w) {
    const v1::Workload& workload = phase.workloads(w);
    auto chosen = Select(workload.hosts(), fleet);
    if (!chosen.ok()) {
      return absl::Status(
          chosen.status().code(),
          absl::StrCat("workload ", workload.name(), ": ", std::string(chosen.status().message())));
    }
    const uint64_t count = chosen->size();
    const double rate = workload.open_loop().rate_per_second();  // 0 in a closed loop
    // The seed does not depend on the phase: popular blocks lie at the same offsets in every phase.
    // The seeds below leave these positions out.
    const uint64_t common_seed = common::DeriveSeed(run.seed, 1000000 + static_cast<uint64_t>(w));
    for (uint64_t i = 0; i < count; ++i) {
      // fewer I/Os than hosts
      if (workload.operations() != 0 && common::ShareOf(workload.operations(), i, count) == 0) {
        continue;
      }
      v1::WorkloadAssignment* out = (*assignments)[(*chosen)[i]].mutable_run()->add_workloads();
      out->set_index(w);
      *out->mutable_workload() = workload;
      if (workload.operations() != 0) {
        out->set_operations(common::ShareOf(workload.operations(), i, count));
      }
      if (workload.io_size_bytes() != 0) {
        // A share of 0 would mean no limit, and the worker would go on until the hard stop.
        out->set_io_size_bytes(
            std::max<uint64_t>(1, common::ShareOf(workload.io_size_bytes(), i, count)));
      }
      // The worker's number in the run is used, not its place among the members. After a loss the
      // others keep their random sequences.
      out->set_seed(common::DeriveSeed(common::DeriveSeed(run.seed, SeedPosition(phase_index, w)),
                                       members[(*chosen)[i]]));
      out->set_common_seed(common_seed);
      out->set_rate_per_second(rate / static_cast<double>(count));
      out->set_max_iops(workload.max_iops() / static_cast<double>(count));
      out->set_max_throughput_bytes_per_second(workload.max_throughput_bytes_per_second() /
                                               static_cast<double>(count));
      out->set_check_reads_only(spec.has_verify());
      out->set_check_any_run(spec.verify().any_run());
      out->set_check_sparse(spec.verify().sparse());
      out->set_check_run_id(spec.verify().of_run());
      out->set_member(static_cast<uint32_t>(i));
      out->set_members(static_cast<uint32_t>(count));
    }
  }
  return absl::OkStatus();
}

// Workers under one kernel share its processors.
void CountKernelThreads(const SettledRun& run, std::vector<v1::Assignment>* assignments) {
  std::map<std::string, uint32_t> threads;
  for (const v1::Assignment& a : *assignments) {
    for (const v1::WorkloadAssignment& w : a.run().workloads()) {
      threads[run.workers[a.worker_index()].hello.host().boot_id()] +=
          std::max<uint32_t>(1, w.workload().threads());
    }
  }
  for (v1::Assignment& a : *assignments) {
    a.mutable_run()->set_kernel_threads(
        threads[run.workers[a.worker_index()].hello.host().boot_id()]);
  }
}

}  // namespace

v1::TargetAssignment OwnPart(const SettledRun& run, uint32_t target, uint32_t worker) {
  return AssignTarget(run, target, worker, worker, run.workers.size());
}

int64_t HardStopNs(const v1::JobSpec& job, const v1::PhaseSpec& phase) {
  if (!IsLoad(phase)) return job.deadlines().prepare_ns();
  const v1::RunPhase run = LoadOf(job, phase);
  return run.duration_ns() == 0 ? kMaxPhaseNs : run.ramp_ns() + run.duration_ns();
}

int64_t GoWithinNs(const v1::JobSpec& job) {
  return job.deadlines().arm_ns() + timing::kGoWithinNs;
}

int64_t PhaseDeadlineNs(const v1::JobSpec& job, const v1::PhaseSpec& phase) {
  return HardStopNs(job, phase) + job.deadlines().drain_ns() + timing::kResultNs;
}

absl::StatusOr<std::vector<v1::Assignment>> MakeAssignments(const SettledRun& run,
                                                            const v1::PhaseSpec& phase,
                                                            uint32_t phase_index, uint32_t attempt,
                                                            const std::vector<uint32_t>& members) {
  const v1::RunPhase load = LoadOf(run.job, phase);
  const std::vector<uint32_t> targets = TargetsOf(run.job, phase);
  std::vector<v1::Assignment> assignments;
  std::set<std::string> set_devices;
  for (uint32_t member : members) {
    v1::Assignment out;
    out.mutable_phase()->set_run_id(run.run_id);
    out.mutable_phase()->set_phase(phase_index);
    out.mutable_phase()->set_attempt(attempt);
    out.set_worker_index(member);
    // Slices go by the worker's number in the run, so that a lost worker does not move the others'.
    const Part part = PartOf(phase, member, members, run.workers.size());
    for (uint32_t target : targets) {
      v1::TargetAssignment* assigned = out.add_targets();
      *assigned = AssignTarget(run, target, member, part.position, part.count);
      DescribeBlocks(run, load, assigned);
    }
    if (phase.has_prepare()) {
      *out.mutable_prepare() = phase.prepare();
    } else if (phase.has_cleanup()) {
      *out.mutable_cleanup() = phase.cleanup();
    } else {
      out.mutable_run()->set_duration_ns(load.duration_ns());
      out.mutable_run()->set_ramp_ns(load.ramp_ns());
      out.mutable_run()->set_drop_caches(load.drop_caches());
      AssignSettings(run, load, targets, member, &set_devices, out.mutable_run());
    }
    for (const std::string& identity : run.job.expendable()) out.add_expendable(identity);
    out.set_interval_ns(run.job.interval_ns());
    out.set_drain_ns(run.job.deadlines().drain_ns());
    out.set_go_within_ns(GoWithinNs(run.job));
    out.set_hard_stop_ns(HardStopNs(run.job, phase));
    assignments.push_back(std::move(out));
  }
  if (IsLoad(phase)) {
    if (absl::Status status = AssignWorkloads(run, phase, phase_index, members, &assignments);
        !status.ok()) {
      return status;
    }
    CountKernelThreads(run, &assignments);
    if (phase.has_observe()) {
      AssignObserving(run, ObserveIndexOf(run.job, phase), &assignments);
    } else {
      AssignSampling(run, targets, &assignments);
    }
  }
  // The order matters: the first call sets `written` from the assigned workloads, and the other two
  // read it.
  DescribeDevices(run, &assignments);
  DescribeWriters(&assignments);
  AddReservations(run, &assignments);
  return assignments;
}

}  // namespace lockstep::controller
