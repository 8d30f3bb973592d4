#include "controller/report/tool_tables.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/units.h"
#include "controller/report/kind_sums.h"
#include "controller/report/safe_report.h"
#include "controller/report/verdict.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

constexpr double kBinaryMb = 1048576;
constexpr double kDecimalMb = 1e6;
constexpr double kNsPerMs = 1e6;

bool HasLoad(const v1::PhaseReport& phase) {
  return !phase.has_observed() && !phase.workloads().empty();
}

// ----------------------------------------------------------------------------------------- Iometer

// The columns that its readers look for, in Iometer 1.1's order.
constexpr const char* kIometerColumns[] = {"'Target Type",
                                           "Target Name",
                                           "Access Specification Name",
                                           "# Managers",
                                           "# Workers",
                                           "# Disks",
                                           "IOps",
                                           "Read IOps",
                                           "Write IOps",
                                           "MBps (Binary)",
                                           "Read MBps (Binary)",
                                           "Write MBps (Binary)",
                                           "MBps (Decimal)",
                                           "Read MBps (Decimal)",
                                           "Write MBps (Decimal)",
                                           "Transactions per Second",
                                           "Connections per Second",
                                           "Average Response Time",
                                           "Average Read Response Time",
                                           "Average Write Response Time",
                                           "Average Transaction Time",
                                           "Average Connection Time",
                                           "Maximum Response Time",
                                           "Maximum Read Response Time",
                                           "Maximum Write Response Time",
                                           "Maximum Transaction Time",
                                           "Maximum Connection Time",
                                           "Errors",
                                           "Read Errors",
                                           "Write Errors",
                                           "Bytes Read",
                                           "Bytes Written",
                                           "Read I/Os",
                                           "Write I/Os",
                                           "Connections",
                                           "Transactions per Connection",
                                           "Total Raw Read Response Time",
                                           "Total Raw Write Response Time",
                                           "Total Raw Transaction Time",
                                           "Total Raw Connection Time",
                                           "Maximum Raw Read Response Time",
                                           "Maximum Raw Write Response Time",
                                           "Maximum Raw Transaction Time",
                                           "Maximum Raw Connection Time",
                                           "Total Raw Run Time",
                                           "Starting Sector",
                                           "Maximum Size",
                                           "Queue Depth",
                                           "% CPU Utilization",
                                           "% User Time",
                                           "% Privileged Time",
                                           "% DPC Time",
                                           "% Interrupt Time",
                                           "Processor Speed",
                                           "Interrupts per Second",
                                           "CPU Effectiveness",
                                           "Packets/Second",
                                           "Packet Errors",
                                           "Segments Retransmitted/Second"};

// Commas separate cells, and Iometer quotes none.
std::string CellText(const std::string& text) {
  std::string cell = absl::StrReplaceAll(text, {{",", ";"}, {"\n", " "}, {"\"", "'"}});
  // A spreadsheet would execute it.
  if (!cell.empty() && std::string("=+-@").find(cell[0]) != std::string::npos) cell.insert(0, "'");
  return cell;
}

// The trims of the phase, of which other tools have no columns: "trims of mix are left out, 1,164 a
// second: Iometer has no columns for them". Empty if it has none.
std::string TrimsLeftOut(const v1::PhaseReport& phase, const char* tool) {
  const KindSum trims = SumOfKind(phase, measure::Operations::kTrim);
  if (!(trims.operations > 0)) return "";
  return absl::StrCat("trims of ", CellText(phase.name()), " are left out, ",
                      common::FormatCount(trims.iops), " a second: ", tool,
                      " has no columns for them\n");
}

// Reads or writes of a row.
struct Moved {
  double operations = 0, iops = 0, bytes = 0, bytes_per_second = 0, errors = 0;
  double sum_ns = 0, max_ns = 0;

  void Add(const v1::OperationReport& o) {
    operations += o.operations();
    iops += o.iops();
    bytes += o.bytes();
    bytes_per_second += o.bytes_per_second();
    errors += o.errors();
    // Means of different numbers of I/Os cannot be added. Their sums can.
    sum_ns += o.latency_avg_ns() * o.operations();
    max_ns = std::max(max_ns, o.latency_max_ns());
  }
  double AverageMs() const { return operations > 0 ? sum_ns / operations / kNsPerMs : 0; }
};

