#pragma once

#include <deque>
#include <string>
#include <vector>

#include "storage/spool.h"

namespace lockstep::storage {

// A spool in memory.
class MemorySpool final : public Spool {
 public:
  explicit MemorySpool(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  absl::Status Append(const std::vector<std::string>& records) override {
    uint64_t more = 0;
    for (const std::string& record : records) more += record.size();
    if (bytes_ + more > limit_bytes_) return absl::ResourceExhaustedError("the spool is full");
    records_.insert(records_.end(), records.begin(), records.end());
    bytes_ += more;
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<std::string>> Peek(size_t bytes) override {
    std::vector<std::string> out;
    size_t taken = 0;
    for (const std::string& record : records_) {
      if (!out.empty() && taken + record.size() > bytes) break;
      taken += record.size();
      out.push_back(record);
    }
    return out;
  }
  absl::Status Drop(size_t count) override {
    for (; count > 0 && !records_.empty(); --count) {
      bytes_ -= records_.front().size();
      records_.pop_front();
    }
    return absl::OkStatus();
  }
  uint64_t bytes() const override { return bytes_; }
  uint64_t limit_bytes() const override { return limit_bytes_; }
  void Clear() {
    records_.clear();
    bytes_ = 0;
  }

 private:
  const uint64_t limit_bytes_;
  uint64_t bytes_ = 0;
  std::deque<std::string> records_;
};

}  // namespace lockstep::storage
