#pragma once

#include <string>

#include "proto/series.pb.h"

namespace lockstep::web {

// A fleet's series as CSV: a row for each span, a column for each figure, named as in the message.
std::string SeriesCsv(const v1::SeriesReply& reply);

}  // namespace lockstep::web
