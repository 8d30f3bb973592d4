#include "controller/cli/local_signals.h"

#include <csignal>

namespace lockstep::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// A handler reaches nothing else (signal-safety(7)).
volatile sig_atomic_t local_signal = 0;
bool has_local_signals = false;

void NoteSignal(int number) {
  if (local_signal == 0) {
    local_signal = number;
    return;
  }
  // The second signal ends the program at once, as if there were no handler.
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

LocalSignals::LocalSignals() {
  local_signal = 0;
  has_local_signals = true;
  for (int i = 0; i < 3; ++i) {
    before_[i] = signal(kSignals[i], NoteSignal);
    // nohup(1) ignores SIGHUP, and a shell SIGINT for its background jobs. Both stay ignored.
    if (before_[i] == SIG_IGN) signal(kSignals[i], SIG_IGN);
  }
}

LocalSignals::~LocalSignals() {
  for (int i = 0; i < 3; ++i) signal(kSignals[i], before_[i]);
  has_local_signals = false;
  local_signal = 0;
}

bool LocalSignals::are_taken() { return has_local_signals; }

int LocalSignals::received() { return local_signal; }

}  // namespace lockstep::cli
