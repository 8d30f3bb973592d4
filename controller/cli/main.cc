// lockstep: the command line.

#include "controller/cli/program.h"

int main(int argc, char** argv) { return lockstep::cli::RunProgram(argc, argv); }
