#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The report as one HTML file that needs nothing else: no script, no request, its style allowed by
// hash in its own Content-Security-Policy. Charts are SVG. What came from elsewhere is text.
std::string RenderHtml(const v1::Report& report);

}  // namespace lockstep::controller
