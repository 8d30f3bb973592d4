#pragma once

#include <string>

#include "controller/cli/client.h"
#include "controller/cli/live_sysbench.h"

namespace lockstep::cli {

// Follows a run until it ends, on stderr: a line per phase, progress while files are laid out, a
// line per second of the whole fleet, and events. Ctrl-C asks whether to cancel the run or only to
// stop watching; without a terminal it cancels. Events that come during that time are shown
// afterwards, and the end of the run withdraws the question. SIGTERM (a CI's time-out) never asks:
// it cancels a run that this command submitted, and leaves one that it only watches.
enum class Owner { kSubmitter, kSpectator };
struct Watched {
  grpc::Status status;
  v1::RunSummary summary;  // as far as it is known
  bool left = false;       // the watcher went, the run goes on
};
// `sysbench` prints the intervals if it is given, instead of the lines on stderr.
Watched FollowRun(v1::Controller::Stub* stub, const std::string& run_id, bool colour, Owner owner,
                  LiveSysbench* sysbench);

}  // namespace lockstep::cli
