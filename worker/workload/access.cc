#include "worker/workload/access.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/ids.h"

namespace lockstep::worker {
namespace {

// The 64-bit draws below which an event of this probability happens: exact to 2^-53, the resolution
// of the ratio itself.
uint64_t Below(double ratio) {
  if (ratio <= 0) return 0;
  return ratio >= 1 ? ~uint64_t{0} : static_cast<uint64_t>(ratio * 18446744073709551616.0);
}

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Each piece takes 40 bytes in every thread.
constexpr size_t kMaxPieces = 100000;

// The pieces of extents between skips. The first one begins where the first I/O without skips
// would.
absl::StatusOr<std::vector<BlockSpace::Extent>> Pieces(
    const std::vector<BlockSpace::Extent>& extents, const AccessOptions& options) {
  const AccessLine& line = options.lines[0];
  const uint64_t align = options.first_offset == FirstOffset::kExact ? 1
                         : line.align_bytes != 0                     ? line.align_bytes
                                                                     : line.block_size_bytes;
  std::vector<BlockSpace::Extent> pieces;
  for (const BlockSpace::Extent& extent : extents) {
    uint64_t begin = RoundUp(extent.begin, align);
    while (begin < extent.end && extent.end - begin >= line.block_size_bytes) {
      const uint64_t length = std::min(options.skip_after_bytes, extent.end - begin);
      if (pieces.size() == kMaxPieces) {
        return absl::InvalidArgumentError(
            absl::StrCat("a skip after every ", options.skip_after_bytes,
                         " bytes cuts the target into more than ", kMaxPieces,
                         " pieces; use a larger skip_after, or a smaller part of the target"));
      }
      pieces.push_back({extent.file, begin, begin + length});
      if (options.skip_bytes >= extent.end - begin - length) break;
      begin += length + options.skip_bytes;
    }
  }
  return pieces;
}

}  // namespace

absl::Status Access::AddLine(const std::vector<BlockSpace::Extent>& extents, const AccessLine& line,
                             const AccessOptions& options, double weight_before, double total) {
  Line out;
  out.size = line.block_size_bytes;
  const uint32_t largest = std::max(line.up_to_bytes, line.block_size_bytes) /
                           line.block_size_bytes * line.block_size_bytes;
  out.sizes = largest / line.block_size_bytes;
  out.align = line.align_bytes != 0 ? line.align_bytes : line.block_size_bytes;
  // The space is that of the largest size, so that an I/O of any size fits wherever it begins.
  auto space = BlockSpace::Make(
      extents, {.length = largest,
                .align = options.first_offset == FirstOffset::kExact ? 1 : uint64_t{out.align},
                .step = out.align + options.skip_bytes});
  if (!space.ok()) return space.status();
  out.space = *std::move(space);
  out.chosen_below = Below((weight_before + line.weight) / total);
  out.read_below = Below(line.read_ratio);
  out.always_read = line.read_ratio >= 1;
  out.never_read = line.read_ratio <= 0;
  out.trim_below = Below(line.trim_ratio);
  out.random_ratio = order_ == Order::kRandom ? line.random_ratio : 0;
  out.delay_ns = line.delay_ns;
  out.burst = std::max<uint32_t>(line.burst, 1);
  out.io_priority = line.io_priority;
  reads_ = reads_ || line.read_ratio > 0;
  writes_ = writes_ || (line.read_ratio < 1 && line.trim_ratio < 1);
  trims_ = trims_ || (line.read_ratio < 1 && line.trim_ratio > 0);
  pauses_ = pauses_ || line.delay_ns != 0;
  largest_ = std::max(largest_, largest * std::max<uint32_t>(merge_, 1));
  lines_.push_back(std::move(out));
  return absl::OkStatus();
}

void Access::FindPart(const AccessOptions& options) {
  const BlockSpace& space = lines_[0].space;
  const uint64_t blocks = space.blocks();
  // With more threads than blocks, several threads have the same one.
  begin_ = std::min(blocks - 1, blocks * options.thread / options.threads);
  const uint64_t end = blocks * (options.thread + 1) / options.threads;
  own_blocks_ = end - blocks * options.thread / options.threads;
  part_blocks_ = std::max<uint64_t>(1, end > begin_ ? end - begin_ : 1);
  // A sequential thread stays in its part; I/Os that continue a random one go on through all of the
  // space.
  const bool own = order_ == Order::kSequential && file_order_ == FileOrder::kTogether;
  for (BlockSpace::Run run : space.runs()) {
    const uint64_t first = own ? std::max(begin_, run.first) : run.first;
    const uint64_t last =
        own ? std::min(begin_ + part_blocks_, run.first + run.blocks) : run.first + run.blocks;
    if (first >= last) continue;
    const bool whole_tail = last == run.first + run.blocks;
    run.end = whole_tail ? run.end : run.offset + (last - run.first) * space.step_bytes();
    run.offset += (first - run.first) * space.step_bytes();
    stream_.push_back(run);
  }
  // A random thread whose I/Os continue one another begins where its part would, as a sequential
  // one does.
  const BlockSpace::Offset start = space.At(begin_);
  cursor_ = start.offset;
  for (size_t i = 0; i < stream_.size(); ++i) {
    if (stream_[i].file == start.file && start.offset >= stream_[i].offset &&
        start.offset < stream_[i].end) {
      cursor_run_ = i;
    }
  }
  if (file_order_ == FileOrder::kTogether) return;
  // Threads begin in different parts of each file, and with different files.
  for (const BlockSpace::Run& run : space.runs()) {
    file_cursors_.push_back(run.offset +
                            run.blocks * options.thread / options.threads * space.step_bytes());
  }
  next_file_ = space.runs().size() * options.thread / options.threads;
}

absl::Status Access::Check(const AccessOptions& options) {
  double total = 0;
  for (const AccessLine& line : options.lines) total += line.weight;
  if (options.lines.empty() || !(total > 0)) {
    return absl::InvalidArgumentError("an access specification without a line of positive weight");
  }
  if (options.sequence > 1 && options.order != Order::kRandom) {
    return absl::InvalidArgumentError("a sequence follows offsets that are drawn");
  }
  const AccessLine& first = options.lines[0];
  if (options.lines.size() == 1 && first.up_to_bytes <= first.block_size_bytes) {
    return absl::OkStatus();
  }
  // These orders number the blocks, and numbers of blocks of different sizes do not fit together.
  if (options.order == Order::kShuffled || options.order == Order::kSequentialShared) {
    return absl::InvalidArgumentError("a shuffled or shared order needs one block size");
  }
  if (options.order == Order::kBackwards || options.skip_bytes != 0 || options.sequence > 1 ||
      options.first_offset == FirstOffset::kExact) {
    return absl::InvalidArgumentError(
        "a skip, an order backwards, a sequence and an exact start need one block size");
  }
  return absl::OkStatus();
}

absl::StatusOr<Access> Access::Make(const std::vector<BlockSpace::Extent>& extents,
                                    AccessOptions options) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  if (options.skip_bytes != 0 && options.skip_after_bytes != 0) {
    // To all that follows, the pieces are extents like any other.
    auto pieces = Pieces(extents, options);
    if (!pieces.ok()) return pieces.status();
    options.skip_bytes = 0;
    options.first_offset = FirstOffset::kExact;
    return Make(*pieces, std::move(options));
  }
  Access access;
  access.order_ = options.order;
  access.file_order_ = options.file_order;
  access.merge_ = options.merge;
  access.random_ = Random(common::DeriveSeed(options.seed, options.thread));
  access.shared_ = options.shared_position;
  access.common_seed_ = options.common_seed;
  access.sequence_ = options.sequence;
  access.following_ = options.following;
  access.has_own_places_ = options.skip_bytes != 0 || options.first_offset == FirstOffset::kExact;
  if (options.shared_mix != nullptr && !options.lines.empty()) {
    access.exact_mix_.emplace(options.lines[0].read_ratio, options.shared_mix);
  }
  double total = 0;
  for (const AccessLine& line : options.lines) total += line.weight;
  double before = 0;
  for (const AccessLine& line : options.lines) {
    if (absl::Status status = access.AddLine(extents, line, options, before, total); !status.ok()) {
      return status;
    }
    before += line.weight;
    Line& added = access.lines_.back();
    if (options.order == Order::kRandom) {
      added.offsets = MakeDistribution(options.offsets, added.space.blocks(), options.common_seed);
    }
  }
  // The weights may add up to a little less than 1.
  access.lines_.back().chosen_below = ~uint64_t{0};
  access.FindPart(options);
  if (options.skip_bytes != 0 && access.own_blocks_ < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("a skip of ", options.skip_bytes,
                     " bytes leaves a thread less than two offsets in its part of the target"));
  }
  access.ChooseWay(options);
  return access;
}

