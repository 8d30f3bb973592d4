#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace lockstep::common {

// Calls work(i) for each i below `count`, on up to `threads` threads at once, and returns when all
// calls have returned. With fewer threads than asked for, where the system gives no more, it takes
// longer. `work` is called from several threads at a time.
inline void SideBySide(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(count, threads); ++i) {
    try {
      others.emplace_back(run);
    } catch (const std::system_error&) {
      break;
    }
  }
  run();
  for (std::thread& thread : others) thread.join();
}

}  // namespace lockstep::common
