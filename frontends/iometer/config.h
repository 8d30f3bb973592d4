#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontends/findings.h"
#include "frontends/frontend.h"
#include "frontends/rules.h"

namespace lockstep::frontends::iometer {

inline constexpr int64_t kSector = 512;     // bytes; sizes of targets are in sectors
inline constexpr int64_t kMaxDepth = 4096;  // I/Os outstanding for each worker and target

// The contents of an Iometer configuration file, in its own units. Each part knows its line.

// How a number grows from run to run.
struct Steps {
  int64_t start = 1, end = 1, step = 1;
  bool is_exponential = false;  // start × step^n, otherwise start + n × step
  Origin where;
};

// The tests as Iometer's own files number them.
enum class TestType {
  kNormal,
  kCycleTargets,
  kCycleWorkers,
  kIncrementTargetsParallel,
  kIncrementTargetsSerial,
  kCycleWorkersAndTargets,
  kCycleOutstandingIos,
  kCycleOutstandingIosAndTargets,
};

struct Setup {
  std::string description;
  Origin description_from;
  int64_t run_seconds = 0;
  Origin run_from;  // line 0: the file does not say it
  int64_t ramp_seconds = 0;
  Origin ramp_from;
  TestType type = TestType::kNormal;
  Steps workers, targets, depth;
};

struct AccessLine {
  int64_t size = 0, share = 0, reads = 0, random = 0;  // bytes, then percent
  int64_t delay_ms = 0, burst = 1, align = 0;          // align 0: the sector
  Origin where;
};
struct AccessSpec {
  std::string name;
  Origin where;
  std::vector<AccessLine> lines;
};

enum class DataPattern { kRepeating, kPseudoRandom, kFullRandom };

struct Named {
  std::string name;
  Origin where;
};
struct Worker {
  std::string name;
  Origin where;
  int64_t depth = 1;
  Origin depth_from;
  bool fixed_seed = false;
  int64_t seed = 0;
  int64_t max_sectors = 0, first_sector = 0;
  DataPattern pattern = DataPattern::kRepeating;
  Origin size_from;
  std::vector<Named> specs, targets;

  // Bytes [begin, end) of each of its disks that it uses; end 0: up to the disk's end.
  int64_t begin() const { return first_sector * kSector; }
  int64_t end() const { return max_sectors == 0 ? 0 : (first_sector + max_sectors) * kSector; }
};
struct Manager {
  std::string name;
  Origin where;
  std::vector<Worker> workers;
};

struct Config {
  Setup setup;
  std::vector<AccessSpec> specs;
  std::vector<Manager> managers;
};

// Keys, or settings below one, in small letters, that are not translated. A setting is refused
// for some of its values.
absl::Span<const Rule> Rules();

// Reads a file. Errors go to the findings, with their lines.
Config ReadConfig(const SourceFile& file, Findings* findings);

// Whether the text looks like a file of Iometer: its first line is a version.
bool LooksLikeConfig(absl::string_view text);

// The whole translation.
Translation TranslateIometer(const Request& request);

}  // namespace lockstep::frontends::iometer