void Access::ChooseWay(const AccessOptions& options) {
  const Line& first = lines_[0];
  // Most workloads need nothing of TakeGeneral(), whose branches would cost the I/O thread time at
  // each I/O.
  simple_ = lines_.size() == 1 && first.sizes == 1 && first.delay_ns == 0 &&
            first.io_priority == 0 && options.merge <= 1 &&
            options.file_order == FileOrder::kTogether && options.sequence <= 1 && !exact_mix_ &&
            ((options.order == Order::kRandom && first.random_ratio >= 1 &&
              std::holds_alternative<UniformOffsets>(options.offsets)) ||
             (options.order == Order::kSequential && first.space.step_bytes() >= first.size));
  way_ = options.order == Order::kBackwards ? Way::kBackwards
         : options.sequence > 1             ? Way::kSequence
         : options.merge > 1                ? Way::kMerged
                                            : Way::kGeneral;
}

uint64_t Access::TakeShuffled() {
  // The key comes from the common seed and the round: threads and hosts that shuffle together have
  // one order, and their parts of it do not overlap.
  if (permutation_ == nullptr) {
    permutation_ = std::make_unique<Permutation>(lines_[0].space.blocks(),
                                                 common::DeriveSeed(common_seed_, round_));
  }
  const uint64_t block = permutation_->At(TakeOwnPart());
  if (position_ == 0) {
    *permutation_ =
        Permutation(lines_[0].space.blocks(), common::DeriveSeed(common_seed_, ++round_));
  }
  return block;
}

