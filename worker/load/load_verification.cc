#include "worker/load/load_verification.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/timing.h"
#include "measure/block_runs.h"
#include "proto/workload.h"
#include "worker/load/workload_setup.h"

namespace lockstep::worker {
namespace {

// The interval between two reports of writes. The writes of a lost worker since its last report are
// not in the write log.
constexpr int64_t kReportWritesNs = timing::kSecond;
constexpr uint64_t kMaxBlocks = uint64_t{1} << 52;
// The time for looking up missing writes, over all workloads together. The result waits for it, and
// must not be late for a mere explanation.
constexpr int64_t kExplainNs = 5 * timing::kSecond;

std::string UtcText(int64_t wall_ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(wall_ns),
                          absl::UTCTimeZone());
}

}  // namespace

absl::Status LoadVerification::Prepare(const v1::WorkloadAssignment& workload,
                                       const std::vector<v1::TargetAssignment>& targets,
                                       const OpenTargets& opened) {
  const absl::Status status = LoadExpected(workload, targets, opened);
  return status.ok() ? FollowWrites(workload, opened) : status;
}

const v1::WorkloadAssignment* LoadVerification::AssignmentOf(const LoadPart& part) const {
  const auto& workloads = assignment_.run().workloads();
  const auto found = std::find_if(
      workloads.begin(), workloads.end(),
      [&](const v1::WorkloadAssignment& workload) { return workload.index() == part.index; });
  LOCKSTEP_CHECK(found != workloads.end(), "a part of a load has no workload");
  return &*found;
}

absl::Status LoadVerification::LoadExpected(const v1::WorkloadAssignment& assignment,
                                            const std::vector<v1::TargetAssignment>& targets,
                                            const OpenTargets& opened) {
  const auto block = static_cast<uint64_t>(assignment.workload().block_size_bytes());
  const bool of_this_run = assignment.check_run_id().empty();
  const bool is_shared =
      std::any_of(targets.begin(), targets.end(), [](const auto& t) { return t.is_shared(); });
  v1::WriteLogRequest request;
  request.set_run_id(of_this_run ? assignment_.phase().run_id() : assignment.check_run_id());
  request.set_block_size_bytes(static_cast<uint32_t>(block));
  std::map<uint64_t, const OpenedFile*> files;  // by target_key
  for (const OpenedFile& file : opened.files) {
    const auto known = environment_.ledgers->Find(LedgerNameOf(file, assignment), block);
    // Nobody else writes it, and this worker remembers.
    if (known != nullptr && of_this_run && !is_shared) continue;
    if (files.emplace(TargetKey(file.thing), &file).second)
      request.add_target_keys(TargetKey(file.thing));
  }
  if (request.target_keys().empty() || !environment_.write_log) return absl::OkStatus();
  // A ledger takes four bytes of memory for each block. It is made only for a target of which the
  // log has something.
  std::map<uint64_t, std::shared_ptr<BlockLedger>> reported;
  const absl::Status read = environment_.write_log(
      request, limits::kWriteLogNs, [&](const v1::WriteLogPart& part) -> absl::Status {
        if (part.has_unfinished()) {
          // Where each worker has a target of its own, the loss of another worker says nothing
          // about this one's blocks.
          if (!is_shared && of_this_run && part.unfinished() != assignment_.worker_index() + 1) {
            return absl::OkStatus();
          }
          // Where slices are known, only the lost worker's is in doubt.
          const bool is_sliced = targets.size() == 1 && opened.files.size() == 1 &&
                                 targets.front().each_slice_bytes() != 0;
          const uint64_t each = is_sliced ? targets.front().each_slice_bytes() : 0;
          const uint64_t begin = targets.front().stamp_bytes();
          const uint64_t first = (begin + each * (part.unfinished() - uint64_t{1})) / block;
          const uint64_t end = (begin + each * part.unfinished() + block - 1) / block;
          for (const auto& [target_key, ledger] : reported) {
            ledger->ExpectUnfinished(first, is_sliced ? end - first : ledger->blocks());
          }
          return absl::OkStatus();
        }
        const auto file = files.find(part.writes().target_key());
        if (file == files.end()) return absl::OkStatus();
        const auto known = reported.find(file->first);
        // Parts come phase by phase. Blocks of another size have overwritten what earlier phases
        // wrote.
        if (part.writes().block_size_bytes() != block) {
          if (known != reported.end()) known->second->ExpectNothing();
          return absl::OkStatus();
        }
        if (known != reported.end()) return known->second->ExpectRuns(part.writes().runs());
        const OpenedFile& opened_file = *file->second;
        auto made = environment_.ledgers->FindOrMake(LedgerNameOf(opened_file, assignment),
                                                     opened_file.engine_file.size_bytes, block);
        if (!made.ok()) return made.status();
        return reported.emplace(file->first, *std::move(made))
            .first->second->ExpectRuns(part.writes().runs());
      });
  if (!read.ok() || of_this_run || !reported.empty()) return read;
  // Without this, whatever another run has written there would count as stale.
  return absl::FailedPreconditionError(absl::StrCat(
      "verify: run ", assignment.check_run_id().substr(0, 8), " wrote no block of ", block,
      " bytes on ", opened.files.empty() ? "these targets" : opened.files.front().path,
      " that could be verified; of_run names the run that wrote the data, with `verify: true`"));
}

