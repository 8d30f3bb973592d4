#include "controller/plan/copy_rules.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/plan/assign.h"
#include "controller/plan/workload_problems.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

// One of the two targets of a copy on one worker.
struct Side {
  const v1::Target* target = nullptr;
  uint64_t bytes = 0;        // 0: not known
  uint64_t stamp_bytes = 0;  // of an enrolled device, in front of them
};

bool IsParted(const Side& side) {
  return side.target->sharing() == v1::SHARING_SLICED ||
         side.target->sharing() == v1::SHARING_INTERLEAVED;
}

std::string SharingOf(const v1::Target& target) {
  switch (target.sharing()) {
    case v1::SHARING_SLICED:
      return "sliced";
    case v1::SHARING_INTERLEAVED:
      return "interleaved";
    case v1::SHARING_OWNED:
      return "owned";
    case v1::SHARING_OVERLAPPED:
      return "overlapped";
    default:
      return "private";
  }
}

// Bytes of the side that the I/O of one worker reaches.
uint64_t PartBytes(const Side& side, size_t workers) {
  return side.target->sharing() == v1::SHARING_SLICED ? SliceBytes(side.bytes, workers)
                                                      : side.bytes;
}

// Empty where these bytes are whole blocks.
std::string NotWhole(const std::string& what, uint64_t bytes, uint64_t block) {
  if (bytes % block == 0) return "";
  // The largest power of two that divides it.
  const uint64_t fits = bytes & (~bytes + 1);
  // No device takes direct I/O in blocks of less than 512 bytes.
  return absl::StrCat(what, " of ", bytes, " bytes is no whole number of blocks of ",
                      common::FormatSize(block), ": the rest would not be copied; ",
                      fits >= 512
                          ? absl::StrCat("a block_size of ", common::FormatSize(fits), " fits")
                          : "give the target a size of whole blocks");
}

// Says which size of one side is not a whole number of blocks; empty if all are.
std::string NotWhole(const Side& side, uint64_t block, size_t workers) {
  const v1::Target& target = *side.target;
  const std::string name = absl::StrCat("'", target.name(), "'");
  if (target.has_file()) {
    const auto each = static_cast<uint64_t>(target.file().size_bytes());
    std::string text = NotWhole(absl::StrCat("a file of ", name), each, block);
    if (!text.empty()) return text;
  }
  if (target.sharing() == v1::SHARING_INTERLEAVED) {
    const auto stripe = static_cast<uint64_t>(target.stripe_bytes());
    std::string text = NotWhole(absl::StrCat("a stripe of ", name), stripe, block);
    if (!text.empty()) return text;
  }
  if (side.stamp_bytes % block != 0) {
    return absl::StrCat(name, " is enrolled, and its stamp takes ",
                        common::FormatSize(side.stamp_bytes),
                        " in front: its block_size must divide that");
  }
  return NotWhole(absl::StrCat(name, workers > 1 && IsParted(side) ? ", in its parts," : ""),
                  PartBytes(side, workers), block);
}

// How hosts share one side, and how they share the other.
std::string PartsProblem(const Side& from, const Side& to, size_t workers) {
  if (workers < 2 || (!IsParted(from) && !IsParted(to))) return "";
  const bool is_alike = from.target->sharing() == to.target->sharing() &&
                        from.target->stripe_bytes() == to.target->stripe_bytes() &&
                        from.bytes == to.bytes && from.stamp_bytes == to.stamp_bytes;
  if (is_alike) return "";
  return absl::StrCat("the parts of ", workers, " hosts in '", from.target->name(), "' (",
                      SharingOf(*from.target), ", ", common::FormatSize(from.bytes), ") and '",
                      to.target->name(), "' (", SharingOf(*to.target), ", ",
                      common::FormatSize(to.bytes),
                      ") are not the same; give both the same sharing and size, or run the job "
                      "on one host");
}

