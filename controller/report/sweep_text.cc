#include "controller/report/sweep_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/report/report_writer.h"
#include "controller/report/text_table.h"

namespace lockstep::controller {
namespace {

struct Figure {
  const char* title;
  bool higher_is_better;
  bool may_be_zero;  // otherwise 0 says that there is none
  double (*of)(const v1::SweepPointReport& point);
  std::string (*text)(double value);
  bool (*is_uncertain)(const v1::SweepPointReport& point) = nullptr;
};

const Figure kFigures[] = {
    {"IOPS", true, true, [](const v1::SweepPointReport& p) { return p.iops(); },
     [](double v) { return common::FormatCount(v); }},
    {"MiB/s", true, true,
     [](const v1::SweepPointReport& p) { return p.bytes_per_second() / 1048576; },
     [](double v) { return absl::StrFormat("%.1f", v); }},
    {"p50", false, false, [](const v1::SweepPointReport& p) { return p.p50_ns(); }, &KnownDuration,
     [](const v1::SweepPointReport& p) { return p.is_p50_uncertain(); }},
    {"p99", false, false, [](const v1::SweepPointReport& p) { return p.p99_ns(); }, &KnownDuration,
     [](const v1::SweepPointReport& p) { return p.is_p99_uncertain(); }},
    {"Jain", true, false, [](const v1::SweepPointReport& p) { return p.jain(); },
     [](double v) { return absl::StrFormat("%.4f", v); }},
    {"thread Jain", true, false, [](const v1::SweepPointReport& p) { return p.thread_jain(); },
     [](double v) { return absl::StrFormat("%.4f", v); }},
};

// The shares of the points' time: nothing to compare by a mark, since less is not always better.
struct Spent {
  const char* title;
  bool (*has)(const v1::TimeSpent& spent);
  std::string (*text)(const v1::TimeSpent& spent);
};

std::string ShareText(double ratio) { return absl::StrFormat("%.0f %%", 100 * ratio); }

const Spent kKernels[] = {
    {"cs/s", [](const v1::TimeSpent& s) { return s.has_context_switches_per_second(); },
     [](const v1::TimeSpent& s) { return common::FormatCount(s.context_switches_per_second()); }},
    {"cs per I/O", [](const v1::TimeSpent& s) { return s.has_context_switches_per_io(); },
     [](const v1::TimeSpent& s) { return common::FormatPerIo(s.context_switches_per_io()); }},
    {"interrupts/s", [](const v1::TimeSpent& s) { return s.has_interrupts_per_second(); },
     [](const v1::TimeSpent& s) { return common::FormatCount(s.interrupts_per_second()); }},
    {"interrupts per I/O", [](const v1::TimeSpent& s) { return s.has_interrupts_per_io(); },
     [](const v1::TimeSpent& s) { return common::FormatPerIo(s.interrupts_per_io()); }},
    {"CPU per I/O", [](const v1::TimeSpent& s) { return s.has_cpu_ns_per_io(); },
     [](const v1::TimeSpent& s) { return common::FormatDuration(s.cpu_ns_per_io()); }},
};

const Spent kThreads[] = {
    {"in I/O", [](const v1::TimeSpent& s) { return s.has_wait_ratio(); },
     [](const v1::TimeSpent& s) { return ShareText(s.wait_ratio()); }},
    {"in fsync", [](const v1::TimeSpent& s) { return s.has_fsync_ratio(); },
     [](const v1::TimeSpent& s) { return ShareText(s.fsync_ratio()); }},
    {"waiting", [](const v1::TimeSpent& s) { return s.has_rate_ratio() || s.has_think_ratio(); },
     [](const v1::TimeSpent& s) { return ShareText(s.rate_ratio() + s.think_ratio()); }},
    {"amplification", [](const v1::TimeSpent& s) { return s.has_amplification(); },
     [](const v1::TimeSpent& s) { return absl::StrFormat("%.2f", s.amplification()); }},
};

// The point's values of the axes, one cell each.
std::vector<std::string> ValuesOf(const v1::SweepReport& sweep, const v1::SweepPointReport& point) {
  if (sweep.axes().empty()) return {"all"};
  std::vector<std::string> values;
  for (int a = 0; a < sweep.axes_size(); ++a) {
    values.push_back(sweep.axes(a).values(static_cast<int>(point.indices(a))));
  }
  return values;
}

std::string LimitText(const v1::SweepPointReport& point) {
  return point.limited_by().empty() ? "–" : point.limited_by();
}

// How the value stands between the worst and the best of all points.
class Heat {
 public:
  Heat(const v1::SweepReport& sweep, const Figure& figure) : figure_(figure) {
    bool any = false;
    for (const v1::SweepPointReport& point : sweep.points()) {
      // A point without a whole run, or with too few I/Os for a percentile, has no value. A 0
      // would stretch the scale, and be the best of all.
      if (point.runs() == 0 || !IsKnown(point)) continue;
      const double value = figure.of(point);
      min_ = any ? std::min(min_, value) : value;
      max_ = any ? std::max(max_, value) : value;
      any = true;
    }
  }
  std::string Cell(const v1::SweepPointReport& point) const {
    static constexpr const char* kMarks[] = {" ", "░", "▒", "▓", "█"};
    if (point.runs() == 0) return "-  ";
    if (!IsKnown(point)) return "–  ";
    const double value = figure_.of(point);
    // A variation of less than one percent is noise, and gets no mark.
    if (max_ - min_ <= 0.01 * max_) return absl::StrCat(TextOf(point), "  ");
    const double place = (value - min_) / (max_ - min_);
    // The fullest mark is always the best point, whichever direction is better.
    const double good = figure_.higher_is_better ? place : 1 - place;
    return absl::StrCat(TextOf(point), " ", kMarks[static_cast<size_t>(std::min(4.0, good * 5))]);
  }

