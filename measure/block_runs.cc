#include "measure/block_runs.h"

#include <limits>
#include <utility>

namespace lockstep::measure {
namespace {

// The receiver refuses an encoding of more than 128 KiB (BlockWrites.runs in proto/delivery.proto).
// Flush() checks the size after each run, so an encoding passes this limit by one run at most.
constexpr size_t kFull = 48 << 10;

void AddVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

bool TakeVarint(const std::string& bytes, size_t* at, uint64_t* value) {
  *value = 0;
  // Nine groups of seven bits: no number here needs 64, and sums of two cannot overflow.
  for (int shift = 0; shift < 63 && *at < bytes.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[(*at)++]);
    *value |= uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

}  // namespace

void BlockRunsWriter::Flush() {
  if (count_ == 0) return;
  // The gap from the end of the last run takes one byte where runs are close. The number of a block
  // on a large device would take five.
  AddVarint(first_ - end_, &bytes_);
  AddVarint(count_, &bytes_);
  AddVarint(value_, &bytes_);
  end_ = first_ + count_;
  count_ = 0;
  if (bytes_.size() < kFull) return;
  emit_(std::exchange(bytes_, {}));
  // Each encoding is read by itself, so that its first gap counts from block 0.
  end_ = 0;
}

void BlockRunsWriter::Add(uint64_t block, uint32_t generation, BlockContent content) {
  const uint64_t value = uint64_t{generation} * 2 + (content == BlockContent::kUnknown ? 1 : 0);
  if (count_ != 0 && block == first_ + count_ && value == value_) {
    ++count_;
    return;
  }
  Flush();
  first_ = block;
  count_ = 1;
  value_ = value;
}

void BlockRunsWriter::Finish() {
  Flush();
  if (!bytes_.empty()) emit_(std::exchange(bytes_, {}));
}

absl::Status ReadBlockRuns(const std::string& runs, uint64_t blocks, const TakeBlockRun& take) {
  uint64_t end = 0;
  for (size_t at = 0; at < runs.size();) {
    // Runs before a broken one have reached `take` when this fails. The controller therefore reads
    // a list once without any effect before it stores it (IngestPipeline).
    uint64_t gap = 0;
    uint64_t count = 0;
    uint64_t value = 0;
    // Another program made the numbers. They are compared with what is left, since a sum could
    // overflow.
    if (!TakeVarint(runs, &at, &gap) || !TakeVarint(runs, &at, &count) ||
        !TakeVarint(runs, &at, &value) || count == 0 ||
        value / 2 > std::numeric_limits<uint32_t>::max() || gap > blocks - end ||
        count > blocks - end - gap) {
      return absl::InvalidArgumentError("the list of written blocks is malformed");
    }
    take(end + gap, count, static_cast<uint32_t>(value / 2),
         (value & 1) != 0 ? BlockContent::kUnknown : BlockContent::kKnown);
    end += gap + count;
  }
  return absl::OkStatus();
}

}  // namespace lockstep::measure
