#include "web/event_stream.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "google/protobuf/util/json_util.h"

namespace lockstep::web {
namespace {

constexpr size_t kMostWaiting = 64;

}  // namespace

std::shared_ptr<EventStream> EventStream::Begin(v1::Controller::Stub* stub,
                                                const std::string& run_id, uint64_t after) {
  std::shared_ptr<EventStream> stream(new EventStream);
  stream->self_ = stream;
  stream->request_.set_run_id(run_id);
  stream->request_.set_from_begin(true);
  stream->request_.set_after(after);
  stub->async()->Watch(&stream->context_, &stream->request_, stream.get());
  stream->StartRead(&stream->incoming_);
  stream->StartCall();
  return stream;
}

void EventStream::OnReadDone(bool ok) {
  if (!ok) return;
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  if (google::protobuf::util::MessageToJsonString(incoming_, &json, options).ok()) {
    const std::string id =
        incoming_.sequence() == 0 ? "" : absl::StrCat("id: ", incoming_.sequence(), "\n");
    common::MutexLock lock(&mutex_);
    waiting_.push_back(absl::StrCat(id, "data: ", json, "\n\n"));
    changed_.NotifyOne();
    // For a browser that does not read the controller drops intervals.
    if (waiting_.size() >= kMostWaiting && !cancelled_) {
      paused_ = true;
      AddHold();  // the next read begins outside of a reaction
      return;
    }
  }
  StartRead(&incoming_);
}

void EventStream::OnDone(const grpc::Status& status) {
  const std::shared_ptr<EventStream> keep = std::move(self_);
  common::MutexLock lock(&mutex_);
  over_ = true;
  status_ = status;
  changed_.NotifyOne();
}

std::optional<std::string> EventStream::Next(std::chrono::milliseconds timeout) {
  common::MutexLock lock(&mutex_);
  changed_.WaitFor(&lock, timeout, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !waiting_.empty() || over_;
  });
  if (waiting_.empty()) return over_ ? std::nullopt : std::optional<std::string>("");
  std::string event = std::move(waiting_.front());
  waiting_.pop_front();
  const bool resumes = paused_ && waiting_.size() < kMostWaiting / 2;
  if (resumes) {
    paused_ = false;
    lock.Unlock();
    StartRead(&incoming_);
    RemoveHold();
  }
  return event;
}

void EventStream::Cancel() {
  context_.TryCancel();
  {
    common::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (!paused_) return;
    paused_ = false;
  }
  RemoveHold();
}

grpc::Status EventStream::status() const {
  common::MutexLock lock(&mutex_);
  return status_;
}

}  // namespace lockstep::web
