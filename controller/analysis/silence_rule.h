#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "proto/job.pb.h"

namespace lockstep::controller {

// Whether a time in which a host completed no I/O is an outage: the rule of the report
// (outages.cc) and of the live view (live_silence.cc). Pure.
//
// An outage is a silence in which the host's workloads would have completed enough I/Os that none
// of them is no chance. A workload counts for the part of the silence in which it runs, at its own
// rate in the rest of its time on the host. It does not count at all if the silence may be a pause
// of its threads, as the job says. Other outages are no part of that rest, and silences that are
// none are: with three I/Os in a minute, most of it is silent.
//
// The rate of the whole time says nothing of a part in which the load became slower: one I/O every
// two seconds after 1,000 a second is a change of level, and no row of outages. A silence that
// lacks enough by that rate is therefore no outage if a lower level beside it explains it. The
// points beside it are of one level, on each side, as far as no time as long as the silence holds
// as many I/Os as an outage must lack. They are a level if I/Os completed in at least ten of them,
// and a lower one if so few I/Os are no chance at the rate of the whole time. So are outages found
// that interrupt a fast load again and again, those of a slow part that are much longer than its
// silences, and those in which only some I/Os come back. The level does not reach beyond an
// instant at which a workload begins or ends.

// Seconds from T.
struct SilentSpan {
  double begin_seconds = 0, end_seconds = 0;

  double seconds() const { return end_seconds - begin_seconds; }
};

// A workload on the host.
struct SilencePart {
  double begin_seconds = 0;
  double end_seconds = std::numeric_limits<double>::infinity();  // its own end
  double ios = 0;                                                // in the observed time
  double pause_seconds = 0;                                      // PauseSeconds()
  double min_share = 1;                                          // LeastShare()
  // I/Os per second that are expected where the host completed none; 0 if that is not known.
  double expected_rate = 0;
};

// The I/Os that a host completed in equally long points of its time, one after the other.
struct HostIos {
  double begin_seconds = 0, step_seconds = 0;  // of the first point; of each
  std::vector<double> ios;                     // not a number where that is not known
};

// For how long a workload may complete nothing because its threads pause: a silence up to twice the
// longest pause of the job, and 20 times the median latency, is one. 0 if its threads make none.
double PauseSeconds(const v1::Workload& workload, double median_latency_ns);

// The lowest rate that the job gives the workload, over its mean rate: below 1 for an open loop
// whose rate changes while it runs.
double LeastShare(const v1::Workload& workload);

// Of the part's own time, how much was observed.
double ObservedSeconds(const SilencePart& part, const SilentSpan& observed);

// The silences of the host that are outages, ascending, without the time in which none of its
// workloads runs. Silences are of whole intervals, ascend, and do not overlap. `observed`: the time
// in which silences and I/Os were counted. `ios`: of the host; without a point no level is known.
std::vector<SilentSpan> OutagesAmong(const std::vector<SilentSpan>& silences,
                                     const std::vector<SilencePart>& parts,
                                     const SilentSpan& observed, double interval_seconds,
                                     const HostIos& ios);

// Mean rates of workloads over the hosts that completed I/Os of them.
class MeanRates {
 public:
  void Add(uint32_t workload, double ios, double seconds);
  // What a host is expected to do of a workload of which it has completed nothing: what the others
  // do of it. If it is no other host's, the rate of the slowest workload, unless the job slows it
  // down. 0 if that is not known.
  double Expected(uint32_t workload, const v1::Workload& as_given) const;

 private:
  struct Sums {
    double ios = 0, seconds = 0;
  };
  std::map<uint32_t, Sums> sums_;
};

}  // namespace lockstep::controller