// Why a copy would not be whole; empty when it will be. `workers` of the run; 0: not known.
std::string CopyProblem(const Side& from, const Side& to, int64_t block_bytes, size_t workers) {
  const auto block = static_cast<uint64_t>(std::max<int64_t>(1, block_bytes));
  const size_t count = std::max<size_t>(1, workers);
  if (from.bytes != 0 && to.bytes != 0) {
    if (std::string text = PartsProblem(from, to, count); !text.empty()) return text;
  }
  if (from.bytes != 0) {
    const uint64_t parts = PartBytes(from, count) * count;
    // Before the workers are known the length of a slice is not either.
    if (workers != 0 && from.target->sharing() == v1::SHARING_SLICED && parts != from.bytes) {
      return absl::StrCat("the last ", from.bytes - parts, " bytes of '", from.target->name(),
                          "' are in no host's slice, so that they would not be copied; give it a "
                          "size of ",
                          common::FormatSize(parts), ", or use sharing: overlapped on one host");
    }
    if (std::string text = NotWhole(from, block, count); !text.empty()) return text;
  }
  const bool is_many = to.target->has_file() && to.target->file().count() > 1;
  // Blocks of the destination must begin where each of its files begins, or the range behind its
  // stamp. A single file begins at 0 in any case.
  if (is_many || to.stamp_bytes != 0) {
    Side begin = to;
    begin.bytes = 0;  // what is left at its end does not matter
    if (std::string text = NotWhole(begin, block, count); !text.empty()) return text;
  }
  if (from.bytes == 0 || to.bytes == 0) return "";
  const uint64_t needed = workers != 0 ? PartBytes(from, count) : from.bytes;
  const uint64_t room = workers != 0 ? PartBytes(to, count) : to.bytes;
  if (room >= needed) return "";
  return absl::StrCat("the source '", from.target->name(), "' has ", needed, " bytes, '",
                      to.target->name(), "' has ", room,
                      ": a copy needs a destination that is at least as large; give the source a "
                      "smaller size, or the destination a larger one");
}

// Bytes that the job says; 0 where only the workers know.
uint64_t BytesInJob(const v1::Target& target) {
  if (target.has_file()) return uint64_t{target.file().count()} * target.file().size_bytes();
  if (target.has_iscsi()) return static_cast<uint64_t>(target.iscsi().size_bytes());
  return static_cast<uint64_t>(target.device().size_bytes());
}

// A copy reads each block and writes it: these fields leave nothing to choose.
void CheckFields(const v1::Workload& w, const Complain& add) {
  if (w.read_ratio() != 0.5) {
    add(".read", "a copy reads each block and writes it; leave read out");
  }
  if (w.trim_ratio() != 0) add(".trim", "a copy trims nothing; leave trim out");
  if (!w.access().empty() || !w.block_sizes().empty() || w.merge() > 1) {
    add(".copy", "needs one block size: leave access, block_sizes and merge out");
  }
  if (!w.pattern().has_sequential() && !w.pattern().has_shuffled()) {
    add(".pattern", "a pass of a copy visits each block once; choose sequential or shuffled");
  }
  if (w.has_open_loop()) {
    add(".open_loop",
        "a copy writes a block when it has read it, so no schedule can be kept; use max_iops or "
        "max_throughput");
  }
  if (w.operations() != 0 || w.io_size_bytes() != 0) {
    add(w.operations() != 0 ? ".operations" : ".io_size",
        "a copy ends after its passes; to copy less, give the source a smaller size");
  }
  if (ChoosesContent(w)) add(".content", "a copy writes what it has read; leave content out");
  if (w.files_per_thread()) {
    add(".files_per_thread", "a copy takes files one after the other; leave it out");
  }
  if (w.file_order() == v1::FILE_ORDER_ROUND_ROBIN || w.file_order() == v1::FILE_ORDER_RANDOM) {
    add(".file_order", "a copy takes files one after the other; leave it out");
  }
  if (w.fsync().all_files()) {
    add(".fsync.all_files", "would sync the source, too; a sync covers the file written last");
  }
  if (w.create() && !w.pattern().has_sequential()) {
    add(".create", "needs a sequential pattern: the files grow as they are written");
  }
}

}  // namespace

std::string TargetField(const v1::Workload& workload, int index) {
  if (!workload.has_copy()) return absl::StrCat(".targets[", index, "]");
  return index == 0 ? ".copy.from" : ".copy.to";
}

void CheckCopy(const v1::JobSpec& job, const TargetIndex& targets, const v1::Workload& w,
               const Complain& complain) {
  const v1::Copy& copy = w.copy();
  if (w.targets_size() != 2 || w.targets(0) != copy.from() || w.targets(1) != copy.to()) {
    return complain(".targets", "a copy names its targets itself; leave targets out");
  }
  CheckFields(w, complain);
  if (copy.from() == copy.to()) {
    return complain(".copy.to", "is the source, too; a copy needs two targets");
  }
  const int from_index = targets.Find(copy.from());
  const int to_index = targets.Find(copy.to());
  if (from_index < 0 || to_index < 0) return;  // CheckWorkload() says so
  const v1::Target& from = job.targets(from_index);
  const v1::Target& to = job.targets(to_index);
  if (from.has_null() || to.has_null()) {
    return complain(from.has_null() ? ".copy.from" : ".copy.to",
                    "a null target holds nothing that could be copied");
  }
  if (w.create() && (!to.has_file() || to.sharing() != v1::SHARING_PRIVATE)) {
    complain(".create", absl::StrCat("'", to.name(), "' is no file target of each host's own"));
  }
  const std::string problem = CopyProblem({&from, BytesInJob(from), 0}, {&to, BytesInJob(to), 0},
                                          w.block_size_bytes(), /*workers=*/0);
  if (!problem.empty()) complain(".copy", problem);
}

