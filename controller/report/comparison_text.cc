#include "controller/report/comparison_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/comparison_cells.h"
#include "controller/report/junit.h"
#include "controller/report/markdown.h"
#include "controller/report/observed_comparison.h"
#include "controller/report/text_table.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

bool HasPairs(const v1::Comparison& comparison) {
  for (int s = 1; s < comparison.sets_size(); ++s) {
    if (ChangeTitle(comparison.figures(), s) != "change") return true;
    if (ChangeTitle(comparison.observed(), s) != "change") return true;
  }
  return false;
}

// Without it, a reader who divides one median by the other takes the change for an error.
constexpr char kPairsText[] =
    "A set's value is the median of its runs. The change is the median over all pairs of a run of\n"
    "each set. It can therefore differ from the change between the two medians.";

// `can_tell`: the set has enough runs. If it has too few, the conclusion says so once.
std::string VerdictText(const v1::ComparedFigure& figure, const v1::ComparedValue& value,
                        bool can_tell) {
  if (!figure.judged()) return "not judged";
  if (!can_tell) return "-";
  if (value.regression()) return "REGRESSION";
  switch (value.verdict()) {
    case v1::CHANGE_NONE:
      return "none found";
    case v1::CHANGE_BETTER:
      return "better";
    case v1::CHANGE_WORSE:
      return "worse";
    default:
      return value.may_be_drift() ? "may be drift" : "cannot tell";
  }
}

// The median of a set, and of how many of its runs it is, if not of all.
std::string MedianText(const v1::Comparison& comparison, const v1::ComparedFigure& figure,
                       int set) {
  const v1::ComparedValue& value = figure.values(set);
  if (value.runs() == 0) return "-";
  const std::string text = ValueText(figure.unit(), value.median());
  const auto all = static_cast<uint32_t>(comparison.sets(set).runs_size());
  return value.runs() < all ? absl::StrCat(text, " (", value.runs(), " of ", all, " runs)") : text;
}

std::string FigureName(const v1::ComparedFigure& figure) {
  std::string name = figure.figure();
  if (!figure.workload().empty()) {
    name = absl::StrCat(figure.workload(), " ", figure.kind(), " ", name);
  }
  return name;
}

std::string Coloured(const std::string& text, const char* code, bool colour) {
  return colour ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m") : text;
}

// A set whose runs only observe has a number of runs, too.
int RunsOf(const v1::ComparedSet& set) {
  return std::max(set.runs_size(), set.observed_runs_size());
}

// Without a load, the table of figures would be empty.
bool HasLoad(const v1::Comparison& comparison) {
  return !comparison.figures().empty() || comparison.observed().empty();
}

// "firmware=1.2 (A): 5 runs"
std::string SetText(const v1::ComparedSet& set) {
  const std::string& title = TitleOf(set);
  return absl::StrCat(title, title == set.name() ? "" : absl::StrCat(" (", set.name(), ")"), ": ",
                      RunsOf(set), RunsOf(set) == 1 ? " run" : " runs");
}

// What limited a phase in the first set and in this one, and whether it is the same.
struct LimitTexts {
  std::string first, other, difference;
};
LimitTexts LimitTextsOf(const v1::ComparedLimit& limit, int set) {
  const auto known = [](const std::string& text) { return text.empty() ? "-" : text; };
  const std::string& first = limit.values(0);
  const std::string& other = limit.values(set);
  const bool are_known = !first.empty() && !other.empty();
  return {known(first), known(other),
          !are_known ? "cannot tell" : (first == other ? "the same" : "another")};
}

// "firmware 1.2 → 1.3, kernel 6.1 → 6.2". Warnings name the fields of jobs and the facts of hosts.
std::string LabelsText(const v1::Comparison& comparison) {
  std::vector<std::string> labels;
  for (const v1::SetDifference& d : comparison.differences()) {
    if (!measure::Is(d, measure::DifferenceKind::kLabel)) continue;
    labels.push_back(absl::StrCat(d.name(), " ", absl::StrJoin(d.values(), " → ")));
  }
  return absl::StrJoin(labels, ", ");
}

// The word for a change to more, or to less, with a blank behind it.
const char* DirectionText(v1::Direction direction, bool more) {
  if (direction == v1::DIRECTION_NEITHER) return "";
  return more == (direction == v1::DIRECTION_HIGHER_IS_BETTER) ? "better " : "WORSE ";
}

