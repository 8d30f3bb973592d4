#include "controller/service/watchers.h"

#include "common/limits.h"
#include "common/mutex.h"

namespace lockstep::controller {
namespace {

constexpr auto kQueueLimit = static_cast<size_t>(limits::kWatchQueue);

}  // namespace

void Watchers::Publish(const std::string& run_id, const v1::WatchEvent& event) {
  common::MutexLock lock(&mutex_);
  const auto found = streams_.find(run_id);
  if (found == streams_.end()) return;
  const auto shared = std::make_shared<const v1::WatchEvent>(event);
  for (WatchStream* stream : found->second) stream->Send(shared);
}

void Watchers::Close(const std::string& run_id, const v1::RunSummary& summary) {
  auto last = std::make_shared<v1::WatchEvent>();
  *last->mutable_run() = summary;
  common::MutexLock lock(&mutex_);
  const auto found = streams_.find(run_id);
  if (found == streams_.end()) return;
  for (WatchStream* stream : found->second) {
    stream->Send(last);
    stream->End(grpc::Status::OK);
  }
}

void Watchers::Add(const std::string& run_id, WatchStream* stream) {
  common::MutexLock lock(&mutex_);
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

std::shared_ptr<WatchStream> WatchStream::Make(Watchers* watchers) {
  std::shared_ptr<WatchStream> stream(new WatchStream(watchers));
  stream->self_ = stream;
  return stream;
}

void WatchStream::Attach(const std::string& run_id) {
  {
    common::MutexLock lock(&mutex_);
    run_id_ = run_id;
  }
  watchers_->Add(run_id, this);
  bool done = false;
  {
    common::MutexLock lock(&mutex_);
    done = done_;
  }
  if (done) watchers_->Remove(run_id, this);  // the caller had gone already
}

void WatchStream::Send(std::shared_ptr<const v1::WatchEvent> event) {
  common::MutexLock lock(&mutex_);
  if (ending_ || finished_) return;
  if (queue_.size() > kQueueLimit && (event->has_interval() || event->has_progress())) return;
  if (queue_.size() > 2 * kQueueLimit) {
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
  std::string run_id;
  {
    common::MutexLock lock(&mutex_);
    run_id = run_id_;
    done_ = true;
  }
  if (!run_id.empty()) watchers_->Remove(run_id, this);
  watchers_->Count(-1);
  self_.reset();
}

}  // namespace lockstep::controller
