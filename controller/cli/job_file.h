#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/controller.pb.h"
#include "proto/job.pb.h"

namespace lockstep::cli {

// A job file: YAML onto JobSpec by reflection. Keys are the proto's field names without the suffix
// of their unit; values take units (8KiB, 70%, 90s, 20k); `pattern: random` stands for `pattern:
// {random: {}}`.
struct JobFile {
  std::string name;    // as given on the command line
  std::string source;  // its text
  v1::JobSpec job;
  // "mixed.yaml:14: phases[1].run.workloads[0].block_size: '4q' is not a size; write 4096, 4KiB,
  // 4k": all of them.
  std::vector<std::string> errors;
  std::map<std::string, int> lines;  // of field paths
  // Whether the job was translated from another tool's file, whose name is `name`. Then a line of
  // `source` has its origin: "mixed.fio:14: bs=4k: ".
  bool is_translated = false;
  std::map<int, std::string> origins;
  // overridden fields, and the words that did it
  std::vector<std::pair<std::string, std::string>> sets;

  // The line for a problem that the controller found: of the path itself, or of the nearest one
  // above.
  std::string Locate(const v1::Problem& problem) const;
  // "mixed.yaml:14: ", or "--set …: " for a field that was set on the command line. Line 0 is that
  // of a field that the file does not have.
  std::string LocationOf(const std::string& path, int line) const;
};

// Whether the field at `path` is the one at `above`, or in it: phases[0].run in phases[0].
bool IsWithin(const std::string& path, const std::string& above);

// Why a text of this size and depth is not read, with the name in front; empty if it may be.
std::string RefusedSource(const std::string& name, const std::string& source);

// Reads `source`, with `sets` ("phases.0.run.duration=10s") applied first. Never fails: errors are
// in the result.
JobFile ParseJobFile(const std::string& name, const std::string& source,
                     const std::vector<std::string>& sets);

}  // namespace lockstep::cli