 private:
  std::string TextOf(const v1::SweepPointReport& point) const {
    const bool is_uncertain = figure_.is_uncertain != nullptr && figure_.is_uncertain(point);
    return absl::StrCat(is_uncertain ? "~" : "", figure_.text(figure_.of(point)));
  }
  // Latencies and Jain's index are above 0. IOPS may be 0.
  bool IsKnown(const v1::SweepPointReport& point) const {
    return figure_.may_be_zero || figure_.of(point) > 0;
  }

  const Figure& figure_;
  double min_ = 0, max_ = 0;
};

// "limited by: device at 4KiB, 8KiB; above the device at 64KiB", where the table has no room for
// it.
std::string LimitLine(const v1::SweepReport& sweep, size_t width) {
  std::vector<std::string> limits;
  std::map<std::string, std::vector<std::string>> points;
  for (const v1::SweepPointReport& point : sweep.points()) {
    std::vector<std::string>& own = points[LimitText(point)];
    if (own.empty()) limits.push_back(LimitText(point));
    own.push_back(sweep.axes().empty() ? "all"
                                       : sweep.axes(0).values(static_cast<int>(point.indices(0))));
  }
  std::vector<std::string> parts;
  for (const std::string& limit : limits) {
    parts.push_back(absl::StrCat(limit, " at ", absl::StrJoin(points[limit], ", ")));
  }
  const std::string first = "    limited by: ";
  std::string out;
  std::string line = first;
  for (const std::string& part : parts) {
    const bool begins = line == first || line == "      ";
    if (!begins && DisplayWidth(line) + 2 + DisplayWidth(part) > width) {
      absl::StrAppend(&out, line, ";\n");
      line = "      " + part;
    } else {
      absl::StrAppend(&line, begins ? "" : "; ", part);
    }
  }
  return absl::StrCat(out, line, "\n");
}

bool IsWiderThan(const std::string& table, size_t width) {
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  return width != 0 && std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
           return DisplayWidth(line) > width;
         });
}

enum class Limits { kInTheTable, kBelow };

std::string PointTable(const v1::SweepReport& sweep, size_t width, Limits limits) {
  std::vector<std::string> titles = {sweep.axes().empty() ? "" : sweep.axes(0).field()};
  for (const Figure& figure : kFigures) titles.push_back(absl::StrCat(figure.title, "  "));
  titles.emplace_back("runs");
  std::vector<size_t> left = {0};
  if (limits == Limits::kInTheTable) {
    titles.emplace_back("limited by");
    left.push_back(titles.size() - 1);
  }
  TextTable table(titles, left, {0});
  for (const v1::SweepPointReport& point : sweep.points()) {
    std::vector<std::string> row = {
        sweep.axes().empty() ? "all" : sweep.axes(0).values(static_cast<int>(point.indices(0)))};
    for (const Figure& figure : kFigures) row.push_back(Heat(sweep, figure).Cell(point));
    row.push_back(absl::StrCat(point.runs()));
    if (limits == Limits::kInTheTable) row.push_back(LimitText(point));
    table.Add(std::move(row));
  }
  return table.Render("    ", width);
}

// A limit that is cut ("above t…") says less than none.
std::string Lines(const v1::SweepReport& sweep, size_t width) {
  const std::string whole = PointTable(sweep, 0, Limits::kInTheTable);
  if (!IsWiderThan(whole, width)) return whole;
  return PointTable(sweep, width, Limits::kBelow) + LimitLine(sweep, width);
}

