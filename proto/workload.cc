#include "proto/workload.h"

#include <algorithm>

namespace lockstep::v1 {

bool Reads(const Workload& w) {
  if (w.has_copy()) return true;
  if (w.access().empty()) return w.read_ratio() > 0;
  return std::any_of(w.access().begin(), w.access().end(),
                     [](const AccessLine& line) { return line.read_ratio() > 0; });
}

bool Writes(const Workload& w) {
  if (w.has_copy()) return true;
  if (w.access().empty()) return w.read_ratio() < 1;
  return std::any_of(w.access().begin(), w.access().end(),
                     [](const AccessLine& line) { return line.read_ratio() < 1; });
}

bool Trims(const Workload& w) {
  return !w.has_copy() && w.access().empty() && w.read_ratio() < 1 && w.trim_ratio() > 0;
}

bool ReadsFrom(const Workload& w, const std::string& target) {
  return w.has_copy() ? target == w.copy().from() : Reads(w);
}

bool WritesTo(const Workload& w, const std::string& target) {
  return w.has_copy() ? target == w.copy().to() : Writes(w);
}

int64_t SkipSpanOf(const Sequential& sequential) {
  return sequential.skip_bytes() == 0 ? 0 : sequential.skip_after_bytes() + sequential.skip_bytes();
}

int64_t OwnEndNs(const Workload& w, int64_t ramp_ns) {
  return w.runtime_ns() == 0 ? 0 : std::max(ramp_ns, w.start_delay_ns()) + w.runtime_ns();
}

}  // namespace lockstep::v1
