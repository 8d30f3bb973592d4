#pragma once

namespace lockstep::worker {

// The program lockstep-worker, from its flags to the signal that ends it; the exit status. Once per
// process: it blocks SIGINT and SIGTERM and sets the process's logger. It is part of a library, not
// of main.cc, so that CLI11's headers are compiled once for it and its flags.
int RunProgram(int argc, char** argv);

}  // namespace lockstep::worker
