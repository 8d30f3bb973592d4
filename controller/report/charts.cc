#include "controller/report/charts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"

namespace lockstep::controller {
namespace {

constexpr double kWidth = 720, kHeight = 190, kLeft = 66, kRight = 10, kTop = 10, kBottom = 26;
constexpr size_t kMostPoints = 300;

std::string Figure(double value, const std::string& unit) {
  return unit == "ns" ? common::FormatDuration(value) : common::FormatCount(value);
}

// A round number at or above `value`.
double RoundUp(double value) {
  if (!(value > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0}) {
    if (value <= step * power * 1.0000001) return step * power;
  }
  return 10 * power;
}

// From figures to places.
struct Scale {
  double low = 0, high = 1;
  bool log = false;

  double Y(double value) const {
    const double share = log ? (std::log10(std::max(value, low)) - std::log10(low)) /
                                   (std::log10(high) - std::log10(low))
                             : (value - low) / (high - low);
    return kHeight - kBottom - std::clamp(share, 0.0, 1.0) * (kHeight - kTop - kBottom);
  }
  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    if (!log) return {0, high / 2, high};
    for (double t = low; t <= high * 1.001; t *= 10) ticks.push_back(t);
    return ticks;
  }
};

std::string Begin(const std::string& title) {
  return absl::StrFormat("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n", kWidth,
                         kHeight, EscapeHtml(title));
}

std::string Grid(const Scale& scale, const std::string& unit) {
  std::string out;
  for (const double tick : scale.Ticks()) {
    const double y = scale.Y(tick);
    absl::StrAppend(&out,
                    absl::StrFormat("<line class=\"grid\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" "
                                    "y2=\"%.1f\"/><text class=\"tick end\" x=\"%.0f\" y=\"%.1f\">%s"
                                    "</text>\n",
                                    kLeft, y, kWidth - kRight, y, kLeft - 6, y + 4,
                                    EscapeHtml(Figure(tick, unit))));
  }
  return out;
}

std::string TextAt(double x, const std::string& text, const char* anchor) {
  return absl::StrFormat("<text class=\"tick %s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", anchor, x,
                         kHeight - 8, EscapeHtml(text));
}

double XOf(size_t index, size_t count) {
  const double width = kWidth - kLeft - kRight;
  return kLeft + (count < 2 ? width / 2
                            : width * static_cast<double>(index) / static_cast<double>(count - 1));
}

std::string Path(const char* css, const std::vector<double>& values, const Scale& scale) {
  std::string d;
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(&d, i == 0 ? "M" : "L",
                    absl::StrFormat("%.1f %.1f", XOf(i, values.size()), scale.Y(values[i])));
  }
  // One value alone is a short dash.
  if (values.size() == 1) d += "h8";
  return absl::StrCat("<path class=\"", css, "\" d=\"", d, "\"/>\n");
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string RenderLine(const LineChart& chart) {
  if (chart.values.empty()) return "";
  const size_t together = (chart.values.size() + kMostPoints - 1) / kMostPoints;
  std::vector<double> values;
  std::vector<std::pair<double, double>> band;
  for (size_t i = 0; i < chart.values.size(); i += together) {
    const size_t end = std::min(i + together, chart.values.size());
    double sum = 0;
    std::pair<double, double> ends = {INFINITY, 0};
    for (size_t k = i; k < end; ++k) {
      sum += chart.values[k];
      if (k >= chart.band.size()) continue;
      ends.first = std::min(ends.first, chart.band[k].first);
      ends.second = std::max(ends.second, chart.band[k].second);
    }
    values.push_back(sum / static_cast<double>(end - i));
    if (std::isfinite(ends.first)) band.push_back(ends);
  }
  Scale scale;
  scale.high = *std::max_element(values.begin(), values.end());
  for (const auto& ends : band) scale.high = std::max(scale.high, ends.second);
  scale.high = RoundUp(scale.high);
  std::string out = Begin(chart.title) + Grid(scale, chart.unit);
  if (band.size() == values.size()) {
    std::string d;
    for (size_t i = 0; i < band.size(); ++i) {
      absl::StrAppend(&d, i == 0 ? "M" : "L",
                      absl::StrFormat("%.1f %.1f", XOf(i, band.size()), scale.Y(band[i].second)));
    }
    for (size_t i = band.size(); i-- > 0;) {
      absl::StrAppend(&d,
                      absl::StrFormat("L%.1f %.1f", XOf(i, band.size()), scale.Y(band[i].first)));
    }
    absl::StrAppend(&out, "<path class=\"band\" d=\"", d, "Z\"/>\n");
  }
  out += Path("line", values, scale);
  const double end = chart.begin + chart.step * static_cast<double>(chart.values.size());
  out += TextAt(kLeft, absl::StrFormat("%.4g s", chart.begin), "start");
  out += TextAt(kWidth - kRight, absl::StrFormat("%.4g s after T", end), "end");
  return out + "</svg>\n";
}

std::string RenderPoints(const Points& points) {
  if (points.labels.empty()) return "";
  Scale scale;
  double most = 0;
  double least = INFINITY;
  for (const auto& series : points.series) {
    for (const double value : series) {
      most = std::max(most, value);
      if (value > 0) least = std::min(least, value);
    }
  }
  scale.log = points.log_y && most > 0;
  scale.high = scale.log ? std::pow(10, std::ceil(std::log10(most) - 1e-9)) : RoundUp(most);
  if (scale.log) {
    scale.low = std::pow(10, std::floor(std::log10(least) + 1e-9));
    if (scale.low >= scale.high) scale.high = scale.low * 10;
  }
  std::string out = Begin(points.title) + Grid(scale, points.unit);
  if (points.mark >= 0) {
    const double x = XOf(static_cast<size_t>(points.mark), points.labels.size());
    absl::StrAppend(&out,
                    absl::StrFormat("<line class=\"mark\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                                    "y2=\"%.1f\"/>\n",
                                    x, kTop, x, kHeight - kBottom));
  }
  for (size_t s = 0; s < points.series.size(); ++s) {
    out += Path(s == 0 ? "line" : "line2", points.series[s], scale);
    if (s >= points.names.size() || points.series[s].empty()) continue;
    absl::StrAppend(&out,
                    absl::StrFormat("<text class=\"tick end\" x=\"%.0f\" y=\"%.1f\">%s</text>\n",
                                    kWidth - kRight, scale.Y(points.series[s].back()) - 5,
                                    EscapeHtml(points.names[s])));
  }
  // As many labels as there is room for.
  const size_t every = (points.labels.size() + 11) / 12;
  for (size_t i = 0; i < points.labels.size(); i += every) {
    out += TextAt(XOf(i, points.labels.size()), points.labels[i],
                  i == 0                          ? "start"
                  : i + 1 == points.labels.size() ? "end"
                                                  : "middle");
  }
  return out + "</svg>\n";
}

}  // namespace lockstep::controller
