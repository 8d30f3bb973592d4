#include "controller/report/notes.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/units.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

std::optional<absl::Time> InstantOf(const std::string& text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return std::nullopt;
  return time;
}

std::string SecondsText(absl::Duration since) {
  return absl::StrCat(common::FormatDigits(absl::ToDoubleSeconds(since), 4), " s");
}

std::string WhereOf(absl::Time at, const v1::Report& report) {
  // The phase that was in progress then. Its T is known to the millisecond, and charts begin there.
  const v1::PhaseReport* during = nullptr;
  std::optional<absl::Time> begin;
  for (const v1::PhaseReport& phase : report.phases()) {
    const auto started = InstantOf(phase.started_at());
    if (!started || *started > at) continue;
    // A phase in progress has no duration yet.
    const bool is_over =
        phase.duration_seconds() > 0 && at > *started + absl::Seconds(phase.duration_seconds());
    during = is_over ? nullptr : &phase;
    begin = started;
  }
  if (during != nullptr) return absl::StrCat(during->name(), " at ", SecondsText(at - *begin));
  const auto started = InstantOf(report.run().started_at());
  if (!started) return "";
  return at < *started ? absl::StrCat(SecondsText(*started - at), " before the start")
                       : absl::StrCat(SecondsText(at - *started), " after the start");
}

}  // namespace

bool IsNote(const v1::EventReport& event) { return event.severity() == measure::kNoteSeverity; }

std::vector<NoteLine> NotesOf(const v1::Report& report) {
  std::vector<NoteLine> notes;
  for (const v1::EventReport& event : report.events()) {
    if (!IsNote(event)) continue;
    NoteLine& note = notes.emplace_back();
    // The time of an RFC 3339 instant.
    note.at = event.at().size() > 11 ? event.at().substr(11, 12) : event.at();
    if (event.number() > 0) note.name = absl::StrCat("#", event.number());
    note.text = absl::StrCat(event.author(), ": ", event.message());
    if (const auto at = InstantOf(event.at())) note.where = WhereOf(*at, report);
  }
  return notes;
}

}  // namespace lockstep::controller