// A line below the series of a phase's IOPS: what limited its runs. It has no course, since limits
// are no numbers.
void AddLimits(const v1::Trend& trend, TextTable* table) {
  std::map<std::string, int> counts;
  std::vector<std::string> changes;
  std::string before;
  for (const v1::TrendPoint& point : trend.points()) {
    const std::string& limit = point.limited_by();
    if (limit.empty()) continue;
    ++counts[limit];
    if (!before.empty() && limit != before) {
      changes.push_back(absl::StrCat(limit, " from run ", point.run_id().substr(0, 8)));
    }
    before = limit;
  }
  if (counts.empty()) return;
  const auto usual =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  // Limits that take turns would fill the line. The last changes say how it is now.
  constexpr size_t kChanges = 3;
  if (changes.size() > kChanges) {
    changes.erase(changes.begin(), changes.end() - kChanges);
    changes.front() = absl::StrCat("…; ", changes.front());
  }
  table->Add({trend.job(), trend.phase(), "limited by", absl::StrCat(trend.points_size()), "",
              usual->first, before, absl::StrJoin(changes, "; ")});
}

// A character for each point, or for so many as fit: the mean of those it stands for.
std::string Course(const v1::Trend& trend, size_t most) {
  static constexpr const char* kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto count = static_cast<size_t>(trend.points_size());
  const size_t columns = std::min(count, most);
  std::vector<double> means;
  for (size_t c = 0; c < columns; ++c) {
    double sum = 0;
    const size_t from = c * count / columns;
    const size_t to = (c + 1) * count / columns;
    for (size_t i = from; i < to; ++i) sum += trend.points(static_cast<int>(i)).value();
    means.push_back(sum / static_cast<double>(to - from));
  }
  const auto [least, highest] = std::minmax_element(means.begin(), means.end());
  std::string line;
  for (const double mean : means) {
    const double range = *highest - *least;
    // A variation of less than one percent is drawn flat. Otherwise noise would fill the whole
    // height.
    const double level = range > 0.01 * std::abs(*highest) ? (mean - *least) / range : 0.5;
    // The largest mean has the level 1, which would be a ninth character.
    line += kLevels[static_cast<size_t>(std::min(7.0, level * 8))];
  }
  return line;
}

}  // namespace

std::string RenderComparison(const v1::Comparison& comparison, const ComparisonText& options) {
  std::string out;
  for (const std::string& conclusion : comparison.conclusions()) {
    absl::StrAppend(&out, Coloured(conclusion, "1", options.colour), "\n");
  }
  if (!out.empty()) out += "\n";
  for (const v1::ComparedSet& set : comparison.sets()) {
    absl::StrAppend(&out, &set == &comparison.sets(0) ? "" : "against ", SetText(set), "\n");
  }
  if (const std::string labels = LabelsText(comparison); !labels.empty()) {
    absl::StrAppend(&out, "labels that differ: ", labels, "\n");
  }
  for (int s = 1; s < comparison.sets_size() && HasLoad(comparison); ++s) {
    const bool can_tell = s <= comparison.can_tell_size() && comparison.can_tell(s - 1);
    TextTable table({"phase", "figure", TitleOf(comparison.sets(0)), TitleOf(comparison.sets(s)),
                     ChangeTitle(comparison.figures(), s), "p", "difference"},
                    {0, 1, 6}, {1, 6});
    for (const v1::ComparedFigure& figure : comparison.figures()) {
      const v1::ComparedValue& value = figure.values(s);
      table.Add({figure.phase(), FigureName(figure), MedianText(comparison, figure, 0),
                 MedianText(comparison, figure, s), ChangeCell(value),
                 value.has_p_value() ? absl::StrFormat("%.3f", value.p_value()) : "-",
                 VerdictText(figure, value, can_tell)});
    }
    for (const v1::ComparedLimit& limit : comparison.limits()) {
      const LimitTexts texts = LimitTextsOf(limit, s);
      table.Add(
          {limit.phase(), "limited by", texts.first, texts.other, "-", "-", texts.difference});
    }
    absl::StrAppend(&out, "\n", table.Render("", options.width));
  }
  out += RenderObservedComparison(comparison, options.width);
  if (!comparison.warnings().empty()) out += "\n";
  for (const std::string& warning : comparison.warnings()) {
    absl::StrAppend(&out, Coloured("warning: ", "33", options.colour), warning, "\n");
  }
  out += "\n";
  if (HasPairs(comparison)) absl::StrAppend(&out, kPairsText, "\n");
  absl::StrAppend(&out, "p of all figures together: below 0.05 is a difference",
                  comparison.has_max_regression()
                      ? absl::StrFormat(", worse by more than %.3g %% a regression",
                                        100 * comparison.max_regression())
                      : "",
                  "\n");
  return out;
}

