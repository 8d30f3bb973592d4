#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// One line per phase, workload, scope (all hosts, where `host` is empty, or one) and operation,
// with percentiles in nanoseconds; a header line first. RFC 4180.
std::string RenderCsv(const v1::Report& report);

}  // namespace lockstep::controller
