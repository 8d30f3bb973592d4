#include "worker/verify/block_checks.h"

#include "absl/strings/str_cat.h"
#include "common/ids.h"

namespace lockstep::worker {

uint64_t BlockChecks::ContentSeed(uint16_t file, uint64_t offset, uint32_t generation) const {
  // The generation is part of the seed, so that a sector that an earlier write left behind differs
  // in its content, too.
  return common::DeriveSeed(common::DeriveSeed(options_.seed ^ options_.keys[file], offset),
                            generation);
}

bool BlockChecks::BeginWrite(uint16_t file, uint64_t offset, Ticket* ticket) {
  ticket->generation = options_.ledgers[file]->BeginWrite(offset / options_.block_size_bytes);
  return ticket->generation != 0;
}

BlockHeader BlockChecks::HeaderFor(uint16_t file, uint64_t offset, const Ticket& ticket,
                                   const Progress& progress) const {
  BlockHeader header = options_.header;
  header.length = options_.block_size_bytes;
  header.key = options_.keys[file];
  header.offset = offset;
  header.generation = ticket.generation;
  header.sync_epoch = progress.sync_epoch;
  header.sequence = progress.sequence;
  header.durable_sequence = progress.durable_sequence;
  header.written_ns = progress.now_ns + options_.wall_offset_ns;
  return header;
}

void BlockChecks::Make(uint16_t file, uint64_t offset, const Ticket& ticket,
                       const Progress& progress, char* block) const {
  BlockHeader header = HeaderFor(file, offset, ticket, progress);
  header.content_seed = ContentSeed(file, offset, ticket.generation);
  MakeBlock(header, block);
}

void BlockChecks::MakeCopy(uint16_t file, uint64_t offset, const Ticket& ticket,
                           const Progress& progress, char* block) const {
  BlockHeader header = HeaderFor(file, offset, ticket, progress);
  header.content_seed = HeaderOf(block).content_seed;
  SealBlock(header, block);
}

void BlockChecks::EndWrite(uint16_t file, uint64_t offset, const Ticket& ticket,
                           BlockLedger::WriteEnd end) {
  options_.ledgers[file]->EndWrite(offset / options_.block_size_bytes, ticket.generation, end);
}

void BlockChecks::BeginRead(uint16_t file, uint64_t offset, Ticket* ticket) const {
  const auto& ledger = options_.ledgers[file];
  ticket->state = ledger == nullptr ? 0 : ledger->StateOf(offset / options_.block_size_bytes);
}

BlockChecks::Verdict BlockChecks::EndRead(uint16_t file, uint64_t offset, const Ticket& ticket,
                                          const char* block) {
  const auto& ledger = options_.ledgers[file];
  BlockExpectation expectation;
  if (ledger != nullptr) {
    // A block that is being written before or after the read may have either content, and nothing
    // is known of one that this run never wrote. Writes of others during that time may be newer
    // than what was known when the read was submitted, and never older.
    expectation.written_since = options_.written_since[file];
    const bool known = BlockLedger::IsKnown(ticket.state) &&
                       (expectation.written_since ||
                        ledger->StateOf(offset / options_.block_size_bytes) == ticket.state);
    expectation.generation = BlockLedger::GenerationOf(ticket.state);
    expectation.at_least = BlockLedger::IsAtLeast(ticket.state) || expectation.written_since;
    if (!known || (expectation.generation == 0 && !options_.any_run)) {
      ++not_checkable_;
      return Verdict::kNotCheckable;
    }
  }
  // A job may check what another run has left. The ledger then holds that run's generations.
  const bool is_other = options_.expected_run_high != 0 || options_.expected_run_low != 0;
  expectation.run_high = is_other ? options_.expected_run_high : options_.header.run_high;
  expectation.run_low = is_other ? options_.expected_run_low : options_.header.run_low;
  expectation.writers = &options_.writers;
  if (options_.each_slice_bytes != 0) {
    expectation.writer =
        static_cast<uint32_t>((offset - options_.slices_begin_bytes) / options_.each_slice_bytes);
  }
  // A block that this run has written must be this run's, even where others are as good elsewhere.
  expectation.any_run = options_.any_run && expectation.generation == 0;
  expectation.any_key = expectation.any_run;
  expectation.key = options_.keys[file];
  expectation.offset = offset;
  expectation.length = options_.block_size_bytes;
  const BlockFinding finding = CheckBlock(block, expectation);
  const bool is_hole =
      finding.state == BlockState::kNeverWritten && options_.sparse && expectation.generation == 0;
  if (is_hole || finding.state == BlockState::kUnsettled) {
    ++not_checkable_;
    return Verdict::kNotCheckable;
  }
  ++checked_;
  ++by_state_[static_cast<int>(finding.state)];
  // One broken block that is read again and again must not use up all descriptions.
  if (finding.state != BlockState::kGood && kept_.size() < kDescribed &&
      kept_blocks_.emplace(file, offset).second) {
    Keep(finding, file, offset, expectation.generation, block);
  }
  return finding.state == BlockState::kGood ? Verdict::kGood : Verdict::kMismatch;
}

void BlockChecks::Keep(const BlockFinding& finding, uint16_t file, uint64_t offset,
                       uint32_t generation, const char* block) {
  Kept kept;
  kept.state = finding.state;
  kept.file = file;
  kept.offset = offset;
  kept.generation = generation;
  kept.expected = finding.expected;
  kept.found = finding.found;
  if (kept_.size() >= kSaved) return kept_.push_back(std::move(kept));
  kept.found_block.assign(block, options_.block_size_bytes);
  const BlockHeader header = HeaderOf(block);
  const bool is_of_here = header.offset == offset && header.length == options_.block_size_bytes;
  // If header and content do not fit, the header is of the expected write, and has its seed. For a
  // block that was copied only the header has it.
  const bool is_of_content = kept.state == BlockState::kCorrupt || kept.state == BlockState::kTorn;
  const bool is_whole = is_of_content && header.generation == generation && IsIntact(header);
  // The header names seed and length: the block as it was written can be made again.
  const bool is_unknown = generation == 0 && finding.state == BlockState::kCorrupt;
  if (is_of_here && (is_whole || is_unknown)) {
    kept.expected_block.resize(options_.block_size_bytes);
    MakeBlock(header, kept.expected_block.data());
  } else if (generation != 0) {  // what only the writer knew (sequence, time) stays zero
    kept.expected_block.resize(options_.block_size_bytes);
    Make(file, offset, {generation, 0}, {}, kept.expected_block.data());
  }
  kept_.push_back(std::move(kept));
}

std::vector<BlockChecks::Missing> BlockChecks::missing() {
  std::vector<Missing> list;
  for (Kept& kept : kept_) {
    if (kept.generation == 0) continue;
    list.push_back({options_.keys[kept.file], kept.offset / options_.block_size_bytes,
                    kept.generation, &kept.expected});
  }
  return list;
}

void BlockChecks::AddCounts(v1::Verification* out) const {
  const auto count = [this](BlockState state) { return by_state_[static_cast<int>(state)]; };
  out->set_checked(out->checked() + checked_);
  out->set_not_checkable(out->not_checkable() + not_checkable_);
  out->set_corrupt(out->corrupt() + count(BlockState::kCorrupt));
  out->set_stale(out->stale() + count(BlockState::kStale));
  out->set_misplaced(out->misplaced() + count(BlockState::kMisplaced));
  out->set_torn(out->torn() + count(BlockState::kTorn));
  out->set_never_written(out->never_written() + count(BlockState::kNeverWritten));
}

void BlockChecks::Describe(const std::vector<std::string>& paths, const SaveBlock& save,
                           v1::Verification* out) const {
  for (const Kept& kept : kept_) {
    if (out->mismatches_size() >= static_cast<int>(kDescribed)) return;
    v1::Mismatch* mismatch = out->add_mismatches();
    mismatch->set_verdict(static_cast<v1::BlockVerdict>(kept.state));
    mismatch->set_path(paths[kept.file]);
    mismatch->set_offset(kept.offset);
    mismatch->set_length(options_.block_size_bytes);
    mismatch->set_expected(kept.expected);
    mismatch->set_found(kept.found);
    const std::string name =
        absl::StrCat(options_.header.thread, "-", out->mismatches_size(), "-offset", kept.offset);
    if (!kept.expected_block.empty()) {
      mismatch->set_expected_file(save(name + ".expected", kept.expected_block));
    }
    if (!kept.found_block.empty()) {
      mismatch->set_found_file(save(name + ".found", kept.found_block));
    }
  }
}
// Describe() casts one enumeration to the other.
static_assert(static_cast<int>(v1::BLOCK_VERDICT_NEVER_WRITTEN) ==
              static_cast<int>(BlockState::kNeverWritten));
static_assert(static_cast<int>(v1::BLOCK_VERDICT_CORRUPT) ==
              static_cast<int>(BlockState::kCorrupt));

}  // namespace lockstep::worker
