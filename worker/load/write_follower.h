#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/ticker.h"
#include "proto/worker.pb.h"
#include "worker/load/phase_executor.h"
#include "worker/verify/block_ledger.h"

namespace lockstep::worker {

// While a load runs: asks the controller every second for the writes of other workers of the phase
// to blocks that this one reads and checks, and passes them to the ledgers. A read that is
// submitted after that must show at least as much. If a request fails, it is repeated a second
// later: less is checked during that time. Begin() and End() belong to one thread; another thread
// sends the requests.
class WriteFollower {
 public:
  // The blocks that one workload reads.
  struct Followed {
    v1::WriteLogRequest request;  // run, phase, target_keys, block size
    std::map<uint64_t, std::shared_ptr<BlockLedger>> ledgers;  // by target_key
    int64_t staleness_ns = 0;  // what was written may stay unseen for so long
  };

  // `fetch` may be null: Begin() then does nothing.
  WriteFollower(FetchWriteLog fetch, const common::Clock* clock);
  // Before Begin().
  void Add(Followed followed);
  // Nothing happens where nothing is followed. RESOURCE_EXHAUSTED as Ticker's.
  absl::Status Begin();
  void End();  // waits for an answer for a second at most

  // Fetches once, and passes to the ledgers what may no longer be unseen. Only for tests, and not
  // after Begin().
  void Poll();

 private:
  struct Waiting {
    int64_t due_ns = 0;
    v1::BlockWrites writes;
  };
  struct Member {
    Followed followed;
    std::map<uint32_t, uint64_t> received;  // items by worker
    std::deque<Waiting> waiting;
    size_t waiting_bytes = 0;
  };
  void Fetch(Member* member, int64_t limit_ns) const;
  void Apply(Member* member) const;

  const FetchWriteLog fetch_;
  const common::Clock* const clock_;
  std::vector<Member> members_;
  common::Ticker ticker_;
};

}  // namespace lockstep::worker
