#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// A limit of a control group on a device's I/O, as a worker tells it ("/slow: io.max vda
// riops=200 …", "/slow: blkio.throttle.read_iops_device vda 200"), without the group's name.
std::string ThrottleOf(const std::string& text);

// Whether the limit is, or can be, of a device that the worker's engines work on, or of one
// beneath it. `worker`: its number in the run. Several hosts may have one name.
bool IsOnTarget(const std::string& throttle, const v1::PhaseReport& report, uint32_t worker);

// The share of a time, in seconds from T, in which the worker was limited by this file for this
// device, whatever the limit's value was. A limit is first found at the end of the interval in
// which it was set, so each span counts from one interval before. 1 where nothing is known
// (ThrottleSpan).
double HeldShare(const v1::PhaseResult& result, const std::string& throttle,
                 double interval_seconds, double begin, double end);

// Whether the limit was there for most of the host's measured time: one of a part limits that part.
bool HeldMostly(const PhaseView& view, const v1::HostReport& host, const std::string& throttle);

// The mean time of a host's direct I/Os from their submission on, and of the requests of the
// topmost devices under them. 0 where it is not known, and where an I/O is not direct.
struct DirectTimes {
  double service_ms = 0, await_ms = 0;
};
// Over the phase.
DirectTimes DirectTimesOf(const PhaseView& view, const v1::PhaseReport& report,
                          const v1::HostReport& host);

// The mean time of the host's I/Os from their submission on, milliseconds, where `iops` of them
// were done and their latencies add up to so many seconds per second; 0 without an I/O. The latency
// of an open loop begins when the I/O was due. The number of I/Os in flight bounds what is left
// without the wait for a free slot (Little's law).
double ServiceMs(const PhaseView& view, const v1::HostReport& host, double iops,
                 double latency_seconds);

// Whether the I/O of the host, and of those that share the limit with it, came near one of the
// limits in the text and did not exceed it: one that is never reached slows nothing down, and one
// that is exceeded does not apply. Nor does one slow anything down whose I/Os spent their time in
// the device itself. True where the text cannot be read.
//
// Rates are those of the phase. `slow_rate`: for a host that was slow for a part of it, its rate
// in that part over that of the phase. The limit may have been set, or reached, then only. `times`:
// of the same time.
bool IsReached(const std::string& throttle, const v1::PhaseReport& report,
               const v1::HostReport& host, const DirectTimes& times,
               std::optional<double> slow_rate = std::nullopt);

}  // namespace lockstep::controller
