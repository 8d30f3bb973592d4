#pragma once

#include <memory>
#include <string>

#include "common/mutex.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/queued_stream.h"
#include "controller/ingest/ingest_pipeline.h"
#include "proto/worker.pb.h"

namespace lockstep::controller {

// One worker's Deliver stream on the server. While several batches are without an answer it reads
// no more, so that what a worker can pile up here is bounded. Kept alive by gRPC until OnDone(),
// and by acknowledgements under way.
class DeliverStream final : public QueuedStream<v1::Delivery, v1::DeliveryAck> {
 public:
  // `fleet` and `ingest` outlive this; `admission` lives until OnDone().
  static DeliverStream* Make(Fleet* fleet, IngestPipeline* ingest, std::string certificate,
                             std::shared_ptr<void> admission = nullptr);
  void OnReadDone(bool ok) override;
  void OnDone() override {
    // An acknowledgement under way may hold this for longer than gRPC's context lives.
    admission_.reset();
    self_.reset();
  }

 private:
  DeliverStream(Fleet* fleet, IngestPipeline* ingest, std::string certificate,
                std::shared_ptr<void> admission)
      : fleet_(fleet),
        ingest_(ingest),
        certificate_(std::move(certificate)),
        admission_(std::move(admission)) {}
  void OnAck(const v1::DeliveryAck& ack);

  Fleet* fleet_;
  IngestPipeline* ingest_;
  const std::string certificate_;  // the name in the caller's; empty without TLS
  std::shared_ptr<void> admission_;
  std::string session_;
  v1::Delivery incoming_;
  std::string worker_id_;
  common::Mutex flow_mutex_;
  size_t unanswered_ ABSL_GUARDED_BY(flow_mutex_) = 0;  // batches read since the last answer
  bool paused_ ABSL_GUARDED_BY(flow_mutex_) = false;    // no read is under way
  std::shared_ptr<DeliverStream> self_;
};

class RefusedDeliverStream final : public grpc::ServerBidiReactor<v1::Delivery, v1::DeliveryAck> {
 public:
  explicit RefusedDeliverStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace lockstep::controller
