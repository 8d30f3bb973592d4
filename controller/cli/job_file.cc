#include "controller/cli/job_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/yaml_reader.h"
#include "proto/fields.h"
#include "proto/job.pb.h"
#include "proto/units.pb.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/yaml.h"

namespace lockstep::cli {
namespace {

// A field of a map. An unquoted `null` is no text in YAML, and yet the name of a target's kind:
// keys are compared as ReadYaml() reads them.
YAML::Node FieldOf(const std::string& name, YAML::Node* map) {
  if (map->IsMap()) {
    for (const auto& entry : *map) {
      if (entry.first.as<std::string>("") == name) return entry.second;
    }
  }
  return (*map)[name];
}

// "--set name=x: ": in one line, whatever the value has.
std::string FlagOf(const std::string& set) {
  return absl::StrCat("--set ", common::Printable(set, 300), ": ");
}

// Sets one value in the tree: phases.0.run.duration=10s. Returns what is wrong, or nothing; `path`
// is then the field's as errors name it.
std::string ApplySet(const std::string& set, YAML::Node* root, std::string* path) {
  const size_t equals = set.find('=');
  const std::string flag = FlagOf(set);
  if (equals == std::string::npos || equals == 0) {
    return absl::StrCat(flag, "write PATH=VALUE, as phases.0.run.duration=10s");
  }
  // Errors write items of lists as phases[0]. Such a path can be copied into --set as it is.
  const std::vector<std::string> parts =
      absl::StrSplit(set.substr(0, equals), absl::ByAnyChar(".[]"), absl::SkipEmpty());
  // An assignment to a YAML::Node changes the tree that it refers to, not the variable. Each step
  // therefore has a node of its own, and only the last one is assigned to.
  std::vector<YAML::Node> chain{*root};
  for (size_t i = 0; i < parts.size(); ++i) {
    YAML::Node here = chain.back();
    uint64_t index = 0;
    if (here.IsSequence()) {
      if (!absl::SimpleAtoi(parts[i], &index) || index >= here.size()) {
        return absl::StrCat(flag, "'", common::Printable(parts[i], 100),
                            "' is not one of the list's numbers, 0 to ",
                            here.size() == 0 ? 0 : here.size() - 1);
      }
      chain.push_back(here[index]);
      absl::StrAppend(path, "[", index, "]");
    } else if (here.IsMap() || here.IsNull() || !here.IsDefined()) {
      chain.push_back(FieldOf(parts[i], &here));
      absl::StrAppend(path, path->empty() ? "" : ".", common::Printable(parts[i], 100));
    } else {
      return absl::StrCat(flag, "'", common::Printable(parts[i - 1], 100), "' has no fields");
    }
  }
  try {
    chain.back() = YAML::Load(set.substr(equals + 1));
  } catch (const YAML::Exception& e) {
    return absl::StrCat(flag, e.msg);
  }
  return "";
}

// The parser recurses with each bracket and each level of indentation, so that a file of brackets
// would overflow the stack. Brackets in texts are counted as well: no sensible job comes near these
// limits.
std::string TooDeep(const std::string& source) {
  constexpr int kDeepest = 100;
  constexpr int kDeepestIndent = 1000;
  int depth = 0;
  int column = 0;
  bool indenting = true;
  for (char c : source) {
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > kDeepest) {
      return absl::StrCat("has more than ", kDeepest, " nested brackets");
    }
    column = c == '\n' ? 0 : column + 1;
    indenting = c == '\n' || (indenting && (c == ' ' || c == '-' || c == '?' || c == ':'));
    if (indenting && column > kDeepestIndent) {
      return absl::StrCat("is indented by more than ", kDeepestIndent, " spaces");
    }
  }
  return "";
}

// Whether a placeholder stands outside of quotes, where YAML takes its braces for a map.
bool HasBareBraces(const std::string& line) {
  char quote = 0;
  int open = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      return false;
    } else if (c == '[') {
      ++open;
    } else if (c == ']' || c == '}') {
      --open;
    } else if (c == '{') {
      // In the middle of a value braces mean something only within other brackets.
      const size_t before = i == 0 ? std::string::npos : line.find_last_not_of(' ', i - 1);
      const bool begins = before == std::string::npos ||
                          std::string(":-,[{").find(line[before]) != std::string::npos;
      if (open == 0 && !begins) return false;
      ++open;
      for (const char* word : {"{host}", "{worker}", "{index}"}) {
        if (line.compare(i, std::char_traits<char>::length(word), word) == 0) return true;
      }
    }
  }
  return false;
}

