// lockstep-worker: runs I/O on this host when a controller says so.

#include "worker/program.h"

int main(int argc, char** argv) { return lockstep::worker::RunProgram(argc, argv); }
