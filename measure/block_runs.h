#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace lockstep::measure {

// Generations have 29 bits in a block's header. Reported generations stay so far below that others
// can go on from there.
inline constexpr uint32_t kMaxReportedGeneration = (1U << 29) - 1 - 2 * 65536;

// Whether the last reported write of a block tells its content. A write that failed, or has not
// ended, may have reached the storage in part.
enum class BlockContent : uint8_t { kKnown, kUnknown };

// Numbers of blocks, ascending, each with a generation: in runs of neighbours with the same one.
// Three varints for a run: the gap since the end of the last run, how many blocks, and twice the
// generation, plus 1 for BlockContent::kUnknown.
class BlockRunsWriter {
 public:
  // `emit` is called with an encoding of at most some 48 KiB each time that one is full.
  explicit BlockRunsWriter(std::function<void(std::string)> emit) : emit_(std::move(emit)) {}
  // Blocks come in ascending order.
  void Add(uint64_t block, uint32_t generation, BlockContent content);
  // Once, at the end.
  void Finish();

 private:
  void Flush();

  const std::function<void(std::string)> emit_;
  std::string bytes_;
  uint64_t end_ = 0;    // of the last run that was written
  uint64_t first_ = 0;  // of the run that is being made
  uint64_t count_ = 0;
  uint64_t value_ = 0;
};

using TakeBlockRun =
    std::function<void(uint64_t first, uint64_t count, uint32_t generation, BlockContent content)>;

// Calls `take` for each run. INVALID_ARGUMENT when the bytes are no such encoding; nothing beyond
// `blocks` blocks is taken.
absl::Status ReadBlockRuns(const std::string& runs, uint64_t blocks, const TakeBlockRun& take);

}  // namespace lockstep::measure
