#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/workload/block_space.h"
#include "worker/workload/distribution.h"
#include "worker/workload/exact_mix.h"
#include "worker/workload/io_kind.h"
#include "worker/workload/random.h"

namespace lockstep::worker {

enum class Order {
  kSequential,        // every thread through a part of its own
  kBackwards,         // the same from its end to its start
  kSequentialShared,  // the threads take the next block in turn
  kRandom,            // by AccessOptions::offsets
  kShuffled,          // random, every block once before any again
};
enum class FileOrder { kTogether, kRoundRobin, kRandom };
// The offset of the first I/O of an extent.
enum class FirstOffset {
  kAligned,  // at a multiple of the alignment
  kExact,    // with the extent
};
// The offsets of the I/Os that follow one at an offset that was drawn.
enum class Following { kContinue, kRepeat };

// One kind of I/O of a workload: Iometer's line of an access specification. Ratios lie in [0, 1].
struct AccessLine {
  uint32_t block_size_bytes = 4096;
  uint32_t up_to_bytes = 0;  // any multiple of block_size_bytes up to this; 0 is block_size_bytes
  uint32_t align_bytes = 0;  // 0 is block_size_bytes
  double weight = 1;
  double read_ratio = 1;
  double trim_ratio = 0;    // of what is not a read
  double random_ratio = 1;  // at an offset of its own; the others continue where the last one ended
  int64_t delay_ns = 0;     // pause after `burst` I/Os of this line
  uint32_t burst = 1;
  // The priority of each I/O, as in IOPRIO_PRIO_VALUE (linux/ioprio.h); 0: that of the thread.
  uint16_t io_priority = 0;
};

struct AccessOptions {
  std::vector<AccessLine> lines;
  Order order = Order::kRandom;
  Offsets offsets;
  FileOrder file_order = FileOrder::kTogether;
  // neighbours of one kind become one I/O of at most so many blocks; 0 and 1 are none
  uint32_t merge = 0;
  FirstOffset first_offset = FirstOffset::kAligned;  // kExact: one line of one size
  // kSequential, kBackwards, of one line of one size: left out after each I/O.
  uint64_t skip_bytes = 0;
  // With a skip: the bytes between two of them; 0 is one I/O.
  uint64_t skip_after_bytes = 0;
  // kRandom, of one line of one size: I/Os for each offset that is drawn.
  uint32_t sequence = 1;
  Following following = Following::kContinue;
  uint64_t seed = 0;         // of this worker
  uint64_t common_seed = 0;  // of all that share the space: scattering and shuffling agree
  uint32_t thread = 0;       // of `threads` that share the space
  uint32_t threads = 1;
  std::atomic<uint64_t>* shared_position = nullptr;  // kSequentialShared: one for all threads
  // With one of these for all threads, their reads and writes alternate as ExactMix says. Needs
  // lines of one read ratio, and no trims.
  std::atomic<uint64_t>* shared_mix = nullptr;
};

// The next I/O of one thread: its offset, size and kind. A pure function of its arguments and of
// how often it was asked, but for kSequentialShared and an exact mix. Not thread-safe.
class Access {
 public:
  struct Next {
    IoKind kind = IoKind::kRead;
    uint16_t file = 0;
    uint32_t length = 0;
    uint64_t offset = 0;
    int64_t pause_ns = 0;  // after it
    uint16_t io_priority = 0;
  };

  // INVALID_ARGUMENT when a line's I/O fits nowhere, or the options do not go together.
  static absl::StatusOr<Access> Make(const std::vector<BlockSpace::Extent>& extents,
                                     AccessOptions options);

  [[gnu::always_inline]] Next Take() {
    if (!simple_) return TakeOther();
    Line& line = lines_[0];
    Next next;
    const BlockSpace::Offset start = line.space.At(
        order_ == Order::kRandom ? random_.Below(line.space.blocks()) : TakeOwnPart());
    next.file = start.file;
    next.offset = start.offset;
    next.length = line.size;
    next.kind = KindOf(line);
    return next;
  }

