#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/timing.h"
#include "frontends/fio/section.h"
#include "frontends/frontend.h"
#include "proto/job.pb.h"

namespace lockstep::frontends::fio {

using timing::kSecond;
// The smallest file or part of one, in bytes.
inline constexpr int64_t kMinFile = 4096;

// A field's name within its message, and what it came from.
using Origins = std::map<std::string, Origin>;

// The jobs that end with this one (exitall, exit_what): none, its group, all running ones, or all.
enum class Exit { kAlone, kGroup, kRunning, kAll };

// One job of fio, with numbers as fio has them: for each clone.
struct Job {
  std::string name;
  Origin where;
  bool reads = false, writes = false, trims = false, random = false;
  bool is_engine_known = false;  // otherwise nothing below is read
  bool null_engine = false, iscsi = false, buffered = true;
  // Common to all clones; without targets, threads, rates and ends.
  v1::Workload workload;
  Origins origins;

  Value<int64_t> clones{1};
  Value<int64_t> loops{1};
  Value<int64_t> io_size, operations;
  double io_size_share = 0;             // of the bytes of a clone's files, in place of a number
  Value<int64_t> delay, runtime, ramp;  // nanoseconds
  bool time_based = false;
  // Rates of each clone; `rate` is where they come from.
  double iops = 0, bytes_per_second = 0;
  v1::DirectionLimit reads_limit, writes_limit;  // of a mix, in place of both
  const Option* rate = nullptr;
  const Option* rate_bytes = nullptr;
  // I/Os start by a schedule, in place of a limit.
  bool has_schedule = false;
  v1::Arrival arrival = v1::ARRIVAL_POISSON;
  bool has_joined_rates = false;  // `iops` is that of both directions of a mix together
  Value<int64_t> flow, flow_id;
  double min_iops = 0, min_bytes = 0;
  const Option* least = nullptr;
  int64_t min_window_ns = 0;
  Exit exit = Exit::kAlone;
  const Option* exits = nullptr;
  bool verify = false, reads_back = false;
  // Copies of blocks of a working set: of its share of the clone's size.
  Value<int64_t> working_set_percent;
  bool shares_working_set = false;  // with the other jobs
  bool drop_caches = false;
  Origin drop_caches_origin;
  int64_t smallest_block = 0, largest_block = 0;
};

// An origin that is a default of fio.
Origin DefaultOrigin(const std::string& option);
// The origin of a value: its option, or fio's default `otherwise`.
template <typename T>
Origin OriginOf(const Value<T>& value, const std::string& otherwise) {
  return value.from != nullptr ? value.from->where : DefaultOrigin(otherwise);
}

// Everything of a job except its files. Errors go to the section's findings.
Job ReadJob(const SectionReader& section);

// Bytes, or a share of a file or device.
struct Amount {
  int64_t bytes = 0;
  double share = 0;  // 0: none is given
  const Option* from = nullptr;
  bool is_given() const { return bytes > 0 || share > 0; }
};
// An option that fio takes with bytes or a percentage.
Amount ReadAmount(const SectionReader& section, absl::string_view name);
// The number behind a colon in rw: a skip, a way backwards, or a sequence. After the order is
// chosen.
void ReadSteps(const SectionReader& section, Job* job);

// The parts of ReadJob().
void ReadBlocks(const SectionReader& section, Job* job);      // sizes, mix
void ReadPattern(const SectionReader& section, Job* job);     // order; after ReadBlocks()
void ReadPriorities(const SectionReader& section, Job* job);  // of single I/Os
void ReadWriting(const SectionReader& section, Job* job);     // syncs, content, verification
void ReadEngine(const SectionReader& section, Job* job);      // engine, depth, caches, processors
void ReadPace(const SectionReader& section, Job* job);        // rates, pauses, times, ends
void ReadFlow(const SectionReader& section, Job* job);        // its share among others
void ReadZones(const SectionReader& section, Job* job);       // gaps; after all of the above

// Make a phase's workloads.
// fio's rates are those of each clone, a job's those of the fleet: `all` is the number of clones.
void SetRates(const SectionReader& section, const Job& job, double all, v1::Workload* workload,
              const std::string& field, Origins* origins);
// fio's flow is that of each clone, a job's that of a workload.
void SetFlow(const Job& job, uint32_t clones, v1::Workload* workload, const std::string& field,
             Origins* origins);
// Workloads of a phase whose flow no other one has a part in go as fast as they can.
void DropLoneFlows(Findings* findings, v1::RunPhase* run, Origins* origins);
// When the jobs of one phase run, and what ends with which. A phase has one duration and one ramp.
class PhaseTimes {
 public:
  // A further job.
  void Add(const SectionReader& section, const Job& job, v1::RunPhase* run, Origins* origins);
  // Its workloads are those that the phase has got since.
  void Close(const v1::RunPhase& run) { jobs_.back().end = run.workloads_size(); }
  // After all jobs: sets the phase's duration and the workloads' times. Position: of the phase in
  // the file.
  enum class Position { kLast, kBeforeOthers };
  void Finish(Position position, Findings* findings, v1::RunPhase* run, Origins* origins) const;
  // How many workloads each group of fio's reports has, in their order.
  std::vector<int> GroupSizes() const;
  // The first option that begins a group; null if there is one group.
  const Option* begins_group() const { return begins_group_; }

 private:
  struct Entry {
    std::string name;
    int first = 0, end = 0;  // workloads
    Value<int64_t> delay, runtime;
    Exit exit = Exit::kAlone;
    const Option* exits = nullptr;
    int group = 0;  // of fio's reports
  };
  void SetEnds(Findings* findings, v1::RunPhase* run, Origins* origins) const;
  void SetExits(Position position, Findings* findings, v1::RunPhase* run, Origins* origins) const;

  std::vector<Entry> jobs_;
  Value<int64_t> ramp_;
  const Option* begins_group_ = nullptr;
};

// Files and devices of a workload.
struct TargetUse {
  v1::Target target;  // without a name
  Origin path_origin, size_origin, count_origin;
  std::string name;  // a proposal
  // The bytes of each file or device that the job reaches, from the offset of its region on; 0: up
  // to the end.
  int64_t reached_bytes = 0;
  bool needs_data = false;  // its files are written when they are laid out
  bool unlink = false;
};
// The clones that become one workload.
struct Share {
  uint32_t clones = 1;
  std::vector<TargetUse> uses;
  bool own_files = false;    // each clone has files of its own
  bool own_regions = false;  // each clone has a region of its own
};
struct FilePlan {
  std::vector<Share> shares;
  int64_t file_bytes = 0;  // of all files of a clone together; 0: no option says them
  Value<int64_t> size;     // bytes of a clone
  Value<int64_t> io_size;  // the same, where it ends a clone before or after the end of its files
  // The job's region of each file. Its size may depend on other jobs that use the file.
  v1::Region region;
  Origins region_origins;
};
// `hosts`: how many take part.
FilePlan PlanFiles(const SectionReader& section, const Request& request, uint32_t hosts, Job* job);

// Makes io_size=50% a number of bytes.
void SetIoSize(const SectionReader& section, const FilePlan& plan, Job* job);

// The whole translation.
Translation TranslateFio(const Request& request);

}  // namespace lockstep::frontends::fio
