// Questions about runs that have ended, and what is done with them afterwards: lists, comparisons,
// trends, labels, pruning.

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/units.h"
#include "controller/analysis/observed_figures.h"
#include "controller/analysis/trends.h"
#include "controller/api/await.h"
#include "controller/api/controller_service.h"
#include "controller/api/run_filter.h"
#include "controller/runs/reports.h"
#include "google/protobuf/util/json_util.h"
#include "measure/states.h"
#include "proto/job.pb.h"

namespace lockstep::controller {
namespace {

constexpr uint32_t kTrendRuns = 100;

grpc::Status Invalid(const std::string& words) {
  return {grpc::StatusCode::INVALID_ARGUMENT, words};
}

std::vector<std::string> IdsOf(const v1::HistoryReply& history) {
  std::vector<std::string> ids;
  for (const v1::RunSummary& run : history.runs()) ids.push_back(run.run_id());
  return ids;
}

// INVALID_ARGUMENT with the figures that can be judged, where one of `judged` is none of them.
grpc::Status CheckJudged(const std::vector<std::string>& judged) {
  const std::vector<std::string> known = JudgedOnRequest();
  for (const std::string& name : judged) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Invalid(absl::StrCat("'", name, "' is no figure to be judged on request; those are ",
                                absl::StrJoin(known, ", ")));
  }
  return grpc::Status::OK;
}

// The note to store. INVALID_ARGUMENT where its time is none, or its text.
absl::StatusOr<storage::NewNote> NoteOf(const std::string& author, const v1::NoteRequest& request) {
  storage::NewNote note{author, request.text(), std::nullopt, std::nullopt};
  if (absl::StripAsciiWhitespace(request.text()).empty()) {
    return absl::InvalidArgumentError("text: is empty; write what happened");
  }
  const std::string& at = request.at();
  if (at.empty()) return note;
  if (at[0] == '+') {
    const auto after = common::ParseDuration(at.substr(1));
    if (!after.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "at: '", at, "' is no time after the run's start; write +12s, +1.5m or +250ms"));
    }
    note.after_start_ns = *after;
    return note;
  }
  const auto instant = ParseInstant("at", at);
  if (!instant.ok()) return instant.status();
  note.at_wall_ns = absl::ToUnixNanos(*instant);
  return note;
}

struct KindsOfPhases {
  bool observes = false;
  bool has_load = false;
};

// What the job, as JSON, has. A job of another version that cannot be read has nothing: the
// comparison warns of it.
KindsOfPhases KindsIn(const std::string& job_json) {
  KindsOfPhases kinds;
  v1::JobSpec job;
  if (!google::protobuf::util::JsonStringToMessage(job_json, &job).ok()) return kinds;
  for (const v1::PhaseSpec& phase : job.phases()) {
    kinds.observes |= phase.has_observe();
    kinds.has_load |= phase.has_run();
  }
  return kinds;
}

bool IsEmpty(const v1::RunFilter& filter) { return filter.ByteSizeLong() == 0; }

}  // namespace

grpc::ServerUnaryReactor* ControllerService::GetHistory(grpc::CallbackServerContext* context,
                                                        const v1::HistoryRequest* request,
                                                        v1::HistoryReply* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kViewer, *request, &admitted);
  if (!admitted) return call;
  ask_.Serve(call, [this, request, reply] {
    v1::HistoryRequest asked = *request;
    if (const absl::Status wrong = NormaliseFilter(asked.mutable_filter()); !wrong.ok()) {
      return ToGrpc(wrong);
    }
    auto history = parts_.store->History(asked);
    if (!history.ok()) return ToGrpc(history.status());
    *reply = *std::move(history);
    return grpc::Status::OK;
  });
  return call;
}