Moved Both(const Moved& a, const Moved& b) {
  return {a.operations + b.operations, a.iops + b.iops,
          a.bytes + b.bytes,           a.bytes_per_second + b.bytes_per_second,
          a.errors + b.errors,         a.sum_ns + b.sum_ns,
          std::max(a.max_ns, b.max_ns)};
}

// The reads and writes of a row.
struct RowSums {
  Moved read, written;
  // Not if they ran for no part of the measured time, and not of a load of trims, which has
  // neither.
  bool is_known = true;

  std::optional<double> Iops() const {
    return is_known ? std::optional(read.iops + written.iops) : std::nullopt;
  }
};

// `total` and `workloads` are of the row. Workloads with windows of their own have rates that
// cannot be added, so that the row's rates are given.
template <typename Workloads>
RowSums SumsOf(const v1::OperationReport& total, const Workloads& workloads, const KindSum& reads,
               const KindSum& writes) {
  RowSums sums;
  bool has_moved = false;
  bool has_trims = false;
  for (const auto& workload : workloads) {
    for (const v1::OperationReport& o : workload.operations()) {
      const bool is_read = measure::Is(o, measure::Operations::kRead);
      const bool is_write = measure::Is(o, measure::Operations::kWrite);
      if (is_read) sums.read.Add(o);
      if (is_write) sums.written.Add(o);
      has_moved = has_moved || ((is_read || is_write) && o.has_iops());
      has_trims = has_trims || measure::Is(o, measure::Operations::kTrim);
    }
  }
  for (const auto& [sum, moved] : {std::pair(&reads, &sums.read), {&writes, &sums.written}}) {
    moved->iops = sum->iops;
    moved->bytes_per_second = sum->bytes_per_second;
  }
  sums.is_known = has_moved || (total.has_iops() && !has_trims);
  return sums;
}

RowSums SumsOf(const v1::PhaseReport& phase) {
  return SumsOf(phase.total(), phase.workloads(), SumOfKind(phase, measure::Operations::kRead),
                SumOfKind(phase, measure::Operations::kWrite));
}

RowSums SumsOf(const v1::PhaseReport& phase, const v1::HostReport& host) {
  return SumsOf(host.total(), host.workloads(), SumOfKind(phase, host, measure::Operations::kRead),
                SumOfKind(phase, host, measure::Operations::kWrite));
}

using NamedCells = std::map<std::string, std::string>;

void AddMoved(const Moved& read, const Moved& written, NamedCells* cells) {
  const struct {
    const char* prefix;
    Moved of;
  } kColumns[] = {{"", Both(read, written)}, {"Read ", read}, {"Write ", written}};
  const auto number = [](double value) { return absl::StrFormat("%.6f", value); };
  for (const auto& [prefix, of] : kColumns) {
    (*cells)[absl::StrCat(prefix, "IOps")] = number(of.iops);
    (*cells)[absl::StrCat(prefix, "MBps (Binary)")] = number(of.bytes_per_second / kBinaryMb);
    (*cells)[absl::StrCat(prefix, "MBps (Decimal)")] = number(of.bytes_per_second / kDecimalMb);
    (*cells)[absl::StrCat("Average ", prefix, "Response Time")] = number(of.AverageMs());
    (*cells)[absl::StrCat("Maximum ", prefix, "Response Time")] = number(of.max_ns / kNsPerMs);
    (*cells)[absl::StrCat(prefix, "Errors")] = absl::StrFormat("%.0f", of.errors);
  }
  (*cells)["Bytes Read"] = absl::StrFormat("%.0f", read.bytes);
  (*cells)["Bytes Written"] = absl::StrFormat("%.0f", written.bytes);
  (*cells)["Read I/Os"] = absl::StrFormat("%.0f", read.operations);
  (*cells)["Write I/Os"] = absl::StrFormat("%.0f", written.operations);
}

