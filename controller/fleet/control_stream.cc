#include "controller/fleet/control_stream.h"

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "proto/fields.h"

namespace lockstep::controller {

ControlStream::ControlStream(Fleet* fleet, grpc::CallbackServerContext* context, Caller caller)
    : fleet_(fleet), context_(context), caller_(std::move(caller)) {
  if (fleet_->AddUnwelcomed(this)) {
    StartRead(&incoming_);
  } else {
    Refuse(absl::UnavailableError("too many connections have not said Hello yet"));
  }
}

void ControlStream::Command(v1::ControllerMessage message) {
  message.set_epoch(fleet_->epoch());
  if (!Send(std::move(message))) End("it does not read what it is sent");
}

void ControlStream::End(const std::string& reason) {
  if (!reason.empty()) log::Debug("a worker's connection is ended: {}", reason);
  context_->TryCancel();
}

void ControlStream::Refuse(const absl::Status& reason) {
  v1::ControllerMessage message;
  message.mutable_refused()->set_reason(std::string(reason.message()));
  // A worker that another certificate keeps out goes on dialling: an admin may run `lockstep
  // forget`.
  message.mutable_refused()->set_retry(absl::IsUnavailable(reason) ||
                                       absl::IsPermissionDenied(reason));
  Command(std::move(message));
  FinishAfterWrites();
}

void ControlStream::HandleFirst() {
  absl::Status refused;
  // A mount point or a device's model may have any name, and is cleaned. The worker's id and its
  // host's name stay as they came: the roster refuses bad ones, and a cleaned one could be another
  // worker's.
  if (incoming_.has_hello()) {
    const std::string id = incoming_.hello().worker_id();
    const std::string name = incoming_.hello().host().name();
    v1::CleanTexts(&incoming_);
    incoming_.mutable_hello()->set_worker_id(id);
    incoming_.mutable_hello()->mutable_host()->set_name(name);
  }
  if (!incoming_.has_hello()) {
    refused = absl::FailedPreconditionError("the first message must be Hello");
  } else if (refused = fleet_->Agree(incoming_.mutable_hello()); !refused.ok()) {
    // The rest of a Hello of another version need not make sense here.
    return Refuse(refused);
  } else if (const std::string wrong = v1::FirstProblem(incoming_.hello()); !wrong.empty()) {
    refused = absl::FailedPreconditionError(absl::StrCat("its Hello is invalid: ", wrong));
  } else {
    worker_id_ = incoming_.hello().worker_id();
    incoming_.mutable_hello()->set_certificate(caller_.name);
    refused = fleet_->Attach(incoming_.hello(), this);
    if (refused.ok()) return StartRead(&incoming_);
    worker_id_.clear();
  }
  Refuse(refused);
}

void ControlStream::OnReadDone(bool ok) {
  if (!ok) return FinishNow(grpc::Status(grpc::StatusCode::CANCELLED, "the worker hung up"));
  // The clock is read before anything else: time that passes here would widen the bound of the
  // worker's clock.
  const int64_t received = fleet_->clock().MonotonicNs();
  if (worker_id_.empty()) return HandleFirst();
  // A worker's texts are logged, stored and shown. A clock reply has none.
  if (!incoming_.has_clock_reply()) v1::CleanTexts(&incoming_);
  if (fleet_->OnMessage(worker_id_, this, incoming_, received)) StartRead(&incoming_);
}

void ControlStream::OnDone() {
  if (!worker_id_.empty()) fleet_->Detach(worker_id_, this);
  fleet_->RemoveUnwelcomed(this);
  delete this;
}

}  // namespace lockstep::controller
