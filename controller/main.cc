// lockstep-controller: takes jobs, moves workers through them in lockstep, and keeps what they
// measured.

#include "controller/daemon/program.h"

int main(int argc, char** argv) { return lockstep::controller::RunProgram(argc, argv); }