std::string RenderMarkdown(const v1::Comparison& comparison) {
  std::string out = "### ";
  for (const v1::ComparedSet& set : comparison.sets()) {
    absl::StrAppend(&out, &set == &comparison.sets(0) ? "" : " and ", PlainMarkdown(TitleOf(set)));
  }
  out += " compared\n\n";
  for (const std::string& conclusion : comparison.conclusions()) {
    absl::StrAppend(&out, "**", PlainMarkdown(conclusion), "**\n\n");
  }
  for (const v1::ComparedSet& set : comparison.sets()) {
    absl::StrAppend(&out, &set == &comparison.sets(0) ? "" : " against ",
                    PlainMarkdown(SetText(set)));
  }
  out += "\n\n";
  if (const std::string labels = LabelsText(comparison); !labels.empty()) {
    absl::StrAppend(&out, "Labels that differ: ", PlainMarkdown(labels), "\n\n");
  }
  for (int s = 1; s < comparison.sets_size() && HasLoad(comparison); ++s) {
    const bool can_tell = s <= comparison.can_tell_size() && comparison.can_tell(s - 1);
    absl::StrAppend(&out, "| phase | figure | ", PlainMarkdown(TitleOf(comparison.sets(0))), " | ",
                    PlainMarkdown(TitleOf(comparison.sets(s))), " | ",
                    ChangeTitle(comparison.figures(), s),
                    " | p | difference |\n| --- | --- | ---: | ---: | ---: | ---: | --- "
                    "|\n");
    for (const v1::ComparedFigure& figure : comparison.figures()) {
      const v1::ComparedValue& value = figure.values(s);
      absl::StrAppend(&out, "| ", PlainMarkdown(figure.phase()), " | ",
                      PlainMarkdown(FigureName(figure)), " | ", MedianText(comparison, figure, 0),
                      " | ", MedianText(comparison, figure, s), " | ",
                      PlainMarkdown(ChangeCell(value)), " | ",
                      value.has_p_value() ? absl::StrFormat("%.3f", value.p_value()) : "-", " | ",
                      VerdictText(figure, value, can_tell), " |\n");
    }
    for (const v1::ComparedLimit& limit : comparison.limits()) {
      const LimitTexts texts = LimitTextsOf(limit, s);
      absl::StrAppend(&out, "| ", PlainMarkdown(limit.phase()), " | limited by | ",
                      PlainMarkdown(texts.first), " | ", PlainMarkdown(texts.other), " | - | - | ",
                      texts.difference, " |\n");
    }
    out += "\n";
  }
  out += RenderObservedMarkdown(comparison);
  if (HasPairs(comparison)) absl::StrAppend(&out, kPairsText, "\n\n");
  if (comparison.warnings().empty()) return out;
  out += "**Warnings**\n\n";
  for (const std::string& warning : comparison.warnings()) {
    absl::StrAppend(&out, "- ", PlainMarkdown(warning), "\n");
  }
  return out + "\n";
}

namespace {

struct JUnitCases {
  int tests = 0;
  int errors = 0;
  int skipped = 0;
  std::string text;
};

// What the figure of a set is, and how it changed.
std::string CaseWords(const v1::Comparison& comparison, const v1::ComparedFigure& figure, int s) {
  const v1::ComparedValue& value = figure.values(s);
  const auto in = [&](const v1::ComparedValue& of, int set) {
    const int all = comparison.sets(set).runs_size();
    return absl::StrCat(of.runs() > 0 ? ValueText(figure.unit(), of.median())
                        : of.partial_runs() > 0
                            ? absl::StrCat("in only ", of.partial_runs(), " of ", all, " runs")
                            : "no value",
                        of.partial_runs() > 0 ? " of " : " in ", comparison.sets(set).name());
  };
  return absl::StrCat(in(figure.values(0), 0), ", ", in(value, s), ": ",
                      value.has_change() && PairsOf(figure, s) > 1
                          ? absl::StrCat("median of ", PairsOf(figure, s), " pairs of runs ")
                          : "",
                      ChangeCell(value),
                      value.has_p_value() ? absl::StrFormat(", p %.4f", value.p_value()) : "");
}

void AddCase(const v1::Comparison& comparison, const v1::ComparedFigure& figure, int s,
             JUnitCases* cases) {
  const v1::ComparedValue& value = figure.values(s);
  const std::string words = CaseWords(comparison, figure, s);
  std::string* text = &cases->text;
  ++cases->tests;
  absl::StrAppend(text, "    <testcase classname=\"lockstep.", XmlText(figure.phase()),
                  "\" name=\"", XmlText(FigureName(figure)), " ",
                  XmlText(comparison.sets(s).name()), "\">");
  if (value.judgement() == v1::JUDGEMENT_LEFT_OUT) {
    ++cases->skipped;
    absl::StrAppend(text, "<skipped message=\"", XmlText(words), "\"/>");
  } else if (value.judgement() == v1::JUDGEMENT_UNKNOWN) {
    ++cases->errors;
    absl::StrAppend(text, "<error message=\"", XmlText(words), "\"/>");
  } else if (value.regression()) {
    absl::StrAppend(text, "<failure message=\"", XmlText(words), "\"/>");
  } else if (value.verdict() == v1::CHANGE_UNKNOWN) {
    // A case that cannot tell is skipped, not passed: a pass would stand for the proof of no
    // change.
    ++cases->skipped;
    absl::StrAppend(text, "<skipped message=\"",
                    value.may_be_drift() ? XmlText(words + "; it may be a drift of the machine")
                                         : "too few runs to tell",
                    "\"/>");
  } else {
    absl::StrAppend(text, "<system-out>", XmlText(words), "</system-out>");
  }
  *text += "</testcase>\n";
}

}  // namespace

