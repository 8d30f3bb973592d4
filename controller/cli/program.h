#pragma once

namespace lockstep::cli {

// The program lockstep, from its arguments to its exit status (docs/reference/cli.md). Once per
// process: it sets the action of SIGPIPE and protobuf's log. It is part of the library, not of
// main.cc, so that CLI11's and gRPC's headers are compiled once for it and its commands.
int RunProgram(int argc, char** argv);

}  // namespace lockstep::cli
