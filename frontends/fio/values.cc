#include "frontends/fio/values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace lockstep::frontends::fio {
namespace {

// The number at the start, as strtoll(3) reads it: blanks, a sign, digits or 0x and more of them.
// `text` then begins behind it.
std::optional<int64_t> TakeInteger(absl::string_view* text) {
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(*text);
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  // A lone 0x is the number 0 with a unit behind it, as for strtoll(3).
  const bool hex = rest.size() > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X') &&
                   absl::ascii_isxdigit(rest[2]);
  if (hex) rest.remove_prefix(2);
  size_t length = 0;
  while (length < rest.size() &&
         (hex ? absl::ascii_isxdigit(rest[length]) : absl::ascii_isdigit(rest[length]))) {
    ++length;
  }
  int64_t value = 0;
  const absl::string_view digits = rest.substr(0, length);
  if (length == 0 ||
      !(hex ? absl::SimpleHexAtoi(digits, &value) : absl::SimpleAtoi(digits, &value))) {
    return std::nullopt;
  }
  *text = rest.substr(length);
  return negative ? -value : value;
}

// The letters from which fio takes the unit: those that follow the digits at once. A blank in
// front, a hexadecimal number or a fraction hides them.
std::string UnitOf(absl::string_view text) {
  size_t at = 0;
  bool digit = false;
  while (at < text.size() &&
         (absl::ascii_isdigit(text[at]) || (!digit && (text[at] == '-' || text[at] == '+')))) {
    digit = digit || absl::ascii_isdigit(text[at]);
    ++at;
  }
  const absl::string_view unit = text.substr(at);
  if (unit.empty() || !(absl::ascii_isalpha(unit[0]) || unit[0] == '%')) return "";
  return absl::AsciiStrToLower(unit);
}

// The factor of a size's unit. Only the first letters count.
double BytesFactor(const std::string& unit, int kb_base) {
  const size_t power = absl::string_view("kmgtp").find(unit.empty() ? '-' : unit[0]);
  if (power == absl::string_view::npos) return 1;
  const bool iec = unit.size() >= 3 && unit[1] == 'i' && unit[2] == 'b';
  // For compatibility with its past, fio swaps the two systems unless kb_base is 1000.
  const double base = iec ? (kb_base == 1000 ? 1024 : 1000) : kb_base;
  return std::pow(base, static_cast<double>(power + 1));
}

int64_t TimeFactor(const std::string& unit, TimeUnit without_unit) {
  if (unit.empty()) return static_cast<int64_t>(without_unit);
  if (absl::StartsWith(unit, "ms")) return 1000;
  if (unit == "s") return 1000000;
  if (unit == "m") return 60000000;
  if (unit == "h") return 3600000000;
  if (unit == "d") return 86400000000;
  // fio takes a unit that it does not know for microseconds.
  return 1;
}

std::optional<int64_t> Whole(double value) {
  // The cast of a larger double would be undefined.
  if (!(std::abs(value) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(value);
}

class Expression {
 public:
  Expression(absl::string_view text, Units units, int kb_base)
      : text_(text), units_(units), kb_base_(kb_base) {}

  std::optional<double> Value() {
    const double value = Sum(0);
    Skip();
    if (failed_ || !text_.empty() || !std::isfinite(value)) return std::nullopt;
    return value;
  }

 private:
  // Brackets and signs nest: the limit keeps a text of them from overflowing the stack.
  static constexpr int kDeepest = 64;

  void Skip() { text_ = absl::StripLeadingAsciiWhitespace(text_); }
  bool Take(char c) {
    Skip();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  double Fail() {
    failed_ = true;
    return 0;
  }

  double Sum(int depth) {
    double value = Product(depth);
    while (!failed_) {
      if (Take('+')) {
        value += Product(depth);
      } else if (Take('-')) {
        value -= Product(depth);
      } else {
        break;
      }
    }
    return value;
  }
  double Product(int depth) {
    double value = Power(depth);
    while (!failed_) {
      const char c = Take('*') ? '*' : Take('/') ? '/' : Take('%') ? '%' : 0;
      if (c == 0) break;
      const double by = Power(depth);
      // Otherwise a size would be infinite, or not a number.
      if (c != '*' && by == 0) return Fail();
      value = c == '*' ? value * by : c == '%' ? std::fmod(value, by) : Quotient(value, by);
    }
    return value;
  }
  // bc(1) divides whole numbers; fio's own expressions are of real ones.
  double Quotient(double value, double by) const {
    return units_ == Units::kNone ? std::trunc(value / by) : value / by;
  }
  double Power(int depth) {
    // Powers group to the right: 2^3^2 is 2^9. A sign binds more tightly than a power. Both are as
    // in bc(1).
    const double value = Atom(depth);
    if (failed_ || !Take('^')) return value;
    if (depth > kDeepest) return Fail();
    return std::pow(value, Power(depth + 1));
  }
  double Atom(int depth) {
    if (depth > kDeepest) return Fail();
    if (Take('-')) return -Atom(depth + 1);
    if (Take('(')) {
      const double value = Sum(depth + 1);
      return Take(')') ? value : Fail();
    }
    Skip();
    size_t length = 0;
    while (length < text_.size() && (absl::ascii_isdigit(text_[length]) || text_[length] == '.')) {
      ++length;
    }
    double value = 0;
    if (!absl::SimpleAtod(text_.substr(0, length), &value)) return Fail();
    text_.remove_prefix(length);
    return value * Factor();
  }
  double Factor() {
    size_t length = 0;
    while (length < text_.size() && absl::ascii_isalpha(text_[length])) ++length;
    const std::string unit = absl::AsciiStrToLower(text_.substr(0, length));
    text_.remove_prefix(length);
    if (unit.empty()) return 1;
    if (units_ == Units::kNone) return Fail();
    if (units_ == Units::kBytes) return BytesFactor(unit, kb_base_);
    return static_cast<double>(TimeFactor(unit, TimeUnit::kMicroseconds));
  }

  absl::string_view text_;
  Units units_;
  int kb_base_;
  bool failed_ = false;
};

}  // namespace

std::optional<double> Evaluate(absl::string_view text, Units units, int kb_base) {
  return Expression(text, units, kb_base).Value();
}

std::optional<Number> ParseBytes(absl::string_view text, int kb_base) {
  if (absl::StartsWith(text, "(")) {
    const std::optional<double> value = Evaluate(text, Units::kBytes, kb_base);
    const std::optional<int64_t> whole = value ? Whole(*value) : std::nullopt;
    return whole ? std::optional(Number{*whole}) : std::nullopt;
  }
  const std::string unit = UnitOf(text);
  absl::string_view rest = text;
  const std::optional<int64_t> number = TakeInteger(&rest);
  if (!number) return std::nullopt;
  if (absl::StartsWith(unit, "%")) return Number{*number, '%'};
  if (unit == "z") return Number{*number, 'z'};
  const std::optional<int64_t> whole =
      Whole(static_cast<double>(*number) * BytesFactor(unit, kb_base));
  return whole ? std::optional(Number{*whole}) : std::nullopt;
}

std::optional<int64_t> ParseTime(absl::string_view text, TimeUnit without_unit) {
  if (absl::StartsWith(text, "(")) {
    // Within brackets a number without a unit is taken as outside of them.
    const std::optional<double> value = Evaluate(text, Units::kTime, 1024);
    const bool has_unit = std::any_of(text.begin(), text.end(), absl::ascii_isalpha);
    const double factor = has_unit ? 1 : static_cast<double>(without_unit);
    return value ? Whole(*value * factor) : std::nullopt;
  }
  std::string unit = UnitOf(text);
  if (unit == "%") unit.clear();
  absl::string_view rest = text;
  const std::optional<int64_t> number = TakeInteger(&rest);
  if (!number) return std::nullopt;
  return Whole(static_cast<double>(*number) * static_cast<double>(TimeFactor(unit, without_unit)));
}

std::optional<int64_t> ParseInteger(absl::string_view text) { return TakeInteger(&text); }

std::optional<double> ParseReal(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) return std::nullopt;
  return value;
}

Directions SplitDirections(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(',', 2));
  // A value that is missing is that of the direction before it. An empty one, as in `4k,8k,`, stays
  // empty: its direction keeps the default.
  Directions values;
  values.read = parts[0];
  values.write = parts.size() > 1 ? parts[1] : parts[0];
  values.trim = parts.size() > 2 ? parts[2] : values.write;
  return values;
}

std::vector<std::string> SplitColons(absl::string_view text) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < text.size(); ++i) {
    // A backslash makes a colon a part of the name. Names under /dev/disk/by-path have colons.
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ':') {
      parts.back() += text[++i];
    } else if (text[i] == ':') {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  std::erase(parts, "");
  return parts;
}

