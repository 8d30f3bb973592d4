// The samples' way from the pipeline to the store, or to the spool while the store is unavailable.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/timing.h"
#include "common/units.h"
#include "controller/ingest/ingest_pipeline.h"

namespace lockstep::controller {
namespace {

using common::Safeguard;

constexpr size_t kGroup = 512;  // batches to a transaction
constexpr size_t kGroupBytes = 16 << 20;
constexpr size_t kReplayBytes = 4 << 20;
// The largest part of one worker in a transaction, or in a record of the spool.
constexpr size_t kMaxPart = 16 << 20;
constexpr int64_t kRetryNs = 500 * timing::kMs;

std::string ToRecord(const storage::IngestBatch& batch) {
  v1::SpooledBatch record;
  record.set_worker_index(batch.worker_index);
  record.set_go_wall_ns(batch.go_wall_ns);
  *record.mutable_batch()->mutable_phase() = batch.phase;
  record.mutable_batch()->set_first_sequence(batch.first_sequence);
  for (const v1::DeliveryItem& item : batch.items) *record.mutable_batch()->add_items() = item;
  return record.SerializeAsString();
}

storage::IngestBatch FromRecord(v1::SpooledBatch record) {
  storage::IngestBatch batch;
  batch.worker_index = record.worker_index();
  batch.go_wall_ns = record.go_wall_ns();
  batch.phase = record.batch().phase();
  batch.first_sequence = record.batch().first_sequence();
  for (v1::DeliveryItem& item : *record.mutable_batch()->mutable_items()) {
    batch.items.push_back(std::move(item));
  }
  return batch;
}

size_t ItemsOf(const std::vector<storage::IngestBatch>& group) {
  size_t items = 0;
  for (const storage::IngestBatch& batch : group) items += batch.items.size();
  return items;
}

size_t BytesOf(const storage::IngestBatch& batch) {
  size_t bytes = 0;
  for (const v1::DeliveryItem& item : batch.items) bytes += item.ByteSizeLong();
  return bytes;
}

uint64_t EndOf(const storage::IngestBatch& batch) {
  return batch.first_sequence + batch.items.size();
}

}  // namespace

// The oldest batches, one per worker and phase, so that each cursor moves once.
std::vector<storage::IngestBatch> IngestPipeline::TakeGroup() {
  common::MutexLock lock(&mutex_);
  std::vector<storage::IngestBatch> group;
  std::map<std::pair<PhaseKey, uint32_t>, size_t> taken;
  std::map<size_t, size_t> sizes;
  size_t total = 0;
  while (!queue_.empty() && group.size() < kGroup && total < kGroupBytes) {
    storage::IngestBatch& next = queue_.front();
    const auto [place, first] =
        taken.insert({{KeyOf(next.phase), next.worker_index}, group.size()});
    size_t& bytes = sizes[place->second];
    const size_t added = BytesOf(next);
    bytes += added;
    if (!first && bytes > kMaxPart) break;
    total += added;
    queued_bytes_ -= added;
    if (first) {
      group.push_back(std::move(next));
    } else {
      // The cursor counts items: behind a gap it would take samples for others'.
      LOCKSTEP_CHECK(EndOf(group[place->second]) == next.first_sequence,
                     "a worker's batches do not follow each other");
      for (v1::DeliveryItem& item : next.items) {
        group[place->second].items.push_back(std::move(item));
      }
    }
    queue_.pop_front();
  }
  return group;
}

void IngestPipeline::RequeueLocked(std::vector<storage::IngestBatch> group) {
  for (const storage::IngestBatch& batch : group) queued_bytes_ += BytesOf(batch);
  queue_.insert(queue_.begin(), std::make_move_iterator(group.begin()),
                std::make_move_iterator(group.end()));
}

void IngestPipeline::EnqueueLocked(storage::IngestBatch batch) {
  queued_bytes_ += BytesOf(batch);
  queue_.push_back(std::move(batch));
}

bool IngestPipeline::IsQueueFull() const {
  common::MutexLock lock(&mutex_);
  return queued_bytes_ > options_.queue_bytes;
}

int64_t IngestPipeline::Pump() {
  const auto pending = [this] {
    common::MutexLock lock(&mutex_);
    return !queue_.empty();
  };
  const auto unavailable = [this] {
    common::MutexLock lock(&mutex_);
    return unavailable_;
  };
  while (!unavailable()) {
    if (IsQueueFull()) {
      // What a thousand workers deliver in a minute would fill the memory.
      OnUnavailable(
          absl::ResourceExhaustedError(absl::StrCat(
              "it stores samples more slowly than they come: ",
              common::FormatSize(static_cast<double>(options_.queue_bytes)), " of them wait")),
          {});
      break;
    }
    std::vector<storage::IngestBatch> group = TakeGroup();
    if (group.empty()) return kNever;
    // Commit() gets a copy, since the group goes back to the queue when the store is unavailable.
    const absl::Status status = Commit(group, Stored::kNothing);
    if (absl::IsAborted(status)) return kNever;
    if (!status.ok()) OnUnavailable(status, std::move(group));
  }
  // The store is unavailable. New batches go behind the spooled ones, and the oldest are tried
  // periodically. A full spool is not tried again until then: the runs are stopped, and their
  // workers keep the samples.
  SpoolWaiting();
  const int64_t now = options_.clock->MonotonicNs();
  if (now < next_try_ns_) return next_try_ns_;
  absl::Status status = CommitSpooled();
  // Batches that a full spool did not take, and newer ones, are still in the queue. More than may
  // wait go through the spool, too, if it has room.
  while (status.ok() && options_.spool->empty() && pending() && (full_ || !IsQueueFull())) {
    std::vector<storage::IngestBatch> group = TakeGroup();
    // The commit before this one may have come through without an answer, so that the cursor is
    // asked.
    status = Commit(group, Stored::kPerhaps);
    if (!status.ok()) {
      common::MutexLock lock(&mutex_);
      RequeueLocked(std::move(group));
    }
  }
  if (absl::IsAborted(status)) return kNever;
  if (status.ok()) {
    full_ = false;
    if (IsQueueFull()) return now;
    ComeBack();
    return kNever;
  }
  {
    common::MutexLock lock(&mutex_);
    // Once for a reason: the spool is tried again every kRetryNs.
    if (!storage::IsTransient(status) && unavailable_reason_ != status.message()) {
      log::Error("the spool cannot be committed: {}", std::string(status.message()));
    }
    unavailable_reason_ = std::string(status.message());
  }
  next_try_ns_ = options_.clock->MonotonicNs() + kRetryNs;
  return next_try_ns_;
}

absl::Status IngestPipeline::Replay() { return CommitSpooled(); }

void IngestPipeline::OnUnavailable(const absl::Status& status,
                                   std::vector<storage::IngestBatch> group) {
  {
    common::MutexLock lock(&mutex_);
    LOCKSTEP_CHECK(!unavailable_, "samples go past the spool");
    RequeueLocked(std::move(group));
    unavailable_ = true;
    slow_ = absl::IsResourceExhausted(status);
    unavailable_since_ns_ = options_.clock->MonotonicNs();
    unavailable_reason_ = std::string(status.message());
  }
  next_try_ns_ = options_.clock->MonotonicNs() + kRetryNs;
  log::Error(
      "{}; samples go to the spool: {}",
      absl::IsResourceExhausted(status) ? "the store is too slow" : "the store is unavailable",
      std::string(status.message()));
  options_.store_state(status);
}

void IngestPipeline::ComeBack() {
  // Newer samples would overtake those in the spool, and the cursor refuse them.
  LOCKSTEP_CHECK(options_.spool->empty(), "the spool still holds samples");
  {
    common::MutexLock lock(&mutex_);
    unavailable_ = false;
    slow_ = false;
    unavailable_reason_.clear();
  }
  log::Info("the store is back; the spool is empty");
  options_.store_state(absl::OkStatus());
}

void IngestPipeline::SpoolWaiting() {
  if (full_) return;
  const absl::Status status = SpoolQueue();
  if (status.ok()) return;
  full_ = true;
  options_.spool_full(std::string(status.message()));
}

absl::Status IngestPipeline::SpoolQueue() {
  while (true) {
    std::vector<storage::IngestBatch> group = TakeGroup();
    if (group.empty()) return absl::OkStatus();
    std::vector<std::string> records;
    for (const storage::IngestBatch& batch : group) records.push_back(ToRecord(batch));
    // One fdatasync for the group: a worker discards a sample only when it is committed, but is
    // told at once that it is safe here.
    const absl::Status status = options_.spool->Append(records);
    common::MutexLock lock(&mutex_);
    if (!status.ok()) {
      RequeueLocked(std::move(group));
      return status;
    }
    spooled_bytes_ = options_.spool->bytes();
    for (const storage::IngestBatch& batch : group) {
      Phase* phase = nullptr;
      Feed* feed = FindFeedLocked(batch.phase, batch.worker_index, &phase);
      // The phase is closed and nobody waits for the answer. The samples are kept all the same.
      if (feed == nullptr) continue;
      feed->spooled = std::max(feed->spooled, EndOf(batch));
      CheckCursors(*feed);
      v1::DeliveryAck ack;
      *ack.mutable_phase() = batch.phase;
      ack.set_spooled(feed->spooled);
      ack.set_committed(options_.safeguards.Lacks(Safeguard::kCommittedAck) ? feed->spooled
                                                                            : feed->committed);
      feed->acknowledge(ack);
    }
  }
}

// Everything in the spool, oldest first. After a restart, or an answer that was lost, the store may
// have some of it: its cursors say.
absl::Status IngestPipeline::CommitSpooled() {
  while (!options_.spool->empty()) {
    auto records = options_.spool->Peek(kReplayBytes);
    if (!records.ok()) return records.status();
    std::vector<storage::IngestBatch> group;
    std::map<std::pair<PhaseKey, uint32_t>, size_t> places;
    size_t taken = 0;
    for (const std::string& text : *records) {
      v1::SpooledBatch record;
      if (!record.ParseFromString(text)) {
        return absl::DataLossError("the spool holds a record that is not a batch");
      }
      storage::IngestBatch batch = FromRecord(std::move(record));
      const auto [place, first] =
          places.insert({{KeyOf(batch.phase), batch.worker_index}, group.size()});
      if (first) {
        group.push_back(std::move(batch));
      } else if (EndOf(group[place->second]) == batch.first_sequence) {
        for (v1::DeliveryItem& item : batch.items) {
          group[place->second].items.push_back(std::move(item));
        }
      } else {
        break;  // a restart in between: the next round
      }
      ++taken;
    }
    if (absl::Status status = Commit(std::move(group), Stored::kPerhaps); !status.ok()) {
      return status;
    }
    // In this order: a crash between the two leaves samples that the store has already, and the
    // cursor says so. The other order would lose them.
    if (absl::Status status = options_.spool->Drop(taken); !status.ok()) return status;
    {
      common::MutexLock lock(&mutex_);
      spooled_bytes_ = options_.spool->bytes();
    }
    // A group that the spool has no room for stays in the queue, which is next.
    if (IsQueueFull()) (void)SpoolQueue();
  }
  return absl::OkStatus();
}

// Takes out what the store has already.
absl::Status IngestPipeline::Trim(std::vector<storage::IngestBatch>* group) {
  std::vector<storage::IngestBatch> missing;
  for (storage::IngestBatch& batch : *group) {
    const auto cursor = options_.store->Cursor(batch.phase, batch.worker_index);
    if (absl::IsNotFound(cursor.status())) {
      Rejected(batch, cursor.status());
      continue;
    }
    if (!cursor.ok()) return cursor.status();
    if (*cursor >= EndOf(batch)) {
      Committed(batch);
      continue;
    }
    if (*cursor > batch.first_sequence) {
      batch.items.erase(
          batch.items.begin(),
          batch.items.begin() + static_cast<ptrdiff_t>(*cursor - batch.first_sequence));
      batch.first_sequence = *cursor;
    }
    missing.push_back(std::move(batch));
  }
  *group = std::move(missing);
  return absl::OkStatus();
}

// OK when all is stored, or was refused for good by the store; UNAVAILABLE when it cannot be
// reached, ABORTED when this controller was replaced.
absl::Status IngestPipeline::Commit(std::vector<storage::IngestBatch> group, Stored before) {
  const bool ask =
      before == Stored::kPerhaps && !options_.safeguards.Lacks(Safeguard::kCheckCursor);
  if (ask) {
    if (absl::Status status = Trim(&group); !status.ok()) return status;
  }
  if (group.empty()) return absl::OkStatus();
  absl::Status status = options_.store->Ingest(group);
  if (status.ok()) {
    for (const storage::IngestBatch& batch : group) Committed(batch);
    return status;
  }
  if (ask && absl::IsFailedPrecondition(status)) {
    // A try whose answer was lost may have come through between the two.
    const size_t asked = ItemsOf(group);
    if (const absl::Status trimmed = Trim(&group); !trimmed.ok()) return trimmed;
    if (ItemsOf(group) < asked) return Commit(std::move(group), Stored::kPerhaps);
    if (group.empty()) return absl::OkStatus();
  }
  // Another controller has the store. Nothing that this one still sends may be acknowledged.
  if (absl::IsAborted(status)) options_.fenced(std::string(status.message()));
  if (absl::IsAborted(status) || storage::IsTransient(status)) return status;
  // The store refuses the samples themselves; one at a time shows which, and the others are kept.
  if (group.size() == 1) {
    Rejected(group[0], status);
    return absl::OkStatus();
  }
  for (storage::IngestBatch& batch : group) {
    std::vector<storage::IngestBatch> one;
    one.push_back(std::move(batch));
    if (status = Commit(std::move(one), before); !status.ok()) return status;
  }
  return absl::OkStatus();
}

IngestPipeline::Feed* IngestPipeline::FindFeedLocked(const v1::PhaseId& id, uint32_t worker_index,
                                                     Phase** in) {
  const auto phase = phases_.find(KeyOf(id));
  if (phase == phases_.end()) return nullptr;
  *in = &phase->second;
  const auto feed = phase->second.feeds.find(worker_index);
  return feed == phase->second.feeds.end() ? nullptr : &feed->second;
}

void IngestPipeline::Rejected(const storage::IngestBatch& batch, const absl::Status& status) {
  log::Error("the store refuses samples of worker {}: {}", batch.worker_index,
             std::string(status.message()));
  common::MutexLock lock(&mutex_);
  Phase* phase = nullptr;
  Feed* feed = FindFeedLocked(batch.phase, batch.worker_index, &phase);
  if (feed == nullptr) return;
  // `final` keeps the worker from sending again what the store will refuse again.
  Refuse(batch.phase, feed, std::string(status.message()), Refusal::kFinal, feed->acknowledge);
  v1::PhaseResult broken;
  broken.set_error(
      absl::StrCat("its samples could not be stored: ", std::string(status.message())));
  phase->callbacks.result(batch.worker_index, broken, "");
}

void IngestPipeline::CheckCursors(const Feed& feed) {
  LOCKSTEP_CHECK(feed.committed <= feed.spooled, "a worker's samples are stored but not safe");
  LOCKSTEP_CHECK(feed.spooled <= feed.received, "samples are safe that have not come");
}

void IngestPipeline::Committed(const storage::IngestBatch& batch) {
  common::MutexLock lock(&mutex_);
  Phase* phase = nullptr;
  Feed* feed = FindFeedLocked(batch.phase, batch.worker_index, &phase);
  if (feed == nullptr) return;  // given up during that time
  feed->committed = std::max(feed->committed, EndOf(batch));
  feed->spooled = std::max(feed->spooled, feed->committed);
  CheckCursors(*feed);
  if (feed->acknowledge) {
    v1::DeliveryAck ack;
    *ack.mutable_phase() = batch.phase;
    ack.set_spooled(feed->spooled);
    ack.set_committed(feed->committed);
    feed->acknowledge(ack);
  }
  for (const v1::DeliveryItem& item : batch.items) {
    if (item.has_result()) {
      // A result counts from here on. The state machine must not close a phase by a result that a
      // successor would not find in the store.
      phase->callbacks.result(batch.worker_index, item.result(), feed->integrity);
    }
  }
}

}  // namespace lockstep::controller
