#include "controller/report/other_layouts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/kind_sums.h"
#include "controller/report/safe_report.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

using measure::Operations;

constexpr const char* kSizes[] = {"B  ", "KiB", "MiB", "GiB"};
constexpr const char* kBytes[] = {"B", "KiB", "MiB", "GiB"};
constexpr const char* kBits[] = {"bit", "kbit", "Mbit", "Gbit"};

// "  38.3 KiB": in the largest of the units that leaves at least 1.
std::string Scaled(double value, double step, const char* const (&units)[4], int width,
                   int decimals) {
  size_t unit = 0;
  for (; unit + 1 < std::size(units) && value >= step; ++unit) value /= step;
  return absl::StrFormat("%*.*f %s", width, decimals, value, units[unit]);
}

// "/dev/sdb, 931.5 GiB"; a target by its name where its path and its identity are not known.
std::string DeviceText(const v1::SweptTarget& target) {
  std::string text = !target.path().empty()       ? target.path()
                     : !target.identity().empty() ? target.identity()
                                                  : target.name();
  if (target.files() > 1) {
    absl::StrAppend(&text, " and ", target.files() - 1,
                    target.files() == 2 ? " more file" : " more files");
  }
  if (target.other_hosts() > 0) {
    absl::StrAppend(&text, " on ", target.host(), " (", target.other_hosts(),
                    target.other_hosts() == 1 ? " host has another one)" : " hosts have others)");
  }
  if (target.has_size_bytes()) {
    absl::StrAppend(&text, ", ", common::FormatSize(target.size_bytes()));
  }
  return text;
}

bool IsBlockSize(const v1::SweepAxisReport& axis) {
  const std::string& field = axis.field();
  // An axis may also set the size of one workload: workloads.0.block_size.
  return field == "block_size" ||
         (field.size() > 11 && field.compare(field.size() - 11, 11, ".block_size") == 0);
}

bool IsIopsTable(const v1::SweepReport& sweep) {
  return sweep.axes_size() == 1 && IsBlockSize(sweep.axes(0));
}

// The head of iops' table: the device, its capacity and the threads.
std::string IopsHead(const v1::Report& report, const v1::SweepReport& sweep, int threads) {
  std::vector<std::string> parts;
  for (const v1::SweptTarget& target : sweep.targets()) parts.push_back(DeviceText(target));
  // The saved report of a pruned run may be older than this list.
  if (parts.empty()) parts.push_back(sweep.phase());
  if (threads > 0) parts.push_back(absl::StrCat(threads, threads == 1 ? " thread" : " threads"));
  // Several tables may be of one device. iops prints one.
  if (std::count_if(report.sweeps().begin(), report.sweeps().end(), &IsIopsTable) > 1) {
    parts.push_back(absl::StrCat("phase ", sweep.phase()));
  }
  return absl::StrCat(absl::StrJoin(parts, ", "), ":\n");
}

double SizeOf(const std::string& text) {
  const auto size = common::ParseSize(text);
  return size.ok() ? static_cast<double>(*size) : 0;
}

const v1::PhaseReport* PhaseOf(const v1::Report& report, const v1::SweepPointReport& point) {
  for (const v1::PhaseReport& phase : report.phases()) {
    // The last run of a point stands for it where a median makes no sense, as for its threads.
    if (!point.phases().empty() && phase.index() == *point.phases().rbegin()) return &phase;
  }
  return nullptr;
}

// A phase with this name is a column of iozone's table, and has its matrix under iozone's title.
struct IozoneColumn {
  const char* phase;
  Operations kind;
  const char* title;
};
// In the order of iozone.
constexpr IozoneColumn kIozoneColumns[] = {
    {"write", Operations::kWrite, "Writer"},
    {"rewrite", Operations::kWrite, "Re-writer"},
    {"read", Operations::kRead, "Reader"},
    {"reread", Operations::kRead, "Re-Reader"},
    {"random read", Operations::kRead, "Random read"},
    {"random write", Operations::kWrite, "Random write"},
};

bool IsColumn(const IozoneColumn& column, const v1::SweepReport& sweep, Operations kind) {
  return sweep.phase() == column.phase && kind == column.kind;
}

// A value of an axis as iozone writes sizes: in KiB.
std::string IozoneCell(const v1::SweepAxisReport& axis, const std::string& text) {
  // A bare number is a size on an axis of sizes only. On another axis it is a queue depth, for
  // example, and must not be divided.
  const bool bare = text.find_first_not_of("0123456789") == std::string::npos;
  const bool sizes = IsBlockSize(axis) || absl::EndsWith(axis.field(), "size");
  const double size = bare && !sizes ? 0 : SizeOf(text);
  return size > 0 ? absl::StrFormat(" \"%.10g\"", size / 1024) : absl::StrCat(" \"", text, "\"");
}

