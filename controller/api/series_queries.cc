// Reports in parts, and phases over time: what a page asks for, answered from what was made when
// the run ended.

#include "absl/strings/str_cat.h"
#include "controller/analysis/series.h"
#include "controller/api/await.h"
#include "controller/api/controller_service.h"
#include "controller/api/report_parts.h"
#include "controller/report/verdict.h"
#include "controller/runs/reports.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

constexpr uint32_t kPoints = 1000;

}  // namespace

grpc::Status ControllerService::FindReport(const std::string& run_id, ReportFrom from,
                                           v1::Report* report) const {
  if (from == ReportFrom::kSaved) {
    // A saved report costs one row. A report that is made anew reads all intervals of the run.
    auto saved = parts_.store->SavedReport(run_id);
    if (!saved.ok()) return ToGrpc(saved.status());
    if (saved->has_value()) {
      *report = **std::move(saved);
      return grpc::Status::OK;
    }
  }
  auto made = ReportOf(parts_.store, run_id);
  if (!made.ok()) return ToGrpc(made.status());
  *report = *std::move(made);
  return grpc::Status::OK;
}

grpc::ServerUnaryReactor* ControllerService::GetReport(grpc::CallbackServerContext* context,
                                                       const v1::ReportRequest* request,
                                                       v1::Report* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kViewer, *request, &admitted);
  if (!admitted) return call;
  const bool whole = request->part() == v1::ReportRequest::PART_WHOLE;
  // Parts of a report are quick once it is saved. They have threads of their own, so that a page
  // does not wait behind whole reports.
  (whole ? report_ : page_).Serve(call, [this, whole, request, reply] {
    std::string run_id;
    if (const grpc::Status found = Resolve(request->run_id(), &run_id); !found.ok()) return found;
    v1::RunSummary known;
    // A run in progress has no saved report, and to make one would read all rows that it has so
    // far. Its head is the coordinator's summary.
    if (request->part() == v1::ReportRequest::PART_HEAD) {
      if (const grpc::Status found = FindKnown(run_id, &known); !found.ok()) return found;
    }
    if (!known.run_id().empty()) {
      *reply->mutable_run() = known;
    } else {
      const grpc::Status found =
          FindReport(run_id, whole ? ReportFrom::kSamples : ReportFrom::kSaved, reply);
      if (!found.ok()) return found;
    }
    // Notes may be written after the report was saved.
    if (whole || request->part() == v1::ReportRequest::PART_ENVIRONMENT) {
      const auto notes = parts_.store->Notes(run_id);
      if (!notes.ok()) return ToGrpc(notes.status());
      AddNotes(*notes, reply);
    }
    AddVerdict(reply);
    reply->set_store(parts_.store->Describe());
    const std::string missing = CutTo(*request, reply);
    return missing.empty() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::NOT_FOUND, missing);
  });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::GetSeries(grpc::CallbackServerContext* context,
                                                       const v1::SeriesRequest* request,
                                                       v1::SeriesReply* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kViewer, *request, &admitted);
  if (!admitted) return call;
  page_.Serve(call, [this, request, reply] {
    std::string run_id;
    if (const grpc::Status found = Resolve(request->run_id(), &run_id); !found.ok()) return found;
    const double step = request->step_seconds();
    // The negated form refuses NaN, too. The upper bound keeps the nanoseconds below within an
    // int64_t, beyond which the conversion is undefined.
    if (!(step >= 0 && step <= 1e6)) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                          "step_seconds: a number from 0 to 1,000,000");
    }
    const auto stored = parts_.store->PhaseOf(run_id, request->phase());
    if (!stored.ok()) return ToGrpc(stored.status());
    reply->set_phase(stored->phase.phase);
    reply->set_phase_name(stored->phase.name);
    reply->set_interval_seconds(static_cast<double>(stored->phase.interval_ns) / 1e9);
    const v1::PhaseId id = IdOf(run_id, stored->phase);
    const size_t most = request->max_points() == 0 ? kPoints : request->max_points();
    const auto step_ns = static_cast<int64_t>(step * 1e9);
    const bool has_load = stored->phase.kind != measure::Text(measure::PhaseKind::kObserve);
    if (!has_load && (request->what() == v1::SeriesRequest::WHAT_HOSTS ||
                      request->what() == v1::SeriesRequest::WHAT_LATENCIES)) {
      return grpc::Status(grpc::StatusCode::NOT_FOUND,
                          absl::StrCat("phase ", stored->phase.name,
                                       " observes, and has no IOPS and latencies of hosts"));
    }
    if (request->what() == v1::SeriesRequest::WHAT_HOSTS) {
      auto table = parts_.store->HostTimeline(id);
      if (!table.ok()) return ToGrpc(table.status());
      table->Thin(most, step_ns);
      AddHostSeries(*table, stored->hosts, reply);
      return grpc::Status::OK;
    }
    const auto points = parts_.store->FleetTimeline(id);
    if (!points.ok()) return ToGrpc(points.status());
    const std::vector<measure::FleetPoint> thin = measure::Thinned(*points, step_ns, most);
    request->what() == v1::SeriesRequest::WHAT_LATENCIES ? AddLatencySeries(thin, reply)
                                                         : AddFleetSeries(thin, reply);
    if (!has_load) DropLoad(reply->mutable_fleet());
    return grpc::Status::OK;
  });
  return call;
}

}  // namespace lockstep::controller
