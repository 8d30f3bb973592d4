#pragma once

#include <string>

#include "proto/comparison.pb.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

struct ComparisonText {
  bool colour = false;
  size_t width = 100;
};

// For people: a table of the figures, then what makes the comparison doubtful.
std::string RenderComparison(const v1::Comparison& comparison, const ComparisonText& options);

// For a pull request: the conclusion, the table and the warnings. Texts from outside are made plain
// text.
std::string RenderMarkdown(const v1::Comparison& comparison);

// JUnit's XML: a test case for each figure, which fails where it regressed.
std::string RenderJUnit(const v1::Comparison& comparison);

// A line for each series: its course, its newest value, and where its level changed.
std::string RenderTrends(const v1::TrendsReply& reply, const ComparisonText& options);

}  // namespace lockstep::controller
