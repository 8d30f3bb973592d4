#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontends/findings.h"
#include "frontends/frontend.h"

namespace lockstep::frontends::fio {

inline constexpr size_t kMaxSections = 512;
inline constexpr size_t kMaxOptions = 512;      // of a section, with those of [global]
inline constexpr size_t kMaxIncludes = 16;      // nested
inline constexpr size_t kMaxLines = 100000;     // of all files, included ones each time
inline constexpr size_t kMaxValueBytes = 8192;  // of a line, after its variables were replaced

// An option as it stands in a file. `name` is fio's first name for it, whatever alias was written.
struct Option {
  std::string name;
  std::string value;
  bool has_value = false;
  int order = 0;  // of all options, in the order in which fio reads them
  Origin where;
};

// By name; of an option that is given twice, the last one.
using Options = std::map<std::string, std::shared_ptr<const Option>>;

// A job: its own options and those of the [global] sections above it.
struct Section {
  std::string name;
  Origin where;
  Options options;
  bool begins_file = false;  // the first job of a further file, which waits for all before
};

struct JobFiles {
  std::vector<Section> sections;
  std::string hosts;  // of a comment `; lockstep: hosts=…`
  Origin hosts_origin;
  std::vector<Message> errors;
};

// Reads fio's grammar: sections, [global], include, ${VAR}, $pagesize and its like, comments. The
// values are not looked into.
JobFiles ReadJobFiles(const Request& request);

// Whether the text looks like a job file of fio: its first line that is no comment is a section.
bool LooksLikeJobFile(absl::string_view text);

}  // namespace lockstep::frontends::fio
