#include "controller/analysis/sweep_axes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "common/units.h"
#include "controller/analysis/rate_axes.h"

namespace lockstep::controller {
namespace {

using AxisNumber = std::optional<double> (*)(const std::string& text);

template <typename T>
std::optional<double> NumberIn(const absl::StatusOr<T>& parsed) {
  return parsed.ok() ? std::optional(static_cast<double>(*parsed)) : std::nullopt;
}

std::optional<double> BareNumber(const std::string& text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) return std::nullopt;
  return number;
}
std::optional<double> DurationNumber(const std::string& text) {
  return NumberIn(common::ParseDuration(text));
}
std::optional<double> SizeNumber(const std::string& text) {
  // A throughput may end with /s.
  return NumberIn(common::ParseSize(std::string(absl::StripSuffix(text, "/s"))));
}
std::optional<double> ShareNumber(const std::string& text) {
  return NumberIn(common::ParseRatio(text));
}
std::optional<double> CountNumber(const std::string& text) {
  return NumberIn(common::ParseCount(text));
}

// Empty if one of the values is no number of this kind.
template <typename NumberOfValue>
std::vector<double> NumbersBy(const NumberOfValue& number_of, const v1::SweepAxis& axis) {
  std::vector<double> numbers;
  for (const std::string& value : axis.values()) {
    const std::optional<double> number = number_of(value);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

// What a job reads in the field, by the last part of its name. Nothing where the name does not
// tell.
AxisNumber NumberOfField(const std::string& field) {
  const std::string last = field.substr(field.rfind('.') + 1);
  if (absl::EndsWith(last, "size")) return &SizeNumber;
  for (const char* bytes : {"offset", "increment", "align", "skip", "skip_after", "up_to"}) {
    if (last == bytes) return &SizeNumber;
  }
  for (const char* counts : {"operations", "count", "iops", "queue_depth", "threads"}) {
    if (last == counts) return &CountNumber;
  }
  return nullptr;
}

// All values by one kind: 1m of a block size is 1 MiB, 1k I/Os are 1,000, and 5m is five minutes
// beside 30s. Where the field does not tell, durations come before sizes, as most of their units
// are no unit of a size.
std::vector<double> NumbersOf(const v1::SweepAxis& axis) {
  if (const std::optional<RateAxis> rate = RateAxisOf(axis.field())) {
    return NumbersBy([&](const std::string& value) { return RateValueOf(*rate, value); }, axis);
  }
  if (const AxisNumber of_field = NumberOfField(axis.field())) {
    std::vector<double> numbers = NumbersBy(of_field, axis);
    if (!numbers.empty()) return numbers;
  }
  for (const AxisNumber kind :
       {&BareNumber, &DurationNumber, &SizeNumber, &ShareNumber, &CountNumber}) {
    std::vector<double> numbers = NumbersBy(kind, axis);
    if (!numbers.empty()) return numbers;
  }
  return {};
}

}  // namespace

std::vector<double> OrderedValuesOf(const v1::SweepAxis& axis) {
  std::vector<double> x = NumbersOf(axis);
  const bool ascends = std::adjacent_find(x.begin(), x.end(), std::greater_equal<>()) == x.end();
  const bool descends = std::adjacent_find(x.begin(), x.end(), std::less_equal<>()) == x.end();
  if (!ascends && !descends) x.clear();
  return x;
}

}  // namespace lockstep::controller