std::vector<std::string> CopyProblems(const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers) {
  const auto has_copy = [](const v1::PhaseSpec& phase) {
    const auto& workloads = phase.run().workloads();
    return std::any_of(workloads.begin(), workloads.end(),
                       [](const v1::Workload& w) { return w.has_copy(); });
  };
  const auto find = [&](const WorkloadOnWorker& on, const AddProblem& add) {
    const v1::Workload& w = on.workload;
    const int from = on.targets.Find(w.copy().from());
    const int to = on.targets.Find(w.copy().to());
    if (!w.has_copy() || from < 0 || to < 0) return;
    const auto side = [&](int target) {
      Side side{&job.targets(target), 0, 0};
      side.bytes = TargetBytes(*side.target, on.worker, static_cast<uint32_t>(target));
      for (const v1::TargetInspection& seen : on.worker.inspection.targets()) {
        if (seen.target() == static_cast<uint32_t>(target)) side.stamp_bytes = seen.stamp_bytes();
      }
      return side;
    };
    const std::string problem =
        CopyProblem(side(from), side(to), w.block_size_bytes(), workers.size());
    if (!problem.empty()) add(": " + problem);
  };
  return ProblemsOnWorkers(job, workers, has_copy, find);
}

void HeaderOwners::Check(const v1::PhaseSpec& phase, const Complain& complain) {
  // Readers come first: a phase reads the blocks of earlier phases, not those that it writes
  // itself.
  CheckReaders(phase, complain);
  Note(phase);
}

void HeaderOwners::CheckReaders(const v1::PhaseSpec& phase, const Complain& complain) const {
  const auto copied = [](const std::string& name) {
    return absl::StrCat("'", name,
                        "' was copied without verify, so its blocks name the source; set verify "
                        "in the copy, or verify the source");
  };
  const v1::VerifyPhase& verify = phase.verify();
  // any_run accepts what another target's header says.
  for (int i = 0; i < verify.targets_size() && !verify.any_run(); ++i) {
    if (!copied_.contains(verify.targets(i))) continue;
    complain(absl::StrCat("verify.targets[", i, "]"), copied(verify.targets(i)));
  }
  for (int i = 0; i < phase.run().workloads_size(); ++i) {
    const v1::Workload& w = phase.run().workloads(i);
    if (!w.verify()) continue;
    const std::string field = absl::StrCat("run.workloads[", i, "].verify");
    for (const std::string& name : w.targets()) {
      if (ReadsFrom(w, name) && copied_.contains(name)) complain(field, copied(name));
    }
    const auto known = verified_.find(w.copy().from());
    if (!w.has_copy() || copied_.contains(w.copy().from()) ||
        (known != verified_.end() && known->second == w.block_size_bytes())) {
      continue;
    }
    complain(field,
             absl::StrCat("'", w.copy().from(),
                          "' has no blocks of this size with headers of this run, so none could be "
                          "checked and copied; write it with verify in an earlier phase, or leave "
                          "verify out"));
  }
}

void HeaderOwners::Note(const v1::PhaseSpec& phase) {
  const auto overwritten = [this](const std::string& name) {
    verified_.erase(name);
    copied_.erase(name);
  };
  if (const auto* names = TargetNames(phase); names != nullptr && !phase.has_verify()) {
    for (const std::string& name : *names) {
      overwritten(name);
      const v1::PreconditionPhase& precondition = phase.precondition();
      if (precondition.verify()) verified_[name] = precondition.block_size_bytes();
    }
  }
  for (const v1::Workload& w : phase.run().workloads()) {
    for (const std::string& name : w.targets()) {
      if (!WritesTo(w, name)) continue;
      verified_.erase(name);
      // A write without verify may leave some of the copied blocks as they are.
      if (w.verify()) copied_.erase(name);
      if (w.verify()) verified_[name] = w.block_size_bytes();
      // A plain copy brings the headers of the source along, which name another target.
      if (!w.verify() && w.has_copy()) copied_.insert(name);
    }
  }
}

}  // namespace lockstep::controller
