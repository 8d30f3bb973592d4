#include "worker/load/block_content.h"

namespace lockstep::worker {

void BlockContent::Prepare(const IoBuffers& buffers, uint32_t first, uint32_t depth) {
  if (options_.zeros) return;
  for (uint32_t i = 0; i < depth; ++i) {
    FillContent(buffers.at(first + i), buffers.bytes_each(), options_.compressed_ratio,
                common::DeriveSeed(seed_, 1000 + i));
  }
  const bool has_duplicates = options_.duplicate_ratio > 0;
  // A buffer that had a copy is no content of the thread's own any more: it is filled anew.
  fresh_ = options_.fresh || (has_duplicates && makes_duplicates());
  stamps_ = !fresh_;
  if (!has_duplicates) return;
  duplicates_ = first + depth;
  // The ratio becomes a threshold of 64 bits, so that each block costs one comparison. 1 times 2^64
  // does not fit, and its conversion is undefined.
  duplicate_below_ = options_.duplicate_ratio >= 1
                         ? ~uint64_t{0}
                         : static_cast<uint64_t>(options_.duplicate_ratio * 18446744073709551616.0);
  // The same for all threads and workers: a copy is one wherever it is written.
  for (uint32_t i = 0; i < extra_buffers(); ++i) {
    FillContent(buffers.at(duplicates_ + i), buffers.bytes_each(), options_.compressed_ratio, i);
  }
}

void BlockContent::Fill(const IoBuffers& buffers, uint64_t number, IoRequest* request) {
  char* block = buffers.at(request->buffer);
  if (duplicate_below_ != 0 && random_.Next() < duplicate_below_) {
    const uint64_t duplicate = random_.Below(options_.duplicate_blocks);
    if (makes_duplicates()) {
      FillContent(block, request->length, options_.compressed_ratio, duplicate);
    } else {
      request->buffer = duplicates_ + static_cast<uint32_t>(duplicate);
    }
  } else if (stamps_) {
    StampContent(block, request->length, request->offset, number);
  } else if (fresh_) {
    FillContent(block, request->length, options_.compressed_ratio,
                common::DeriveSeed(seed_, number + (uint64_t{1} << 32)));
  }
}

}  // namespace lockstep::worker