std::string RenderJUnit(const v1::Comparison& comparison) {
  JUnitCases cases;
  for (const v1::ComparedFigure& figure : comparison.figures()) {
    // A case passes or fails. A figure that is in no verdict is neither.
    if (!figure.judged()) continue;
    for (int s = 1; s < figure.values_size(); ++s) AddCase(comparison, figure, s, &cases);
  }
  // A suite without cases would pass: there was nothing to compare with.
  if (comparison.figures().empty()) {
    for (const std::string& conclusion : comparison.conclusions()) {
      ++cases.tests;
      ++cases.skipped;
      absl::StrAppend(&cases.text, "    <testcase classname=\"lockstep.gate\" name=\"comparison ",
                      cases.tests, "\"><skipped message=\"", XmlText(conclusion),
                      "\"/></testcase>\n");
    }
  }
  // A warning belongs to no case. CI systems show the standard error of the whole suite.
  std::string warnings;
  for (const std::string& warning : comparison.warnings()) {
    absl::StrAppend(&warnings, XmlText(warning), "\n");
  }
  return absl::StrFormat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"lockstep "
      "gate\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n%s    "
      "<system-err>%s</system-err>\n  </testsuite>\n</testsuites>\n",
      cases.tests, comparison.regressions(), cases.errors, cases.skipped, cases.text, warnings);
}

std::string RenderTrends(const v1::TrendsReply& reply, const ComparisonText& options) {
  constexpr size_t kColumns = 40;
  TextTable table(
      {"job", "phase", "figure", "runs", "oldest to newest", "median", "newest", "changes"},
      {0, 1, 2, 4, 7}, {0, 1, 2});
  for (const v1::Trend& trend : reply.trends()) {
    std::vector<double> values;
    for (const v1::TrendPoint& point : trend.points()) values.push_back(point.value());
    std::sort(values.begin(), values.end());
    std::vector<std::string> changes;
    for (const v1::ChangePoint& change : trend.changes()) {
      const v1::TrendPoint& at = trend.points(static_cast<int>(change.index()));
      const bool more = change.mean_after() > change.mean_before();
      // A change from 0 has no ratio.
      const std::string by =
          change.mean_before() > 0
              ? absl::StrCat(SignedShare(change.mean_after() / change.mean_before() - 1), " %")
              : absl::StrCat("from 0 to ", ValueText(trend.unit(), change.mean_after()));
      changes.push_back(absl::StrCat(DirectionText(trend.direction(), more), by, " from run ",
                                     at.run_id().substr(0, 8), ", ", at.submitted_at()));
    }
    std::string figure = trend.figure();
    if (!trend.workload().empty()) {
      figure = absl::StrCat(trend.workload(), " ", trend.kind(), " ", figure);
    }
    table.Add({trend.job(), trend.phase(), figure, absl::StrCat(trend.points_size()),
               Course(trend, kColumns), ValueText(trend.unit(), values[values.size() / 2]),
               ValueText(trend.unit(), trend.points().rbegin()->value()),
               absl::StrJoin(changes, "; ")});
    AddLimits(trend, &table);
  }
  return table.Render("", options.width);
}

}  // namespace lockstep::controller