  uint32_t largest_bytes() const { return largest_; }
  bool reads() const { return reads_; }
  bool writes() const { return writes_; }
  bool trims() const { return trims_; }
  bool pauses() const { return pauses_; }
  // How many I/Os go once over this thread's part.
  uint64_t part_blocks() const { return part_blocks_; }
  // How many blocks of this part are no other thread's: 0 where there are more threads than blocks.
  uint64_t own_blocks() const { return own_blocks_; }

 private:
  struct Line {
    BlockSpace space;
    std::unique_ptr<Distribution> offsets;
    uint32_t size = 0;
    uint32_t sizes = 1;  // how many multiples
    uint32_t align = 0;
    uint64_t chosen_below = 0;  // by a 64-bit draw
    uint64_t read_below = 0;
    bool always_read = false;
    bool never_read = false;
    uint64_t trim_below = 0;
    double random_ratio = 1;
    int64_t delay_ns = 0;
    uint32_t burst = 1;
    uint32_t in_burst = 0;
    uint16_t io_priority = 0;
  };

  enum class Way { kGeneral, kMerged, kBackwards, kSequence };

  Access() : random_(0) {}
  static absl::Status Check(const AccessOptions& options);
  absl::Status AddLine(const std::vector<BlockSpace::Extent>& extents, const AccessLine& line,
                       const AccessOptions& options, double weight_before, double total);
  void ChooseWay(const AccessOptions& options);
  void FindPart(const AccessOptions& options);
  IoKind KindOf(const Line& line) {
    if (line.always_read) return IoKind::kRead;
    if (!line.never_read && random_.Next() < line.read_below) return IoKind::kRead;
    return line.trim_below != 0 &&
                   (line.trim_below == ~uint64_t{0} || random_.Next() < line.trim_below)
               ? IoKind::kTrim
               : IoKind::kWrite;
  }
  uint64_t TakeOwnPart() {
    const uint64_t block = begin_ + position_;
    if (++position_ == part_blocks_) position_ = 0;
    return block;
  }
  Next TakeOther();
  Next TakeGeneral();
  Next TakeMerged();
  Next TakeBackwards();
  Next TakeSequence();
  Next OneAt(uint64_t block);
  BlockSpace::Offset RandomOffset(Line* line);
  BlockSpace::Offset SequentialOffset(Line* line, uint32_t length);
  uint64_t OffsetFrom(const Line& line, const BlockSpace::Run& run, uint64_t from) const;
  uint64_t TakeShuffled();

  std::vector<Line> lines_;
  Order order_ = Order::kRandom;
  FileOrder file_order_ = FileOrder::kTogether;
  bool simple_ = false;
  Way way_ = Way::kGeneral;  // where it is not simple
  bool reads_ = false, writes_ = false, trims_ = false, pauses_ = false;
  uint32_t largest_ = 0;
  uint32_t merge_ = 0;
  std::optional<ExactMix> exact_mix_;
  Random random_;
  // Sequential: this thread's part in blocks of the first line, and the next one.
  uint64_t begin_ = 0;
  uint64_t part_blocks_ = 1;
  uint64_t own_blocks_ = 0;
  uint64_t position_ = 0;
  // The blocks that sequential I/O of several sizes goes through, and the end of its last I/O.
  std::vector<BlockSpace::Run> stream_;
  bool has_own_places_ = false;  // places are counted from a run's first, not from the file's start
  size_t cursor_run_ = 0;
  uint64_t cursor_ = 0;
  std::vector<uint64_t> file_cursors_;  // of each run, where the files take turns
  size_t next_file_ = 0;
  std::atomic<uint64_t>* shared_ = nullptr;
  // Shuffled.
  uint64_t common_seed_ = 0;
  uint64_t round_ = 0;
  std::unique_ptr<Permutation> permutation_;
  // A sequence: its last block, the end of the run that the block lies in, and the I/Os that are
  // left of it.
  uint32_t sequence_ = 1;
  Following following_ = Following::kContinue;
  uint64_t block_ = 0;
  uint64_t blocks_end_ = 0;
  uint32_t left_ = 0;
  // Merging looks one ahead.
  Next ahead_;
  bool has_ahead_ = false;
};

}  // namespace lockstep::worker
