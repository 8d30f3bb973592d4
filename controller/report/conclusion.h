#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The outcome of the run, in one sentence, the gravest first: corrupted data, outages, expectations
// that were not met and by how much, lost hosts, then the main figures and what limited them. At
// most kConclusionColumns wide: what does not fit is left out, the least important first. It says
// only what the report knows; empty as long as the run is queued or in progress. Pure.
std::string ConclusionOf(const v1::Report& report);
inline constexpr size_t kConclusionColumns = 200;

// "lost vm-9, 8 of 9 hosts went on"; empty if no host was lost. A part of the conclusion.
std::string LostText(const v1::Report& report);

// Adds what is made of the whole report: its verdict, headline and conclusion for lists of runs,
// and the groups of its findings.
void Conclude(v1::Report* report);

}  // namespace lockstep::controller
