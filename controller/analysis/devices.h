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
  // Worker, and what it did in a workload whose targets lie on the device. A copy may have only its
  // source there, or only its destination.
  struct Part {
    const measure::WorkerPhaseData* worker = nullptr;
    const v1::WorkloadResult* result = nullptr;
    bool reads = true, writes = true;  // these of its I/Os go to the device
  };
  std::vector<Part> parts;
  std::vector<uint32_t> workers;  // by their number in the run
  std::string identity;
  std::set<double> blocks;  // sizes, of workloads with one size
  // Every such workload's I/O goes to this device alone, and no other's reaches it through a layer
  // above it.
  bool attributable = true;
  bool alone = true;      // nor do these workers do I/O elsewhere
  bool buffered = false;  // one of them goes through the page cache
  bool syncs = false;     // one of them syncs, or writes through
  bool synced = true;     // each that writes has synced all its writes by the end
  bool lost = false;      // a host of the kernel was lost
  bool files = false;     // one of them has files on it
  double in_flight = 0;   // at most, all threads together
};
// Which targets count: those whose topmost device it is (of several topmost ones, one of them), or
// also those that it lies underneath, however deep.
enum class Reach { kTopmost, kAnyLayer };
EnginesOn FindEngines(const PhaseView& view, const std::string& boot_id, const std::string& device,
                      Reach reach = Reach::kTopmost);

// The I/O that /proc shows of other programs, without this run's other workers on the kernel, whose
// I/O is among the engines' already.
std::vector<v1::ProcessIo> OthersOf(const PhaseView& view, const measure::WorkerPhaseData& sampler);

// A device that a worker sampled, and its place in the stack of layers.
struct SampledDevice {
  const measure::WorkerPhaseData* sampler = nullptr;
  std::string name;
  const measure::DeviceSums* sums = nullptr;
  // Null and empty where the layers are not known.
  const v1::StorageLayer* layer = nullptr;
  uint32_t depth = 0;                    // layers above it
  std::vector<std::string> filesystems;  // directly above it, from the top
  std::vector<std::string> underneath;   // devices
};
// In the order of PhaseReport::devices: worker by worker, each device after the first of
// those above it.
std::vector<SampledDevice> SampledDevices(const PhaseView& view);

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

// From this share of the time on with at least one request in flight, a device was never idle.
inline constexpr double kNeverIdle = 0.95;

// The figures of `iostat -x` for a device whose counters these are the differences of, over so many
// seconds. A wait or size is absent if there were no requests. Nothing is filled if `seconds` is 0.
void FillDevice(const v1::DeviceSample& d, double seconds, v1::DeviceReport* out);

// Other programs on the worker's kernel, as "postgres[123] read 3 MiB and wrote 2 MiB". Leaves out
// the run's own workers, programs that moved less than `min_bytes`, and programs that read or wrote
// more than what is left of `max_*` after those already named.
struct ProgramsSeen {
  std::vector<std::string> names;
  double bytes = 0;  // of the named ones
};
ProgramsSeen OtherPrograms(const PhaseView& view, const measure::WorkerPhaseData& sampler,
                           double min_bytes,
                           double max_read_bytes = std::numeric_limits<double>::infinity(),
                           double max_write_bytes = std::numeric_limits<double>::infinity());

// The bytes that other programs on the kernel of a worker moved and that can have been on some
// devices, at most as much as these devices moved.
struct OthersMoved {
  double read_bytes = 0, write_bytes = 0;
  std::string names;  // of some of them, with what each moved
};
OthersMoved OthersMovedOn(const PhaseView& view, const measure::WorkerPhaseData& sampler,
                          double device_read_bytes, double device_write_bytes);

}  // namespace lockstep::controller