grpc::Status ControllerService::Gather(const v1::RunsOf& of, RunSet* set) const {
  set->name = of.name();
  std::vector<std::string> ids;
  if (of.run_ids().empty()) {
    if (IsEmpty(of.filter())) {
      return Invalid(absl::StrCat("set ", of.name(), ": neither runs nor a filter are given"));
    }
    v1::HistoryRequest request;
    *request.mutable_filter() = of.filter();
    request.set_limit(limits::kComparedRuns);
    if (const absl::Status wrong = NormaliseFilter(request.mutable_filter()); !wrong.ok()) {
      return ToGrpc(wrong);
    }
    const auto history = parts_.store->History(request);
    if (!history.ok()) return ToGrpc(history.status());
    if (history->runs().empty()) {
      return {grpc::StatusCode::NOT_FOUND, absl::StrCat("no run matches ", of.name())};
    }
    // A set that is cut off at the limit would give a comparison of other runs than the filter
    // says.
    if (history->total() > limits::kComparedRuns) {
      return Invalid(absl::StrCat(of.name(), " matches ", history->total(), " runs; at most ",
                                  limits::kComparedRuns, " are compared: narrow it by --since"));
    }
    ids = IdsOf(*history);
  }
  for (const std::string& text : of.run_ids()) {
    std::string id;
    if (const grpc::Status found = Resolve(text, &id); !found.ok()) return found;
    ids.push_back(id);
  }
  // A run that counts twice would make the set look less scattered than it is. Ids are compared
  // after they are resolved: `last` and an id may be the same run.
  const std::set<std::string> distinct(ids.begin(), ids.end());
  if (distinct.size() != ids.size()) {
    return Invalid(absl::StrCat("set ", of.name(), ": a run is named twice"));
  }
  auto figures = parts_.store->Figures(ids);
  if (!figures.ok()) return ToGrpc(figures.status());
  set->runs = *std::move(figures);
  for (v1::RunFigures& run : set->runs) {
    const KindsOfPhases kinds = KindsIn(run.job());
    run.set_has_load(kinds.has_load);
    // A run that did not end well is not compared, and one in progress has no saved report.
    if (!measure::Is(run.run(), measure::RunState::kDone) || !kinds.observes) continue;
    // Observe phases have no rows in the tables of figures. A run's saved report has them.
    v1::Report report;
    const grpc::Status found = FindReport(run.run().run_id(), ReportFrom::kSaved, &report);
    // Nothing can be said without the store. One report that cannot be read must not hide the
    // others.
    if (found.error_code() == grpc::StatusCode::UNAVAILABLE) return found;
    if (!found.ok()) {
      set->warnings.push_back(
          absl::StrCat("run ", run.run().run_id().substr(0, 8),
                       ": its observe phases cannot be read: ", found.error_message()));
      continue;
    }
    AddObservedPhases(report, &run);
  }
  std::sort(set->runs.begin(), set->runs.end(), [](const auto& a, const auto& b) {
    return std::pair(a.run().submitted_at(), a.run().run_id()) <
           std::pair(b.run().submitted_at(), b.run().run_id());
  });
  return grpc::Status::OK;
}

