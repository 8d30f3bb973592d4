#include "controller/report/safe_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "common/histogram.h"
#include "proto/fields.h"

namespace lockstep::controller {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// A point of a series that is not a number is one that is not known, as its readers expect.
bool MayBeUnknown(const FieldDescriptor& field) {
  return field.is_repeated() && (absl::EndsWith(field.name(), "_by_interval") ||
                                 absl::EndsWith(field.name(), "_by_round"));
}

// Infinite and undefined figures become 0. JSON cannot hold them, and a report can come from an
// archive that somebody else made.
void CleanFigures(Message* message) {
  const auto* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const bool is_double = field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
    // The maps of a report hold texts only.
    if (field->is_map() || (!is_message && !is_double)) continue;
    const int size = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (is_message) {
        CleanFigures(field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                          : reflection->MutableMessage(message, field));
      } else if (field->is_repeated()) {
        const double value = reflection->GetRepeatedDouble(*message, field, i);
        const bool stays = std::isnan(value) && MayBeUnknown(*field);
        if (!std::isfinite(value) && !stays) reflection->SetRepeatedDouble(message, field, i, 0);
      } else if (!std::isfinite(reflection->GetDouble(*message, field))) {
        reflection->SetDouble(message, field, 0);
      }
    }
  }
}

bool IsOn(const v1::SweepPointReport& point, const v1::SweepReport& sweep) {
  // The renderers use these indices without checking them again.
  if (point.indices_size() != sweep.axes_size()) return false;
  for (int a = 0; a < sweep.axes_size(); ++a) {
    if (point.indices(a) >= static_cast<uint32_t>(sweep.axes(a).values_size())) return false;
  }
  return true;
}

}  // namespace

v1::Report SafeToShow(const v1::Report& report) {
  v1::Report safe = report;
  v1::CleanTexts(&safe);
  CleanFigures(&safe);
  for (v1::SweepReport& sweep : *safe.mutable_sweeps()) {
    auto* points = sweep.mutable_points();
    points->erase(std::remove_if(points->begin(), points->end(),
                                 [&](const auto& point) { return !IsOn(point, sweep); }),
                  points->end());
  }
  return safe;
}

bool IsWhole(const v1::LatencyHistogram& histogram) {
  // Encoders convert counts to int64_t, which is undefined beyond 2^63.
  constexpr double kMaxCount = 1e18;
  return histogram.buckets_size() == histogram.counts_size() &&
         std::all_of(histogram.buckets().begin(), histogram.buckets().end(),
                     [](uint32_t bucket) { return bucket < common::kBucketCount; }) &&
         std::all_of(histogram.counts().begin(), histogram.counts().end(),
                     [](double count) { return count >= 0 && count < kMaxCount; });
}

}  // namespace lockstep::controller
