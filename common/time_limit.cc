#include "common/time_limit.h"

#include <chrono>
#include <memory>
#include <set>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/timing.h"

namespace lockstep::common {
namespace {

// The overdue work of all callers. Never destroyed: threads that hang may outlive main().
struct Hanging {
  Mutex mutex;
  // Several callers may have begun the same before the first one was overdue.
  std::multiset<std::string> overdue ABSL_GUARDED_BY(mutex);
};

Hanging& AllHanging() {
  static Hanging* hanging = new Hanging;
  return *hanging;
}

struct Attempt {
  Mutex mutex;
  Condition changed;
  bool done ABSL_GUARDED_BY(mutex) = false;
  bool given_up ABSL_GUARDED_BY(mutex) = false;
  bool begun ABSL_GUARDED_BY(mutex) = false;  // what it changes, if it changes anything
  absl::Status status ABSL_GUARDED_BY(mutex);
};

absl::Status Late(const std::string& what, int64_t limit_ns) {
  return absl::DeadlineExceededError(
      absl::StrCat(what, ": does not answer within ", limit_ns / timing::kMs, " ms"));
}

absl::Status Run(const std::shared_ptr<Attempt>& attempt, const std::string& what, int64_t limit_ns,
                 std::function<absl::Status()> work) {
  {
    MutexLock lock(&AllHanging().mutex);
    if (AllHanging().overdue.contains(what)) {
      return absl::DeadlineExceededError(absl::StrCat(what, ": still does not answer"));
    }
  }
  try {
    // The thread is detached: one that sleeps in the kernel without taking signals can neither be
    // joined nor cancelled.
    std::thread([attempt, what, work = std::move(work)] {
      const absl::Status status = work();
      MutexLock lock(&attempt->mutex);
      attempt->status = status;
      attempt->done = true;
      attempt->changed.NotifyAll();
      if (!attempt->given_up) return;
      MutexLock all(&AllHanging().mutex);
      // Only one entry is removed: others that began the same may still hang.
      AllHanging().overdue.erase(AllHanging().overdue.find(what));
    }).detach();
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": no thread can be started: ", error.what()));
  }
  MutexLock lock(&attempt->mutex);
  if (attempt->changed.WaitFor(
          &lock, std::chrono::nanoseconds(limit_ns),
          [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(attempt->mutex) { return attempt->done; })) {
    return attempt->status;
  }
  // Both locks are held while the entry is made. Otherwise the thread could end before the entry is
  // there, which would then stay for ever.
  attempt->given_up = true;
  MutexLock all(&AllHanging().mutex);
  AllHanging().overdue.insert(what);
  return Late(what, limit_ns);
}

}  // namespace

absl::Status WithinLimit(const std::string& what, int64_t limit_ns,
                         std::function<absl::Status()> work) {
  return Run(std::make_shared<Attempt>(), what, limit_ns, std::move(work));
}

absl::Status ChangeWithinLimit(const std::string& what, int64_t limit_ns,
                               std::function<absl::Status(const BeginChange& begin)> work) {
  const auto attempt = std::make_shared<Attempt>();
  const BeginChange begin = [attempt] {
    MutexLock lock(&attempt->mutex);
    attempt->begun = !attempt->given_up;
    return attempt->begun;
  };
  const absl::Status status =
      Run(attempt, what, limit_ns, [begin, work = std::move(work)] { return work(begin); });
  if (!absl::IsDeadlineExceeded(status)) return status;
  MutexLock lock(&attempt->mutex);
  attempt->given_up = true;  // where the work itself ran out of time
  return absl::DeadlineExceededError(absl::StrCat(
      std::string(status.message()), attempt->begun
                                         ? "; the change has begun, and may still be finished"
                                         : "; nothing was changed"));
}

}  // namespace lockstep::common
