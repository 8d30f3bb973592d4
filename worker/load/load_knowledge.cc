// What a load learns of blocks that others have written, and tells of those that it writes.

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "measure/block_runs.h"
#include "proto/workload.h"
#include "worker/load/load.h"
#include "worker/load/workload_setup.h"

namespace lockstep::worker {
namespace {

// How often it is told what was written.
constexpr int64_t kTellNs = 1000000000;
// The target may be smaller than when it was written: a ledger takes what it has room for.
constexpr uint64_t kMostBlocks = uint64_t{1} << 52;

}  // namespace

absl::Status Load::LearnBlocks(const v1::WorkloadAssignment& assignment,
                               const std::vector<v1::TargetAssignment>& targets,
                               const OpenTargets& opened) {
  const auto block = static_cast<uint64_t>(assignment.workload().block_size_bytes());
  const bool of_this_run = assignment.check_run_id().empty();
  const auto find = [&](const OpenedFile& file, bool make) {
    return environment_.ledgers->Find(LedgerNameOf(file, assignment), file.engine_file.size_bytes,
                                      block, make);
  };
  const bool is_shared =
      std::any_of(targets.begin(), targets.end(), [](const auto& t) { return t.is_shared(); });
  v1::KnowledgeRequest request;
  request.set_run_id(of_this_run ? assignment_.phase().run_id() : assignment.check_run_id());
  request.set_block_size_bytes(static_cast<uint32_t>(block));
  std::map<uint64_t, const OpenedFile*> files;  // by place
  for (const OpenedFile& file : opened.files) {
    const auto known = find(file, false);
    if (!known.ok()) return known.status();
    // Nobody else writes it, and this worker remembers.
    if (*known != nullptr && of_this_run && !is_shared) continue;
    if (files.emplace(PlaceOf(file.thing), &file).second) request.add_places(PlaceOf(file.thing));
  }
  if (request.places().empty() || !environment_.knowledge) return absl::OkStatus();
  std::map<uint64_t, std::shared_ptr<BlockLedger>> learned;
  return environment_.knowledge(request, [&](const v1::KnowledgePart& part) -> absl::Status {
    if (part.has_unfinished()) {
      // Of what is a worker's alone others' losses say nothing.
      if (!is_shared && of_this_run && part.unfinished() != assignment_.worker_index() + 1) {
        return absl::OkStatus();
      }
      // Where slices are known, only the lost worker's is in doubt.
      const bool is_sliced = targets.size() == 1 && opened.files.size() == 1 &&
                             targets.front().each_slice_bytes() != 0;
      const uint64_t each = is_sliced ? targets.front().each_slice_bytes() : 0;
      const uint64_t first = each * (part.unfinished() - uint64_t{1}) / block;
      const uint64_t end = (each * part.unfinished() + block - 1) / block;
      for (const auto& [place, ledger] : learned) {
        ledger->LearnUnfinished(first, is_sliced ? end - first : ledger->blocks());
      }
      return absl::OkStatus();
    }
    const auto file = files.find(part.writes().place());
    if (file == files.end()) return absl::OkStatus();
    std::shared_ptr<BlockLedger>& ledger = learned[file->first];
    if (part.writes().block_size_bytes() != block) {
      if (ledger != nullptr) ledger->LearnNothing();
      return absl::OkStatus();
    }
    if (ledger == nullptr) {
      auto made = find(*file->second, true);
      if (!made.ok()) return made.status();
      ledger = *std::move(made);
    }
    return measure::ReadBlockRuns(
        part.writes().runs(), kMostBlocks,
        [&](uint64_t first, uint64_t count, uint32_t generation, bool unknown) {
          ledger->Learn(first, count, generation, unknown);
        });
  });
}

bool Load::HasStuckIo() const {
  return std::any_of(parts_.begin(), parts_.end(), [this](const auto& part) {
    return std::any_of(part->threads.begin(), part->threads.end(), [this](const auto& thread) {
      return thread->OldestInFlight(clock_->MonotonicNs(), 0).has_value();
    });
  });
}

// What is written without headers, or in blocks of one size, is known in no other way any more.
void Load::TellOverwritten() {
  for (const auto& part : parts_) {
    const auto workload =
        std::find_if(assignment_.run().workloads().begin(), assignment_.run().workloads().end(),
                     [&](const v1::WorkloadAssignment& w) { return w.index() == part->index; });
    if (workload == assignment_.run().workloads().end() || !Writes(workload->workload())) continue;
    for (const OpenedFile& file : part->targets.files) {
      if (!file.engine_file.has_storage()) continue;
      v1::BlockWrites told;
      told.set_place(PlaceOf(file.thing));
      // A file that begins empty has nothing of what was there before.
      const bool verifies = workload->workload().verify() && !workload->workload().create();
      told.set_block_size_bytes(
          verifies ? static_cast<uint32_t>(workload->workload().block_size_bytes()) : 0);
      environment_.block_writes(told);
    }
  }
}

void Load::TellWrites(bool at_end, bool in_flight) {
  const int64_t now = clock_->MonotonicNs();
  if (!at_end && now - told_ns_ < kTellNs) return;
  told_ns_ = now;
  const bool writes =
      std::any_of(assignment_.run().workloads().begin(), assignment_.run().workloads().end(),
                  [](const auto& w) { return w.workload().verify() && !w.check_reads_only(); });
  if (!writes) return;
  environment_.ledgers->TakeWrites(
      in_flight, [this](const v1::BlockWrites& told) { environment_.block_writes(told); });
}

}  // namespace lockstep::worker
