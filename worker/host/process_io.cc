#include "worker/host/process_io.h"

#include <cstdlib>

#include "common/files.h"

namespace lockstep::worker {
namespace {

uint64_t NumberBehind(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  return at == std::string::npos ? 0 : strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

std::optional<ProcessIoCounters> ReadOwn() {
  return ParseProcessIo(common::ReadTrimmed("/proc/self/io"));
}

}  // namespace

std::optional<ProcessIoCounters> ParseProcessIo(const std::string& io) {
  if (io.empty()) return std::nullopt;
  // Without the line break, "write_bytes:" would also be found in "cancelled_write_bytes:".
  return ProcessIoCounters{NumberBehind(io, "\nread_bytes:"), NumberBehind(io, "\nwrite_bytes:"),
                           NumberBehind(io, "\ncancelled_write_bytes:")};
}

void OwnIo::Begin() { begin_ = ReadOwn(); }

void OwnIo::End(v1::PhaseResult* result) const {
  const std::optional<ProcessIoCounters> now = ReadOwn();
  if (!begin_ || !now) return;
  result->set_own_read_bytes(now->read_bytes - begin_->read_bytes);
  // Bytes that were truncated later may be an earlier phase's, so they stay in.
  result->set_own_write_bytes(now->write_bytes - begin_->write_bytes);
}

}  // namespace lockstep::worker
