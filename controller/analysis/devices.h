#pragma once

#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/analysis/phase_view.h"
#include "proto/report.pb.h"
#include "proto/result.pb.h"

namespace lockstep::controller {

// The engines of one kernel that work on one device.
struct EnginesOn {
  // Worker, and what it did in a workload whose targets lie on the device.
  std::vector<std::pair<const measure::WorkerPhaseData*, const v1::WorkloadResult*>> parts;
  std::vector<std::string> hosts;
  std::string identity;
  std::set<double> blocks;   // sizes, of workloads with one size
  bool attributable = true;  // every such workload's I/O goes to this device alone
  bool alone = true;         // nor do these workers do I/O elsewhere
  bool buffered = false;     // one of them goes through the page cache
  bool syncs = false;        // one of them syncs, or writes through
  bool lost = false;         // a host of the kernel was lost
  bool files = false;        // one of them has files on it
  double in_flight = 0;      // at most, all threads together
};
EnginesOn FindEngines(const PhaseView& view, const std::string& boot_id, const std::string& device);

// How long the requests of some devices took, reads and writes together.
struct RequestTimes {
  double per_second = 0;     // requests
  double ms_per_second = 0;  // their times added up

  void Add(const v1::DeviceReport& device) {
    per_second += device.reads_per_second() + device.writes_per_second();
    ms_per_second += device.reads_per_second() * device.read_await_ms() +
                     device.writes_per_second() * device.write_await_ms();
  }
  // Milliseconds; 0 where there was no request, or the driver keeps no times.
  double mean_ms() const { return per_second > 0 ? ms_per_second / per_second : 0; }
};

// What `iostat -x` prints of a device whose counters these are the differences of, over so many
// seconds. Waits and sizes of requests that there were none of stay absent. Nothing over no time.
void FillDevice(const v1::DeviceSample& d, double seconds, v1::DeviceReport* out);

// Other programs on the kernel of a worker that samples it, as "postgres[123] read 3 MiB and wrote
// 2 MiB": without workers of Lockstep where the run has several there, whose I/O is the engines',
// and without those that moved less than `min_bytes`, or more in one direction than the largest
// that they can have together.
std::vector<std::string> OtherPrograms(
    const PhaseView& view, const measure::WorkerPhaseData& sampler, double min_bytes,
    double max_read_bytes = std::numeric_limits<double>::infinity(),
    double max_write_bytes = std::numeric_limits<double>::infinity());

}  // namespace lockstep::controller
