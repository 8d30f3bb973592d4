#pragma once

#include <string>

#include "proto/result.pb.h"

namespace lockstep::controller {

struct TextOptions {
  bool colour = false;
};

// The report as text for people, 100 columns wide. Ends with a line break.
std::string RenderText(const v1::Report& report, const TextOptions& options);

}  // namespace lockstep::controller
