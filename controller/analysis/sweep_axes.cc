#include "controller/analysis/sweep_axes.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/plan/sweep.h"
#include "proto/field_text.h"

namespace lockstep::controller {
namespace {

// Empty if one of the values is no number of the axis's field.
std::vector<double> NumbersOf(const v1::SweepAxis& axis) {
  const google::protobuf::FieldDescriptor* field = FieldOf(axis);
  if (field == nullptr) return {};
  std::vector<double> numbers;
  for (const std::string& value : axis.values()) {
    const absl::StatusOr<double> number = v1::NumberFromText(*field, value);
    if (!number.ok()) return {};
    numbers.push_back(*number);
  }
  return numbers;
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