absl::Status LoadVerification::FollowWrites(const v1::WorkloadAssignment& assignment,
                                            const OpenTargets& opened) {
  WriteFollower::Followed followed;
  followed.staleness_ns = assignment.workload().verify_staleness_ns();
  followed.request.set_run_id(assignment_.phase().run_id());
  *followed.request.mutable_phase() = assignment_.phase();
  followed.request.set_block_size_bytes(
      static_cast<uint32_t>(assignment.workload().block_size_bytes()));
  for (const OpenedFile& file : opened.files) {
    if (!file.written_since) continue;
    // It is made before anything is known: a thread keeps the ledger that it finds when it is made,
    // and would not see a later one.
    auto ledger = environment_.ledgers->FindOrMake(LedgerNameOf(file, assignment),
                                                   file.engine_file.size_bytes,
                                                   followed.request.block_size_bytes());
    if (!ledger.ok()) return ledger.status();
    if (followed.ledgers.emplace(TargetKey(file.thing), *std::move(ledger)).second) {
      followed.request.add_target_keys(TargetKey(file.thing));
    }
  }
  if (!followed.ledgers.empty()) follower_.Add(std::move(followed));
  return absl::OkStatus();
}

void LoadVerification::ExplainMissing(const LoadParts& parts) {
  const int64_t until = clock_->MonotonicNs() + kExplainNs;
  for (const auto& part : parts) {
    const v1::WorkloadAssignment* workload = AssignmentOf(*part);
    Missing missing;  // by target_key, block
    v1::WriteLogRequest request;
    std::set<uint64_t> target_keys;
    for (const auto& thread : part->threads) {
      if (!thread->recorder().finished()) continue;  // it hangs, and may go on
      for (BlockChecks::Missing& block : thread->checks().missing()) {
        if (target_keys.insert(block.key).second) request.add_target_keys(block.key);
        missing.emplace(std::pair(block.key, block.block), block);
      }
      request.set_block_size_bytes(thread->checks().block_size_bytes());
    }
    const int64_t left = until - clock_->MonotonicNs();
    if (missing.empty() || !environment_.write_log || left <= 0) continue;
    const bool of_this_run = workload->check_run_id().empty();
    request.set_run_id(of_this_run ? assignment_.phase().run_id() : workload->check_run_id());
    // Without an answer the mismatch is reported without its writer.
    const absl::Status ignored =
        environment_.write_log(request, left, [&](const v1::WriteLogPart& written) -> absl::Status {
          if (written.has_writes()) {
            ExplainFrom(written, of_this_run ? WriterOf(*part, written) : "", &missing);
          }
          return absl::OkStatus();
        });
  }
}

