#pragma once

#include <cstdint>
#include <optional>

namespace lockstep::worker {

// The kernel's counters of a thread, over the measured time. They run for the thread's whole life:
// two readings leave ramp and drain out. Used by that thread alone; neither call allocates.
class ThreadUsage {
 public:
  // The first call begins, further ones do nothing.
  void Begin();
  // The first call after Begin() ends, further ones do nothing.
  void End();
  bool has_begun() const { return begin_.has_value(); }

  // All are 0 until End(). Nanoseconds on a processor, and numbers of context switches.
  int64_t cpu_ns() const { return used_.cpu_ns; }
  uint64_t voluntary_switches() const { return used_.voluntary_switches; }
  uint64_t involuntary_switches() const { return used_.involuntary_switches; }

 private:
  struct Counters {
    int64_t cpu_ns = 0;
    uint64_t voluntary_switches = 0;
    uint64_t involuntary_switches = 0;
  };
  static Counters Read();

  std::optional<Counters> begin_;
  Counters used_;
  bool ended_ = false;
};

}  // namespace lockstep::worker
