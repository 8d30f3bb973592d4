#pragma once

namespace lockstep::cli {

// While it lives, Ctrl-C, SIGTERM and a terminal that hangs up (SIGHUP) are noted and end nothing
// at once: what was started on this machine is ended in its order. The second one of a kind ends
// the process. A signal that is ignored (nohup) stays so. At most one at a time.
class LocalSignals {
 public:
  LocalSignals();
  ~LocalSignals();
  LocalSignals(const LocalSignals&) = delete;
  LocalSignals& operator=(const LocalSignals&) = delete;

  // Whether one lives.
  static bool are_taken();
  // The first signal that has come to the one that lives; 0 for none.
  static int received();

 private:
  using Handler = void (*)(int);
  Handler before_[3];
};

}  // namespace lockstep::cli
