// The baseline of `tools/bench skew`: threads that only sleep to a common instant, and how far
// apart they wake. Prints one spread in nanoseconds per round.

#include <time.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

int64_t Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 4;
  const int rounds = argc > 2 ? atoi(argv[2]) : 100;
  std::vector<int64_t> woke(static_cast<size_t>(threads));
  int64_t at = 0;
  std::barrier ready(threads, [&]() noexcept { at = Now() + 20000000; });
  std::barrier done(threads, [&]() noexcept {
    const auto [first, last] = std::minmax_element(woke.begin(), woke.end());
    std::printf("%ld\n", static_cast<long>(*last - *first));
  });
  std::vector<std::thread> sleepers;
  for (int i = 0; i < threads; ++i) {
    sleepers.emplace_back([&, i] {
      for (int round = 0; round < rounds; ++round) {
        ready.arrive_and_wait();
        const timespec until{at / 1000000000, at % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
        }
        woke[static_cast<size_t>(i)] = Now();
        done.arrive_and_wait();
      }
    });
  }
  for (std::thread& sleeper : sleepers) sleeper.join();
}