BlockSpace::Offset Access::RandomOffset(Line* line) {
  if (order_ == Order::kShuffled) return line->space.At(TakeShuffled());
  if (file_order_ == FileOrder::kTogether) return line->space.At(line->offsets->Draw(&random_));
  const BlockSpace::Run& run = line->space.runs()[next_file_ % line->space.runs().size()];
  return {run.file, run.offset + random_.Below(run.blocks) * line->align};
}

// The earliest offset at which an I/O of the line may begin, `from` or after it.
uint64_t Access::OffsetFrom(const Line& line, const BlockSpace::Run& run, uint64_t from) const {
  if (!has_own_places_) return RoundUp(std::max(from, run.offset), line.align);
  return run.offset + (from > run.offset ? RoundUp(from - run.offset, line.space.step_bytes()) : 0);
}

BlockSpace::Offset Access::SequentialOffset(Line* line, uint32_t length) {
  const std::vector<BlockSpace::Run>& runs = stream_;
  if (file_order_ != FileOrder::kTogether) {
    for (size_t tries = 0; tries < runs.size(); ++tries) {
      const size_t index = (next_file_ + tries) % runs.size();
      uint64_t offset = RoundUp(file_cursors_[index], line->align);
      if (offset + length > runs[index].end) offset = RoundUp(runs[index].offset, line->align);
      if (offset + length > runs[index].end) continue;  // the I/O fits nowhere in this file's part
      file_cursors_[index] = offset + length;
      return {runs[index].file, offset};
    }
    return line->space.At(begin_ % line->space.blocks());
  }
  // One try more than there are runs: the first run is tried from the cursor on, and at last from
  // its begin.
  for (size_t tries = 0; tries <= runs.size(); ++tries) {
    const BlockSpace::Run& run = runs[cursor_run_];
    const uint64_t offset = OffsetFrom(*line, run, cursor_);
    if (offset + length <= run.end) {
      cursor_ = offset + length;
      return {run.file, offset};
    }
    cursor_run_ = (cursor_run_ + 1) % runs.size();
    cursor_ = 0;
  }
  // The thread's part is smaller than the I/O.
  return line->space.At(begin_ % line->space.blocks());
}

