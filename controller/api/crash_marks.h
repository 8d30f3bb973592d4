#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/mutex.h"

namespace lockstep::controller {

// Finds the run that crashes controllers. While a thread works on a run, the run's id stands in a
// small memory-mapped file, which survives a crash or a kill; the next controller counts what it
// finds there. Thread-safe.
class CrashMarks {
 public:
  // Takes in what an earlier controller left in `directory`.
  static absl::StatusOr<std::unique_ptr<CrashMarks>> Open(const std::string& directory);
  ~CrashMarks();

  // Marks the run as being worked on for as long as the returned object lives.
  std::shared_ptr<void> WorkOn(const std::string& run_id);
  // Runs, and how many controllers have ended while they worked on them.
  const std::map<std::string, int>& crashes() const { return crashes_; }

 private:
  static constexpr size_t kSlots = 64;
  static constexpr size_t kSlotBytes = 64;
  CrashMarks(char* slots, std::map<std::string, int> crashes)
      : slots_(slots), crashes_(std::move(crashes)) {}

  char* const slots_;
  const std::map<std::string, int> crashes_;
  common::Mutex mutex_;
  std::array<bool, kSlots> taken_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace lockstep::controller
