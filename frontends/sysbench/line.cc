// One command line, read as sysbench 1.0 reads it.

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "frontends/sysbench/options.h"

namespace lockstep::frontends::sysbench {
namespace {

constexpr size_t kMaxRemarks = 1000;
constexpr size_t kMaxLikeNames = 3;        // that an error lists
constexpr int64_t kMaxCount = 2147483647;  // sysbench keeps them as int
constexpr int64_t kMaxBytes = 1000000000000000000;

}  // namespace

void Findings::Remark(const Origin& where, const std::string& text) {
  if (out_->remarks.size() >= kMaxRemarks) return;
  // Each line of a script has the option again: one remark says it for all of them.
  for (const Message& known : out_->remarks) {
    if (known.text == text && known.where.option == where.option) return;
  }
  out_->remarks.push_back({where, text});
}

void Findings::Fail(const Origin& where, const std::string& text) {
  if (out_->errors.size() >= kMaxErrors) return;
  // An error in a word is reported once, however often the word is read.
  for (const Message& known : out_->errors) {
    const Origin& other = known.where;
    const bool is_same = other.line == where.line && other.file == where.file;
    if (is_same && other.option == where.option) return;
  }
  out_->errors.push_back({where, text});
}

int64_t SizeOf(absl::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) {
    ++digits;
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(text.substr(0, digits), &number)) return 0;
  if (digits == text.size()) return number;
  // Behind the first letter everything is overlooked: 3MB and 3MiB are 3M.
  const char unit = absl::ascii_toupper(static_cast<unsigned char>(text[digits]));
  const size_t power = absl::string_view("KMGT").find(unit);
  if (power == absl::string_view::npos) return 0;
  const int shift = 10 * (static_cast<int>(power) + 1);
  // A size that would overflow becomes the largest number, which Line::Size() refuses.
  return number > (INT64_MAX >> shift) ? INT64_MAX : number << shift;
}

Line::Line(const Command& command, Findings* findings) : command_(command), findings_(findings) {
  std::vector<const Word*> positional;
  // sysbench takes options before and behind the names of the test and of the command.
  for (const Word& word : command.words) {
    if (absl::StartsWith(word.text, "--")) {
      Read(word);
    } else {
      positional.push_back(&word);
    }
  }
  ReadPositional(std::move(positional));
  CheckFates();
}

void Line::Read(const Word& word) {
  const absl::string_view text = absl::string_view(word.text).substr(2);
  const size_t equals = text.find('=');
  const absl::string_view name = text.substr(0, equals);
  const OptionRule* rule = FindRule(name);
  if (rule == nullptr) {
    const std::vector<std::string> like = NamesLike(name);
    std::string hint = "is no option of sysbench 1.0's fileio";
    // Many programs take the beginning of a name, as getopt_long(3) does. sysbench 1.0 parses its
    // options itself, and does not.
    if (!like.empty() && like.size() <= kMaxLikeNames) {
      absl::StrAppend(&hint, ", which takes no abbreviations: write --",
                      absl::StrJoin(like, " or --"));
    }
    return findings_->Fail(word.where, hint);
  }
  // The last one of several counts.
  Given given{&word, std::nullopt};
  // A flag without = is on, and one with nothing behind it is an error: the value tells them apart.
  if (equals != absl::string_view::npos) given.value = std::string(text.substr(equals + 1));
  // sysbench takes - and _ for the same, so that --file_num overrides an earlier --file-num.
  given_[absl::StrReplaceAll(name, {{"_", "-"}})] = given;
}

void Line::ReadPositional(std::vector<const Word*> words) {
  std::string test = Text("test").value;
  // sysbench 0.4 named the test with --test.
  if (test.empty() && !words.empty()) {
    test = words[0]->text;
    words.erase(words.begin());
  } else if (!test.empty()) {
    Remark(Text("test").from, "is deprecated in sysbench 1.0; `fileio` alone names the test");
  }
  if (test != "fileio") {
    return findings_->Fail(
        command_.where,
        test.empty() ? "names no test: write `fileio prepare`, `fileio run` or `fileio cleanup`"
                     : absl::StrCat("'", test, "' is no test of storage; Lockstep has fileio"));
  }
  if (words.empty()) {
    return findings_->Fail(command_.where,
                           "the test 'fileio' has no command: prepare, run or cleanup");
  }
  if (words.size() > 1) {
    return findings_->Fail(words[1]->where,
                           "is no command-line argument of sysbench; a value stands behind a =");
  }
  const std::string& what = words[0]->text;
  if (what != "prepare" && what != "run" && what != "cleanup") {
    return findings_->Fail(words[0]->where, "is none of prepare, run and cleanup");
  }
  what_ = what;
}

