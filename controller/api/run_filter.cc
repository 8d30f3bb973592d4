#include "controller/api/run_filter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

namespace lockstep::controller {
namespace {

constexpr const char* kStates[] = {"queued", "running", "done", "failed", "aborted", "cancelled"};

absl::Status NormaliseTime(const char* field, std::string* text) {
  if (text->empty()) return absl::OkStatus();
  const auto time = ParseInstant(field, *text);
  if (!time.ok()) return time.status();
  *text = absl::FormatTime(absl::RFC3339_full, *time, absl::UTCTimeZone());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<absl::Time> ParseInstant(const char* field, const std::string& text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime("%Y-%m-%d", text, &time, &error) &&
      !absl::ParseTime("%Y-%m-%dT%H:%M", text, &time, &error) &&
      !absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return absl::InvalidArgumentError(absl::StrCat(
        field, ": '", text,
        "' is no time; write 2026-11-22, 2026-11-22T08:00 (UTC) or 2026-11-22T08:00:00+01:00"));
  }
  const absl::CivilSecond civil = absl::ToCivilSecond(time, absl::UTCTimeZone());
  // RFC 3339 writes a year with four digits (section 5.6). absl::ParseTime() also accepts
  // `infinite-future`, which is refused here.
  if (civil.year() < 1970 || civil.year() > 9999) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": no run was submitted in that year"));
  }
  return time;
}

absl::Status NormaliseFilter(v1::RunFilter* filter) {
  if (!filter->state().empty() &&
      std::find(std::begin(kStates), std::end(kStates), filter->state()) == std::end(kStates)) {
    return absl::InvalidArgumentError(
        absl::StrCat("state: '", filter->state(), "' is none of ", absl::StrJoin(kStates, ", ")));
  }
  if (absl::Status status = NormaliseTime("since", filter->mutable_since()); !status.ok()) {
    return status;
  }
  return NormaliseTime("until", filter->mutable_until());
}

}  // namespace lockstep::controller
