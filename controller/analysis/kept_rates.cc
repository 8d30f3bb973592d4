#include "controller/analysis/kept_rates.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "controller/analysis/thread_shares.h"

namespace lockstep::controller {
namespace {

// Whether the I/Os of this direction came close to this part of one of its limits.
bool ReachesLimit(double part, const v1::DirectionLimit& limit, absl::string_view kind,
                  const v1::WorkloadReport& out) {
  const double iops = part * limit.iops();
  const double bytes = part * limit.throughput_bytes_per_second();
  return std::any_of(out.operations().begin(), out.operations().end(), [&](const auto& operation) {
    return operation.kind() == kind &&
           ((iops > 0 && operation.iops() >= kKeptRate * iops) ||
            (bytes > 0 && operation.bytes_per_second() >= kKeptRate * bytes));
  });
}

}  // namespace

bool KeepsItsRate(const PhaseView& view, const v1::Workload& w, const v1::WorkloadReport& out) {
  // The due rate is a mean from T on. If the rate changes, this mean is not that of the measured
  // time.
  if (!HasChangingRate(w) && out.total().iops() < kKeptRate * out.due_per_second()) return false;
  // A lost host takes its share of the limits with it, as it takes its figures.
  const double part = PartOfHosts(view, w);
  const double iops = part * w.max_iops();
  const double bytes = part * w.max_throughput_bytes_per_second();
  const bool has_directions = w.has_read_limit() || w.has_write_limit();
  return (!(iops > 0) && !(bytes > 0) && !has_directions) ||
         ReachesLimit(part, w.read_limit(), "read", out) ||
         ReachesLimit(part, w.write_limit(), "write", out) ||
         (iops > 0 && out.total().iops() >= kKeptRate * iops) ||
         (bytes > 0 && out.total().bytes_per_second() >= kKeptRate * bytes);
}

}  // namespace lockstep::controller
