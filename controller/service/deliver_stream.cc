#include "controller/service/deliver_stream.h"

namespace lockstep::controller {

DeliverStream* DeliverStream::Make(Fleet* fleet, IngestPipeline* ingest) {
  std::shared_ptr<DeliverStream> stream(new DeliverStream(fleet, ingest));
  stream->self_ = stream;
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

void DeliverStream::OnReadDone(bool ok) {
  if (!ok) return FinishNow(grpc::Status(grpc::StatusCode::CANCELLED, "the worker hung up"));
  if (worker_id_.empty()) {
    const v1::DeliverHello& hello = incoming_.hello();
    if (!incoming_.has_hello() || hello.protocol_version() != v1::PROTOCOL_VERSION_CURRENT) {
      return FinishNow(grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "the first message must be DeliverHello of this protocol version"));
    }
    if (!fleet_->IsAttached(hello.worker_id())) {
      return FinishNow(grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no worker of this id is attached"));
    }
    worker_id_ = hello.worker_id();
  } else if (incoming_.has_batch()) {
    ingest_->Deliver(worker_id_, incoming_.batch(), [stream = self_](const v1::DeliveryAck& ack) { stream->Send(ack); });
  } else {
    return FinishNow(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "a message that is not a batch"));
  }
  StartRead(&incoming_);
}

}  // namespace lockstep::controller
