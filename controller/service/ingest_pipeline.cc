#include "controller/service/ingest_pipeline.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace lockstep::controller {
namespace {

constexpr size_t kGroup = 256;  // batches to a transaction
constexpr size_t kBatchLimitBytes = 4 << 20;

}  // namespace

IngestPipeline::IngestPipeline(uint64_t epoch, storage::Store* store, std::function<void(const std::string&)> fenced)
    : epoch_(epoch), store_(store), fenced_(std::move(fenced)), thread_([this] { Main(); }) {}

IngestPipeline::~IngestPipeline() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void IngestPipeline::Open(const v1::PhaseId& phase, const std::map<std::string, std::pair<uint32_t, std::string>>& workers,
                          const v1::AbortIf& abort_if, PhaseCallbacks callbacks) {
  std::lock_guard<std::mutex> lock(mutex_);
  Phase& opened = phases_[KeyOf(phase)];
  std::map<uint32_t, std::string> hosts;
  for (const auto& [id, worker] : workers) {
    opened.feeds[id].worker_index = worker.first;
    hosts[worker.first] = worker.second;
  }
  opened.live = std::make_unique<LivePhase>(phase.phase(), std::move(hosts), abort_if);
  opened.callbacks = std::move(callbacks);
}

void IngestPipeline::SetGo(const v1::PhaseId& phase, int64_t go_wall_ns) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = phases_.find(KeyOf(phase));
  if (found != phases_.end()) found->second.go_wall_ns = go_wall_ns;
}

void IngestPipeline::WorkerLost(const v1::PhaseId& phase, uint32_t worker) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = phases_.find(KeyOf(phase));
  if (found == phases_.end()) return;
  // What it may still deliver is refused: a result of a worker that was given up would pass for a whole one.
  for (auto feed = found->second.feeds.begin(); feed != found->second.feeds.end();) {
    feed = feed->second.worker_index == worker ? found->second.feeds.erase(feed) : std::next(feed);
  }
  found->second.live->Leave(worker);
  for (const v1::FleetInterval& interval : found->second.live->TakeComplete()) found->second.callbacks.interval(interval);
}

double IngestPipeline::MeasuredIops(const v1::PhaseId& phase) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = phases_.find(KeyOf(phase));
  return found == phases_.end() ? 0 : found->second.live->MeasuredIops();
}

std::vector<storage::Rollup> IngestPipeline::Close(const v1::PhaseId& phase) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = phases_.find(KeyOf(phase));
  if (found == phases_.end()) return {};
  std::vector<storage::Rollup> rollups = found->second.live->Rollups();
  phases_.erase(found);
  return rollups;
}

void IngestPipeline::Refuse(const v1::PhaseId& phase, uint64_t committed, const std::string& reason, bool final, const Acknowledge& acknowledge) {
  v1::DeliveryAck ack;
  *ack.mutable_phase() = phase;
  ack.set_committed(committed);
  ack.set_spooled(committed);
  ack.set_refused(reason);
  ack.set_final(final);
  acknowledge(ack);
}

void IngestPipeline::Deliver(const std::string& worker_id, const v1::DeliveryBatch& batch, const Acknowledge& acknowledge) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = phases_.find(KeyOf(batch.phase()));
  if (found == phases_.end()) return Refuse(batch.phase(), 0, absl::StrCat("phase ", batch.phase().phase(), " of run ", batch.phase().run_id(), " is not in progress"), true, acknowledge);
  Phase& phase = found->second;
  const auto feed_found = phase.feeds.find(worker_id);
  if (feed_found == phase.feeds.end()) return Refuse(batch.phase(), 0, "the phase is not this worker's", true, acknowledge);
  Feed& feed = feed_found->second;
  if (batch.ByteSizeLong() > kBatchLimitBytes) return Refuse(batch.phase(), feed.committed, "the batch is larger than 4 MiB", true, acknowledge);
  if (batch.first_sequence() > feed.received) {
    return Refuse(batch.phase(), feed.committed, absl::StrCat("sequence ", batch.first_sequence(), " came before ", feed.received), false, acknowledge);
  }

  Pending pending;
  pending.worker_id = worker_id;
  pending.acknowledge = acknowledge;
  pending.batch.phase = batch.phase();
  pending.batch.worker_index = feed.worker_index;
  pending.batch.first_sequence = feed.received;
  pending.batch.go_wall_ns = phase.go_wall_ns;
  for (int i = static_cast<int>(std::min<uint64_t>(feed.received - batch.first_sequence(), batch.items_size())); i < batch.items_size(); ++i) {
    const v1::DeliveryItem& item = batch.items(i);
    if (item.has_interval()) {
      const absl::Status status = phase.live->Add(feed.worker_index, item.interval());
      if (!status.ok()) return Refuse(batch.phase(), feed.committed, std::string(status.message()), true, acknowledge);
    } else if (item.has_result()) {
      pending.integrity = std::string(phase.live->CheckResult(feed.worker_index, item.result()).message());
      phase.live->Leave(feed.worker_index);  // the others' intervals do not wait for it any more
    } else {
      return Refuse(batch.phase(), feed.committed, "an item that is neither an interval nor a result", true, acknowledge);
    }
    pending.batch.items.push_back(item);
    ++feed.received;
  }
  if (pending.batch.items.empty()) return Refuse(batch.phase(), feed.committed, "", false, acknowledge);  // seen before
  for (const v1::FleetInterval& interval : phase.live->TakeComplete()) phase.callbacks.interval(interval);
  if (!phase.live->abort_reason().empty() && !phase.abort_said) {
    phase.abort_said = true;
    phase.callbacks.abort(phase.live->abort_reason());
  }
  queue_.push_back(std::move(pending));
  changed_.notify_all();
}

