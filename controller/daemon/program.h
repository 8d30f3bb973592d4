#pragma once

namespace lockstep::controller {

// The program lockstep-controller, from its flags to the signal that ends it; the exit status. Once
// per process: it blocks SIGINT and SIGTERM and sets the process's logger. It is part of the
// library and not of main.cc, so that gRPC's headers are compiled once for all of them.
int RunProgram(int argc, char** argv);

}  // namespace lockstep::controller
