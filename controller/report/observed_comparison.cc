#include "controller/report/observed_comparison.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "controller/report/comparison_cells.h"
#include "controller/report/markdown.h"
#include "controller/report/text_table.h"

namespace lockstep::controller {
namespace {

// A fleet's devices have thousands of figures. JSON has all.
constexpr size_t kMaxObservedRows = 300;

// "db-1/sdb", "db-1", "all devices". A device with another name in the other set has both.
std::string SubjectText(const v1::ComparedFigure& figure, int set) {
  if (figure.devices().empty()) return figure.host().empty() ? "all devices" : figure.host();
  std::string name = figure.devices(0);
  const std::string& other = figure.devices(set);
  if (name == "-") {
    name = other;
  } else if (other != "-" && other != name) {
    absl::StrAppend(&name, " → ", other);
  }
  return absl::StrCat(figure.host(), "/", name);
}

std::string MedianCell(const v1::Comparison& comparison, const v1::ComparedFigure& figure,
                       int set) {
  const v1::ComparedValue& value = figure.values(set);
  if (value.runs() == 0) return "-";
  const std::string text = ValueText(figure.unit(), value.median());
  const auto all = static_cast<uint32_t>(comparison.sets(set).observed_runs_size());
  return value.runs() < all ? absl::StrCat(text, " (", value.runs(), " of ", all, " runs)") : text;
}

// If the set has too few runs, the conclusion says so once.
std::string DifferenceCell(const v1::ComparedValue& value, bool can_tell) {
  if (!can_tell) return "-";
  if (value.verdict() == v1::CHANGE_DIFFERS) return "differs";
  if (value.verdict() == v1::CHANGE_NONE) return "none found";
  return value.may_be_drift() ? "may be drift" : "cannot tell";
}

std::vector<std::string> CellsOf(const v1::Comparison& comparison, const v1::ComparedFigure& figure,
                                 int set) {
  const v1::ComparedValue& value = figure.values(set);
  const bool can_tell =
      set <= comparison.observed_can_tell_size() && comparison.observed_can_tell(set - 1);
  return {figure.phase(),
          SubjectText(figure, set),
          absl::StrCat(figure.kind(), figure.kind().empty() ? "" : " ", figure.figure()),
          MedianCell(comparison, figure, 0),
          MedianCell(comparison, figure, set),
          ChangeCell(value),
          value.has_p_value() ? absl::StrFormat("%.3f", value.p_value()) : "-",
          DifferenceCell(value, can_tell)};
}

std::vector<std::string> ObservedTitles(const v1::Comparison& comparison, int set) {
  return {"phase",
          "observed",
          "figure",
          TitleOf(comparison.sets(0)),
          TitleOf(comparison.sets(set)),
          ChangeTitle(comparison.observed(), set),
          "p",
          "difference"};
}

// Of the set, where the comparison does not begin with it.
std::string ObservedConclusion(const v1::Comparison& comparison, int set) {
  const std::string& own = comparison.observed_conclusions(set - 1);
  const bool is_told =
      set <= comparison.conclusions_size() && comparison.conclusions(set - 1) == own;
  return is_told ? "" : "observed: " + own;
}

struct ObservedRows {
  std::vector<const v1::ComparedFigure*> shown;
  int more = 0;  // that the table has no room for
};

// The rows that one of the two sets has.
ObservedRows ObservedRowsOf(const v1::Comparison& comparison, int set) {
  ObservedRows rows;
  for (const v1::ComparedFigure& figure : comparison.observed()) {
    if (figure.values(0).runs() == 0 && figure.values(set).runs() == 0) continue;
    if (rows.shown.size() == kMaxObservedRows) {
      ++rows.more;
    } else {
      rows.shown.push_back(&figure);
    }
  }
  return rows;
}

std::string MoreText(const ObservedRows& rows) {
  return rows.more > 0 ? absl::StrCat("and ", rows.more, " more; --format json lists all\n") : "";
}

}  // namespace

std::string RenderObservedComparison(const v1::Comparison& comparison, size_t width) {
  std::string out;
  for (int s = 1; s <= comparison.observed_conclusions_size(); ++s) {
    if (const std::string conclusion = ObservedConclusion(comparison, s); !conclusion.empty()) {
      absl::StrAppend(&out, "\n", conclusion, "\n");
    }
    TextTable table(ObservedTitles(comparison, s), {0, 1, 2, 7}, {1, 2, 7});
    const ObservedRows rows = ObservedRowsOf(comparison, s);
    for (const v1::ComparedFigure* figure : rows.shown) {
      table.Add(CellsOf(comparison, *figure, s));
    }
    absl::StrAppend(&out, "\n", table.Render("", width), MoreText(rows));
  }
  return out;
}

std::string RenderObservedMarkdown(const v1::Comparison& comparison) {
  std::string out;
  for (int s = 1; s <= comparison.observed_conclusions_size(); ++s) {
    if (const std::string conclusion = ObservedConclusion(comparison, s); !conclusion.empty()) {
      absl::StrAppend(&out, PlainMarkdown(conclusion), "\n\n");
    }
    const auto row = [&](std::vector<std::string> cells) {
      for (std::string& cell : cells) cell = PlainMarkdown(cell);
      absl::StrAppend(&out, "| ", absl::StrJoin(cells, " | "), " |\n");
    };
    row(ObservedTitles(comparison, s));
    out += "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n";
    const ObservedRows rows = ObservedRowsOf(comparison, s);
    for (const v1::ComparedFigure* figure : rows.shown) {
      row(CellsOf(comparison, *figure, s));
    }
    absl::StrAppend(&out, MoreText(rows).empty() ? "" : "\n", MoreText(rows), "\n");
  }
  return out;
}

}  // namespace lockstep::controller
