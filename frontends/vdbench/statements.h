#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontends/findings.h"
#include "frontends/frontend.h"

namespace lockstep::frontends::vdbench {

enum class Kind { kGeneral, kHost, kStorage, kWorkload, kRun, kFileSystem, kFileWorkload };

struct Parameter {
  std::string key;    // in full, however it is cut in the file
  std::string value;  // as it is written, brackets included
  int order = 0;      // of all in the file
  Origin where;
};

// A definition with its own parameters and those of the `default` above it. A general statement has
// one parameter and no name.
struct Statement {
  Kind kind = Kind::kGeneral;
  std::string name;
  Origin where;
  std::map<std::string, Parameter> parameters;  // by key; of one that is given twice, the last one

  const Parameter* Find(const std::string& key) const;
};

// The file's statements, included files among them. Errors go to the findings: unknown keys,
// definitions that stand before those that they need, names that are given twice.
std::vector<Statement> ReadStatements(const Request& request, Findings* findings);

// Whether the text looks like a parameter file: its first line that is no comment defines a host, a
// storage or a file system, or it has a run definition.
bool LooksLikeParameters(absl::string_view text);

}  // namespace lockstep::frontends::vdbench