// The processors of one host, or the mean of all. `iops`: of the row, if it is known.
void AddProcessors(const v1::PhaseReport& phase, const std::string& host,
                   std::optional<double> iops, NamedCells* cells) {
  double kernels = 0;
  double user = 0;
  double system = 0;
  double busy = 0;
  for (const v1::KernelReport& kernel : phase.kernels()) {
    const bool is_its = std::count(kernel.hosts().begin(), kernel.hosts().end(), host) > 0;
    if (!host.empty() && !is_its) continue;
    ++kernels;
    user += kernel.user_ratio();
    system += kernel.system_ratio();
    // A processor in iowait is idle: it has nothing else to run (proc(5), /proc/stat).
    busy += 1 - kernel.idle_ratio() - kernel.iowait_ratio();
  }
  if (kernels == 0) return;
  const double percent = 100 * busy / kernels;
  (*cells)["% CPU Utilization"] = absl::StrFormat("%.6f", percent);
  // I/Os per second for each percent.
  if (iops && percent > 0) {
    (*cells)["CPU Effectiveness"] = absl::StrFormat("%.6f", *iops / percent);
  }
  (*cells)["% User Time"] = absl::StrFormat("%.6f", 100 * user / kernels);
  (*cells)["% Privileged Time"] = absl::StrFormat("%.6f", 100 * system / kernels);
}

std::string IometerRow(const NamedCells& cells) {
  std::vector<std::string> row;
  for (const char* column : kIometerColumns) {
    const auto found = cells.find(column);
    row.push_back(found == cells.end() ? "" : CellText(found->second));
  }
  return absl::StrJoin(row, ",") + "\n";
}

NamedCells IometerCells(const v1::PhaseReport& phase, const std::string& type,
                        const std::string& name) {
  NamedCells cells = {{kIometerColumns[0], type},
                      {"Target Name", name},
                      {"Access Specification Name", phase.name()}};
  const v1::WorkloadSettings& settings = phase.workloads(0).settings();
  // Several workloads may have different depths, and the column has one number.
  if (phase.workloads_size() == 1 && settings.queue_depth() > 0) {
    cells["Queue Depth"] = absl::StrCat(settings.queue_depth());
  }
  return cells;
}

// Threads of the host, or of all. Iometer's worker is a thread.
std::string WorkersOf(const v1::PhaseReport& phase, const std::string& host) {
  int64_t threads = 0;
  for (const v1::ThreadReport& thread : phase.threads()) {
    if (host.empty() || thread.host() == host) ++threads;
  }
  return threads > 0 ? absl::StrCat(threads) : "";
}

std::string IometerBlock(const v1::PhaseReport& phase) {
  const std::string trims = TrimsLeftOut(phase, "Iometer");
  // Iometer's lines that begin with a quote are no rows.
  std::string text = absl::StrCat(trims.empty() ? "" : "'" + trims, "'Results\n",
                                  absl::StrJoin(kIometerColumns, ","), "\n");
  NamedCells all = IometerCells(phase, "ALL", "All");
  const RowSums sums = SumsOf(phase);
  if (sums.is_known) AddMoved(sums.read, sums.written, &all);
  AddProcessors(phase, "", sums.Iops(), &all);
  // Iometer's manager is the process on a host, which is a worker here.
  all["# Managers"] = absl::StrCat(phase.workers() - phase.workers_lost());
  all["# Workers"] = WorkersOf(phase, "");
  text += IometerRow(all);
  for (const v1::HostReport& host : phase.hosts()) {
    // A lost host has no result, and a row of zeros would look like one.
    if (host.lost()) continue;
    NamedCells row = IometerCells(phase, "MANAGER", host.host());
    const RowSums of_host = SumsOf(phase, host);
    if (of_host.is_known) AddMoved(of_host.read, of_host.written, &row);
    AddProcessors(phase, host.host(), of_host.Iops(), &row);
    row["# Workers"] = WorkersOf(phase, host.host());
    text += IometerRow(row);
  }
  absl::Time at;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, phase.started_at(), &at, &error)) {
    at += absl::Seconds(phase.duration_seconds());
    // Iometer has a colon before the milliseconds.
    absl::StrAppend(
        &text, "'Time Stamp\n",
        absl::StrReplaceAll(absl::FormatTime("%Y-%m-%d %H:%M:%E3S", at, absl::UTCTimeZone()),
                            {{".", ":"}}),
        "\n");
  }
  return text;
}

// ----------------------------------------------------------------------------------------- vdbench

