#include "web/event_stream.h"

#include <chrono>

#include "common/limits.h"
#include "common/mutex.h"
#include "google/protobuf/util/json_util.h"

namespace lockstep::web {

std::shared_ptr<EventStream> EventStream::Begin(v1::Controller::Stub* stub,
                                                const std::string& run_id) {
  std::shared_ptr<EventStream> stream(new EventStream);
  stream->self_ = stream;
  stream->request_.set_run_id(run_id);
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
    common::MutexLock lock(&mutex_);
    // A browser that does not read loses the oldest.
    if (waiting_.size() >= static_cast<size_t>(limits::kWatchQueue)) waiting_.pop_front();
    waiting_.push_back(std::move(json));
    changed_.NotifyOne();
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
  return event;
}

grpc::Status EventStream::status() const {
  common::MutexLock lock(&mutex_);
  return status_;
}

}  // namespace lockstep::web
