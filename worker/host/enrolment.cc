#include "worker/host/enrolment.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/side_by_side.h"

namespace lockstep::worker {

v1::StampResults StampAll(const Guard& guard, bool is_allowed, const v1::StampDevices& orders) {
  const common::Clock& clock = common::SystemClock();
  // All orders share one limit, since their results go back in one answer.
  const int64_t until = clock.MonotonicNs() + limits::kStampNs;
  std::vector<absl::Status> done(static_cast<size_t>(orders.orders_size()));
  common::SideBySide(done.size(), limits::kMaxInspections, [&](size_t i) {
    const v1::StampOrder& order = orders.orders(static_cast<int>(i));
    const int64_t left = until - clock.MonotonicNs();
    // A release only takes a permission back, so that it needs none of this host's operator.
    if (!is_allowed && !order.release()) {
      done[i] = absl::PermissionDeniedError(
          absl::StrCat(order.path(), ": this worker was started without --allow-enroll"));
    } else if (left <= 0) {
      done[i] = absl::DeadlineExceededError(
          absl::StrCat(order.path(), ": was not begun: other devices did not answer"));
    } else {
      done[i] = guard.Stamp(order, orders.enrolled_by(), orders.enrolled_at(), left);
    }
  });
  v1::StampResults results;
  results.set_id(orders.id());
  for (const absl::Status& status : done) {
    results.add_refused(status.ok() ? "" : std::string(status.message()));
  }
  return results;
}

}  // namespace lockstep::worker