// The matrix of one kind of operation. Empty where the sweep has none, or has other axes.
std::string IozoneMatrix(const v1::Report& report, const v1::SweepReport& sweep, Operations kind,
                         const std::string& title) {
  const int last = sweep.axes_size() - 1;
  // iozone prints a matrix of file sizes by record sizes, so there is room for one axis beside the
  // block size.
  if (last < 0 || last > 1 || !IsBlockSize(sweep.axes(last))) return "";
  std::map<uint32_t, std::map<uint32_t, double>> cells;
  for (const v1::SweepPointReport& point : sweep.points()) {
    const v1::PhaseReport* phase = PhaseOf(report, point);
    if (point.runs() == 0 || phase == nullptr) continue;
    const KindSum sum = SumOfKind(*phase, kind);
    if (!(sum.operations > 0) || !(phase->total().bytes_per_second() > 0)) continue;
    // A point's median covers reads and writes together. The last run says which share of it is
    // this kind's.
    const double share = sum.bytes_per_second / phase->total().bytes_per_second();
    cells[last == 1 ? point.indices(0) : 0][point.indices(last)] =
        share * point.bytes_per_second() / 1024;
  }
  if (cells.empty()) return "";
  std::string out = absl::StrCat("\"", title, " report\"\n       ");
  for (const std::string& value : sweep.axes(last).values()) {
    out += IozoneCell(sweep.axes(last), value);
  }
  out += "\n";
  for (const auto& [row, values] : cells) {
    out += last == 1
               ? IozoneCell(sweep.axes(0), sweep.axes(0).values(static_cast<int>(row))).substr(1)
               : "\"all\"";
    for (uint32_t v = 0; v < static_cast<uint32_t>(sweep.axes(last).values_size()); ++v) {
      const auto found = values.find(v);
      // A point that did not run has no rate: its cell is empty, and keeps its column.
      absl::StrAppend(&out, "  ",
                      found == values.end() ? "\"\"" : absl::StrFormat("%.0f", found->second));
    }
    out += "\n";
  }
  return out + "\n";
}

}  // namespace

std::string RenderIops(const v1::Report& report) {
  const v1::Report safe = SafeToShow(report);
  std::string out;
  for (const v1::SweepReport& sweep : safe.sweeps()) {
    if (!IsIopsTable(sweep)) continue;
    std::vector<std::pair<double, const v1::SweepPointReport*>> points;
    int threads = 0;
    for (const v1::SweepPointReport& point : sweep.points()) {
      if (point.runs() == 0) continue;
      points.emplace_back(SizeOf(sweep.axes(0).values(static_cast<int>(point.indices(0)))), &point);
      const v1::PhaseReport* phase = PhaseOf(safe, point);
      if (phase != nullptr) threads = phase->threads_size();
    }
    std::sort(points.begin(), points.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    out += IopsHead(safe, sweep, threads);
    for (const auto& [size, point] : points) {
      absl::StrAppend(
          &out,
          absl::StrFormat(" %s blocks: %8.1f IO/s, %s/s (%s/s)\n", Scaled(size, 1024, kSizes, 4, 0),
                          point->iops(), Scaled(point->bytes_per_second(), 1024, kBytes, 6, 1),
                          Scaled(8 * point->bytes_per_second(), 1000, kBits, 8, 1)));
    }
  }
  return out;
}

std::string RenderIozone(const v1::Report& report) {
  const v1::Report safe = SafeToShow(report);
  std::string out;
  for (const IozoneColumn& column : kIozoneColumns) {
    for (const v1::SweepReport& sweep : safe.sweeps()) {
      if (!IsColumn(column, sweep, column.kind)) continue;
      out += IozoneMatrix(safe, sweep, column.kind, column.title);
    }
  }
  for (const v1::SweepReport& sweep : safe.sweeps()) {
    for (const Operations kind : {Operations::kRead, Operations::kWrite}) {
      const bool is_column =
          std::any_of(std::begin(kIozoneColumns), std::end(kIozoneColumns),
                      [&](const IozoneColumn& column) { return IsColumn(column, sweep, kind); });
      if (is_column) continue;
      out += IozoneMatrix(
          safe, sweep, kind,
          absl::StrCat(sweep.phase(), kind == Operations::kRead ? ": Reader" : ": Writer"));
    }
  }
  return out;
}

}  // namespace lockstep::controller
