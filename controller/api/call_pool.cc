#include "controller/api/call_pool.h"

#include <sys/resource.h>

namespace lockstep::controller {

namespace {

constexpr int kNice = 10;

}  // namespace

CallPool::CallPool(int threads, int64_t max_waiting, Pace pace) : max_waiting_(max_waiting) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, pace] {
      // On Linux this changes the calling thread alone, although POSIX speaks of the process
      // (setpriority(2)). A failure costs the pace only.
      if (pace == Pace::kInBackground) (void)setpriority(PRIO_PROCESS, 0, kNice);
      while (auto work = queue_.Pop()) {
        --waiting_;
        (*work)();
      }
    });
  }
}

CallPool::~CallPool() {
  // The closed queue still gives out what it holds. Calls that wait are answered, and only then do
  // the threads end.
  queue_.Close();
  for (std::thread& thread : threads_) thread.join();
}

bool CallPool::Run(std::function<void()> work) {
  // The count goes up before the check: with a check first, many callers at once could all pass it.
  if (++waiting_ <= max_waiting_ && queue_.Push(std::move(work))) return true;
  --waiting_;
  return false;
}

void CallPool::Serve(Call* call, std::function<grpc::Status()> work) {
  const auto answer = std::make_shared<Answer>(call);
  const bool taken = Run([call, answer, work = std::move(work)] {
    answer->Give(call->abandoned() ? grpc::Status(grpc::StatusCode::CANCELLED,
                                                  "the caller no longer waits for the answer")
                                   : work());
  });
  if (!taken) {
    answer->Give(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                              "too many calls wait for an answer; try again"));
  }
}

}  // namespace lockstep::controller
