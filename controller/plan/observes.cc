#include "controller/plan/observes.h"

#include <map>

namespace lockstep::controller {
namespace {

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

}  // namespace lockstep::controller
