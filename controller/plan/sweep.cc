#include "controller/plan/sweep.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "proto/field_text.h"
#include "proto/fields.h"

namespace lockstep::controller {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

uint64_t PointsOnce(const v1::Sweep& sweep) {
  uint64_t points = 1;
  for (const v1::SweepAxis& axis : sweep.axes()) {
    const auto values = static_cast<uint64_t>(axis.values_size());
    if (sweep.combine() != v1::SWEEP_COMBINE_ZIP) {
      points = std::min<uint64_t>(points * values, uint64_t{1} << 40);  // 100^8 would overflow
    } else if (values != static_cast<uint64_t>(sweep.axes(0).values_size())) {
      return 0;
    } else {
      points = values;
    }
  }
  return points;
}

// Returns the point that is run as the `step`-th of a repetition. A controller that takes the run
// over must find the same order. mt19937_64 is fixed by the C++ standard; the algorithms of
// std::shuffle and std::uniform_int_distribution are not, so they are not used here.
uint64_t InOrder(const v1::Sweep& sweep, uint64_t points, uint32_t repeat, uint64_t step) {
  if (sweep.order() != v1::SWEEP_ORDER_RANDOM) return step;
  std::vector<uint64_t> order(points);
  std::iota(order.begin(), order.end(), 0);
  // Each repetition has an order of its own. A drift during the run then does not always meet the
  // same points last.
  std::mt19937_64 random(sweep.seed() * 1000003 + repeat);
  for (uint64_t i = points; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order[step];
}

const FieldDescriptor* Find(const Message& message, const std::string& name) {
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    if (v1::JobFieldName(*type.field(i)) == name) return type.field(i);
  }
  return nullptr;
}

absl::Status Wrong(const std::string& field, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("'", common::Printable(field, 100), "' ", why));
}

// Sets what the rest of the path names, in the message.
absl::Status SetAt(const std::string& whole, std::vector<std::string> path, const std::string& text,
                   Message* message) {
  const FieldDescriptor* field = Find(*message, path.front());
  if (field == nullptr) {
    return Wrong(whole, absl::StrCat("is no field: there is no `",
                                     common::Printable(path.front(), 60), "`"));
  }
  path.erase(path.begin());
  const auto* reflection = message->GetReflection();
  if (field->is_map()) return Wrong(whole, "is a map, which a sweep cannot set");
  if (field->is_repeated()) {
    uint32_t index = 0;
    if (path.size() < 2 || !absl::SimpleAtoi(path.front(), &index) ||
        field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      return Wrong(whole, "is a list: name the field of one of its items, as workloads.0.threads");
    }
    if (index >= static_cast<uint32_t>(reflection->FieldSize(*message, field))) {
      return Wrong(whole, absl::StrCat("has no item ", index));
    }
    path.erase(path.begin());
    return SetAt(whole, std::move(path), text,
                 reflection->MutableRepeatedMessage(message, field, static_cast<int>(index)));
  }
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    Message* inner = reflection->MutableMessage(message, field);
    if (!path.empty()) return SetAt(whole, std::move(path), text, inner);
    // The text names a choice. Without Clear(), parameters of the choice that it replaces could
    // stay.
    inner->Clear();
    return v1::ChooseFromText(text, inner);
  }
  if (!path.empty()) return Wrong(whole, "goes on behind a plain field");
  return v1::SetFromText(*field, text, message);
}

}  // namespace

uint64_t PointsOf(const v1::Sweep& sweep) {
  return PointsOnce(sweep) * std::max<uint64_t>(1, sweep.repeat());
}

SweepPoint PointAt(const v1::Sweep& sweep, uint32_t step) {
  // A sweep whose axes do not fit together has 0 points. The maximum keeps the divisions below
  // defined.
  const uint64_t points = std::max<uint64_t>(1, PointsOnce(sweep));
  SweepPoint point;
  point.repeat = static_cast<uint32_t>(step / points);
  uint64_t index = InOrder(sweep, points, point.repeat, step % points);
  // The last axis changes fastest.
  point.indices.resize(static_cast<size_t>(sweep.axes_size()));
  for (int a = sweep.axes_size() - 1; a >= 0; --a) {
    const auto values = static_cast<uint64_t>(sweep.axes(a).values_size());
    const bool zip = sweep.combine() == v1::SWEEP_COMBINE_ZIP;
    point.indices[static_cast<size_t>(a)] = static_cast<uint32_t>(zip           ? index
                                                                  : values == 0 ? 0
                                                                                : index % values);
    if (!zip && values != 0) index /= values;
  }
  for (int a = 0; a < sweep.axes_size(); ++a) {
    const auto at = static_cast<int>(point.indices[static_cast<size_t>(a)]);
    if (at >= sweep.axes(a).values_size()) continue;
    point.values.emplace_back(sweep.axes(a).field(), sweep.axes(a).values(at));
  }
  return point;
}

std::string NameOf(const SweepPoint& point) {
  std::string name = absl::StrJoin(point.values, " ", absl::PairFormatter("="));
  if (point.repeat > 0) {
    absl::StrAppend(&name, name.empty() ? "" : " ", "(", point.repeat + 1, ")");
  }
  return name;
}

absl::Status Apply(const std::string& field, const std::string& text, v1::RunPhase* run) {
  const std::vector<std::string> path = absl::StrSplit(field, '.');
  if (path.empty() || path.front().empty()) return Wrong(field, "is no field");
  // A step must be a phase without a sweep or a curve, or its steps would have steps again.
  if (path.front() == "sweep" || path.front() == "curve") return Wrong(field, "cannot be swept");
  // A field of the phase, or else of each of its workloads.
  if (Find(*run, path.front()) != nullptr) return SetAt(field, path, text, run);
  if (run->workloads().empty()) return Wrong(field, "is no field of a run phase");
  for (v1::Workload& workload : *run->mutable_workloads()) {
    if (absl::Status status = SetAt(field, path, text, &workload); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Apply(const SweepPoint& point, v1::RunPhase* run) {
  for (const auto& [field, text] : point.values) {
    if (absl::Status status = Apply(field, text, run); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lockstep::controller
