#include "controller/ingest/watchers.h"

#include <algorithm>

#include "common/check.h"
#include "common/limits.h"
#include "common/mutex.h"

namespace lockstep::controller {
namespace {

constexpr auto kQueueLimit = static_cast<size_t>(limits::kWatchQueue);

}  // namespace

WatchHistory::Numbered WatchHistory::Add(const v1::WatchEvent& event) {
  auto numbered = std::make_shared<v1::WatchEvent>(event);
  // Progress is not kept. With a number it would look like a gap to a client that reconnects.
  if (!event.has_progress()) numbered->set_sequence(++sequence_);
  Numbered both = {numbered, numbered, nullptr};
  Numbered sent = both;
  if (event.has_interval()) {
    if (event.interval().has_io_latencies()) {
      auto latencies = std::make_shared<v1::WatchEvent>(*numbered);
      latencies->mutable_interval()->clear_all_iops();
      latencies->mutable_interval()->clear_all_p99_ns();
      sent.latencies = std::move(latencies);
      // Few watchers want them, and the history of a day would be full of them.
      numbered->mutable_interval()->clear_io_latencies();
      numbered->mutable_interval()->clear_fsync_latencies();
    }
    auto fleet = std::make_shared<v1::WatchEvent>(*numbered);
    fleet->mutable_interval()->clear_all_iops();
    fleet->mutable_interval()->clear_all_p99_ns();
    both.fleet = std::move(fleet);
    sent.fleet = both.fleet;
  }
  if (event.has_progress()) return both;
  events_.push_back(both);
  bytes_ += both.whole->ByteSizeLong();
  Shrink();
  return sent;
}

void WatchHistory::Shrink() {
  constexpr auto kLimit = static_cast<size_t>(limits::kWatchHistoryBytes);
  // The figures of single hosts go first. They are most of the bytes in a large fleet, and the
  // chart of the fleet needs none of them.
  while (bytes_ > kLimit && without_hosts_ + 1 < events_.size()) {
    Numbered& event = events_[without_hosts_++];
    bytes_ -= event.whole->ByteSizeLong() - event.fleet->ByteSizeLong();
    event.whole = event.fleet;
  }
  while (bytes_ > kLimit && events_.size() > 1) {
    bytes_ -= events_.front().whole->ByteSizeLong();
    events_.pop_front();
    if (without_hosts_ > 0) --without_hosts_;
  }
  LOCKSTEP_CHECK(without_hosts_ <= events_.size(), "more events lost their hosts than are kept");
}

void Watchers::Publish(const std::string& run_id, const v1::WatchEvent& event) {
  common::MutexLock lock(&mutex_);
  // A history that was given up for others' goes on with higher numbers.
  Kept& kept =
      histories_.try_emplace(run_id, Kept{WatchHistory(first_number_ + published_)}).first->second;
  kept.used = ++published_;
  const WatchHistory::Numbered shared = kept.history.Add(event);
  if (histories_.size() > static_cast<size_t>(limits::kWatchHistories)) {
    histories_.erase(std::min_element(
        histories_.begin(), histories_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  const auto found = streams_.find(run_id);
  if (found == streams_.end()) return;
  // The lock is held while the event is sent, so that every stream gets the events in the order of
  // their numbers.
  for (WatchStream* stream : found->second) stream->Send(shared);
}

void Watchers::Close(const std::string& run_id, const v1::RunSummary& summary) {
  auto last = std::make_shared<v1::WatchEvent>();
  *last->mutable_run() = summary;
  common::MutexLock lock(&mutex_);
  histories_.erase(run_id);
  const auto found = streams_.find(run_id);
  if (found == streams_.end()) return;
  for (WatchStream* stream : found->second) {
    stream->Send(last);
    stream->End(grpc::Status::OK);
  }
}

void Watchers::Add(const std::string& run_id, std::optional<uint64_t> after, WatchStream* stream) {
  common::MutexLock lock(&mutex_);
  // The history is repeated and the stream registered under one lock. No event falls between the
  // two, and none comes twice.
  if (const auto found = histories_.find(run_id); after && found != histories_.end()) {
    // A number that this controller has not given yet is another controller's, so all events are
    // repeated.
    const auto& events = found->second.history.events();
    const bool is_ours = events.empty() || *after <= events.back().whole->sequence();
    for (const auto& event : events) {
      if (!is_ours || event.whole->sequence() > *after) stream->Repeat(event);
    }
  }
  streams_[run_id].insert(stream);
}

void Watchers::Remove(const std::string& run_id, WatchStream* stream) {
  common::MutexLock lock(&mutex_);
  const auto found = streams_.find(run_id);
  if (found == streams_.end()) return;
  found->second.erase(stream);
  if (found->second.empty()) streams_.erase(found);
}

void Watchers::Shutdown() {
  common::MutexLock lock(&mutex_);
  for (auto& [run_id, streams] : streams_) {
    for (WatchStream* stream : streams) {
      stream->End(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the controller is shutting down"));
    }
  }
}

std::shared_ptr<WatchStream> WatchStream::Make(Watchers* watchers, bool all_hosts,
                                               std::shared_ptr<void> admission) {
  std::shared_ptr<WatchStream> stream(new WatchStream(watchers, all_hosts, std::move(admission)));
  stream->self_ = stream;
  return stream;
}

void WatchStream::Attach(const std::string& run_id, std::optional<uint64_t> after) {
  {
    common::MutexLock lock(&mutex_);
    run_id_ = run_id;
  }
  watchers_->Add(run_id, after, this);
  bool done = false;
  {
    common::MutexLock lock(&mutex_);
    done = done_;
  }
  // OnDone() may run before Add() does, in gRPC's thread, and then finds nothing to remove.
  if (done) watchers_->Remove(run_id, this);  // the caller had gone already
}

void WatchStream::Repeat(const WatchHistory::Numbered& event) {
  common::MutexLock lock(&mutex_);
  if (ending_ || finished_) return;
  queue_.push_back(all_hosts_ ? event.whole : event.fleet);
  // The history is bounded (limits::kWatchHistoryBytes) and shared by its watchers. It must not
  // make a new watcher count as a slow one.
  ++repeated_;
  if (queue_.size() == 1) StartWrite(queue_.front().get());
}

void WatchStream::Send(std::shared_ptr<const v1::WatchEvent> event) {
  common::MutexLock lock(&mutex_);
  if (ending_ || finished_) return;
  const size_t waiting = queue_.size() - repeated_;
  // A slow watcher loses seconds of the chart, never a phase's end or a warning.
  if (waiting > kQueueLimit && (event->has_interval() || event->has_progress())) return;
  if (waiting > 2 * kQueueLimit) {
    status_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                           "this watcher does not read what it is sent");
    ending_ = true;
    return FinishLocked();
  }
  queue_.push_back(std::move(event));
  if (queue_.size() == 1) StartWrite(queue_.front().get());
}

void WatchStream::FinishLocked() {
  if (finished_) return;
  finished_ = true;
  Finish(status_);
}

void WatchStream::End(const grpc::Status& status) {
  common::MutexLock lock(&mutex_);
  if (ending_) return;
  ending_ = true;
  status_ = status;
  if (queue_.empty()) FinishLocked();
}

void WatchStream::OnWriteDone(bool ok) {
  common::MutexLock lock(&mutex_);
  queue_.pop_front();
  if (repeated_ > 0) --repeated_;
  if (finished_) return;
  if (!ok) return FinishLocked();
  if (!queue_.empty()) return StartWrite(queue_.front().get());
  if (ending_) FinishLocked();
}

void WatchStream::OnCancel() {
  common::MutexLock lock(&mutex_);
  FinishLocked();
}

void WatchStream::OnDone() {
  // Others may hold this stream for longer than gRPC's context lives.
  admission_.reset();
  std::string run_id;
  {
    common::MutexLock lock(&mutex_);
    run_id = run_id_;
    done_ = true;
  }
  if (!run_id.empty()) watchers_->Remove(run_id, this);
  watchers_->Count(-1);
  // The last use: gRPC calls no reactor after OnDone(), and nothing else may touch this one.
  self_.reset();
}

}  // namespace lockstep::controller