grpc::ServerUnaryReactor* ControllerService::Compare(grpc::CallbackServerContext* context,
                                                     const v1::CompareRequest* request,
                                                     v1::Comparison* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kViewer, *request, &admitted);
  if (!admitted) return call;
  report_.Serve(call, [this, request, reply] {
    if (request->sets_size() < 2) return Invalid("a comparison needs two sets of runs or more");
    std::vector<RunSet> sets(static_cast<size_t>(request->sets_size()));
    std::set<std::string> seen;
    for (int s = 0; s < request->sets_size(); ++s) {
      RunSet& set = sets[static_cast<size_t>(s)];
      if (const grpc::Status status = Gather(request->sets(s), &set); !status.ok()) return status;
      for (const v1::RunFigures& run : set.runs) {
        if (seen.insert(run.run().run_id()).second) continue;
        return Invalid(absl::StrCat("run ", run.run().run_id().substr(0, 8),
                                    " is in two of the sets: nothing can be compared with itself"));
      }
    }
    const std::vector<std::string> judged(request->judged().begin(), request->judged().end());
    if (const grpc::Status status = CheckJudged(judged); !status.ok()) return status;
    *reply = controller::Compare(
        sets,
        request->has_max_regression() ? std::optional(request->max_regression()) : std::nullopt,
        judged);
    return grpc::Status::OK;
  });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::GetTrends(grpc::CallbackServerContext* context,
                                                       const v1::TrendsRequest* request,
                                                       v1::TrendsReply* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kViewer, *request, &admitted);
  if (!admitted) return call;
  report_.Serve(call, [this, request, reply] {
    v1::HistoryRequest asked;
    *asked.mutable_filter() = request->filter();
    asked.set_offset(request->offset());
    asked.set_limit(request->limit() == 0 ? kTrendRuns : request->limit());
    if (const absl::Status wrong = NormaliseFilter(asked.mutable_filter()); !wrong.ok()) {
      return ToGrpc(wrong);
    }
    const auto history = parts_.store->History(asked);
    if (!history.ok()) return ToGrpc(history.status());
    std::vector<std::string> ids = IdsOf(*history);
    // History is newest first, a trend oldest first. Figures keep the order of the ids.
    std::reverse(ids.begin(), ids.end());
    const auto figures = parts_.store->Figures(ids);
    if (!figures.ok()) return ToGrpc(figures.status());
    for (v1::Trend& trend : TrendsOf(*figures)) *reply->add_trends() = std::move(trend);
    return grpc::Status::OK;
  });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::SetLabels(grpc::CallbackServerContext* context,
                                                       const v1::LabelsRequest* request,
                                                       v1::LabelsReply* reply) {
  const Principal principal = PrincipalOf(*context);
  bool admitted = false;
  std::string change;
  for (const auto& [key, value] : request->labels()) absl::StrAppend(&change, key, "=", value, " ");
  for (const std::string& key : request->removed_labels()) absl::StrAppend(&change, "-", key, " ");
  Call* call = Admit(context, Role::kSubmitter, *request, &admitted,
                     {"label", change, [request] { return request->run_id(); }});
  if (!admitted) return call;
  ask_.Serve(call, [this, principal, request, reply] {
    v1::RunSummary run;
    if (const grpc::Status found = FindStored(request->run_id(), &run); !found.ok()) return found;
    if (principal.role != Role::kAdmin && run.owner() != principal.name) {
      return grpc::Status(
          grpc::StatusCode::PERMISSION_DENIED,
          absl::StrCat("the run is ", run.owner(), "'s; only its owner or an admin labels it"));
    }
    for (const auto& [key, value] : request->labels()) {
      // Filters write a label as NAME=VALUE and split at the first `=`. A name that contains one
      // could never be found.
      if (key.empty() || key.find('=') != std::string::npos) {
        return Invalid(absl::StrCat("'", key, "' is no name of a label"));
      }
    }
    auto labels = parts_.store->SetLabels(run.run_id(), *request);
    if (!labels.ok()) return ToGrpc(labels.status());
    *reply = *std::move(labels);
    return grpc::Status::OK;
  });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::AddNote(grpc::CallbackServerContext* context,
                                                     const v1::NoteRequest* request,
                                                     v1::NoteReply* reply) {
  const Principal principal = PrincipalOf(*context);
  bool admitted = false;
  Call* call = Admit(
      context, Role::kSubmitter, *request, &admitted,
      // A call that was refused has no full id: the audit log then names the run as the caller did.
      {"note", absl::StrCat(request->at(), request->at().empty() ? "" : ": ", request->text()),
       [request, reply] { return reply->run_id().empty() ? request->run_id() : reply->run_id(); }});
  if (!admitted) return call;
  ask_.Serve(call, [this, principal, request, reply] {
    auto note = NoteOf(principal.name, *request);
    if (!note.ok()) return ToGrpc(note.status());
    std::string run_id;
    if (const grpc::Status found = Resolve(request->run_id(), &run_id); !found.ok()) return found;
    auto added = parts_.store->AddNote(run_id, *note);
    if (!added.ok()) return ToGrpc(added.status());
    reply->set_run_id(run_id);
    *reply->mutable_note() = *std::move(added);
    ReportToWatchers(run_id, reply->note());
    return grpc::Status::OK;
  });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::RemoveNote(grpc::CallbackServerContext* context,
                                                        const v1::RemoveNoteRequest* request,
                                                        v1::NoteReply* reply) {
  const Principal principal = PrincipalOf(*context);
  bool admitted = false;
  Call* call = Admit(context, Role::kSubmitter, *request, &admitted,
                     {"note", absl::StrCat("remove ", request->number()), [request, reply] {
                        return reply->run_id().empty() ? request->run_id() : reply->run_id();
                      }});
  if (!admitted) return call;
  ask_.Serve(call, [this, principal, request, reply] {
    std::string run_id;
    if (const grpc::Status found = Resolve(request->run_id(), &run_id); !found.ok()) return found;
    // The store compares the author where it removes the note, so that nothing comes in between.
    const auto author =
        principal.role == Role::kAdmin ? std::nullopt : std::optional(principal.name);
    auto removed = parts_.store->RemoveNote(run_id, request->number(), author);
    if (!removed.ok()) return ToGrpc(removed.status());
    reply->set_run_id(run_id);
    *reply->mutable_note() = *std::move(removed);
    // They have the note on their screens already.
    v1::EventReport event;
    event.set_severity(Text(measure::Severity::kInfo));
    event.set_message(absl::StrCat(principal.name, " removed note ", request->number(), " of ",
                                   reply->note().author()));
    ReportToWatchers(run_id, event);
    return grpc::Status::OK;
  });
  return call;
}

void ControllerService::ReportToWatchers(const std::string& run_id,
                                         const v1::EventReport& event) const {
  // Watchers keep the events of runs in progress alone: of another run they would never drop it.
  v1::RunSummary known;
  if (!FindKnown(run_id, &known).ok() || known.run_id().empty()) return;
  v1::WatchEvent message;
  *message.mutable_event() = event;
  parts_.watchers->Publish(run_id, message);
}

// Lets the attached workers remove what they saved of the runs; the others do so by their own
// limits.
void ControllerService::ForgetRuns(const v1::PruneReply& pruned) const {
  // A thousand ids are about 38 kB. A message stays far below limits::kWorkerBytes, however many
  // runs are pruned.
  constexpr int kAtOnce = 1000;
  for (int first = 0; first < pruned.removed_run_ids_size(); first += kAtOnce) {
    v1::ControllerMessage message;
    const int end = std::min(first + kAtOnce, pruned.removed_run_ids_size());
    for (int i = first; i < end; ++i) {
      message.mutable_runs_pruned()->add_run_ids(pruned.removed_run_ids(i));
    }
    for (const v1::Hello& hello : parts_.fleet->Hellos()) {
      parts_.fleet->Send(hello.worker_id(), message);
    }
  }
}

grpc::ServerUnaryReactor* ControllerService::Prune(grpc::CallbackServerContext* context,
                                                   const v1::PruneRequest* request,
                                                   v1::PruneReply* reply) {
  const Principal principal = PrincipalOf(*context);
  bool admitted = false;
  Call* call = Admit(context, Role::kAdmin, *request, &admitted,
                     // A dry run changes nothing, and is not in the audit log.
                     {request->dry_run() ? "" : "prune",
                      absl::StrCat(request->samples_only() ? "samples of " : "",
                                   request->filter().ShortDebugString()),
                      [reply] { return absl::StrCat(reply->runs(), " runs"); }});
  if (!admitted) return call;
  report_.Serve(call, [this, principal, request, reply] {
    v1::PruneRequest asked = *request;
    // Fields that a newer program knows count as content of the filter but select nothing here. A
    // filter of only these would otherwise prune all runs.
    asked.mutable_filter()->DiscardUnknownFields();
    if (IsEmpty(asked.filter())) {
      return Invalid("say which runs: by age, label, job, owner, host, device or state");
    }
    if (const absl::Status wrong = NormaliseFilter(asked.mutable_filter()); !wrong.ok()) {
      return ToGrpc(wrong);
    }
    auto pruned = parts_.store->Prune(
        asked, [this](const std::string& run_id) { return ReportOf(parts_.store, run_id); });
    if (!pruned.ok()) return ToGrpc(pruned.status());
    *reply = *std::move(pruned);
    ForgetRuns(*reply);
    if (!asked.dry_run()) {
      log::Warn("{} has pruned {} of {:.0f} runs", principal.name,
                asked.samples_only() ? "the samples" : "all", reply->runs());
    }
    return grpc::Status::OK;
  });
  return call;
}

}  // namespace lockstep::controller
