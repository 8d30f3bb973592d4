#include "worker/host/time_limit.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"

namespace lockstep::worker {
namespace {

// What is being done now, of all callers. Never destroyed: threads that hang may outlive main().
struct Hanging {
  std::mutex mutex;
  std::multiset<std::string> overdue;  // guarded by mutex
};

Hanging& AllHanging() {
  static Hanging* hanging = new Hanging;
  return *hanging;
}

struct Attempt {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;  // guarded by mutex, as are the next
  bool given_up = false;
  absl::Status status;
};

absl::Status Late(const std::string& what, int64_t limit_ns) {
  return absl::DeadlineExceededError(
      absl::StrCat(what, ": does not answer within ", limit_ns / 1000000, " ms"));
}

}  // namespace

absl::Status WithinLimit(const std::string& what, int64_t limit_ns,
                         std::function<absl::Status()> work) {
  {
    std::lock_guard<std::mutex> lock(AllHanging().mutex);
    if (AllHanging().overdue.contains(what)) {
      return absl::DeadlineExceededError(absl::StrCat(what, ": still does not answer"));
    }
  }
  auto attempt = std::make_shared<Attempt>();
  try {
    std::thread([attempt, what, work = std::move(work)] {
      const absl::Status status = work();
      std::lock_guard<std::mutex> lock(attempt->mutex);
      attempt->status = status;
      attempt->done = true;
      attempt->changed.notify_all();
      if (!attempt->given_up) return;
      std::lock_guard<std::mutex> all(AllHanging().mutex);
      AllHanging().overdue.erase(AllHanging().overdue.find(what));
    }).detach();
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": no thread can be started: ", error.what()));
  }
  std::unique_lock<std::mutex> lock(attempt->mutex);
  if (attempt->changed.wait_for(lock, std::chrono::nanoseconds(limit_ns),
                                [&] { return attempt->done; })) {
    return attempt->status;
  }
  attempt->given_up = true;
  std::lock_guard<std::mutex> all(AllHanging().mutex);
  AllHanging().overdue.insert(what);
  return Late(what, limit_ns);
}

}  // namespace lockstep::worker
