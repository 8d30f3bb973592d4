// The cost of recording one latency: a line of JSON with nanoseconds per I/O, for latencies spread
// as a real device's are.

#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

#include "worker/sampler/recorder.h"
#include "worker/workload/random.h"

namespace {

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main() {
  using namespace lockstep::worker;
  // Log-normal around 100 µs, some 300 buckets.
  constexpr size_t kCount = 1 << 16;
  constexpr int kRounds = 200;
  Random random(1);
  std::vector<uint64_t> latencies(kCount);
  for (uint64_t& latency : latencies) {
    const double normal =
        std::sqrt(-2 * std::log(1 - random.Unit())) * std::cos(6.283185307179586 * random.Unit());
    latency = static_cast<uint64_t>(100000 * std::exp(0.5 * normal));
  }
  Recorder closed({});
  Recorder::Options options;
  options.response = true;
  Recorder open(options);
  double best[2] = {1e9, 1e9};
  for (int round = 0; round < kRounds; ++round) {
    double begin = Now();
    for (uint64_t latency : latencies) {
      closed.RecordDone(IoKind::kRead, latency, latency, 4096, Recorder::Transfer::kWhole);
    }
    best[0] = std::min(best[0], (Now() - begin) / kCount);
    begin = Now();
    for (uint64_t latency : latencies) {
      open.RecordDone(IoKind::kRead, latency, 2 * latency, 4096, Recorder::Transfer::kWhole);
    }
    best[1] = std::min(best[1], (Now() - begin) / kCount);
  }
  std::printf("{\"closed\": %.2f, \"open\": %.2f}\n", best[0], best[1]);
  return 0;
}
