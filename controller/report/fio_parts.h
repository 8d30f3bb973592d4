#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// The common parts of fio's layouts: latencies in fio's bins, and words of jobs. Pure.

// The percentiles that fio prints.
inline constexpr double kFioPercents[] = {1,  5,  10, 20, 30,   40,   50,    60,   70,
                                          80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};

// Counts by fio's bins, in ascending order.
struct FioLatencies {
  std::map<int64_t, double> bins;
  double count = 0, sum = 0, squares = 0;
  double clamped = 0;  // above fio's last bin, and counted in that
  const v1::LatencyHistogram* of = nullptr;

  // Null: no latencies.
  explicit FioLatencies(const v1::LatencyHistogram* histogram);

  double Percentile(double percent) const;
  double Mean() const;
  double Deviation() const;
  // Exact where the counters have them, otherwise the bins' values.
  int64_t Min() const;
  int64_t Max() const;
};

// The histogram of a phase's workload and kind, of this metric, or of the reported one if `metric`
// is empty. Null if there is none.
const v1::LatencyHistogram* FindHistogram(const std::vector<v1::LatencyHistogram>& histograms,
                                          uint32_t phase, const std::string& workload,
                                          const std::string& kind, const std::string& metric);

// The share of the I/Os within a band of latencies, percent.
struct FioBand {
  const char* unit;   // ns, us, ms
  const char* below;  // the band's end: 2, 4, … 2000, >=2000
  double percent;
};
// All bands, ascending. `latencies`: those of each direction.
std::vector<FioBand> FioBands(const std::vector<FioLatencies>& latencies);

// fio's value of `rw`: randread, write, rw, trim.
std::string FioDirection(const v1::WorkloadSettings& settings);
// fio's name of the engine that a report names.
std::string FioEngine(const std::string& engine);
// The number of the workload's threads on all hosts: fio's numjobs.
uint32_t FioJobsOf(const v1::WorkloadReport& workload);
// Context switches of the workload's threads. fio's are those of its job. Nothing if the report has
// none of its threads.
std::optional<double> ContextSwitchesOf(const v1::PhaseReport& phase,
                                        const v1::WorkloadReport& workload);
// The processor time of a workload as fio counts it: percent of the time of all its threads.
struct FioProcessorTime {
  double user = 0, system = 0;
};
// Nothing if it is not known. The workers count user and system time of the phase as a whole; of
// several workloads each has the share of it that its threads used.
std::optional<FioProcessorTime> ProcessorTimeOf(const v1::PhaseReport& phase,
                                                const v1::WorkloadReport& workload);

}  // namespace lockstep::controller
