#include "worker/link/outbox.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "common/log.h"
#include "common/mutex.h"

namespace lockstep::worker {
namespace {

// A batch has at most 64 KiB: the rest is for the message around the items.
constexpr size_t kBatchBytes = size_t{60} * 1024;

}  // namespace

Outbox::Outbox() : Outbox(Limits()) {}

Outbox::Outbox(Limits limits, common::Safeguards safeguards)
    : limits_(std::move(limits)), safeguards_(safeguards) {}

Outbox::~Outbox() {
  if (file_.valid()) unlink(limits_.overflow_path.c_str());
}

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
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.sent < entry.first + entry.slots.size();
  });
}

// False when it does not fit, or the disk does not take it: it stays in memory then.
bool Outbox::WriteLocked(const v1::DeliveryItem& item, Slot* slot) {
  if (limits_.overflow_path.empty()) return false;
  if (!file_.valid()) {
    // An earlier process may have left the file. Its content is of no use, since its phase has
    // ended with it.
    file_ = common::FileDescriptor(
        open(limits_.overflow_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file_.valid()) return false;
    log::Warn("samples that are not committed go to {} from now on: {} MiB of them are in memory",
              limits_.overflow_path, memory_bytes_ >> 20);
  }
  const std::string bytes = item.SerializeAsString();
  if (file_end_ + bytes.size() > limits_.overflow_bytes) return false;
  // After a short write file_end_ stays, so that the next item overwrites the part that was
  // written.
  if (pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(file_end_)) !=
      static_cast<ssize_t>(bytes.size())) {
    return false;
  }
  slot->offset = file_end_;
  slot->size = bytes.size();
  slot->item.reset();
  file_end_ += bytes.size();
  ++in_file_;
  return true;
}

bool Outbox::ReadLocked(const Slot& slot, v1::DeliveryItem* item) const {
  if (slot.item) {
    *item = *slot.item;
    return true;
  }
  std::string bytes(slot.size, 0);
  return pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(slot.offset)) ==
             static_cast<ssize_t>(bytes.size()) &&
         item->ParseFromString(bytes);
}

void Outbox::PopLocked(Entry* entry) {
  const Slot& slot = entry->slots.front();
  if (slot.item) {
    memory_bytes_ -= slot.size;
  } else if (--in_file_ == 0) {
    // The file begins anew only when nothing is left in it: it exists only while the controller
    // commits less than is measured.
    file_end_ = 0;
    (void)!ftruncate(file_.get(), 0);
  }
  entry->slots.pop_front();
  ++entry->first;
}

bool Outbox::Add(const v1::PhaseId& phase, v1::DeliveryItem item) {
  bool fits = true;
  {
    common::MutexLock lock(&mutex_);
    Entry* entry = FindLocked(phase);
    if (entry == nullptr) {
      // Phases before this one with nothing left are over.
      entries_.remove_if([](const Entry& old) { return old.slots.empty(); });
      entry = &entries_.emplace_back();
      entry->phase = phase;
    }
    Slot slot;
    slot.size = item.ByteSizeLong();
    // Once the file is in use, all that follows goes there, too, and is read in the order in which
    // it was written.
    const bool in_memory = in_file_ == 0 && memory_bytes_ + slot.size <= limits_.memory_bytes;
    if (in_memory || !WriteLocked(item, &slot)) {
      fits = in_memory;
      memory_bytes_ += slot.size;
      slot.item = std::move(item);
    }
    entry->slots.push_back(std::move(slot));
  }
  changed_.NotifyAll();
  return fits;
}

std::optional<v1::DeliveryBatch> Outbox::NextBatch(int wait_ms) {
  common::MutexLock lock(&mutex_);
  if (wait_ms > 0) {
    changed_.WaitFor(&lock, std::chrono::milliseconds(wait_ms),
                     [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasUnsentLocked(); });
  }
  for (Entry& entry : entries_) {
    const uint64_t end = entry.first + entry.slots.size();
    if (entry.sent >= end) continue;
    v1::DeliveryBatch batch;
    *batch.mutable_phase() = entry.phase;
    batch.set_first_sequence(entry.sent);
    size_t bytes = 0;
    while (entry.sent < end) {
      const Slot& slot = entry.slots[entry.sent - entry.first];
      // Each item has a tag and a length in the message.
      bytes += slot.size + 8;
      if (batch.items_size() != 0 && bytes > kBatchBytes) break;
      // The sequence has no gaps: nothing after an item that cannot be read may be sent.
      if (!ReadLocked(slot, batch.add_items())) {
        batch.mutable_items()->RemoveLast();
        if (batch.items_size() != 0) return batch;
        log::Critical("samples in {} cannot be read back", limits_.overflow_path);
        if (wait_ms > 0) changed_.WaitFor(&lock, std::chrono::milliseconds(wait_ms));
        return std::nullopt;
      }
      ++entry.sent;
    }
    // Only a simulation without this safeguard goes on: it drops what no store has, which its
    // checks must find.
    if (!safeguards_.Lacks(common::Safeguard::kKeepUncommitted)) return batch;
    while (!entry.slots.empty()) PopLocked(&entry);
    return batch;
  }
  return std::nullopt;
}

std::string Outbox::OnAck(const v1::DeliveryAck& ack) {
  common::MutexLock lock(&mutex_);
  Entry* entry = FindLocked(ack.phase());
  if (entry == nullptr) return ack.refused();
  if (ack.final()) {
    while (!entry->slots.empty()) PopLocked(entry);
    entry->sent = entry->first;
  } else {
    // The acknowledgement may be of items that were sent before the last Rewind(). Then more is
    // committed than was handed out since, and `sent` moves on with it.
    while (entry->first < ack.committed() && !entry->slots.empty()) PopLocked(entry);
    entry->sent = ack.refused().empty() ? std::max(entry->sent, entry->first) : entry->first;
  }
  changed_.NotifyAll();
  return ack.refused();
}

void Outbox::Rewind() {
  common::MutexLock lock(&mutex_);
  for (Entry& entry : entries_) entry.sent = entry.first;
}

size_t Outbox::uncommitted() const {
  common::MutexLock lock(&mutex_);
  size_t items = 0;
  for (const Entry& entry : entries_) items += entry.slots.size();
  return items;
}

}  // namespace lockstep::worker
