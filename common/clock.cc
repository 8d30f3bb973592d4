#include "common/clock.h"

#include <cerrno>
#include <ctime>

#include "common/timing.h"

namespace lockstep::common {
namespace {

int64_t Read(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * timing::kSecond + now.tv_nsec;
}

class RealClock final : public Clock {
 public:
  int64_t MonotonicNs() const override { return Read(CLOCK_MONOTONIC); }
  int64_t WallNs() const override { return Read(CLOCK_REALTIME); }
  void SleepUntil(int64_t at_ns) const override {
    const timespec at = {static_cast<time_t>(at_ns / timing::kSecond),
                         static_cast<long>(at_ns % timing::kSecond)};
    // The instant is absolute: a sleep that a signal has interrupted does not become longer.
    // clock_nanosleep(2) returns the error and leaves errno alone.
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
    }
  }
};

}  // namespace

const Clock& SystemClock() {
  // Never destroyed: a thread may still read it while the process ends.
  static const RealClock* const clock = new RealClock;
  return *clock;
}

void SleepThenSpinUntil(const Clock& clock, int64_t at_ns, int64_t spin_ns) {
  // The thread wakes up once a little earlier. The processor has then left its idle state, and what
  // the thread needs is in the caches.
  constexpr int64_t kAwakeNs = 150 * timing::kUs;
  if (clock.MonotonicNs() < at_ns - kAwakeNs) clock.SleepUntil(at_ns - kAwakeNs);
  if (clock.MonotonicNs() < at_ns - spin_ns) clock.SleepUntil(at_ns - spin_ns);
  while (clock.MonotonicNs() < at_ns) {
  }
}

}  // namespace lockstep::common
