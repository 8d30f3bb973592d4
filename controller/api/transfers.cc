// Transfers that are too large for one message: histograms, and whole runs from and to other
// stores.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/log.h"
#include "controller/analysis/histograms.h"
#include "controller/api/archive_check.h"
#include "controller/api/await.h"
#include "controller/api/controller_service.h"
#include "controller/api/transfer.h"
#include "controller/runs/reports.h"
#include "proto/fields.h"

namespace lockstep::controller {
namespace {

const grpc::Status kTooMany(grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "too many calls wait for an answer; try again");

grpc::Status Refusal(AuditLog* audit, grpc::CallbackServerContext* context, Role role,
                     const google::protobuf::Message& request) {
  const std::string name = request.GetDescriptor()->name();
  const grpc::Status refused =
      audit->Require(*context, role, name.substr(0, name.rfind("Request")));
  if (!refused.ok()) return refused;
  const std::string wrong = v1::FirstProblem(request);
  return wrong.empty() ? refused : grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, wrong);
}

// Sends histograms by the hundred: a part waits until gRPC has written the one before, which would
// be slow for each histogram alone.
class HistogramSender {
 public:
  explicit HistogramSender(PartWriter<v1::HistogramsReply>* writer) : writer_(writer) {}
  absl::Status Put(const v1::LatencyHistogram& histogram) {
    *reply_.add_histograms() = histogram;
    return reply_.histograms_size() < 100 ? absl::OkStatus() : Flush();
  }
  absl::Status Flush() {
    if (reply_.histograms().empty()) return absl::OkStatus();
    const absl::Status status = writer_->Put(reply_);
    reply_.clear_histograms();
    return status;
  }

 private:
  PartWriter<v1::HistogramsReply>* writer_;
  v1::HistogramsReply reply_;
};

absl::Status SendHistograms(storage::Store* store, const std::string& run_id, bool intervals,
                            const std::string& host, HistogramSender* sender) {
  const auto data = store->LoadRun(run_id);
  if (!data.ok()) return data.status();
  if (!intervals) {
    const auto all = PhaseHistograms(*data, host);
    if (!all.ok()) return all.status();
    for (const v1::LatencyHistogram& histogram : *all) {
      if (absl::Status status = sender->Put(histogram); !status.ok()) return status;
    }
    return sender->Flush();
  }
  // A run whose samples were pruned would give an empty answer, which looks like a run without
  // I/Os.
  const auto kept = store->KeptReport(run_id);
  if (!kept.ok()) return kept.status();
  if (kept->has_value()) {
    return absl::FailedPreconditionError(
        "the samples of the run's intervals were pruned; those of its phases are there");
  }
  const absl::Status status =
      IntervalHistograms(*data, host, IntervalsOf(store, run_id),
                         [&](const v1::LatencyHistogram& h) { return sender->Put(h); });
  return status.ok() ? sender->Flush() : status;
}

// So many runs without figures are searched for the imported one. They are listed newest first, and
// it may be older than all others.
constexpr uint32_t kMaxRuns = 100000;

// An import drops the saved report, and an archive of an older Lockstep lacks figures that this
// version's SQL gives. A failure here is only logged: a controller makes missing figures when it
// starts.
void MakeFigures(storage::Store* store, const std::string& run_id) {
  const auto without = store->WithoutFigures(kMaxRuns);
  if (!without.ok() || std::find(without->begin(), without->end(), run_id) == without->end()) {
    return;
  }
  const auto report = ReportOf(store, run_id);
  absl::Status status = report.status();
  // The report is saved last, because it is what takes the run off the list of those without
  // figures. Saved first, it would hide a timeline that failed.
  if (status.ok()) status = SaveTimelines(store, run_id);
  if (status.ok()) status = store->SaveReport(run_id, *report);
  if (!status.ok()) {
    log::Warn("no figures of imported run {}: {}", run_id, std::string(status.message()));
  }
}

}  // namespace

grpc::ServerWriteReactor<v1::HistogramsReply>* ControllerService::GetHistograms(
    grpc::CallbackServerContext* context, const v1::HistogramsRequest* request) {
  auto* writer = new PartWriter<v1::HistogramsReply>(context, parts_.Admission(context));
  const grpc::Status refused = Refusal(parts_.audit, context, Role::kViewer, *request);
  if (!refused.ok()) {
    writer->End(refused);
    return writer;
  }
  const bool taken = transfer_.Run([this, writer, asked = *request] {
    std::string run_id;
    if (const grpc::Status found = Resolve(asked.run_id(), &run_id); !found.ok()) {
      return writer->End(found);
    }
    HistogramSender sender(writer);
    writer->End(
        ToGrpc(SendHistograms(parts_.store, run_id, asked.intervals(), asked.host(), &sender)));
  });
  if (!taken) writer->End(kTooMany);
  return writer;
}

