#pragma once

#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// The text as XML holds it, in an element or an attribute. XML 1.0 has no control characters, not
// even escaped ones: they are replaced.
std::string XmlText(const std::string& text);

// JUnit's XML of one run, for CI systems: a test case for the run itself and for each expectation.
// A run that is not done, or whose data was corrupted, is an error; an expectation that is not met
// is a failure, and one of a phase that never ran is skipped.
std::string RenderRunJUnit(const v1::Report& report);

}  // namespace lockstep::controller
