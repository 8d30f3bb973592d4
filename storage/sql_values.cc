#include "storage/sql_values.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "google/protobuf/util/json_util.h"
#include "proto/report.pb.h"

namespace lockstep::storage {

std::string Json(const google::protobuf::Message& message) {
  std::string json;
  return google::protobuf::util::MessageToJsonString(message, &json).ok() ? json : "{}";
}

std::string JsonObject(const google::protobuf::Map<std::string, std::string>& map) {
  v1::RunSummary holder;  // its labels are a string map, which protobuf quotes for us
  for (const auto& [key, value] : map) (*holder.mutable_labels())[key] = value;
  // protobuf writes JSON without white space unless it is asked for some, so the offsets below
  // hold.
  const std::string json = Json(holder);
  return holder.labels().empty() ? "{}" : json.substr(10, json.size() - 11);  // {"labels":…}
}

std::string TextArray(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  std::string array = "{";
  for (const std::string& text : texts) {
    // Within quotes NULL and the empty text are texts like any other (PostgreSQL, "Arrays").
    absl::StrAppend(&array, array.size() > 1 ? "," : "", "\"",
                    absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
  }
  return array + "}";
}

absl::StatusOr<measure::RunState> RunStateOf(const std::string& text) {
  const auto state = measure::Parse<measure::RunState>(text);
  if (state) return *state;
  return absl::DataLossError(absl::StrCat("the run's state '", common::Printable(text, 40),
                                          "' is none that this version knows"));
}

absl::StatusOr<measure::PhaseState> PhaseStateOf(const std::string& text) {
  const auto state = measure::Parse<measure::PhaseState>(text);
  if (state) return *state;
  return absl::DataLossError(absl::StrCat("the phase's state '", common::Printable(text, 40),
                                          "' is none that this version knows"));
}

std::string Utc(int64_t wall_ns) {
  // timestamptz has microseconds: what is finer is cut here, and the server rounds nothing.
  return absl::FormatTime("%Y-%m-%d %H:%M:%E6S+00", absl::FromUnixNanos(wall_ns),
                          absl::UTCTimeZone());
}

}  // namespace lockstep::storage
