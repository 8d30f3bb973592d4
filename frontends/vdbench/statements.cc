// Lines become statements.

#include "frontends/vdbench/statements.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "frontends/vdbench/keys.h"

namespace lockstep::frontends::vdbench {
namespace {

constexpr int kMaxLines = 100000;
constexpr size_t kMaxStatements = 10000;
constexpr size_t kMaxBytes = 65536;  // of a statement
constexpr size_t kMaxName = 100;

const KindRule* RuleFor(const std::string& word) {
  if (word.empty()) return nullptr;
  for (const KindRule& rule : KindRules()) {
    if (word == rule.word) return &rule;
  }
  return nullptr;
}

// The key of this kind that a word is, or is the begin of. Empty with `why` otherwise.
std::string FullKey(const KindRule& kind, const std::string& word, std::string* why) {
  // vdbench takes any beginning of a key that fits one key only: xfer, el, th. A whole key is taken
  // even if longer keys begin with it, such as report and report_run_totals.
  std::vector<std::string> found;
  for (const Rule& rule : kind.keys) {
    if (word == rule.name) return word;
    if (absl::StartsWith(rule.name, word)) found.emplace_back(rule.name);
  }
  if (found.size() == 1) return found[0];
  *why = found.empty() ? "is no parameter of vdbench at this place"
                       : absl::StrCat("may be ", absl::StrJoin(found, " or "));
  return "";
}

// Text of one statement, which may go over several lines.
struct Pending {
  std::string text;
  std::vector<std::pair<size_t, int>> lines;  // offset in the text and line of each piece

  int LineAt(size_t offset) const {
    int line = 0;
    for (const auto& [begin, number] : lines) line = begin <= offset ? number : line;
    return line;
  }
};

class Reader {
 public:
  Reader(const Request& request, Findings* findings) : request_(request), findings_(findings) {}

  std::vector<Statement> Read() {
    // Files on the command line follow each other, as if they were one.
    for (const SourceFile& file : request_.files) ReadFile(file, 0);
    return std::move(statements_);
  }

 private:
  void ReadFile(const SourceFile& file, int depth) {
    Pending pending;
    int number = 0;
    for (absl::string_view line : absl::StrSplit(file.text, '\n')) {
      ++number;
      if (++lines_ > kMaxLines) {
        return findings_->Fail({file.name, number, ""},
                               "is beyond the 100,000 lines that are read");
      }
      line = absl::StripAsciiWhitespace(line);
      if (line.empty() || absl::string_view("/#*").find(line[0]) != absl::string_view::npos) {
        continue;
      }
      // All behind a blank is a comment.
      line = line.substr(0, line.find_first_of(" \t"));
      // Below eof anything may stand, such as runs that are switched off.
      if (absl::EqualsIgnoreCase(line, "eof")) break;
      if (!common::IsUtf8({line.data(), line.size()})) {
        return findings_->Fail({file.name, number, ""}, "is not UTF-8");
      }
      pending.lines.emplace_back(pending.text.size(), number);
      absl::StrAppend(&pending.text, line);
      if (pending.text.size() > kMaxBytes) {
        return findings_->Fail({file.name, number, ""}, "is a statement of more than 64 KiB");
      }
      // A comma at the end of a line continues the statement in the next one.
      if (pending.text.back() == ',') continue;
      Take(file, std::exchange(pending, {}), depth);
      if (findings_->errors.size() >= kMaxErrors) return;
    }
    if (!pending.text.empty()) {
      findings_->Fail({file.name, pending.lines.back().second, ""},
                      "ends with a comma, and nothing follows");
    }
  }

  // Splits a statement into parameters at the commas outside of brackets.
  std::vector<Parameter> Split(const SourceFile& file, const Pending& pending) {
    std::vector<Parameter> parameters;
    size_t begin = 0;
    int depth = 0;
    for (size_t i = 0; i <= pending.text.size(); ++i) {
      const bool at_end = i == pending.text.size();
      // The end of the text counts as a comma that ends the last parameter.
      const char c = at_end ? ',' : pending.text[i];
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c != ',' || (depth > 0 && !at_end)) continue;
      const std::string piece = pending.text.substr(begin, i - begin);
      const Origin where{file.name, pending.LineAt(begin), piece};
      begin = i + 1;
      const size_t equals = piece.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == piece.size()) {
        findings_->Fail(where, "is no KEY=VALUE");
        return {};
      }
      // Keys have no case. Values keep theirs: they are names and paths.
      parameters.push_back({absl::AsciiStrToLower(piece.substr(0, equals)),
                            piece.substr(equals + 1), ++order_, where});
    }
    return parameters;
  }

