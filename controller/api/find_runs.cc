// Which run a caller means.

#include "absl/strings/str_cat.h"
#include "controller/api/await.h"
#include "controller/api/controller_service.h"

namespace lockstep::controller {

absl::StatusOr<std::vector<v1::RunSummary>> ControllerService::KnownRuns() const {
  // The coordinator answers from memory. A stop and a status work while the store is unavailable.
  return Await<std::vector<v1::RunSummary>>([&](auto done) { parts_.coordinator->Runs(done); });
}

grpc::Status ControllerService::Resolve(const std::string& text, std::string* run_id) const {
  if (text.empty()) {
    return {grpc::StatusCode::INVALID_ARGUMENT,
            "no run is named; write its id, the start of it, or `last`"};
  }
  const auto found = parts_.store->ResolveRun(text);
  if (!found.ok()) return ToGrpc(found.status());
  *run_id = *found;
  return grpc::Status::OK;
}

namespace {

std::string ListOf(const std::vector<v1::RunSummary>& runs) {
  std::string list;
  size_t listed = 0;
  for (const v1::RunSummary& run : runs) {
    if (++listed > 8) return absl::StrCat(list, ", … (", runs.size(), ")");
    absl::StrAppend(&list, list.empty() ? "" : ", ", run.run_id().substr(0, 8), " (",
                    run.job_name(), ", ", run.state(), ")");
  }
  return list;
}

}  // namespace

// Finds a run in progress without the store, which may be unavailable. OK with an empty `run` means
// that no run in progress matches.
grpc::Status ControllerService::FindKnown(const std::string& text, v1::RunSummary* run) const {
  auto known = KnownRuns();
  if (!known.ok()) return ToGrpc(known.status());
  std::vector<v1::RunSummary> matches;
  for (v1::RunSummary& candidate : *known) {
    if (candidate.run_id().rfind(text, 0) == 0) matches.push_back(std::move(candidate));
  }
  if (matches.size() > 1) {
    return {grpc::StatusCode::INVALID_ARGUMENT,
            absl::StrCat("several runs' ids begin with '", text, "': ", ListOf(matches))};
  }
  if (matches.size() == 1) *run = std::move(matches[0]);
  return grpc::Status::OK;
}

grpc::Status ControllerService::FindStored(const std::string& text, v1::RunSummary* run) const {
  std::string run_id;
  if (const grpc::Status found = Resolve(text, &run_id); !found.ok()) return found;
  const auto stored = parts_.store->GetRun(run_id);
  if (!stored.ok()) return ToGrpc(stored.status());
  run->set_run_id(run_id);
  run->set_owner(stored->owner);
  run->set_job_name(stored->job.name());
  return grpc::Status::OK;
}

// Here `last` means the only run that can be stopped. Elsewhere it is the run that was submitted
// last, which would stop the wrong one of several.
grpc::Status ControllerService::FindStoppable(const std::string& text, v1::RunSummary* run) const {
  if (text.empty()) {
    return {grpc::StatusCode::INVALID_ARGUMENT,
            "no run is named; write its id, the start of it, or `last`"};
  }
  if (text != "last") return FindKnown(text, run);
  auto known = KnownRuns();
  if (!known.ok()) return ToGrpc(known.status());
  if (known->empty()) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "nothing is queued or in progress"};
  }
  if (known->size() > 1) {
    return {
        grpc::StatusCode::INVALID_ARGUMENT,
        absl::StrCat("several runs are queued or in progress; write which one: ", ListOf(*known))};
  }
  *run = std::move((*known)[0]);
  return grpc::Status::OK;
}

}  // namespace lockstep::controller