void Line::CheckFates() const {
  for (const auto& [name, given] : given_) {
    const OptionRule& rule = *FindRule(name);
    if (rule.fate == Fate::kTranslated) continue;
    const std::string otherwise = rule.otherwise;
    const bool flag = rule.kind == Kind::kFlag;
    // A value that is sysbench's default asks for nothing: no message is worth it.
    // The rule for the options of databases has neither a name nor a default.
    const bool is_default =
        flag ? !Flag(name).value : *rule.name != '\0' && given.value.value_or("") == otherwise;
    if (is_default) continue;
    if (rule.fate == Fate::kRefused) {
      findings_->Fail(given.word->where, absl::StrCat("cannot be translated: ", rule.text));
    } else {
      findings_->Remark(given.word->where, absl::StrCat("left out; ", rule.text));
    }
  }
}

std::optional<std::string> Line::ValueOf(absl::string_view name, const Word** from) const {
  const auto found = given_.find(name);
  if (found == given_.end()) return FindRule(name)->otherwise;
  *from = found->second.word;
  return found->second.value;
}

Value<int64_t> Line::Count(absl::string_view name) const {
  Value<int64_t> count;
  const std::string text = ValueOf(name, &count.from).value_or("");
  // Without digits it is 0 for sysbench.
  if (text.empty()) return count;
  if (!absl::SimpleAtoi(text, &count.value) || absl::ascii_isspace(text[0]) ||
      std::abs(count.value) > kMaxCount) {
    count.value = 0;
    Fail(count.from, name, "is not a whole number for sysbench; it takes no unit here");
  }
  return count;
}

Value<int64_t> Line::CountOr(absl::string_view name, absl::string_view deprecated) const {
  const Value<int64_t> old = Count(deprecated);
  int64_t otherwise = 0;
  // sysbench takes a deprecated option at its default for one that was not given.
  if (old.from == nullptr || !absl::SimpleAtoi(FindRule(deprecated)->otherwise, &otherwise) ||
      old.value == otherwise) {
    if (old.from != nullptr) {
      Remark(old.from, absl::StrCat("is overlooked by sysbench, because ", otherwise,
                                    " is its default; --", name, " says it"));
    }
    return Count(name);
  }
  Remark(old.from, absl::StrCat("is deprecated in sysbench 1.0; it stands for --", name));
  return old;
}

Value<int64_t> Line::Size(absl::string_view name) const {
  Value<int64_t> size;
  size.value = SizeOf(ValueOf(name, &size.from).value_or(""));
  // For sysbench a size with an unknown suffix is 0, which it refuses.
  if (size.value < 1 || size.value > kMaxBytes) {
    size.value = 0;
    Fail(size.from, name, "is no size for sysbench from 1 byte to 1 EB; write 16384, 16K, 2G");
  }
  return size;
}

Value<double> Line::Real(absl::string_view name) const {
  Value<double> real;
  const std::string text = ValueOf(name, &real.from).value_or("");
  if (!absl::SimpleAtod(text, &real.value) || !std::isfinite(real.value)) {
    real.value = 0;
    Fail(real.from, name, "is not a number");
  }
  return real;
}

Value<bool> Line::Flag(absl::string_view name) const {
  Value<bool> flag;
  const std::string text = ValueOf(name, &flag.from).value_or("on");
  flag.value = text == "on" || text == "true" || text == "1";
  if (!flag.value && text != "off" && text != "false" && text != "0") {
    Fail(flag.from, name, "is none of on, true, 1, off, false, 0 for sysbench");
  }
  return flag;
}

Value<std::string> Line::Text(absl::string_view name) const {
  Value<std::string> text;
  text.value = ValueOf(name, &text.from).value_or("");
  return text;
}

Value<std::vector<std::string>> Line::List(absl::string_view name) const {
  Value<std::vector<std::string>> list;
  const std::string text = ValueOf(name, &list.from).value_or("");
  list.value = absl::StrSplit(text, absl::ByAnyChar(", "), absl::SkipEmpty());
  return list;
}

Origin Line::OriginOf(const Word* from, absl::string_view name) const {
  if (from != nullptr) return from->where;
  const std::string otherwise = FindRule(name)->otherwise;
  return {"", 0, absl::StrCat("sysbench's default: --", name, "=", otherwise)};
}

void Line::Remark(const Word* from, const std::string& text) const {
  findings_->Remark(from != nullptr ? from->where : command_.where, text);
}

void Line::Fail(const Word* from, absl::string_view name, const std::string& text) const {
  if (from != nullptr) return findings_->Fail(from->where, text);
  // Nobody wrote the option, whose default is wrong here. The message names it all the same.
  Origin where = command_.where;
  where.option = absl::StrCat("--", name);
  findings_->Fail(where, text);
}

}  // namespace lockstep::frontends::sysbench
