#include "controller/analysis/sweep_axes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
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

// All values by one kind: 5m is five minutes beside 30s, and 5 MiB beside 64k. Durations come
// before sizes, as most of their units are no unit of a size. The field of a rate says its kind.
std::vector<double> NumbersOf(const v1::SweepAxis& axis) {
  if (const std::optional<RateAxis> rate = RateAxisOf(axis.field())) {
    return NumbersBy([&](const std::string& value) { return RateValueOf(*rate, value); }, axis);
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
