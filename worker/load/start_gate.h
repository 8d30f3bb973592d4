#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "worker/workload/io_kind.h"
#include "worker/workload/schedule.h"

namespace lockstep::worker {

// Decides when one thread may start its next I/O, given a free slot: by its pauses, its schedule
// (open loop) and its rate limit. Instants are of the monotonic clock, nanoseconds. Not
// thread-safe.
class StartGate {
 public:
  enum class Waits { kNothing, kThink, kRate };
  // The limit of one direction; 0 is no limit.
  struct Limit {
    double iops = 0;
    double bytes_per_second = 0;
  };
  struct Options {
    std::optional<Schedule::Options> open_loop;
    double max_iops = 0;  // of this and the next, 0 is no limit
    double max_bytes_per_second = 0;
    Limit reads, writes;
    int64_t think_ns = 0;  // pause after think_every I/Os
    uint32_t think_every = 1;
  };
  explicit StartGate(const Options& options)
      : options_(options),
        pacer_(options.max_iops, options.max_bytes_per_second),
        reads_(options.reads.iops, options.reads.bytes_per_second),
        writes_(options.writes.iops, options.writes.bytes_per_second),
        has_directions_(reads_.active() || writes_.active()) {
    if (options.open_loop) schedule_.emplace(*options.open_loop);
    open_ = !schedule_ && !pacer_.active() && !has_directions_ && options.think_ns == 0;
  }

  void Begin(int64_t go_ns) {
    go_ns_ = go_ns;
    pacer_.Begin(go_ns);
    reads_.Begin(go_ns);
    writes_.Begin(go_ns);
  }
  // Whether every I/O may start without a wait.
  bool open() const { return open_; }
  bool has_schedule() const { return schedule_.has_value(); }
  // Whether an I/O may start now. If so, `*intended_ns` is the instant at which it was due.
  bool MayStart(int64_t now_ns, int64_t* intended_ns);
  // Whether reads or writes have limits of their own, and MayStart() is followed by MayStartKind().
  bool has_directions() const { return has_directions_; }
  // Whether an I/O of this kind may start now. If only the other direction may, `*kind` becomes
  // that.
  bool MayStartKind(int64_t now_ns, IoKind* kind);
  // After MayStart() or MayStartKind() returned false: what the thread waits for, and until when
  // (nanoseconds).
  Waits waits() const { return waits_; }
  int64_t wake_ns() const { return wake_ns_; }

  void Started(int64_t now_ns, IoKind kind, uint32_t bytes) {
    if (schedule_) schedule_->Advance();
    if (pacer_.active()) pacer_.Started(now_ns, bytes);
    if (has_directions_) PacerOf(kind).Started(now_ns, bytes);
  }
  // An I/O has completed. Not called for syncs.
  void Completed(int64_t now_ns) {
    if (options_.think_ns == 0 || ++since_pause_ < options_.think_every) return;
    since_pause_ = 0;
    pause_until_ns_ = now_ns + options_.think_ns;
  }
  // The workload asks for a pause after one I/O.
  void Pause(int64_t until_ns) {
    open_ = false;
    pause_until_ns_ = std::max(pause_until_ns_, until_ns);
  }

  struct Backlog {
    uint64_t unstarted = 0;  // due before the load's end, and never started
    int64_t longest_ns = 0;  // the longest wait of an I/O for its start
  };
  // `exhausted`: the workload had no I/O left to start.
  Backlog BacklogAt(int64_t load_end_ns, bool exhausted) const;

 private:
  Pacer& PacerOf(IoKind kind) { return kind == IoKind::kRead ? reads_ : writes_; }

  const Options options_;
  std::optional<Schedule> schedule_;
  Pacer pacer_;
  Pacer reads_, writes_;
  const bool has_directions_;
  bool open_ = true;
  int64_t go_ns_ = 0;
  int64_t pause_until_ns_ = 0;
  uint32_t since_pause_ = 0;
  Waits waits_ = Waits::kNothing;
  int64_t wake_ns_ = 0;
  int64_t longest_backlog_ns_ = 0;
};

}  // namespace lockstep::worker
