#include "worker/agent/outbox.h"

#include <algorithm>
#include <chrono>

namespace lockstep::worker {
namespace {

constexpr size_t kBatchBytes = 60 * 1024;

}  // namespace

Outbox::Entry* Outbox::FindLocked(const v1::PhaseId& phase) {
  for (Entry& entry : entries_) {
    if (entry.phase.run_id() == phase.run_id() && entry.phase.phase() == phase.phase() &&
        entry.phase.attempt() == phase.attempt()) {
      return &entry;
    }
  }
  return nullptr;
}

bool Outbox::HasUnsentLocked() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.sent < entry.first + entry.items.size(); });
}

void Outbox::Add(const v1::PhaseId& phase, v1::DeliveryItem item) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Entry* entry = FindLocked(phase);
    if (entry == nullptr) {
      // Phases before this one with nothing left are over.
      entries_.remove_if([](const Entry& old) { return old.items.empty(); });
      entry = &entries_.emplace_back();
      entry->phase = phase;
    }
    entry->items.push_back(std::move(item));
  }
  changed_.notify_all();
}

std::optional<v1::DeliveryBatch> Outbox::NextBatch() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return HasUnsentLocked(); });
  for (Entry& entry : entries_) {
    const uint64_t end = entry.first + entry.items.size();
    if (entry.sent >= end) continue;
    v1::DeliveryBatch batch;
    *batch.mutable_phase() = entry.phase;
    batch.set_first_sequence(entry.sent);
    size_t bytes = 0;
    while (entry.sent < end) {
      const v1::DeliveryItem& item = entry.items[entry.sent - entry.first];
      bytes += item.ByteSizeLong() + 8;
      if (batch.items_size() != 0 && bytes > kBatchBytes) break;
      *batch.add_items() = item;
      ++entry.sent;
    }
    return batch;
  }
  return std::nullopt;
}

std::string Outbox::OnAck(const v1::DeliveryAck& ack) {
  std::lock_guard<std::mutex> lock(mutex_);
  Entry* entry = FindLocked(ack.phase());
  if (entry == nullptr) return ack.refused();
  if (ack.final()) {
    entry->first += entry->items.size();
    entry->sent = entry->first;
    entry->items.clear();
  } else {
    while (entry->first < ack.committed() && !entry->items.empty()) {
      entry->items.pop_front();
      ++entry->first;
    }
    entry->sent = ack.refused().empty() ? std::max(entry->sent, entry->first) : entry->first;
  }
  changed_.notify_all();
  return ack.refused();
}

void Outbox::Rewind() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Entry& entry : entries_) entry.sent = entry.first;
}

bool Outbox::WaitEmpty(int milliseconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), [this] {
    return std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.items.empty(); });
  });
}

}  // namespace lockstep::worker
