#pragma once

#include <string>

#include "controller/report/text.h"

namespace lockstep::controller {

// The part of RenderText() that fits a screen. The report's texts are safe to show.
std::string RenderFirstScreen(const v1::Report& report, const TextOptions& options);

}  // namespace lockstep::controller
