#include "controller/report/csv.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"

namespace lockstep::controller {
namespace {

constexpr double kCsvPercents[] = {50, 90, 95, 99, 99.9, 99.99};

// Makes a cell of a text. Spreadsheets execute a cell that begins like a formula, and names of jobs
// come from anybody: an apostrophe in front makes it a text.
std::string Quoted(const std::string& foreign) {
  std::string text = common::Printable(foreign);
  if (!text.empty() && std::string("=+-@").find(text[0]) != std::string::npos) {
    text.insert(text.begin(), '\'');
  }
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// Never with an exponent, which not every reader of CSV understands. Whole numbers have no
// fraction.
std::string Number(double value) {
  // An empty cell is no value to every reader. Some take "inf" and "nan" for texts.
  if (!std::isfinite(value)) return "";
  if (value == std::floor(value) || std::abs(value) >= 1e15) return absl::StrFormat("%.0f", value);
  return std::abs(value) >= 1e6 ? absl::StrFormat("%.1f", value) : absl::StrFormat("%.6f", value);
}

std::vector<std::string> OperationCells(const v1::OperationReport& o) {
  std::vector<std::string> cells = {Quoted(o.kind()),
                                    Number(o.operations()),
                                    Number(o.bytes()),
                                    Number(o.errors()),
                                    o.has_iops() ? Number(o.iops()) : "",
                                    o.has_bytes_per_second() ? Number(o.bytes_per_second()) : "",
                                    o.has_latency_min_ns() ? Number(o.latency_min_ns()) : "",
                                    o.has_latency_avg_ns() ? Number(o.latency_avg_ns()) : "",
                                    o.has_latency_max_ns() ? Number(o.latency_max_ns()) : ""};
  for (double percent : kCsvPercents) {
    std::string cell;
    for (const v1::Percentile& p : o.percentiles()) {
      if (p.percent() == percent && p.has_latency_ns()) cell = Number(p.latency_ns());
    }
    cells.push_back(cell);
  }
  return cells;
}

// One kind of requests to a device.
struct RequestColumns {
  const char* operation;
  double per_second, bytes_per_second, await_ms, bytes;
};

// A device of an observe phase: bytes, rates and the mean time of its requests. The other cells are
// of engines, and stay empty. `nested` says which rows a sum must leave out.
void AddObservedDevice(const std::string& head, const v1::DeviceReport& d, std::string* out) {
  std::vector<RequestColumns> kinds = {
      {"device read", d.reads_per_second(), d.read_bytes_per_second(), d.read_await_ms(),
       d.device_read_bytes()},
      {"device write", d.writes_per_second(), d.write_bytes_per_second(), d.write_await_ms(),
       d.device_write_bytes()}};
  // Few devices ever discard.
  if (d.discards_per_second() > 0) {
    kinds.push_back({"device discard", d.discards_per_second(), d.discard_bytes_per_second(),
                     d.discard_await_ms(), d.device_discard_bytes()});
  }
  for (const RequestColumns& r : kinds) {
    std::vector<std::string> cells(9 + std::size(kCsvPercents));
    cells[0] = r.operation;
    cells[2] = Number(r.bytes);
    cells[4] = Number(r.per_second);
    cells[5] = Number(r.bytes_per_second);
    if (!d.not_rated().empty()) cells[4] = cells[5] = "";
    if (r.per_second > 0) cells[7] = Number(r.await_ms * 1e6);
    absl::StrAppend(out, head, ",", Quoted(d.hosts().empty() ? "" : d.hosts(0)), ",",
                    absl::StrJoin(cells, ","), ",", Quoted(d.name()), ",",
                    d.nested() ? "true" : "false", "\r\n");
  }
}

}  // namespace

std::string RenderCsv(const v1::Report& report) {
  // RFC 4180 ends each line with CR LF.
  std::string out =
      "run,job,phase,phase_name,workload,host,operation,operations,bytes,errors,iops,bytes_per_"
      "second,"
      "latency_min_ns,latency_avg_ns,latency_max_ns,p50_ns,p90_ns,p95_ns,p99_ns,p99.9_ns,p99.99_"
      "ns,device,nested\r\n";
  for (const v1::PhaseReport& phase : report.phases()) {
    const std::string head =
        absl::StrCat(Quoted(report.run().run_id()), ",", Quoted(report.run().job_name()), ",",
                     phase.index(), ",", Quoted(phase.name()), ",");
    for (const v1::WorkloadReport& workload : phase.workloads()) {
      for (const v1::OperationReport& operation : workload.operations()) {
        absl::StrAppend(&out, head, Quoted(workload.name()), ",,",
                        absl::StrJoin(OperationCells(operation), ","), ",,\r\n");
      }
    }
    for (int i = 0; phase.has_observed() && i < phase.devices_size(); ++i) {
      AddObservedDevice(head, phase.devices(i), &out);
    }
    for (const v1::HostReport& host : phase.hosts()) {
      for (const v1::HostWorkloadReport& workload : host.workloads()) {
        for (const v1::OperationReport& operation : workload.operations()) {
          absl::StrAppend(&out, head, Quoted(workload.name()), ",", Quoted(host.host()), ",",
                          absl::StrJoin(OperationCells(operation), ","), ",,\r\n");
        }
      }
    }
  }
  return out;
}

}  // namespace lockstep::controller
