#include "frontends/vdbench/values.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace lockstep::frontends::vdbench {
namespace {

// Up to here the sum of a size and a step fits into 64 bits, also after the size has been doubled.
constexpr int64_t kMaxSize = int64_t{1} << 60;
constexpr int64_t kMaxSeconds = 366LL * 86400;

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// The text as digits and what follows them.
std::optional<int64_t> Digits(absl::string_view text, absl::string_view* rest) {
  size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  int64_t number = 0;
  if (end == 0 || !absl::SimpleAtoi(text.substr(0, end), &number)) return std::nullopt;
  *rest = text.substr(end);
  return number;
}

// `sd12` as `sd` and 12.
struct Numbered {
  absl::string_view prefix;
  int64_t number = 0;
};
std::optional<Numbered> SplitNumber(absl::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && IsDigit(text[begin - 1])) --begin;
  Numbered parts{text.substr(0, begin)};
  if (begin == text.size() || !absl::SimpleAtoi(text.substr(begin), &parts.number)) {
    return std::nullopt;
  }
  return parts;
}

// `step`: 0 for doubling or halving.
std::optional<std::vector<std::string>> NumberRange(int64_t first, int64_t last, int64_t step) {
  std::vector<std::string> items;
  const bool falls = last < first;
  if (step == 0 && (first < 1 || last < 1)) return std::nullopt;
  for (int64_t value = first; falls ? value >= last : value <= last;) {
    if (items.size() >= kMaxItems) return std::nullopt;
    items.push_back(absl::StrCat(value));
    if (step == 0) {
      value = falls ? value / 2 : value * 2;
    } else {
      value += falls ? -step : step;
    }
    if (value < 0 || (step == 0 && value == 0)) break;
  }
  return items;
}

// Nothing if the text is no range; no items if the range is too long.
std::optional<std::vector<std::string>> ExpandRange(absl::string_view text, absl::string_view by) {
  // The first character is never the dash of a range.
  const size_t dash = text.find('-', 1);
  if (dash == absl::string_view::npos) return std::nullopt;
  const absl::string_view from = text.substr(0, dash);
  const absl::string_view to = text.substr(dash + 1);
  // The ends of a range may have units, as in (4k-64k,d).
  const std::optional<int64_t> first = ParseSize(from);
  const std::optional<int64_t> last = ParseSize(to);
  if (first && last) {
    const bool doubles = absl::EqualsIgnoreCase(by, "d");
    const std::optional<int64_t> step = by.empty() ? 1 : doubles ? 0 : ParseSize(by);
    if (!step || (*step == 0 && !doubles)) return std::nullopt;
    return NumberRange(*first, *last, *step).value_or(std::vector<std::string>());
  }
  const auto a = SplitNumber(from);
  const auto b = SplitNumber(to);
  if (!by.empty() || !a || !b || a->prefix != b->prefix || b->number < a->number) {
    return std::nullopt;
  }
  auto numbers = NumberRange(a->number, b->number, 1);
  if (!numbers) return std::vector<std::string>();
  for (std::string& number : *numbers) number.insert(0, std::string(a->prefix));
  return numbers;
}

}  // namespace

std::optional<int64_t> ParseSize(absl::string_view text) {
  absl::string_view unit;
  const std::optional<int64_t> number = Digits(text, &unit);
  if (!number || unit.size() > 1) return std::nullopt;
  int shift = 0;
  if (!unit.empty()) {
    const size_t at =
        absl::string_view("kmgt").find(absl::ascii_tolower(static_cast<unsigned char>(unit[0])));
    if (at == absl::string_view::npos) return std::nullopt;
    shift = 10 * static_cast<int>(at + 1);
  }
  if (*number > (kMaxSize >> shift)) return std::nullopt;
  return *number << shift;
}

std::optional<int64_t> ParseSeconds(absl::string_view text) {
  absl::string_view unit;
  const std::optional<int64_t> number = Digits(text, &unit);
  if (!number || *number > kMaxSeconds) return std::nullopt;
  int64_t factor = 1;
  if (absl::EqualsIgnoreCase(unit, "m")) {
    factor = 60;
  } else if (absl::EqualsIgnoreCase(unit, "h")) {
    factor = 3600;
  } else if (!unit.empty() && !absl::EqualsIgnoreCase(unit, "s")) {
    return std::nullopt;
  }
  if (*number > kMaxSeconds / factor) return std::nullopt;
  return *number * factor;
}

std::optional<double> ParseNumber(absl::string_view text) {
  double number = 0;
  // SimpleAtod() would also take "inf", "nan" and signs.
  const bool begins = !text.empty() && (IsDigit(text[0]) || text[0] == '.');
  if (!begins || !absl::SimpleAtod(text, &number) || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<std::vector<std::string>> ParseList(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "(") != absl::ConsumeSuffix(&text, ")")) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  // With a range before it, the second and last item is the range's step.
  if (parts.size() == 2) {
    const auto items = ExpandRange(parts[0], parts[1]);
    if (items) return items->empty() ? std::nullopt : items;
  }
  std::vector<std::string> items;
  for (const absl::string_view part : parts) {
    if (part.empty() || part.find_first_of("()") != absl::string_view::npos) return std::nullopt;
    if (const auto range = ExpandRange(part, "")) {
      if (range->empty()) return std::nullopt;
      items.insert(items.end(), range->begin(), range->end());
    } else {
      items.emplace_back(part);
    }
    if (items.size() > kMaxItems) return std::nullopt;
  }
  return items;
}

bool Matches(absl::string_view pattern, absl::string_view name) {
  if (absl::ConsumeSuffix(&pattern, "*")) return absl::StartsWith(name, pattern);
  return pattern == name;
}

}  // namespace lockstep::frontends::vdbench