  void Take(const SourceFile& file, const Pending& pending, int depth) {
    std::vector<Parameter> parameters = Split(file, pending);
    if (parameters.empty()) return;
    const KindRule* rule = RuleFor(parameters[0].key);
    if (rule == nullptr) {
      for (Parameter& parameter : parameters) TakeGeneral(std::move(parameter), depth);
      return;
    }
    CheckOrder(*rule, parameters[0]);
    Statement statement{rule->kind, parameters[0].value, parameters[0].where, {}};
    if (statement.name.size() > kMaxName) {
      return findings_->Fail(statement.where, "has a name of more than 100 bytes");
    }
    // Defaults hold for the statements that follow them: a later `default` changes none before.
    const auto seed = defaults_.find(rule->kind);
    if (seed != defaults_.end()) statement.parameters = seed->second;
    // The parameters of these are not read: the statements are refused as a whole.
    const bool is_refused = rule->kind == Kind::kFileSystem || rule->kind == Kind::kFileWorkload;
    for (size_t i = 1; i < parameters.size() && !is_refused; ++i) {
      std::string why;
      parameters[i].key = FullKey(*rule, parameters[i].key, &why);
      if (parameters[i].key.empty()) {
        findings_->Fail(parameters[i].where, why);
        continue;
      }
      statement.parameters[parameters[i].key] = parameters[i];
    }
    if (statement.name == "default") {
      defaults_[rule->kind] = std::move(statement.parameters);
      return;
    }
    if (!names_.insert({rule->kind, statement.name}).second) {
      return findings_->Fail(statement.where, "is there twice");
    }
    Add(std::move(statement));
  }

  void Add(Statement statement) {
    if (statements_.size() < kMaxStatements) {
      statements_.push_back(std::move(statement));
    } else {
      findings_->Fail(statement.where, "is beyond the 10,000 statements that are read");
    }
  }

  // vdbench wants hosts, storages, workloads and runs in this order.
  void CheckOrder(const KindRule& rule, const Parameter& first) {
    const auto place = [](Kind kind) {
      switch (kind) {
        case Kind::kHost:
          return 1;
        case Kind::kStorage:
        case Kind::kFileSystem:
          return 2;
        case Kind::kWorkload:
        case Kind::kFileWorkload:
          return 3;
        default:
          return 4;
      }
    };
    const int here = place(rule.kind);
    if (here < place_) {
      findings_->Fail(first.where, "stands behind what needs it: the order is hd, sd, wd, rd");
    }
    place_ = std::max(place_, here);
  }

  void TakeGeneral(Parameter parameter, int depth) {
    std::string why;
    parameter.key = FullKey(RuleOf(Kind::kGeneral), parameter.key, &why);
    if (parameter.key.empty()) return findings_->Fail(parameter.where, why);
    if (parameter.key == "include") return Include(parameter, depth);
    Statement statement;
    statement.where = parameter.where;
    statement.parameters[parameter.key] = parameter;
    Add(std::move(statement));
  }

  void Include(const Parameter& parameter, int depth) {
    // vdbench follows one level of includes. That also keeps a file from including itself.
    if (depth > 0) return findings_->Fail(parameter.where, "stands in a file that is included");
    if (!request_.read_included) return findings_->Fail(parameter.where, "cannot be read here");
    std::string path = parameter.value;
    // Relative to the including file.
    const std::string& from = parameter.where.file;
    if (path[0] != '/' && absl::StrContains(from, '/')) {
      path = absl::StrCat(from.substr(0, from.rfind('/') + 1), path);
    }
    const auto text = request_.read_included(path);
    if (!text) return findings_->Fail(parameter.where, absl::StrCat("cannot be read: ", path));
    ReadFile({path, *text}, depth + 1);
  }

  const Request& request_;
  Findings* findings_;
  int lines_ = 0;
  int order_ = 0;
  int place_ = 0;
  std::vector<Statement> statements_;
  std::map<Kind, std::map<std::string, Parameter>> defaults_;
  std::set<std::pair<Kind, std::string>> names_;
};

}  // namespace

const Parameter* Statement::Find(const std::string& key) const {
  const auto found = parameters.find(key);
  return found == parameters.end() ? nullptr : &found->second;
}

std::vector<Statement> ReadStatements(const Request& request, Findings* findings) {
  return Reader(request, findings).Read();
}

bool LooksLikeParameters(absl::string_view text) {
  // No other tool has run definitions. A file may include its runs: its first statement decides
  // then.
  if (absl::StrContains(text, "\nrd=")) return true;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || absl::string_view("/#*").find(line[0]) != absl::string_view::npos) {
      continue;
    }
    return absl::StartsWith(line, "sd=") || absl::StartsWith(line, "hd=") ||
           absl::StartsWith(line, "fsd=");
  }
  return false;
}

}  // namespace lockstep::frontends::vdbench
