#pragma once

#include <cstdio>
#include <cstdlib>

namespace lockstep::common {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition,
                                     const char* message) {
  (void)fprintf(stderr, "%s:%d: %s: %s\n", file, line, condition, message);
  abort();
}

}  // namespace lockstep::common

// Ends the program where an invariant of our own is broken, in every build: what is wrong already
// must not be measured, stored or written. Never for what comes from a peer, a file or a device.
#define LOCKSTEP_CHECK(condition, message)                                      \
  do {                                                                          \
    if (!(condition)) [[unlikely]] {                                            \
      ::lockstep::common::CheckFailed(__FILE__, __LINE__, #condition, message); \
    }                                                                           \
  } while (false)

// The same in debug builds alone, for what each I/O passes. Elsewhere it costs nothing, and its
// condition is compiled and not evaluated.
#ifdef NDEBUG
#define LOCKSTEP_DCHECK(condition, message) \
  do {                                      \
    if (false) (void)(condition);           \
  } while (false)
#else
#define LOCKSTEP_DCHECK(condition, message) LOCKSTEP_CHECK(condition, message)
#endif
