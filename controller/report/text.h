#pragma once

#include <cstddef>
#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

struct TextOptions {
  bool colour = false;
  size_t width = 100;  // columns; tables of figures may need more
};

// The report as text for people. What came from elsewhere (names, messages) is made safe for a
// terminal. Ends with a line break.
std::string RenderText(const v1::Report& report, const TextOptions& options);

}  // namespace lockstep::controller
