// What is looked after while a load runs: I/Os that do not come back, and devices that are held.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "measure/states.h"
#include "worker/load/load.h"

namespace lockstep::worker {
namespace {

// How often threads are looked at for I/Os that are stuck.
constexpr int64_t kStuckPollNs = 200000000;
// How often it is looked whether devices that a peer claims are still held.
constexpr int64_t kClaimPollNs = 500000000;

}  // namespace

int64_t Load::OldestInFlightNs() const {
  int64_t oldest_ns = 0;
  for (const auto& part : parts_) {
    for (const auto& thread : part->threads) {
      const auto oldest = thread->OldestInFlight(clock_->MonotonicNs(), 0);
      if (oldest) oldest_ns = std::max(oldest_ns, std::max<int64_t>(1, oldest->age_ns));
    }
  }
  return oldest_ns;
}

bool Load::HasStuckIo() const { return OldestInFlightNs() != 0; }

void Load::ReportPaths() {
  for (const PathWatch::Event& event : paths_.TakeEvents()) {
    const auto since = static_cast<double>(event.at_ns - timeline_.go_ns());
    environment_.report(event.is_loss ? measure::Severity::kWarning : measure::Severity::kInfo,
                        absl::StrCat(common::FormatDuration(std::max(0.0, since)),
                                     " after the start: ", event.text));
  }
}

// While an I/O is stuck: once beyond the workload's limit, then whenever its age has doubled, and
// when it has come back.
void Load::ReportStuck() {
  const int64_t now = clock_->MonotonicNs();
  if (now - looked_ns_ < kStuckPollNs) return;
  looked_ns_ = now;
  // One that gave up ends the load for all: the phase has failed, and the others' I/O serves
  // nothing any more.
  const bool failed = std::any_of(parts_.begin(), parts_.end(), [](const auto& part) {
    return std::any_of(part->threads.begin(), part->threads.end(),
                       [](const auto& thread) { return thread->failed(); });
  });
  if (failed) timeline_.EndAt(std::max(now, timeline_.go_ns()));
  MonitorClaims(now);
  ReportPaths();
  for (const auto& part : parts_) {
    for (size_t i = 0; i < part->threads.size(); ++i) {
      int64_t& reported = part->reported_ns[i];
      const auto oldest = part->threads[i]->OldestInFlight(now, part->stuck_after_ns);
      if (!oldest) {
        if (reported != 0) {
          environment_.report(measure::Severity::kWarning,
                              absl::StrCat("thread ", i, ": the I/O that was stuck has come back"));
        }
        reported = 0;
      } else if (reported == 0 || oldest->age_ns >= 2 * reported) {
        reported = oldest->age_ns;
        environment_.report(
            measure::Severity::kWarning,
            absl::StrCat("STUCK: thread ", i, ": ", oldest->what, " is in flight for ",
                         common::FormatDuration(static_cast<double>(oldest->age_ns))));
      }
    }
  }
}

// When the worker that claims a device for all workers of this kernel is gone, this one takes the
// hold over; when somebody else was faster, the load ends.
void Load::MonitorClaims(int64_t now_ns) {
  if (now_ns - held_ns_ < kClaimPollNs || !hold_error_.empty()) return;
  held_ns_ = now_ns;
  const absl::Status status = claims_.ClaimReleased();
  if (status.ok()) return;
  hold_error_ = std::string(status.message());
  timeline_.EndAt(std::max(now_ns, timeline_.go_ns()));
}

std::string Load::DescribeHang() const {
  for (const auto& part : parts_) {
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