// The reason why the parser could not read the source, in words; a tab in front of a line is the
// most common reason.
std::string SyntaxError(const std::string& name, const std::string& source,
                        const YAML::Exception& e) {
  const std::vector<std::string> lines = absl::StrSplit(source, '\n');
  for (int line = std::max(0, e.mark.line - 1);
       line <= e.mark.line && line < static_cast<int>(lines.size()); ++line) {
    const size_t first = lines[static_cast<size_t>(line)].find_first_not_of(" \t");
    if (lines[static_cast<size_t>(line)].substr(0, first).find('\t') != std::string::npos) {
      return absl::StrCat(name, ":", line + 1, ": begins with a tab; indent YAML with spaces");
    }
  }
  // A construct that the parser misses at its line often began on an earlier one.
  for (int line = std::max(0, e.mark.line - 5);
       line <= e.mark.line && line < static_cast<int>(lines.size()); ++line) {
    if (HasBareBraces(lines[static_cast<size_t>(line)])) {
      return absl::StrCat(
          name, ":", line + 1,
          ": not YAML: a text with {host} needs quotes: path: \"/mnt/{host}/data\"");
    }
  }
  const bool is_open = e.msg.find("end of map") != std::string::npos ||
                       e.msg.find("end of sequence") != std::string::npos ||
                       e.msg.find("illegal map value") != std::string::npos;
  return absl::StrCat(name, ":", e.mark.line + 1, ": not YAML: ",
                      is_open ? "a bracket is not closed, a comma is missing, or the line is "
                                "indented by more or less than those beside it"
                              : e.msg);
}

}  // namespace

bool IsWithin(const std::string& path, const std::string& above) {
  // The name of another field may begin with the same letters.
  return path.starts_with(above) &&
         (path.size() == above.size() || path[above.size()] == '.' || path[above.size()] == '[');
}

std::string JobFile::LocationOf(const std::string& path, int line) const {
  // Of two flags for one field the last one counts.
  for (auto flag = sets.rbegin(); flag != sets.rend(); ++flag) {
    if (IsWithin(path, flag->first)) return FlagOf(flag->second);
  }
  // A field that the file does not have was made on the way to the one that --set names.
  for (const auto& [set_path, set] : sets) {
    if (line < 1 && IsWithin(set_path, path)) return FlagOf(set);
  }
  line = std::max(line, 1);
  if (!is_translated) return absl::StrCat(name, ":", line, ": ");
  const auto origin = origins.find(line);
  return origin != origins.end()
             ? origin->second
             : absl::StrCat(name, ": line ", line, " of what `lockstep translate` prints: ");
}

std::string JobFile::Locate(const v1::Problem& problem) const {
  std::string path = problem.path();
  while (true) {
    const auto found = lines.find(path);
    if (found != lines.end() || path.empty()) {
      // Defaults that the controller filled in, and fields that are missing, have no line. The
      // nearest field above them has one.
      const int line = found == lines.end() ? 1 : found->second;
      return absl::StrCat(LocationOf(line < 1 ? path : problem.path(), line), problem.path(),
                          problem.path().empty() ? "" : ": ", common::Printable(problem.message()));
    }
    const size_t cut = path.find_last_of(".[");
    path = cut == std::string::npos ? "" : path.substr(0, cut);
  }
}

namespace {

// Hears where documents begin, and nothing else.
class DocumentStarts final : public YAML::EventHandler {
 public:
  int line = 0;  // of the last one, from 1

 private:
  void OnDocumentStart(const YAML::Mark& mark) override { line = mark.line + 1; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// The line at which a second document begins; 0 if there is none. YAML::LoadAll() is not used,
// because it never returns if a document begins with an invalid character (`, a`).
int SecondDocument(const std::string& source) {
  std::istringstream text(source);
  YAML::Parser parser(text);
  DocumentStarts starts;
  return parser.HandleNextDocument(starts) && parser.HandleNextDocument(starts) ? starts.line : 0;
}

}  // namespace

std::string RefusedSource(const std::string& name, const std::string& source) {
  if (source.size() > static_cast<size_t>(limits::kJobBytes)) {
    return absl::StrCat(name, ":1: has ", source.size(), " bytes; the maximum is ",
                        limits::kJobBytes);
  }
  const std::string deep = TooDeep(source);
  return deep.empty() ? "" : absl::StrCat(name, ":1: ", deep);
}

JobFile ParseJobFile(const std::string& name, const std::string& source,
                     const std::vector<std::string>& sets) {
  JobFile file;
  file.name = name;
  file.source = source;
  YAML::Node root;
  if (const std::string refused = RefusedSource(name, source); !refused.empty()) {
    file.errors.push_back(refused);
    return file;
  }
  try {
    if (const int line = SecondDocument(source); line != 0) {
      file.errors.push_back(
          absl::StrCat(name, ":", line, ": a second document begins here; a job file has one"));
      return file;
    }
    root = YAML::Load(source);
  } catch (const YAML::Exception& e) {
    file.errors.push_back(SyntaxError(name, source, e));
    return file;
  }
  if (!root.IsMap()) {
    file.errors.push_back(absl::StrCat(name,
                                       ":1: not a job: fields like `name:` and `phases:` are "
                                       "expected; docs/reference/job.md lists them"));
    return file;
  }
  // Overrides change the tree before it is read, so that they pass the same checks as the file.
  for (const std::string& set : sets) {
    std::string path;
    const std::string wrong = ApplySet(set, &root, &path);
    if (!wrong.empty()) file.errors.push_back(wrong);
    if (wrong.empty()) file.sets.emplace_back(path, set);
  }
  try {
    ReadYaml(root, &file);
  } catch (const YAML::Exception& e) {
    file.errors.push_back(absl::StrCat(name, ":", std::max(e.mark.line + 1, 1), ": ", e.msg));
  }
  return file;
}

}  // namespace lockstep::cli