void IngestPipeline::Main() {
  while (true) {
    std::vector<Pending> group;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      // One batch per worker and phase, so that each cursor moves once.
      std::vector<std::pair<PhaseKey, std::string>> taken;
      for (auto item = queue_.begin(); item != queue_.end() && group.size() < kGroup;) {
        const auto key = std::pair(KeyOf(item->batch.phase), item->worker_id);
        if (std::find(taken.begin(), taken.end(), key) != taken.end()) {
          ++item;
          continue;
        }
        taken.push_back(key);
        group.push_back(std::move(*item));
        item = queue_.erase(item);
      }
    }
    Commit(std::move(group));
  }
}

void IngestPipeline::Commit(std::vector<Pending> group) {
  std::vector<storage::IngestBatch> batches;
  for (Pending& pending : group) batches.push_back(pending.batch);
  bool said = false;
  while (true) {
    const absl::Status status = store_->Ingest(epoch_, batches);
    if (status.ok()) break;
    if (absl::IsAborted(status)) {
      fenced_(std::string(status.message()));
      return;
    }
    if (absl::IsUnavailable(status)) {
      if (!said) spdlog::error("samples wait for the store: {}", std::string(status.message()));
      said = true;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_; });
        if (stopping_) return;
      }
      // The transaction may have been committed before the connection broke: a cursor that is ahead says so.
      std::vector<storage::IngestBatch> missing;
      bool known = true;
      for (const storage::IngestBatch& batch : batches) {
        const auto cursor = store_->Cursor(batch.phase, batch.worker_index);
        known = known && cursor.ok();
        if (!cursor.ok() || *cursor <= batch.first_sequence) missing.push_back(batch);
      }
      if (known) batches = std::move(missing);
      if (batches.empty()) break;
      continue;
    }
    // The store refuses the samples themselves; one at a time shows which, and the others are kept.
    if (group.size() > 1) {
      for (Pending& pending : group) {
        std::vector<Pending> one;
        one.push_back(std::move(pending));
        Commit(std::move(one));
      }
      return;
    }
    spdlog::error("the store refuses samples of worker {}: {}", group[0].batch.worker_index, std::string(status.message()));
    Refuse(group[0].batch.phase, 0, std::string(status.message()), true, group[0].acknowledge);
    std::lock_guard<std::mutex> lock(mutex_);
    const auto phase = phases_.find(KeyOf(group[0].batch.phase));
    if (phase != phases_.end()) {
      v1::PhaseResult broken;
      broken.set_error(absl::StrCat("its samples could not be stored: ", std::string(status.message())));
      phase->second.callbacks.result(group[0].batch.worker_index, broken, "");
    }
    return;
  }
  for (const Pending& pending : group) Committed(pending);
}

void IngestPipeline::Committed(const Pending& pending) {
  const uint64_t next = pending.batch.first_sequence + pending.batch.items.size();
  v1::DeliveryAck ack;
  *ack.mutable_phase() = pending.batch.phase;
  ack.set_spooled(next);
  ack.set_committed(next);
  pending.acknowledge(ack);
  std::lock_guard<std::mutex> lock(mutex_);
  const auto phase = phases_.find(KeyOf(pending.batch.phase));
  if (phase == phases_.end()) return;
  const auto feed = phase->second.feeds.find(pending.worker_id);
  if (feed == phase->second.feeds.end()) return;  // given up meanwhile
  feed->second.committed = std::max(feed->second.committed, next);
  for (const v1::DeliveryItem& item : pending.batch.items) {
    if (item.has_result()) phase->second.callbacks.result(pending.batch.worker_index, item.result(), pending.integrity);
  }
}

}  // namespace lockstep::controller