Access::Next Access::TakeOther() {
  switch (way_) {
    case Way::kMerged:
      return TakeMerged();
    case Way::kBackwards:
      return TakeBackwards();
    case Way::kSequence:
      return TakeSequence();
    case Way::kGeneral:
      break;
  }
  return TakeGeneral();
}

Access::Next Access::OneAt(uint64_t block) {
  const Line& line = lines_[0];
  const BlockSpace::Offset start = line.space.At(block);
  Next next;
  next.file = start.file;
  next.offset = start.offset;
  next.length = line.size;
  next.kind = exact_mix_ ? exact_mix_->Take() : KindOf(line);
  return next;
}

Access::Next Access::TakeBackwards() {
  // The distance of the next forward block from the part's start is that of this one from its end.
  const uint64_t from_start = TakeOwnPart() - begin_;
  return OneAt(begin_ + part_blocks_ - 1 - from_start);
}

Access::Next Access::TakeSequence() {
  const bool continues = following_ == Following::kContinue;
  if (left_ == 0 || (continues && block_ + 1 >= blocks_end_)) {
    block_ = lines_[0].offsets->Draw(&random_);
    left_ = sequence_ - 1;
    // A block behind the end of a run is one of another file.
    const std::vector<BlockSpace::Run>& runs = lines_[0].space.runs();
    const auto after =
        std::upper_bound(runs.begin(), runs.end(), block_,
                         [](uint64_t b, const BlockSpace::Run& run) { return b < run.first; });
    blocks_end_ = (after - 1)->first + (after - 1)->blocks;
  } else {
    --left_;
    if (continues) ++block_;
  }
  return OneAt(block_);
}

Access::Next Access::TakeGeneral() {
  Line* line = &lines_[0];
  if (lines_.size() > 1) {
    const uint64_t draw = random_.Next();
    while (draw >= line->chosen_below && line != &lines_.back()) ++line;
  }
  Next next;
  next.length = line->sizes == 1
                    ? line->size
                    : line->size * static_cast<uint32_t>(1 + random_.Below(line->sizes));
  if (file_order_ == FileOrder::kRandom) next_file_ = random_.Below(lines_[0].space.runs().size());
  BlockSpace::Offset start;
  if (order_ == Order::kSequentialShared) {
    // Only the number passes between the threads, so that relaxed order is enough.
    start = line->space.At(shared_->fetch_add(1, std::memory_order_relaxed) % line->space.blocks());
  } else if (order_ == Order::kShuffled) {
    start = RandomOffset(line);
  } else if (order_ == Order::kRandom &&
             (line->random_ratio >= 1 || random_.Unit() < line->random_ratio)) {
    start = RandomOffset(line);
    // The next sequential I/O continues here.
    if (line->random_ratio < 1 && file_order_ == FileOrder::kTogether) {
      const auto& runs = stream_;
      for (size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].file == start.file && start.offset >= runs[i].offset &&
            start.offset < runs[i].end) {
          cursor_run_ = i;
        }
      }
      cursor_ = start.offset + next.length;
    }
  } else {
    start = SequentialOffset(line, next.length);
  }
  if (file_order_ == FileOrder::kRoundRobin) ++next_file_;
  next.file = start.file;
  next.offset = start.offset;
  next.kind = exact_mix_ ? exact_mix_->Take() : KindOf(*line);
  next.io_priority = line->io_priority;
  if (line->delay_ns != 0 && ++line->in_burst >= line->burst) {
    line->in_burst = 0;
    next.pause_ns = line->delay_ns;
  }
  return next;
}

Access::Next Access::TakeMerged() {
  Next next = has_ahead_ ? ahead_ : TakeGeneral();
  has_ahead_ = false;
  const uint32_t unit = next.length;
  while (next.length + unit <= unit * merge_ && next.pause_ns == 0) {
    ahead_ = TakeGeneral();
    // An I/O that does not join becomes the next one. To drop it would change the sequence that the
    // seed gives.
    if (ahead_.file != next.file || ahead_.kind != next.kind ||
        ahead_.offset != next.offset + next.length || next.length + ahead_.length > largest_) {
      has_ahead_ = true;
      break;
    }
    next.length += ahead_.length;
    next.pause_ns = ahead_.pause_ns;
  }
  return next;
}

}  // namespace lockstep::worker
