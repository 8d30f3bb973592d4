#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/plan/assign.h"
#include "proto/result.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// The things that a run has written (a device, a LUN, a file target's files as one host sees them),
// and the contents that its workers left there: a later phase overwrites these without asking, and
// nothing else. A target may be another device on each host; what was written on one host says
// nothing of another host's device. Not thread-safe.
class WrittenContents {
 public:
  using Attempt = std::pair<uint32_t, uint32_t>;  // phase, attempt

  WrittenContents() = default;  // of a run without targets
  explicit WrittenContents(const SettledRun& run);

  // The attempt's assignments to all that take part. Nothing is written before Start().
  void Assign(Attempt attempt, const std::vector<v1::Assignment>& assignments);
  // The go of the attempt that was assigned last is sent: from now on it may have written.
  void Start();
  // Takes the contents that a worker says that it left. Ignored where it did not write the target
  // in that attempt, or the run has written it since.
  void TakeResult(Attempt attempt, uint32_t worker, const v1::PhaseResult& result);

  // Fills in written_before and left_contents of a target that the worker is assigned in `attempt`.
  void Describe(Attempt attempt, uint32_t worker, v1::TargetAssignment* target) const;

 private:
  struct Thing {
    Attempt first, last;  // that wrote it
    bool is_files = false;
    struct Said {
      bool has_result = false;
      std::vector<v1::LeftContent> left;
    };
    std::map<uint32_t, Said> said;  // by worker that wrote it in the last attempt
  };
  // Whether a writer did not say what it left. It may have nothing to say about files: those that
  // Lockstep made have marks.
  static bool IsUnknown(const Thing& thing);
  // Empty for what cannot carry anybody's data.
  std::string KeyOf(uint32_t worker, uint32_t target) const;

  std::map<std::pair<uint32_t, uint32_t>, std::string> keys_;  // by worker and target
  std::map<std::string, Thing> things_;                        // by key
  Attempt assigned_{0, 0};
  std::map<std::string, std::vector<uint32_t>> writers_;  // of the assigned attempt, by key
};

}  // namespace lockstep::controller