constexpr const char* kVdbenchColumns[] = {
    "tod",         "timestamp", "Run",      "Interval",   "reqrate",    "rate",      "MB/sec",
    "bytes/io",    "read%",     "resp",     "read_resp",  "write_resp", "resp_max",  "read_max",
    "write_max",   "resp_std",  "read_std", "write_std",  "xfersize",   "threads",   "rdpct",
    "rhpct",       "whpct",     "seekpct",  "lunsize",    "version",    "compratio", "dedupratio",
    "queue_depth", "cpu_used",  "cpu_user", "cpu_kernel", "cpu_wait",   "cpu_idle"};

// The I/Os of a row, with their latencies by kind.
struct VdbenchRow {
  std::string interval;
  double at_seconds = 0;  // of its end, from the phase's T
  RowSums sums;
};

std::string VdbenchNumber(double value, int decimals) {
  return absl::StrFormat("%.*f", decimals, value);
}

std::string VdbenchLine(const v1::PhaseReport& phase, const VdbenchRow& row) {
  NamedCells cells;
  absl::Time at;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, phase.started_at(), &at, &error)) {
    at += absl::Seconds(row.at_seconds);
    cells["tod"] = absl::FormatTime("%H:%M:%E3S", at, absl::UTCTimeZone());
    cells["timestamp"] = absl::FormatTime("%m/%d/%Y-%H:%M:%S-UTC", at, absl::UTCTimeZone());
  }
  const Moved all = Both(row.sums.read, row.sums.written);
  // NamedCells are separated by blanks.
  cells["Run"] = absl::StrReplaceAll(phase.name(), {{" ", "_"}});
  cells["Interval"] = row.interval;
  if (row.sums.is_known) {
    cells["rate"] = VdbenchNumber(all.iops, 4);
    cells["MB/sec"] = VdbenchNumber(all.bytes_per_second / kBinaryMb, 4);
  }
  if (all.operations > 0) {
    cells["bytes/io"] = VdbenchNumber(all.bytes / all.operations, 0);
    cells["read%"] = VdbenchNumber(100 * row.sums.read.operations / all.operations, 2);
    // Little's law: the I/Os in flight are the rate times the time of each.
    cells["queue_depth"] = VdbenchNumber(all.iops * all.AverageMs() / 1e3, 4);
  }
  const struct {
    const char *mean, *max;
    const Moved* of;
  } kLatencies[] = {{"resp", "resp_max", &all},
                    {"read_resp", "read_max", &row.sums.read},
                    {"write_resp", "write_max", &row.sums.written}};
  for (const auto& [mean, max, of] : kLatencies) {
    if (!row.sums.is_known) break;
    cells[mean] = VdbenchNumber(of->AverageMs(), 4);
    // A single interval's largest latency is not known. 0 would be below the mean.
    if (of->max_ns > 0 || of->operations == 0) {
      cells[max] = VdbenchNumber(of->max_ns / kNsPerMs, 4);
    }
  }
  if (phase.workloads_size() == 1) {
    const v1::WorkloadReport& workload = phase.workloads(0);
    const v1::WorkloadSettings& settings = workload.settings();
    if (settings.block_size_bytes() > 0) {
      cells["xfersize"] = VdbenchNumber(settings.block_size_bytes(), 0);
    }
    cells["rdpct"] = VdbenchNumber(100 * settings.read_share(), 0);
    cells["seekpct"] = settings.is_random() ? "100" : "0";
    // vdbench's thread has one I/O in flight.
    cells["threads"] = absl::StrCat(settings.threads() * std::max(1U, settings.queue_depth()) *
                                    std::max(1U, settings.workers()));
    if (workload.due_per_second() > 0) {
      cells["reqrate"] = VdbenchNumber(workload.due_per_second(), 0);
    }
  }
  std::string line;
  for (const char* column : kVdbenchColumns) {
    const auto found = cells.find(column);
    absl::StrAppendFormat(&line, " %12s", found == cells.end() ? "n/a" : found->second);
  }
  return line + "\n";
}

VdbenchRow AverageOf(const v1::PhaseReport& phase, size_t intervals) {
  VdbenchRow row;
  row.interval = absl::StrCat("avg_1-", std::max<size_t>(1, intervals));
  row.at_seconds = phase.window_end_seconds();
  row.sums = SumsOf(phase);
  return row;
}

