#pragma once

#include <signal.h>

#include <initializer_list>

namespace lockstep::common {

// Blocks these signals, and returns the set of them for sigwait(3) or sigtimedwait(2). To be called
// before the first thread starts: threads inherit the mask (pthread_sigmask(3)), so that the one
// that waits for the signals takes all of them.
inline sigset_t BlockSignals(std::initializer_list<int> numbers) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : numbers) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

}  // namespace lockstep::common
