#include "controller/api/deliver_stream.h"

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/mutex.h"

namespace lockstep::controller {

DeliverStream* DeliverStream::Make(Fleet* fleet, IngestPipeline* ingest, std::string certificate,
                                   std::shared_ptr<void> admission) {
  std::shared_ptr<DeliverStream> stream(
      new DeliverStream(fleet, ingest, std::move(certificate), std::move(admission)));
  stream->self_ = stream;
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

void DeliverStream::OnReadDone(bool ok) {
  if (!ok) return FinishNow(grpc::Status(grpc::StatusCode::CANCELLED, "the worker hung up"));
  if (worker_id_.empty()) {
    const v1::DeliverHello& hello = incoming_.hello();
    if (!incoming_.has_hello()) {
      return FinishNow(grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                                    "the first message must be DeliverHello"));
    }
    // The session comes from the Welcome on the Control stream. Without TLS nothing else ties this
    // stream to the worker whose id it claims.
    if (!fleet_->MayDeliver(hello.worker_id(), certificate_, hello.session())) {
      return FinishNow(
          grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                       "no worker of this id and session is attached with this certificate"));
    }
    if (const uint32_t spoken = fleet_->SpokenVersion(hello.worker_id());
        hello.protocol_version() != spoken) {
      return FinishNow(grpc::Status(
          grpc::StatusCode::FAILED_PRECONDITION,
          absl::StrCat("DeliverHello names protocol version ", hello.protocol_version(),
                       "; this session speaks version ", spoken)));
    }
    worker_id_ = hello.worker_id();
    session_ = hello.session();
  } else if (incoming_.has_batch()) {
    // Each batch is checked again: since the first message another process, or another connection
    // of the same one, may have taken the worker's place.
    if (!fleet_->MayDeliver(worker_id_, certificate_, session_)) {
      return FinishNow(grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "the session is over"));
    }
    {
      common::MutexLock lock(&flow_mutex_);
      // The batch counts before it is delivered. Its answer may come before Deliver() returns, on
      // this thread or another, and must find it counted.
      ++unanswered_;
    }
    // The lock is free here: a batch that is refused is acknowledged within Deliver(), and OnAck()
    // takes the lock.
    ingest_->Deliver(worker_id_, incoming_.batch(),
                     [stream = self_](const v1::DeliveryAck& ack) { stream->OnAck(ack); });
    common::MutexLock lock(&flow_mutex_);
    // Without a read, HTTP/2 flow control makes the worker wait. gRPC allows one read at a time, so
    // either this begins the next one or OnAck() does, never both.
    paused_ = unanswered_ >= static_cast<size_t>(limits::kUnansweredBatches);
    if (!paused_) ReadNext(&incoming_);
    return;
  } else {
    return FinishNow(
        grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "a message that is not a batch"));
  }
  StartRead(&incoming_);
}

// One answer speaks for all batches before it, since they are committed or spooled in order. The
// count goes to zero: counted down by one, it would grow until the stream pauses for good.
void DeliverStream::OnAck(const v1::DeliveryAck& ack) {
  Send(ack);
  common::MutexLock lock(&flow_mutex_);
  unanswered_ = 0;
  if (paused_) ReadNext(&incoming_);
  paused_ = false;
}

}  // namespace lockstep::controller
