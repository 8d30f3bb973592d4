#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lockstep::controller {

// Charts as SVG for a page without scripts. Colours are classes of the page's style: `line`,
// `line2`, `band`, `bar`, `grid`, `mark`; texts have class `tick`. All texts are escaped.

// What HTML and XML take for text alone.
std::string EscapeHtml(const std::string& text);

struct LineChart {
  std::string title;           // for those who do not see it, too
  std::string unit;            // of y
  double begin = 0, step = 1;  // of x, seconds: the first value is of begin … begin + step
  std::vector<double> values;
  std::vector<std::pair<double, double>> band;  // least and most, by value; may be empty
};
// Over time; values that are many are drawn as means of neighbours.
std::string RenderLine(const LineChart& chart);

struct Points {
  std::string title, x_title, unit;
  bool log_y = false;
  std::vector<std::string> labels;          // of x
  std::vector<std::vector<double>> series;  // each as long as `labels`
  std::vector<std::string> names;           // of the series
  int mark = -1;                            // the label that is marked
};
// Values side by side in the order given, each series a line.
std::string RenderPoints(const Points& points);

}  // namespace lockstep::controller
