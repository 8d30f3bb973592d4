#include "controller/plan/observes.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/plan/fleet_uses.h"

namespace lockstep::controller {
namespace {

// A fleet's hosts may leave out as many things, of which the first tell what is wrong.
constexpr size_t kMaxWarnings = 100;

constexpr size_t kNamedIdentities = 4;

std::string SomeOf(const std::set<std::string>& identities) {
  std::vector<std::string> some;
  for (const std::string& identity : identities) {
    if (some.size() == kNamedIdentities) break;
    some.push_back(identity);
  }
  const size_t more = identities.size() - some.size();
  return absl::StrCat(absl::StrJoin(some, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// Why a phase that compares its devices with another run cannot: that run measured none of those
// that were asked for. Empty if it can.
std::string NothingToCompare(const v1::PhaseSpec& phase, int index,
                             const std::vector<PlanWorker>& workers) {
  const v1::ObservePhase& observe = phase.observe();
  std::set<std::string> measured;
  std::set<std::string> keys;
  for (const v1::MeasuredLimit& limit : observe.limits()) {
    measured.insert(limit.identity());
    keys.insert(limit.device_key());
  }
  std::set<std::string> seen;
  for (const PlanWorker& worker : workers) {
    if (index >= worker.inspection.observed_size()) continue;
    for (const v1::ObservedDevice& device : worker.inspection.observed(index).devices()) {
      // A limit belongs to a device that the other run used itself, so a disk underneath is none.
      if (device.identity().empty() || device.only_underneath()) continue;
      const std::string key = DeviceKey(device.identity(), worker.hello.host().boot_id());
      if (keys.contains(key)) return "";
      seen.insert(device.identity());
    }
  }
  return absl::StrCat("phase ", phase.name(), ": nothing can be compared with run ",
                      observe.compare_with().substr(0, 8), ", which measured other devices (",
                      SomeOf(measured), ") than those that are observed (",
                      seen.empty() ? "none with an identity" : SomeOf(seen),
                      "); observe a device that it measured, or leave compare_with out");
}

v1::ObserveRequest RequestOf(const v1::ObservePhase& observe) {
  v1::ObserveRequest request;
  *request.mutable_devices() = observe.devices();
  return request;
}

}  // namespace

std::vector<Observe> ObservesOf(const v1::JobSpec& job) {
  std::vector<Observe> observes;
  std::map<std::string, size_t> known;  // by the request as text
  for (const v1::PhaseSpec& phase : job.phases()) {
    if (!phase.has_observe()) continue;
    v1::ObserveRequest request = RequestOf(phase.observe());
    // Phases that observe the same share one request. A worker answers in the order of this list,
    // so ObserveIndexOf() must find the same order again. The message has no map, so equal requests
    // have equal bytes.
    if (known.emplace(request.SerializeAsString(), observes.size()).second) {
      observes.push_back({phase.name(), std::move(request)});
    }
  }
  return observes;
}

int ObserveIndexOf(const v1::JobSpec& job, const v1::PhaseSpec& phase) {
  if (!phase.has_observe()) return -1;
  const std::string wanted = RequestOf(phase.observe()).SerializeAsString();
  const std::vector<Observe> observes = ObservesOf(job);
  for (size_t i = 0; i < observes.size(); ++i) {
    if (observes[i].request.SerializeAsString() == wanted) return static_cast<int>(i);
  }
  return -1;
}

ObserveCheck CheckObserves(const v1::JobSpec& job, const std::vector<PlanWorker>& workers) {
  ObserveCheck check;
  std::set<std::string> warned;
  bool has_more = false;
  const std::vector<Observe> observes = ObservesOf(job);
  for (size_t i = 0; i < observes.size(); ++i) {
    for (const PlanWorker& worker : workers) {
      const std::string where =
          absl::StrCat(worker.hello.host().name(), ": phase ", observes[i].phase, ": ");
      if (static_cast<int>(i) >= worker.inspection.observed_size()) {
        check.refusals.push_back(
            where +
            "its worker does not say what it can observe; install the controller's version of "
            "Lockstep on it");
        continue;
      }
      const v1::ObservedDevices& observed = worker.inspection.observed(static_cast<int>(i));
      if (!observed.refused().empty()) check.refusals.push_back(where + observed.refused());
      for (const std::string& reason : observed.left_out()) {
        if (warned.contains(reason)) continue;
        has_more = has_more || warned.size() == kMaxWarnings;
        if (warned.size() == kMaxWarnings) break;
        warned.insert(reason);
        check.warnings.push_back(absl::StrCat(where, "not observed: ", reason));
      }
    }
  }
  if (has_more) {
    check.warnings.push_back(
        absl::StrCat("more is not observed; the first ", kMaxWarnings, " reasons are named"));
  }
  // Workers that see nothing are a refusal already.
  if (!check.refusals.empty()) return check;
  for (const v1::PhaseSpec& phase : job.phases()) {
    if (phase.observe().limits().empty()) continue;
    std::string refusal = NothingToCompare(phase, ObserveIndexOf(job, phase), workers);
    if (!refusal.empty()) check.refusals.push_back(std::move(refusal));
  }
  return check;
}

}  // namespace lockstep::controller