// The values of all axes but the last, and by them the points across.
std::string Matrix(const v1::SweepReport& sweep, const Figure& figure, size_t width) {
  const int last = sweep.axes_size() - 1;
  std::map<std::vector<uint32_t>, std::map<uint32_t, const v1::SweepPointReport*>> rows;
  for (const v1::SweepPointReport& point : sweep.points()) {
    std::vector<uint32_t> row(point.indices().begin(), point.indices().end() - 1);
    rows[row][point.indices(last)] = &point;
  }
  std::vector<std::string> fields;
  for (int a = 0; a < last; ++a) fields.push_back(sweep.axes(a).field());
  std::vector<std::string> titles = {
      absl::StrCat(absl::StrJoin(fields, " "), " \\ ", sweep.axes(last).field())};
  for (const std::string& value : sweep.axes(last).values()) {
    // The two blanks stand above the marks that follow the figures.
    titles.push_back(absl::StrCat(value, "  "));
  }
  TextTable table(titles, {0}, {0});
  const Heat heat(sweep, figure);
  for (const auto& [indices, cells] : rows) {
    std::vector<std::string> names;
    for (size_t a = 0; a < indices.size(); ++a) {
      names.push_back(sweep.axes(static_cast<int>(a)).values(static_cast<int>(indices[a])));
    }
    std::vector<std::string> row = {absl::StrJoin(names, " ")};
    for (uint32_t v = 0; v < static_cast<uint32_t>(sweep.axes(last).values_size()); ++v) {
      const auto cell = cells.find(v);
      row.push_back(cell == cells.end() ? "-  " : heat.Cell(*cell->second));
    }
    table.Add(std::move(row));
  }
  return absl::StrCat("    ", figure.title, "\n", table.Render("    ", width));
}

}  // namespace

bool HasMeasuredPoint(const v1::SweepReport& sweep) {
  return std::any_of(sweep.points().begin(), sweep.points().end(),
                     [](const v1::SweepPointReport& point) { return point.runs() > 0; });
}

std::string RenderSweep(const v1::SweepReport& sweep, size_t width) {
  if (!HasMeasuredPoint(sweep)) return "    no point was measured\n";
  if (sweep.axes_size() < 2) return Lines(sweep, width);
  std::string out;
  for (const Figure& figure : kFigures) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", Matrix(sweep, figure, width));
  }
  return out;
}

std::string TimeSpentText(const v1::TimeSpent& spent) {
  std::vector<std::string> parts;
  const auto add = [&](const Spent& part) {
    if (part.has(spent)) parts.push_back(absl::StrCat(part.title, " ", part.text(spent)));
  };
  for (const Spent& part : kKernels) add(part);
  for (const Spent& part : kThreads) add(part);
  return absl::StrJoin(parts, ", ");
}

std::string RenderTimeSpent(const v1::SweepReport& sweep, size_t width) {
  std::vector<std::string> kernels;
  std::vector<std::string> threads;
  std::vector<size_t> left;
  for (const v1::SweepAxisReport& axis : sweep.axes()) kernels.push_back(axis.field());
  if (kernels.empty()) kernels.emplace_back("");
  for (size_t i = 0; i < kernels.size(); ++i) left.push_back(i);
  threads = kernels;
  for (const Spent& spent : kKernels) kernels.emplace_back(spent.title);
  for (const Spent& spent : kThreads) threads.emplace_back(spent.title);
  threads.emplace_back("limited by");
  // Two tables: one would be wider than a terminal.
  TextTable of_kernels(kernels, left, left);
  std::vector<size_t> left_of_threads = left;
  left_of_threads.push_back(threads.size() - 1);
  TextTable of_threads(threads, left_of_threads, left);
  for (const v1::SweepPointReport& point : sweep.points()) {
    if (point.runs() == 0 || !point.has_time_spent()) continue;
    const auto add = [&](const Spent& spent, std::vector<std::string>* row) {
      row->push_back(spent.has(point.time_spent()) ? spent.text(point.time_spent()) : "–");
    };
    std::vector<std::string> row = ValuesOf(sweep, point);
    for (const Spent& spent : kKernels) add(spent, &row);
    of_kernels.Add(std::move(row));
    row = ValuesOf(sweep, point);
    for (const Spent& spent : kThreads) add(spent, &row);
    row.push_back(LimitText(point));
    of_threads.Add(std::move(row));
  }
  if (of_kernels.empty()) return "";
  return absl::StrCat("\n    where the time went, without ramp and drain\n",
                      of_kernels.Render("    ", width), "\n", of_threads.Render("    ", width));
}

}  // namespace lockstep::controller
