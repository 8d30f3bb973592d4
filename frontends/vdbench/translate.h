#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "frontends/findings.h"
#include "frontends/frontend.h"
#include "frontends/vdbench/statements.h"

namespace lockstep::frontends::vdbench {

// A field's name within its message, and what it came from.
using Origins = std::map<std::string, Origin>;

// A storage: a target of the job, and what its workloads take from it.
struct Storage {
  std::string name;
  std::string lun;  // as the file names it
  v1::Target target;
  Origin where, lun_from, size_from;
  uint32_t threads = 8;
  Origin threads_from;
  std::vector<std::string> hosts;  // names of hd; empty: all
  int64_t offset_bytes = 0;
  Origin offset_from;
  int64_t hit_area_bytes = 1 << 20;
  const Parameter* hit_area = nullptr;
  const Parameter* range = nullptr;
  const Parameter* openflags = nullptr;
};

// A workload on no storage yet.
struct Load {
  std::string name;
  Origin where;
  v1::Workload workload;  // without name, targets, threads, hosts and load
  Origins origins;
  std::vector<std::string> storages;  // patterns of sd
  std::vector<std::string> hosts;     // names of hd; empty: all
  const Parameter* skew = nullptr;
  const Parameter* range = nullptr;
  const Parameter* openflags = nullptr;
  const Parameter* threads = nullptr;
  const Parameter* stride = nullptr;
  const Parameter* read_hits = nullptr;
  const Parameter* write_hits = nullptr;
  double skew_percent = 0;
  double seek_percent = 100;
};

// Reads a storage; several if it has a count.
std::vector<Storage> ReadStorages(const Request& request, const Statement& statement,
                                  Findings* findings);
Load ReadLoad(const Statement& statement, Findings* findings);
// Sets the sizes and the mix of a workload, of which a parameter gives the share of reads or of
// writes. An error names the parameter.
void SetSizes(const Parameter& xfersize, v1::Workload* workload, Findings* findings);
void SetReads(const Parameter& given, v1::Workload* workload, Findings* findings);
// Direct I/O and O_SYNC; without flags I/O is buffered.
void SetOpenFlags(const Parameter* flags, v1::Workload* workload, Findings* findings);
// The part of the storage that the workload reaches by the storage's offset and by `range` (null:
// none), as a region. `largest_block`: bytes, of all that the run makes of the workload; to this
// vdbench rounds the ends of a range.
void SetRegion(const Storage& storage, const Parameter* range, int64_t largest_block,
               v1::Workload* workload, Origins* origins, Findings* findings);
// A stride becomes a skip. `seek_percent`: the share of I/Os that seek, for which vdbench keeps it.
void SetStride(const Parameter& stride, double seek_percent, v1::Workload* workload,
               Findings* findings);
// Which offsets the workload reaches on the storage and in which order, with the ranges, hits and
// strides of both. After its sizes, its mix and its threads are set.
void SetOffsets(const Statement& run, const Load& load, const Storage& storage,
                v1::Workload* workload, Origins* origins, Findings* findings);
// The storage's size in bytes; 0 if the file does not say it.
int64_t BytesOf(const Storage& storage);
// How many of them the workload reaches; 0 if that is not known.
int64_t ReachedBytes(const Storage& storage, const v1::Workload& workload);
// In bytes.
int64_t LargestBlock(const v1::Workload& workload);
// A whole number from `least` to `most`, or `least` after an error.
int64_t CountOf(const Parameter& parameter, int64_t least, int64_t most, Findings* findings);
// The list's items, or none after an error.
std::vector<std::string> ListOf(const Parameter& parameter, Findings* findings);
// Refuses the parameters of the statement that jobs cannot express, and remarks those that are left
// out.
void CheckParameters(const Statement& statement, Findings* findings);

// The whole translation.
Translation TranslateVdbench(const Request& request);

}  // namespace lockstep::frontends::vdbench
