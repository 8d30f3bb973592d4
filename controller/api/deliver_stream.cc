#include "controller/api/deliver_stream.h"

#include "common/limits.h"
#include "common/mutex.h"

namespace lockstep::controller {

DeliverStream* DeliverStream::Make(Fleet* fleet, IngestPipeline* ingest, std::string certificate) {
  std::shared_ptr<DeliverStream> stream(new DeliverStream(fleet, ingest, std::move(certificate)));
  stream->self_ = stream;
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

void DeliverStream::OnReadDone(bool ok) {
  if (!ok) return FinishNow(grpc::Status(grpc::StatusCode::CANCELLED, "the worker hung up"));
  if (worker_id_.empty()) {
    const v1::DeliverHello& hello = incoming_.hello();
    if (!incoming_.has_hello() || hello.protocol_version() != v1::PROTOCOL_VERSION_CURRENT) {
      return FinishNow(
          grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                       "the first message must be DeliverHello of this protocol version"));
    }
    if (!fleet_->MayDeliver(hello.worker_id(), certificate_, hello.session())) {
      return FinishNow(
          grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                       "no worker of this id and session is attached with this certificate"));
    }
    worker_id_ = hello.worker_id();
    session_ = hello.session();
  } else if (incoming_.has_batch()) {
    // Another process, or another connection of the same one, may have taken its place during that
    // time.
    if (!fleet_->MayDeliver(worker_id_, certificate_, session_)) {
      return FinishNow(grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "the session is over"));
    }
    {
      common::MutexLock lock(&flow_mutex_);
      ++unanswered_;
    }
    ingest_->Deliver(worker_id_, incoming_.batch(),
                     [stream = self_](const v1::DeliveryAck& ack) { stream->OnAck(ack); });
    common::MutexLock lock(&flow_mutex_);
    paused_ = unanswered_ >= static_cast<size_t>(limits::kUnansweredBatches);
    if (!paused_) ReadNext(&incoming_);
    return;
  } else {
    return FinishNow(
        grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "a message that is not a batch"));
  }
  StartRead(&incoming_);
}

// One answer speaks for all batches before it: they are committed, or spooled, in order.
void DeliverStream::OnAck(const v1::DeliveryAck& ack) {
  Send(ack);
  common::MutexLock lock(&flow_mutex_);
  unanswered_ = 0;
  if (paused_) ReadNext(&incoming_);
  paused_ = false;
}

}  // namespace lockstep::controller