std::optional<std::vector<Part>> ParseParts(absl::string_view text) {
  constexpr size_t kMaxParts = 256;
  std::vector<Part> parts;
  double given = 0;
  int without = 0;
  for (const absl::string_view each : absl::StrSplit(text, ':', absl::SkipEmpty())) {
    const std::vector<absl::string_view> two = absl::StrSplit(each, absl::MaxSplits('/', 1));
    Part part{std::string(two[0]), -1};
    if (two.size() > 1 && !two[1].empty()) {
      const std::optional<double> percent = ParseReal(two[1]);
      if (!percent || *percent < 0 || *percent > 100) return std::nullopt;
      part.percent = *percent;
      given += *percent;
    } else {
      ++without;
    }
    parts.push_back(part);
    if (parts.size() > kMaxParts) return std::nullopt;
  }
  // Shares with few digits, such as 33.34, may exceed 100 a little in all.
  if (parts.empty() || given > 100.001) return std::nullopt;
  // Parts without a share divide what the others leave.
  for (Part& part : parts) {
    if (part.percent < 0) part.percent = (100 - std::min(given, 100.0)) / without;
  }
  return parts;
}

std::optional<std::vector<uint32_t>> ParseNumbers(absl::string_view text) {
  constexpr uint32_t kMaxNumber = 8191;
  std::vector<uint32_t> numbers;
  for (const absl::string_view each : absl::StrSplit(text, absl::ByAnyChar(",:"))) {
    const std::vector<absl::string_view> ends = absl::StrSplit(each, '-');
    uint32_t first = 0;
    uint32_t last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
        !absl::SimpleAtoi(ends.back(), &last) || first > last || last > kMaxNumber) {
      return std::nullopt;
    }
    // A short list can repeat a large range: the limit bounds it.
    for (uint32_t i = first; i <= last && numbers.size() <= kMaxNumber; ++i) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace lockstep::frontends::fio
