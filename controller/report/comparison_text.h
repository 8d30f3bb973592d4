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

// How a gate takes a judged figure of set `s` (from 1): kUnknown fails it, because nobody knows
// whether the figure is worse. It goes by the others where one is left out: some of the new runs
// have it, or none of the baseline's.
enum class Judgement { kJudged, kLeftOut, kUnknown };
Judgement JudgementOf(const v1::ComparedFigure& figure, int s);

// A line for each series: its course, its newest value, and where its level changed.
std::string RenderTrends(const v1::TrendsReply& reply, const ComparisonText& options);

}  // namespace lockstep::controller
