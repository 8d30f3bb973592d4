#pragma once

#include <string>
#include <vector>

#include "proto/controller.pb.h"

namespace lockstep::controller {

// Histograms of intervals, as other tools' logs. Only what is reported: response times of open
// loops, else service times.

// fio's histogram log (log_hist_msec, coarseness 0; fio 3's 1856 bins of nanoseconds, which are the
// first 1856 buckets of common/histogram.h): one line for each interval and direction, with its end
// in milliseconds from the first phase's T. All workloads together; syncs are left out. I/Os that
// took longer than kFioLongestNs count in the last bin.
std::string RenderFioLog(const std::vector<v1::LatencyHistogram>& histograms);

// HdrHistogram's interval log, version 1.3, with histograms of encoding V2: three significant
// digits, nanoseconds. Tags are workload.kind; phases follow each other. Every I/O counts at its
// bucket's midpoint.
std::string RenderHlog(const std::vector<v1::LatencyHistogram>& histograms);

// The midpoint of fio's last bin.
inline constexpr double kFioLongestNs = 17112760320;
inline constexpr uint32_t kFioBins = 1856;

}  // namespace lockstep::controller
