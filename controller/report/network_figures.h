#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The network interfaces of a phase, and the operations of its NFS mounts: a table of each, of
// lines at most `width` wide. Empty without any.
std::string RenderInterfaces(const v1::PhaseReport& phase, size_t width);
std::string RenderNfs(const v1::PhaseReport& phase, size_t width);

}  // namespace lockstep::controller
