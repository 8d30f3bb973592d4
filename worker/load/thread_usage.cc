#include "worker/load/thread_usage.h"

#include <sys/resource.h>

#include <ctime>

#include "common/timing.h"

namespace lockstep::worker {

ThreadUsage::Counters ThreadUsage::Read() {
  // getrusage(2) scales the processor time to ticks on kernels without precise accounting. The
  // thread's clock is exact everywhere.
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return {time.tv_sec * timing::kSecond + time.tv_nsec, static_cast<uint64_t>(usage.ru_nvcsw),
          static_cast<uint64_t>(usage.ru_nivcsw)};
}

void ThreadUsage::Begin() {
  if (!begin_) begin_ = Read();
}

void ThreadUsage::End() {
  if (!begin_ || ended_) return;
  ended_ = true;
  const Counters end = Read();
  used_ = {end.cpu_ns - begin_->cpu_ns, end.voluntary_switches - begin_->voluntary_switches,
           end.involuntary_switches - begin_->involuntary_switches};
}

}  // namespace lockstep::worker
