#include "worker/load/write_follower.h"

#include <algorithm>
#include <utility>

#include "common/timing.h"

namespace lockstep::worker {
namespace {

constexpr absl::Duration kPause = absl::Seconds(1);
// All requests of a poll end by then, since a load that ends waits for the poll.
constexpr int64_t kQueryNs = timing::kSecond;
// Writes wait here until the staleness is over. Beyond this size no more are fetched, so that a
// long staleness does not fill the memory.
constexpr size_t kWaitingBytes = 64 << 20;

}  // namespace

WriteFollower::WriteFollower(FetchWriteLog fetch, const common::Clock* clock)
    : fetch_(std::move(fetch)), clock_(clock), ticker_(kPause, [this] { Poll(); }) {}

void WriteFollower::Add(Followed followed) {
  members_.emplace_back().followed = std::move(followed);
}

absl::Status WriteFollower::Begin() {
  return members_.empty() || !fetch_ ? absl::OkStatus() : ticker_.Begin();
}

void WriteFollower::End() { ticker_.End(); }

void WriteFollower::Poll() {
  const int64_t until = clock_->MonotonicNs() + kQueryNs;
  for (Member& member : members_) {
    const int64_t left = until - clock_->MonotonicNs();
    if (member.waiting_bytes < kWaitingBytes && left > 0) Fetch(&member, left);
    Apply(&member);
  }
}

void WriteFollower::Fetch(Member* member, int64_t limit_ns) const {
  v1::WriteLogRequest request = member->followed.request;
  for (const auto& [worker, items] : member->received) {
    v1::ReportedBy* received = request.add_received();
    received->set_worker_index(worker);
    received->set_items(items);
  }
  // Parts that arrived before an error are kept. `received` makes the next request continue after
  // them.
  const absl::Status ignored = fetch_(request, limit_ns, [&](const v1::WriteLogPart& part) {
    uint64_t& items = member->received[part.worker_index()];
    items = std::max(items, part.sequence() + 1);
    member->waiting_bytes += part.writes().runs().size();
    member->waiting.push_back(
        {clock_->MonotonicNs() + member->followed.staleness_ns, part.writes()});
    return absl::OkStatus();
  });
}

void WriteFollower::Apply(Member* member) const {
  while (!member->waiting.empty() && member->waiting.front().due_ns <= clock_->MonotonicNs()) {
    const v1::BlockWrites& writes = member->waiting.front().writes;
    const auto ledger = member->followed.ledgers.find(writes.target_key());
    if (ledger != member->followed.ledgers.end()) {
      // A broken encoding is left out from the first wrong number on. Less is checked then, and
      // nothing wrongly.
      const absl::Status ignored = ledger->second->ExpectRuns(writes.runs());
    }
    member->waiting_bytes -= writes.runs().size();
    member->waiting.pop_front();
  }
}

}  // namespace lockstep::worker
