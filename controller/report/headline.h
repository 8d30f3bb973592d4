#pragma once

#include <optional>
#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The figures by which a run is known in lists: of a sweep the point that leads, of a curve the one
// with the most IOPS, else of the first phase with expectations, or the first one with I/O. Nothing
// where the run measured nothing. Pure.
std::optional<v1::Headline> HeadlineOf(const v1::Report& report);

// The phase that the headline is of; null if the report has it no more.
const v1::PhaseReport* PhaseOf(const v1::Headline& headline, const v1::Report& report);

// "p99 1.20 ms", "p99 ~1.20 ms" if it is uncertain.
std::string P99Text(const v1::Headline& headline);

}  // namespace lockstep::controller
