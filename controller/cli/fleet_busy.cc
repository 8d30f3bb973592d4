#include "controller/cli/fleet_busy.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace lockstep::cli {
namespace {

// A controller that hangs must not keep the workers.
constexpr absl::Duration kStatusLimit = absl::Seconds(15);

// The workers of a controller that are part of a run.
absl::StatusOr<std::set<std::string>> BusyWorkers(const Context& context) {
  std::set<std::string> busy;
  const auto stub = context.Connect();
  if (absl::IsUnavailable(stub.status())) return busy;
  if (!stub.ok()) return stub.status();
  grpc::ClientContext call;
  call.set_deadline(absl::ToChronoTime(absl::Now() + kStatusLimit));
  v1::StatusReply reply;
  const grpc::Status asked = (*stub)->GetStatus(&call, {}, &reply);
  if (asked.error_code() == grpc::StatusCode::UNAVAILABLE) return busy;
  if (!asked.ok()) return ToAbsl(asked);
  for (const v1::AttachedWorker& worker : reply.workers()) {
    if (!worker.run_id().empty()) busy.insert(worker.hello().host().name());
  }
  return busy;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> BusyHosts(const Context& context,
                                                   const std::vector<FleetRecord>& fleet) {
  std::map<std::string, std::set<std::string>> by_controller;
  std::vector<std::string> busy;
  for (const FleetRecord& record : fleet) {
    const auto [at, is_new] = by_controller.try_emplace(record.controller);
    if (is_new) {
      Context asked = context;
      const bool is_callers = record.controller == context.controller &&
                              context.tls.IsTlsWanted() != record.tls_certificate.empty();
      // As `fleet up` called it, which has accepted where it is.
      if (!record.controller.empty()) asked.insecure = true;
      if (!record.controller.empty() && !is_callers) {
        asked.controller = record.controller;
        asked.tls = {record.tls_certificate, record.tls_key, record.tls_authority};
      }
      auto workers = BusyWorkers(asked);
      if (!workers.ok()) {
        return absl::Status(
            workers.status().code(),
            absl::StrCat(
                "the controller at ", asked.controller,
                " cannot be asked whether a run is in progress: ", workers.status().message(),
                "; name it by --controller, and your certificate by --tls-dir, or give --now"));
      }
      at->second = *std::move(workers);
    }
    if (at->second.contains(record.name)) busy.push_back(record.name);
  }
  return busy;
}

}  // namespace lockstep::cli