grpc::ServerWriteReactor<v1::ArchivePart>* ControllerService::ExportRun(
    grpc::CallbackServerContext* context, const v1::ExportRequest* request) {
  auto* writer = new PartWriter<v1::ArchivePart>(context, parts_.Admission(context));
  const grpc::Status refused = Refusal(parts_.audit, context, Role::kViewer, *request);
  if (!refused.ok()) {
    writer->End(refused);
    return writer;
  }
  const bool taken = transfer_.Run([this, writer, text = request->run_id()] {
    std::string run_id;
    if (const grpc::Status found = Resolve(text, &run_id); !found.ok()) return writer->End(found);
    writer->End(ToGrpc(parts_.store->ExportRun(
        run_id, [writer](v1::ArchivePart part) { return writer->Put(std::move(part)); })));
  });
  if (!taken) writer->End(kTooMany);
  return writer;
}

grpc::ServerReadReactor<v1::ArchivePart>* ControllerService::ImportRun(
    grpc::CallbackServerContext* context, v1::ImportReply* reply) {
  auto* reader = new PartReader<v1::ArchivePart>(context, parts_.Admission(context));
  const Principal principal = PrincipalOf(*context);
  const grpc::Status refused = parts_.audit->Require(*context, Role::kAdmin, "import");
  if (!refused.ok()) {
    reader->End(refused);
    return reader;
  }
  const v1::AuditEntry entry = AuditLog::EntryOf(*context, principal, "import");
  const bool taken = transfer_.Run([this, reader, reply, entry, name = principal.name] {
    const auto take = [reader]() -> absl::StatusOr<std::optional<v1::ArchivePart>> {
      auto part = reader->Take();
      if (!part.ok() || !part->has_value()) return part;
      const std::string wrong = v1::FirstProblem(**part);
      if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
      return part;
    };
    const auto run_id = parts_.store->ImportRun(take, &CheckArchivedRun);
    // The entry is added before the figures are made: the import is complete by now, whatever
    // becomes of them.
    v1::AuditEntry done = entry;
    if (run_id.ok()) done.set_subject(*run_id);
    parts_.audit->Add(std::move(done), ToGrpc(run_id.status()));
    if (!run_id.ok()) return reader->End(ToGrpc(run_id.status()));
    log::Warn("{} has imported run {}", name, *run_id);
    MakeFigures(parts_.store, *run_id);
    reply->mutable_run()->set_run_id(*run_id);
    const auto run = parts_.store->GetRun(*run_id);
    if (run.ok()) {
      reply->mutable_run()->set_job_name(run->job.name());
      reply->mutable_run()->set_owner(run->owner);
      reply->mutable_run()->set_state(Text(run->state));
      reply->mutable_run()->set_submitted_at(run->submitted_at);
    }
    reader->End(grpc::Status::OK);
  });
  if (!taken) {
    parts_.audit->Add(entry, kTooMany);
    reader->End(kTooMany);
  }
  return reader;
}

grpc::ServerWriteReactor<v1::WriteLogPart>* WorkerGateway::LoadWriteLog(
    grpc::CallbackServerContext* context, const v1::WriteLogRequest* request) {
  auto* writer = new PartWriter<v1::WriteLogPart>(context, parts_.Admission(context));
  grpc::Status refused = Refusal(parts_.audit, context, Role::kWorker, *request);
  const std::string certificate = PrincipalOf(*context).certificate();
  if (refused.ok() &&
      !parts_.fleet->MayDeliver(request->worker_id(), certificate, request->session())) {
    // The worker takes FAILED_PRECONDITION for a problem that passes (worker/link/session.cc):
    // another session may have taken this one's place.
    refused = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                           "no worker of this id and session is attached with this certificate");
  }
  if (refused.ok() && !common::IsUuid(request->run_id())) {
    refused = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "run_id: is no run's id");
  }
  if (!refused.ok()) {
    writer->End(refused);
    return writer;
  }
  // Workers that follow a running load ask every second. They have threads of their own, so that
  // they never wait for a worker that reads the whole log.
  CallPool* pool = request->has_phase() ? &following_ : &write_log_;
  const bool taken = pool->Run([this, writer, context, asked = *request] {
    // A worker that has given up calls again. To answer its old call would read the store for
    // nobody.
    if (context->IsCancelled()) return writer->End(grpc::Status::CANCELLED);
    writer->End(ToGrpc(parts_.store->ReadBlockWrites(
        asked, [writer](v1::WriteLogPart part) { return writer->Put(std::move(part)); })));
  });
  if (!taken) writer->End(kTooMany);
  return writer;
}

}  // namespace lockstep::controller
