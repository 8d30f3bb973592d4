#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace lockstep::worker {

// Keeps the I/Os of several workloads of a worker in proportion. They go in rounds: in each round a
// workload of flow f starts f I/Os, and none begins a round before all others have begun it.
// Thread-safe, without locks, once all members are added.
class Flow {
 public:
  // A workload.
  class Member {
   public:
    Member(const Flow* flow, uint32_t share) : flow_(*flow), share_(std::max(1U, share)) {}

    // A thread of the workload begins, or has ended. Nobody waits for a workload without a thread.
    // One that begins later does not make up for the rounds before.
    void Join() {
      if (threads_.load(std::memory_order_relaxed) == 0) {
        const uint64_t round = flow_.SlowestRound();
        if (round != kNone) Raise(round * share_);
      }
      threads_.fetch_add(1, std::memory_order_relaxed);
    }
    void Leave() { threads_.fetch_sub(1, std::memory_order_relaxed); }

    // Whether an I/O may start now. If so, it is counted.
    bool Take() {
      uint64_t started = started_.load(std::memory_order_relaxed);
      do {
        // This member's own round is one of those that are looked at.
        if (started / share_ > flow_.SlowestRound()) return false;
        // Only the number passes between the threads, so that relaxed order is enough.
      } while (!started_.compare_exchange_weak(started, started + 1, std::memory_order_relaxed));
      return true;
    }

   private:
    friend class Flow;
    void Raise(uint64_t to) {
      uint64_t started = started_.load(std::memory_order_relaxed);
      while (started < to &&
             !started_.compare_exchange_weak(started, to, std::memory_order_relaxed)) {
      }
    }

    const Flow& flow_;
    const uint32_t share_;
    // Each member's threads change its own line, and read those of the others.
    alignas(64) std::atomic<uint64_t> started_{0};
    std::atomic<uint32_t> threads_{0};
  };

  // Before any thread runs. The flow outlives its members' threads.
  Member* Add(uint32_t share) { return &members_.emplace_back(this, share); }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  // Counts only the members that have threads.
  uint64_t SlowestRound() const {
    uint64_t slowest = kNone;
    for (const Member& member : members_) {
      if (member.threads_.load(std::memory_order_relaxed) == 0) continue;
      slowest = std::min(slowest, member.started_.load(std::memory_order_relaxed) / member.share_);
    }
    return slowest;
  }

  std::deque<Member> members_;
};

}  // namespace lockstep::worker
