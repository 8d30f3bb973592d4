#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "frontends/rules.h"
#include "frontends/sysbench/sysbench.h"

namespace lockstep::frontends::sysbench {

// How sysbench reads an option.
enum class Kind {
  kCount,  // a whole decimal number; without a value 0
  kSize,   // bytes, with K, M, G or T
  kReal,
  kFlag,  // on, true, 1 or nothing; off, false, 0
  kText,
  kList,
};

// An option of sysbench 1.0.
struct OptionRule {
  const char* name;
  Kind kind;
  const char* otherwise;  // its default
  Fate fate;              // a refused or remarked option may have its default
  const char* text;  // of a refusal: what the person does instead; of a remark: why it is left out
};
const std::vector<OptionRule>& Rules();
// Null: sysbench knows no such option. Names are exact; `_` is `-`.
const OptionRule* FindRule(absl::string_view name);
// The options whose names begin like this.
std::vector<std::string> NamesLike(absl::string_view start);

// sysbench's sizes: digits, and K, M, G or T. 0 where it takes a text for 0, which no option may
// be.
int64_t SizeOf(absl::string_view text);

// A value, with the word that it comes from; null if it is sysbench's default.
template <typename T>
struct Value {
  T value{};
  const Word* from = nullptr;
};

// Collects what is said about a translation.
class Findings {
 public:
  explicit Findings(Translation* out) : out_(out) {}
  void Remark(const Origin& where, const std::string& text);
  void Fail(const Origin& where, const std::string& text);

 private:
  Translation* out_;
};

// The options of one command line, by name and type. A value that sysbench would refuse is an
// error. Outlives nothing: keeps pointers to the command and the findings.
class Line {
 public:
  Line(const Command& command, Findings* findings);

  const Origin& where() const { return command_.where; }
  // prepare, run or cleanup; empty after an error.
  const std::string& what() const { return what_; }

  Value<int64_t> Count(absl::string_view name) const;
  Value<int64_t> Size(absl::string_view name) const;
  Value<double> Real(absl::string_view name) const;
  Value<bool> Flag(absl::string_view name) const;
  Value<std::string> Text(absl::string_view name) const;
  Value<std::vector<std::string>> List(absl::string_view name) const;
  // --threads, or the deprecated --num-threads, which sysbench prefers unless it has its default.
  Value<int64_t> CountOr(absl::string_view name, absl::string_view deprecated) const;

  void Remark(const Word* from, const std::string& text) const;
  // `name`: of the option, where the default is what is wrong.
  void Fail(const Word* from, absl::string_view name, const std::string& text) const;
  Origin OriginOf(const Word* from, absl::string_view name) const;

 private:
  struct Given {
    const Word* word;
    std::optional<std::string> value;
  };
  void Read(const Word& word);
  void ReadPositional(std::vector<const Word*> words);
  void CheckFates() const;
  // The value that an option has; nothing if it stands without one.
  std::optional<std::string> ValueOf(absl::string_view name, const Word** from) const;

  const Command& command_;
  Findings* findings_;
  std::map<std::string, Given, std::less<>> given_;
  std::string what_;
};

}  // namespace lockstep::frontends::sysbench