std::string LoadVerification::WriterOf(const LoadPart& part,
                                       const v1::WriteLogPart& written) const {
  for (const OpenedFile& file : part.targets.files) {
    if (TargetKey(file.thing) != written.writes().target_key()) continue;
    for (const v1::TargetAssignment& target : assignment_.targets()) {
      const bool is_it = target.index() == file.target;
      if (is_it && static_cast<int>(written.worker_index()) < target.writers_size()) {
        return target.writers(static_cast<int>(written.worker_index()));
      }
    }
  }
  return "";
}

void LoadVerification::ExplainFrom(const v1::WriteLogPart& written, const std::string& writer_name,
                                   Missing* missing) {
  const std::string writer =
      absl::StrCat("worker ", written.worker_index(),
                   writer_name.empty() ? "" : absl::StrCat(" (", writer_name, ")"));
  const v1::BlockWrites& writes = written.writes();
  const std::string words =
      absl::StrCat("; ", writer, " wrote that in phase ", written.phase(),
                   writes.until_wall_ns() == 0
                       ? ""
                       : absl::StrCat(" between ", UtcText(writes.from_wall_ns()), " and ",
                                      UtcText(writes.until_wall_ns()), " by its clock"));
  const absl::Status ignored = measure::ReadBlockRuns(
      writes.runs(), kMaxBlocks,
      [&](uint64_t first, uint64_t count, uint32_t generation, measure::BlockContent) {
        for (auto block = missing->lower_bound({writes.target_key(), first});
             block != missing->end() && block->first.first == writes.target_key() &&
             block->first.second - first < count;) {
          const bool is_it = block->second.generation == generation;
          if (is_it) block->second.expected->append(words);
          block = is_it ? missing->erase(block) : std::next(block);
        }
      });
}

// Writes without headers, or in blocks of another size, void what the write log holds of a target.
// This is reported before T: a worker that is lost after its first write can no longer report it.
void LoadVerification::ReportOverwritten(const LoadParts& parts) {
  for (const auto& part : parts) {
    const v1::WorkloadAssignment* workload = AssignmentOf(*part);
    if (!Writes(workload->workload())) continue;
    for (const OpenedFile& file : part->targets.files) {
      if (!file.engine_file.has_storage() || !file.is_writable) continue;
      v1::BlockWrites report;
      report.set_target_key(TargetKey(file.thing));
      // A file that begins empty has nothing of what was there before.
      const bool verifies = workload->workload().verify() && !workload->workload().create();
      report.set_block_size_bytes(
          verifies ? static_cast<uint32_t>(workload->workload().block_size_bytes()) : 0);
      environment_.block_writes(report);
    }
  }
}

void LoadVerification::ReportWrites(int64_t go_ns) {
  if (clock_->MonotonicNs() - reported_ns_ >= kReportWritesNs) {
    Report(go_ns, BlockLedger::Writes::kEnded);
  }
}

void LoadVerification::ReportLastWrites(int64_t go_ns) { Report(go_ns, BlockLedger::Writes::kAll); }

void LoadVerification::Report(int64_t go_ns, BlockLedger::Writes which) {
  const int64_t now = clock_->MonotonicNs();
  // The span comes from the monotonic clock. A step of the wall clock since the last report would
  // otherwise change its length.
  const int64_t from = clock_->WallNs() - (now - std::max(reported_ns_, go_ns));
  // The next span begins here and not after the collection: a block that is written during it may
  // be in either report, and both spans must cover it.
  reported_ns_ = now;
  const bool writes =
      std::any_of(assignment_.run().workloads().begin(), assignment_.run().workloads().end(),
                  [](const auto& w) { return w.workload().verify() && !w.check_reads_only(); });
  if (!writes) return;
  environment_.ledgers->TakeWrites(which, [&](const v1::BlockWrites& taken) {
    v1::BlockWrites report = taken;
    report.set_from_wall_ns(from);
    report.set_until_wall_ns(clock_->WallNs());  // threads write while these are collected
    environment_.block_writes(report);
  });
}

}  // namespace lockstep::worker
