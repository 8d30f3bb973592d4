#include "worker/load/hang_monitor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace lockstep::worker {

int64_t HangMonitor::OldestInFlightNs() const {
  int64_t oldest_ns = 0;
  for (const auto& part : *parts_) {
    for (const auto& thread : part->threads) {
      // The clock is read anew for each thread: OldestInFlight() passes over I/Os that began after
      // the reading.
      const auto oldest = thread->OldestInFlight(clock_->MonotonicNs(), 0);
      // 0 means that nothing is in flight, so an I/O that has just started counts as one nanosecond
      // old.
      if (oldest) oldest_ns = std::max(oldest_ns, std::max<int64_t>(1, oldest->age_ns));
    }
  }
  return oldest_ns;
}

void HangMonitor::Poll() {
  const int64_t now = clock_->MonotonicNs();
  for (const auto& part : *parts_) {
    for (size_t i = 0; i < part->threads.size(); ++i) {
      int64_t& reported = part->reported_ns[i];
      const auto oldest = part->threads[i]->OldestInFlight(now, part->stuck_after_ns);
      if (!oldest) {
        if (reported != 0) {
          report_(measure::Severity::kWarning,
                  absl::StrCat("thread ", i, ": the I/O that was stuck has come back"));
        }
        reported = 0;
        // The age doubles between two messages: an I/O that hangs for hours gives a dozen lines,
        // not thousands.
      } else if (reported == 0 || oldest->age_ns >= 2 * reported) {
        reported = oldest->age_ns;
        report_(measure::Severity::kWarning,
                absl::StrCat("STUCK: thread ", i, ": ", oldest->what, " is in flight for ",
                             common::FormatDuration(static_cast<double>(oldest->age_ns))));
      }
    }
  }
}

std::string HangMonitor::Describe() const {
  for (const auto& part : *parts_) {
    for (const auto& thread : part->threads) {
      const auto oldest = thread->OldestInFlight(clock_->MonotonicNs(), 0);
      if (oldest) {
        return absl::StrCat(oldest->what, ", in flight for ",
                            common::FormatDuration(static_cast<double>(oldest->age_ns)));
      }
    }
  }
  return "no I/O is known to be in flight";
}

}  // namespace lockstep::worker