// Rows for intervals without a read or a write, which have no histogram. A stall would be a hole in
// the table otherwise, and the later intervals would have wrong numbers. Without any row the
// samples were pruned. An interval that a host did not deliver is not known to be idle: it gets no
// row, but has its number.
void AddIdleRows(const v1::PhaseReport& phase, std::map<double, VdbenchRow>* rows,
                 std::set<double>* missing) {
  // The points of a long phase are means of several intervals, and do not tell which were idle.
  if (rows->empty() || phase.intervals_per_point() > 1) return;
  const double step = phase.interval_seconds();
  for (int i = 0; i < phase.iops_by_interval_size(); ++i) {
    const double begin = phase.points_begin_seconds() + i * step;
    // The last interval of a phase may be shorter.
    const double end = std::min(begin + step, phase.window_end_seconds());
    const double within = begin + step * 1e-3;
    const auto next = rows->lower_bound(within);
    const bool has_row = next != rows->end() && next->first <= begin + step * 1.001;
    if (has_row || end <= within) continue;
    if (std::isnan(phase.iops_by_interval(i))) {
      missing->insert(end);
    } else {
      (*rows)[end].at_seconds = end;
    }
  }
}

std::string VdbenchRows(const v1::PhaseReport& phase,
                        const std::vector<v1::LatencyHistogram>& intervals) {
  std::map<double, VdbenchRow> rows;  // by the interval's end
  for (const v1::LatencyHistogram& h : intervals) {
    const bool is_io =
        measure::Is(h, measure::Operations::kRead) || measure::Is(h, measure::Operations::kWrite);
    const double seconds = h.end_seconds() - h.begin_seconds();
    // Histograms of other metrics have the same I/Os, and would count them again (is_reported).
    if (h.phase() != phase.index() || !h.is_reported() || !is_io || !(seconds > 0)) continue;
    VdbenchRow& row = rows[h.end_seconds()];
    row.at_seconds = h.end_seconds();
    v1::OperationReport o;
    for (const double count : h.counts()) o.set_operations(o.operations() + count);
    o.set_bytes(h.bytes());
    o.set_iops(o.operations() / seconds);
    o.set_bytes_per_second(h.bytes() / seconds);
    o.set_latency_avg_ns(h.mean_ns());
    o.set_latency_max_ns(h.max_ns());
    (measure::Is(h, measure::Operations::kRead) ? row.sums.read : row.sums.written).Add(o);
  }
  std::set<double> missing;  // the ends of the intervals without a row
  AddIdleRows(phase, &rows, &missing);
  std::string text;
  size_t number = 0;
  auto next = missing.begin();
  for (auto& [end, row] : rows) {
    for (; next != missing.end() && *next < end; ++next) ++number;
    row.interval = absl::StrCat(++number);
    text += VdbenchLine(phase, row);
  }
  number += static_cast<size_t>(std::distance(next, missing.end()));
  return text + VdbenchLine(phase, AverageOf(phase, number));
}

}  // namespace

std::string RenderIometer(const v1::Report& report) {
  const v1::Report safe = SafeToShow(report);
  std::string text;
  for (const v1::PhaseReport& phase : safe.phases()) {
    if (HasLoad(phase)) text += IometerBlock(phase);
  }
  return text;
}

std::string RenderVdbench(const v1::Report& report,
                          const std::vector<v1::LatencyHistogram>& intervals) {
  const v1::Report safe = SafeToShow(report);
  std::string rows;
  std::string remarks;
  for (const v1::PhaseReport& phase : safe.phases()) {
    if (!HasLoad(phase)) continue;
    rows += VdbenchRows(phase, intervals);
    if (const std::string trims = TrimsLeftOut(phase, "vdbench"); !trims.empty()) {
      absl::StrAppend(&remarks, "* ", trims);
    }
  }
  if (rows.empty()) return "";
  std::string text = "* vdbench's flatfile, measured by Lockstep; n/a: not known\n" + remarks;
  for (const char* column : kVdbenchColumns) absl::StrAppendFormat(&text, " %12s", column);
  return absl::StrCat(text, "\n", rows);
}

}  // namespace lockstep::controller
