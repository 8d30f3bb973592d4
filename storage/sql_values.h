#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "google/protobuf/map.h"
#include "google/protobuf/message.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "measure/states.h"
#include "proto/result.pb.h"

namespace lockstep::storage {

// The time limit of statements that read or write a whole run.
inline constexpr absl::Duration kWholeRunLimit = absl::Minutes(30);
// The time limit of statements that last as long as their caller reads or writes. It is longer than
// the caller may take.
inline constexpr absl::Duration kTransferLimit = absl::Nanoseconds(2 * limits::kTransferNs);

// The columns with the histogram of each metric.
inline constexpr std::pair<v1::Metric, const char*> kHistogramColumns[] = {
    {v1::METRIC_SERVICE_TIME, "service_time"},
    {v1::METRIC_RESPONSE_TIME, "response_time"},
    {v1::METRIC_SUBMISSION_LATENCY, "submission_latency"},
};

// A message as a jsonb column takes it; {} for one that is not valid UTF-8.
std::string Json(const google::protobuf::Message& message);
// Texts by their names, as a jsonb column takes them.
std::string JsonObject(const google::protobuf::Map<std::string, std::string>& map);
// Texts as a text[] column takes them.
std::string TextArray(const google::protobuf::RepeatedPtrField<std::string>& texts);
// A state as its column has it. DATA_LOSS where it is none that this version knows.
absl::StatusOr<measure::RunState> RunStateOf(const std::string& text);
absl::StatusOr<measure::PhaseState> PhaseStateOf(const std::string& text);
// An instant, nanoseconds since 1970, as a timestamptz column takes it.
std::string Utc(int64_t wall_ns);

}  // namespace lockstep::storage
