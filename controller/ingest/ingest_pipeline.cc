#include "controller/ingest/ingest_pipeline.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/mutex.h"
#include "measure/block_runs.h"

namespace lockstep::controller {
namespace {

constexpr size_t kBlockRunsBytes = 128 << 10;
constexpr uint64_t kMaxBlocks = uint64_t{1} << 52;  // of 512 bytes, in 2 EiB

}  // namespace

IngestPipeline::IngestPipeline(Options options) : options_(std::move(options)) {}

IngestPipeline::~IngestPipeline() {
  {
    common::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void IngestPipeline::StartThread() {
  thread_ = std::thread([this] {
    while (true) {
      const int64_t again = Pump();
      common::MutexLock lock(&mutex_);
      const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        // With a full spool the queue stays filled, and the thread would spin. full_ needs no lock
        // here: only Pump() writes it, on this thread.
        return stopping_ || (!queue_.empty() && !full_);
      };
      if (again == kNever) {
        changed_.Wait(&lock, due);
      } else {
        changed_.WaitFor(
            &lock,
            std::chrono::nanoseconds(std::max<int64_t>(0, again - options_.clock->MonotonicNs())),
            due);
      }
      if (stopping_) return;
    }
  });
}

void IngestPipeline::Open(const v1::PhaseId& phase,
                          const std::map<std::string, std::pair<uint32_t, std::string>>& workers,
                          const v1::RunPhase& load, int64_t interval_ns, PhaseCallbacks callbacks,
                          const Earlier& earlier) {
  common::MutexLock lock(&mutex_);
  const auto [entry, is_new] = phases_.try_emplace(KeyOf(phase));
  // A second one would begin its cursors anew, and take samples twice.
  LOCKSTEP_CHECK(is_new, "an attempt of a phase is opened twice");
  Phase& opened = entry->second;
  std::map<uint32_t, std::string> hosts;
  for (const auto& [id, worker] : workers) {
    opened.indices[id] = worker.first;
    Feed& feed = opened.feeds[worker.first];
    feed.worker_index = worker.first;
    const auto cursor = earlier.cursors.find(worker.first);
    if (cursor != earlier.cursors.end()) {
      // Samples that the other controller had only received are sent again: the worker discards
      // nothing that is not committed.
      feed.received = feed.spooled = feed.committed = cursor->second;
    }
    hosts[worker.first] = worker.second;
  }
  // After a takeover the series has the stored intervals already (RecoverState()).
  opened.live = earlier.live != nullptr ? earlier.live
                                        : std::make_shared<LivePhase>(
                                              phase.phase(), std::move(hosts), load, interval_ns);
  opened.callbacks = std::move(callbacks);
  opened.go_wall_ns = earlier.go_wall_ns;
  for (const uint32_t worker : earlier.ended) {
    const auto feed = opened.feeds.find(worker);
    if (feed != opened.feeds.end()) feed->second.ended = true;
    opened.live->Leave(worker);
  }
}

void IngestPipeline::SetGo(const v1::PhaseId& phase, int64_t go_wall_ns) {
  common::MutexLock lock(&mutex_);
  const auto found = phases_.find(KeyOf(phase));
  if (found != phases_.end()) found->second.go_wall_ns = go_wall_ns;
}

void IngestPipeline::WorkerLost(const v1::PhaseId& phase, uint32_t worker) {
  common::MutexLock lock(&mutex_);
  const auto found = phases_.find(KeyOf(phase));
  if (found == phases_.end()) return;
  // Later deliveries of this worker are refused: a result of a worker that was given up would pass
  // for a whole one.
  const auto feed = found->second.feeds.find(worker);
  bool has_result = false;
  if (feed != found->second.feeds.end()) {
    has_result = feed->second.ended;
    LetGo(phase, feed->second);
    found->second.feeds.erase(feed);
  }
  LivePhase& live = *found->second.live;
  // Only workers with a result are in the figures of a phase, as in its report.
  has_result ? live.Leave(worker) : live.Lose(worker);
  for (const v1::FleetInterval& interval : found->second.live->TakeComplete()) {
    found->second.callbacks.interval(interval);
  }
}

v1::PhaseFigures IngestPipeline::Figures(const v1::PhaseId& phase) {
  common::MutexLock lock(&mutex_);
  const auto found = phases_.find(KeyOf(phase));
  return found == phases_.end() ? v1::PhaseFigures() : found->second.live->series().Figures();
}

std::vector<std::string> IngestPipeline::Hosts(const v1::PhaseId& phase) {
  common::MutexLock lock(&mutex_);
  const auto found = phases_.find(KeyOf(phase));
  return found == phases_.end() ? std::vector<std::string>() : found->second.live->Hosts();
}

std::vector<std::string> IngestPipeline::Behind(const v1::PhaseId& phase) {
  common::MutexLock lock(&mutex_);
  const auto found = phases_.find(KeyOf(phase));
  return found == phases_.end() ? std::vector<std::string>() : found->second.live->Behind();
}

std::deque<v1::FleetInterval> IngestPipeline::DrainHistory(const v1::PhaseId& phase) {
  common::MutexLock lock(&mutex_);
  const auto found = phases_.find(KeyOf(phase));
  return found == phases_.end() ? std::deque<v1::FleetInterval>()
                                : found->second.live->DrainHistory();
}

measure::Recording IngestPipeline::Close(const v1::PhaseId& phase) {
  common::MutexLock lock(&mutex_);
  const auto found = phases_.find(KeyOf(phase));
  if (found == phases_.end()) return {};
  measure::Recording recording = found->second.live->Close();
  for (const auto& [worker, feed] : found->second.feeds) LetGo(phase, feed);
  phases_.erase(found);
  return recording;
}

v1::StoreState IngestPipeline::state() const {
  common::MutexLock lock(&mutex_);
  v1::StoreState state;
  state.set_unavailable(unavailable_);
  state.set_slow(slow_);
  if (unavailable_) {
    state.set_unavailable_seconds(
        static_cast<double>(options_.clock->MonotonicNs() - unavailable_since_ns_) / 1e9);
  }
  state.set_reason(unavailable_reason_);
  state.set_spooled_bytes(static_cast<double>(spooled_bytes_));
  state.set_spool_limit_bytes(static_cast<double>(options_.spool->limit_bytes()));
  return state;
}

// -------------------------------------------------------------------------------------------------
// what comes in

// The feed is closed: answers its last batch, so that the stream which waits for that reads on.
void IngestPipeline::LetGo(const v1::PhaseId& phase, const Feed& feed) {
  if (feed.acknowledge) Refuse(phase, &feed, "", Refusal::kForNow, feed.acknowledge);
}

void IngestPipeline::Refuse(const v1::PhaseId& phase, const Feed* feed, const std::string& reason,
                            Refusal refusal, const Acknowledge& acknowledge) {
  v1::DeliveryAck ack;
  *ack.mutable_phase() = phase;
  ack.set_committed(feed == nullptr ? 0 : feed->committed);
  ack.set_spooled(feed == nullptr ? 0 : feed->spooled);
  ack.set_refused(reason);
  ack.set_final(refusal == Refusal::kFinal);
  acknowledge(ack);
}

// Takes one item into the live figures.
absl::Status IngestPipeline::TakeLocked(Phase* phase, Feed* feed, const v1::DeliveryItem& item) {
  if (feed->ended) return absl::InvalidArgumentError("an item after the worker's result");
  if (item.has_interval()) return phase->live->Add(feed->worker_index, item.interval());
  if (item.has_block_writes()) {
    if (item.block_writes().runs().size() > kBlockRunsBytes) {
      return absl::InvalidArgumentError("the list of written blocks is too long");
    }
    // The list is read here only to see that it can be read. Otherwise a verification, perhaps of a
    // later run, would find out.
    return measure::ReadBlockRuns(item.block_writes().runs(), kMaxBlocks,
                                  [](uint64_t, uint64_t, uint32_t, measure::BlockContent) {});
  }
  if (!item.has_result()) {
    return absl::InvalidArgumentError(
        "an item that is neither an interval nor a result, nor of blocks");
  }
  feed->ended = true;
  feed->integrity =
      std::string(phase->live->CheckResult(feed->worker_index, item.result()).message());
  phase->live->Leave(feed->worker_index);  // the others' intervals do not wait for it any more
  return absl::OkStatus();
}

// A worker speaks for its own part of the targets.
void IngestPipeline::CheckBlocks(const Phase& phase, Feed* feed, v1::DeliveryItem* item) {
  if (!item->has_block_writes()) return;
  const absl::Status may = phase.callbacks.check_blocks(feed->worker_index, item->block_writes());
  if (may.ok()) return;
  const bool says_something = !item->block_writes().runs().empty();
  // The item stays, empty, so that the sequence has no gap.
  item->mutable_block_writes()->Clear();
  if (!says_something || feed->contradicted) return;
  feed->contradicted = true;
  phase.callbacks.contradicted(feed->worker_index, std::string(may.message()));
}

void IngestPipeline::Announce(Phase* phase) {
  for (const v1::FleetInterval& interval : phase->live->TakeComplete()) {
    phase->callbacks.interval(interval);
  }
  if (!phase->live->abort_reason().empty() && !phase->abort_said) {
    phase->abort_said = true;
    phase->callbacks.abort(phase->live->abort_reason());
  }
  if (!phase->live->end_reason().empty() && !phase->end_said) {
    phase->end_said = true;
    phase->callbacks.end(phase->live->end_reason());
  }
}

void IngestPipeline::Deliver(const std::string& worker_id, const v1::DeliveryBatch& batch,
                             const Acknowledge& acknowledge) {
  {
    common::MutexLock lock(&mutex_);
    const auto found = phases_.find(KeyOf(batch.phase()));
    if (found == phases_.end()) {
      return Refuse(batch.phase(), nullptr,
                    absl::StrCat("phase ", batch.phase().phase(), " of run ",
                                 batch.phase().run_id(), " is not in progress"),
                    Refusal::kFinal, acknowledge);
    }
    Phase& phase = found->second;
    const auto index = phase.indices.find(worker_id);
    const auto feed_found =
        index == phase.indices.end() ? phase.feeds.end() : phase.feeds.find(index->second);
    if (feed_found == phase.feeds.end()) {
      return Refuse(batch.phase(), nullptr, "the phase is not this worker's", Refusal::kFinal,
                    acknowledge);
    }
    Feed& feed = feed_found->second;
    // A worker that has opened its stream anew hears of earlier batches on this one, too: the old
    // stream may be gone when they are committed.
    feed.acknowledge = acknowledge;
    if (batch.ByteSizeLong() > static_cast<size_t>(limits::kBatchBytes)) {
      return Refuse(batch.phase(), &feed, "the batch is larger than 4 MiB", Refusal::kFinal,
                    acknowledge);
    }
    if (batch.first_sequence() > feed.received) {
      return Refuse(
          batch.phase(), &feed,
          absl::StrCat("sequence ", batch.first_sequence(), " came before ", feed.received),
          Refusal::kForNow, acknowledge);
    }

    storage::IngestBatch taken;
    taken.phase = batch.phase();
    taken.worker_index = feed.worker_index;
    taken.first_sequence = feed.received;
    taken.go_wall_ns = phase.go_wall_ns;
    // A worker that reconnects sends all items that are not committed. The first ones may have been
    // received: they must not count twice in the live figures.
    const uint64_t known = options_.safeguards.Lacks(common::Safeguard::kInSequence)
                               ? 0
                               : feed.received - batch.first_sequence();
    for (int i = static_cast<int>(std::min<uint64_t>(known, batch.items_size()));
         i < batch.items_size(); ++i) {
      const absl::Status status = TakeLocked(&phase, &feed, batch.items(i));
      if (!status.ok()) {
        Refuse(batch.phase(), &feed, std::string(status.message()), Refusal::kFinal, acknowledge);
        // Nothing more of this worker counts: its phase has failed.
        feed.ended = true;
        v1::PhaseResult broken;
        broken.set_error(
            absl::StrCat("its samples are not valid: ", std::string(status.message())));
        return phase.callbacks.result(feed.worker_index, broken, "");
      }
      taken.items.push_back(batch.items(i));
      CheckBlocks(phase, &feed, &taken.items.back());
      ++feed.received;
    }
    // seen before
    if (taken.items.empty()) {
      return Refuse(batch.phase(), &feed, "", Refusal::kForNow, acknowledge);
    }
    Announce(&phase);
    // The acknowledgement waits for the spool or the store, so that nothing acknowledged can be
    // lost.
    EnqueueLocked(std::move(taken));
  }
  changed_.NotifyAll();
  options_.work();
}

}  // namespace lockstep::controller
