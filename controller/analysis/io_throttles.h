#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// A limit of a control group on a device's I/O, as a worker tells it ("/slow: io.max vda
// riops=200 …", "/slow: blkio.throttle.read_iops_device vda 200"), without the group's name.
std::string ThrottleOf(const std::string& text);

// Whether the limit is of a device that the host's engines work on.
bool IsOnTarget(const std::string& throttle, const v1::PhaseReport& report,
                const std::string& host);

// Whether the host's own I/O came near one of the limits in the text: one that is never reached
// slows nothing down. True where the text cannot be read.
bool IsReached(const std::string& throttle, const v1::HostReport& host);

}  // namespace lockstep::controller
