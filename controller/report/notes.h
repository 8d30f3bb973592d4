#pragma once

#include <string>
#include <vector>

#include "proto/report.pb.h"

namespace lockstep::controller {

// A note of the report, for people.
struct NoteLine {
  std::string at;     // UTC, of the day: "10:24:05.120"
  std::string where;  // "mix at 3.2 s", else "12 s after the start"; empty where neither is known
  std::string name;   // "#3": by its number in the run; empty where that is not known
  std::string text;   // "anna: the switch was restarted"
};
// The notes among the report's events, in their order.
std::vector<NoteLine> NotesOf(const v1::Report& report);

bool IsNote(const v1::EventReport& event);

}  // namespace lockstep::controller
