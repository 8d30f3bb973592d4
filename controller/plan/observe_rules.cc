#include "controller/plan/observe_rules.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lockstep::controller {
namespace {

bool ClimbsUp(const std::string& path) {
  for (const auto& part : absl::StrSplit(path, '/')) {
    if (part == "..") return true;
  }
  return false;
}

}  // namespace

void CheckObserve(const v1::ObservePhase& observe, const Complain& complain) {
  if (observe.duration_ns() <= 0) {
    complain(".duration", "is missing; say how long the devices are observed");
  }
  // A figure of an engine would never be reached: a condition on it would look like a safeguard and
  // be none.
  const char* kNoEngine =
      "cannot be a condition of an observe phase, which does no I/O of its own; use device_await, "
      "or a run phase";
  if (observe.abort_if().p99_ns() != 0) complain(".abort_if.p99", kNoEngine);
  if (observe.abort_if().errors() != 0) complain(".abort_if.errors", kNoEngine);
  std::set<std::string> seen;
  for (int i = 0; i < observe.devices_size(); ++i) {
    const std::string& path = observe.devices(i);
    const std::string where = absl::StrCat(".devices[", i, "]");
    if (path.empty() || path[0] != '/') {
      complain(where, absl::StrCat("'", path, "' is not an absolute path"));
    } else if (ClimbsUp(path)) {
      complain(where, absl::StrCat("'", path, "' has a '..'; write where it leads"));
    } else if (!seen.insert(path).second) {
      complain(where, absl::StrCat("'", path, "' is there twice"));
    }
  }
}

}  // namespace lockstep::controller
