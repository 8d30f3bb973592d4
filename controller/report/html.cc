#include "controller/report/html.h"

#include <openssl/sha.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/report/charts.h"
#include "controller/report/report_writer.h"
#include "controller/report/safe_report.h"
#include "controller/report/style_files.h"
#include "controller/report/sweep_text.h"
#include "controller/report/verdict.h"

namespace lockstep::controller {
namespace {

using common::FormatCount;
using common::FormatDuration;

const std::string& Style() { return StyleFiles()[0].content; }

std::string StyleHash() {
  const std::string& style = Style();
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(style.data()), style.size(), digest);
  return absl::Base64Escape(std::string(reinterpret_cast<const char*>(digest), sizeof digest));
}

class Page {
 public:
  explicit Page(const v1::Report& report) : report_(report) {}

  std::string Render() {
    Head();
    Summary();
    for (const v1::PhaseReport& phase : report_.phases()) {
      if (!phase.workloads().empty()) Phase(phase);
    }
    for (const v1::SweepReport& sweep : report_.sweeps()) Sweep(sweep);
    for (const v1::CurveReport& curve : report_.curves()) Curve(curve);
    Events();
    Environment();
    Add("</body>\n</html>\n");
    return std::move(out_);
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    absl::StrAppend(&out_, parts...);
  }
  static std::string E(const std::string& text) { return EscapeHtml(text); }
  void Row(const std::vector<std::string>& cells, const char* tag = "td") {
    Add("<tr>");
    for (const std::string& cell : cells) Add("<", tag, ">", E(cell), "</", tag, ">");
    Add("</tr>\n");
  }
  void BeginTable(const std::vector<std::string>& titles) {
    Add("<div class=\"wide\"><table>\n<thead>");
    Row(titles, "th");
    Add("</thead>\n<tbody>\n");
  }
  void EndTable() { Add("</tbody></table></div>\n"); }

  void Head() {
    Add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'sha256-",
        StyleHash(),
        "'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
        E(report_.run().job_name()), " – Lockstep</title>\n<style>", Style(),
        "</style>\n</head>\n<body>\n");
  }

  void Summary() {
    const v1::RunSummary& run = report_.run();
    const Verdict verdict = VerdictOf(report_);
    Add("<h1>", E(run.job_name()), " <span class=\"pill ", verdict.good ? "good" : "bad", "\">",
        E(verdict.word), "</span></h1>\n");
    if (!report_.description().empty()) Add("<p>", E(report_.description()), "</p>\n");
    for (const std::string& reason : verdict.reasons) {
      Add("<p class=\"", verdict.good ? "good" : "bad", "\">", E(reason), "</p>\n");
    }
    Add("<p class=\"soft\">run ", E(run.run_id()), " · by ", E(run.owner()), " · started ",
        E(run.started_at()), " · ", run.hosts(), run.hosts() == 1 ? " host" : " hosts", " · seed ",
        E(report_.seed()), " · Lockstep ", E(report_.version()), "</p>\n");
    const std::map<std::string, std::string> labels(run.labels().begin(), run.labels().end());
    if (!labels.empty()) {
      Add("<p class=\"soft\">labels");
      for (const auto& [key, value] : labels) Add(" · ", E(key), "=", E(value));
      Add("</p>\n");
    }
    const std::vector<std::string> things = ThingsToLookAt(report_);
    if (!things.empty()) {
      Add("<h2>Look at</h2>\n<ul>\n");
      for (const std::string& thing : things) Add("<li>", E(thing), "</li>\n");
      Add("</ul>\n");
    }
  }

  void Phase(const v1::PhaseReport& phase) {
    Add("<h2>", E(phase.name()), phase.state() == "done" ? "" : " (" + E(phase.state()) + ")",
        "</h2>\n");
    BeginTable({"", "IOPS", "MiB/s", "mean", "p50", "p95", "p99", "p99.9", "max", "errors"});
    const auto row = [&](const std::string& name, const v1::OperationReport& o) {
      Row({name, FormatCount(o.iops()), absl::StrFormat("%.1f", o.bytes_per_second() / 1048576),
           FormatDuration(o.latency_avg_ns()), PercentileText(o, 50), PercentileText(o, 95),
           PercentileText(o, 99), PercentileText(o, 99.9), FormatDuration(o.latency_max_ns()),
           FormatCount(o.errors())});
    };
    for (const v1::WorkloadReport& w : phase.workloads()) {
      for (const v1::OperationReport& o : w.operations()) row(w.name() + " " + o.kind(), o);
    }
    row("all I/Os", phase.total());
    EndTable();
    for (const v1::WorkloadReport& w : phase.workloads()) {
      Add("<p><b>", E(w.name()), "</b>: ", E(w.summary()));
      if (!w.limited_by().empty()) {
        Add("; limited by ", E(w.limited_by()), " <span class=\"soft\">(", E(w.limited_because()),
            ")</span>");
      }
      Add("</p>\n");
    }
    Throughput(phase);
    Distribution(phase);
    Hosts(phase);
    Devices(phase);
    for (const v1::Expectation& e : phase.expectations()) {
      Add("<p class=\"", e.held() ? "good" : "bad", "\">",
          e.held() ? "held: " : "NOT HELD: ", E(e.text()), "; found ", E(e.found()), "</p>\n");
    }
  }

  void Throughput(const v1::PhaseReport& phase) {
    LineChart chart;
    chart.title = absl::StrCat("IOPS over time, phase ", phase.name());
    chart.begin = phase.window_begin_seconds();
    chart.step = phase.interval_seconds() * std::max(1U, phase.intervals_per_point());
    chart.values.assign(phase.iops_by_interval().begin(), phase.iops_by_interval().end());
    if (chart.values.empty()) return;
    Add("<h3>IOPS over time</h3>\n", RenderLine(chart));
    if (phase.hosts_size() < 2) return;
    // Each host's share, as a band from the least to the most.
    LineChart hosts = chart;
    hosts.title = absl::StrCat("IOPS of the hosts over time, phase ", phase.name());
    for (size_t i = 0; i < hosts.values.size(); ++i) {
      double sum = 0;
      double count = 0;
      std::pair<double, double> ends = {INFINITY, 0};
      for (const v1::HostReport& host : phase.hosts()) {
        const bool worked = host.total().operations() > 0;
        if (!worked || static_cast<int>(i) >= host.iops_by_interval_size()) continue;
        const double value = host.iops_by_interval(static_cast<int>(i));
        ends = {std::min(ends.first, value), std::max(ends.second, value)};
        sum += value;
        ++count;
      }
      hosts.values[i] = count > 0 ? sum / count : 0;
      hosts.band.push_back(count > 0 ? ends : std::pair(0.0, 0.0));
    }
    Add("<h3>IOPS of a host: mean, and from the least to the most</h3>\n", RenderLine(hosts));
  }

  void Distribution(const v1::PhaseReport& phase) {
    Points points;
    points.title = absl::StrCat("latency by percentile, phase ", phase.name());
    points.unit = "ns";
    points.log_y = true;
    points.series.resize(1);
    for (const v1::Percentile& p : phase.total().percentiles()) {
      points.labels.push_back(absl::StrFormat("p%.12g", p.percent()));
      points.series[0].push_back(p.latency_ns());
    }
    if (points.labels.size() < 2) return;
    Add("<h3>Latency by percentile (",
        phase.total().metric() == "response_time" ? "response" : "service", " time)</h3>\n",
        RenderPoints(points));
  }

  void Hosts(const v1::PhaseReport& phase) {
    if (phase.hosts_size() < 2) return;
    Add("<h3>Hosts</h3>\n");
    for (const v1::Fairness& f : phase.fairness()) {
      if (f.count() < 2) continue;
      Add("<p>Fairness of ", E(f.of()), ": Jain ",
          absl::StrFormat("%.4f, max/min %.2f, variation %.1f %%", f.jain(), f.max_over_min(),
                          100 * f.variation()),
          "</p>\n");
    }
    Add("<details", phase.hosts_size() <= 16 ? " open" : "", "><summary>", phase.hosts_size(),
        " hosts</summary>\n");
    BeginTable({"host", "IOPS", "MiB/s", "p50", "p99", "errors", "start"});
    for (const v1::HostReport& host : phase.hosts()) {
      Row({host.host() + (host.lost() ? " (lost)" : ""), FormatCount(host.iops()),
           absl::StrFormat("%.1f", host.bytes_per_second() / 1048576),
           FormatDuration(host.p50_ns()), FormatDuration(host.p99_ns()), FormatCount(host.errors()),
           "+" + FormatDuration(host.start_offset_ns())});
    }
    EndTable();
    Add("</details>\n");
  }

  void Devices(const v1::PhaseReport& phase) {
    if (phase.devices().empty()) return;
    Add("<h3>Devices</h3>\n");
    BeginTable({"device", "r/s", "rMiB/s", "r_await", "w/s", "wMiB/s", "w_await", "aqu-sz", "busy",
                "against the engines"});
    for (const v1::DeviceReport& d : phase.devices()) {
      Row({d.name(), FormatCount(d.reads_per_second()),
           absl::StrFormat("%.1f", d.read_bytes_per_second() / 1048576),
           FormatDuration(d.read_await_ms() * 1e6), FormatCount(d.writes_per_second()),
           absl::StrFormat("%.1f", d.write_bytes_per_second() / 1048576),
           FormatDuration(d.write_await_ms() * 1e6), absl::StrFormat("%.2f", d.queue_size()),
           absl::StrFormat("%.0f %%", 100 * d.busy_ratio()), CrossCheckText(d.cross_check())});
    }
    EndTable();
    for (const v1::DeviceReport& d : phase.devices()) {
      Add("<p class=\"soft\">", E(d.name()), ": ", E(d.cross_check().reason()), "</p>\n");
    }
  }

  void Sweep(const v1::SweepReport& sweep) {
    Add("<h2>", E(sweep.phase()), " (sweep)</h2>\n<pre>", E(RenderSweep(sweep, 0)), "</pre>\n");
  }

  void Curve(const v1::CurveReport& curve) {
    Points rate;
    Points latency;
    rate.title = absl::StrCat("offered and achieved load, ", curve.phase());
    latency.title = absl::StrCat("latency by load, ", curve.phase());
    latency.unit = "ns";
    latency.log_y = true;
    rate.series.resize(2);
    latency.series.resize(2);
    rate.names = {"achieved", "offered"};
    latency.names = {"p50", "p99"};
    for (int i = 0; i < curve.points_size(); ++i) {
      const v1::CurvePointReport& point = curve.points(i);
      const std::string label = absl::StrFormat("%.4g %%", 100 * point.share());
      rate.labels.push_back(label);
      latency.labels.push_back(label);
      rate.series[0].push_back(point.achieved());
      rate.series[1].push_back(point.offered());
      latency.series[0].push_back(point.p50_ns());
      latency.series[1].push_back(point.p99_ns());
      if (curve.has_knee() && curve.knee().value() == label) rate.mark = latency.mark = i;
    }
    Add("<h2>", E(curve.phase()), " (curve)</h2>\n<h3>I/Os per second</h3>\n", RenderPoints(rate),
        "<h3>Latency</h3>\n", RenderPoints(latency));
    if (curve.has_knee()) Add("<p>", E(curve.knee().reason()), "</p>\n");
  }

  void Events() {
    std::vector<const v1::EventReport*> events;
    for (const v1::EventReport& event : report_.events()) {
      if (event.severity() != "info") events.push_back(&event);
    }
    if (events.empty()) return;
    Add("<h2>Events</h2>\n<div class=\"wide\"><table><tbody>\n");
    for (const v1::EventReport* event : events) {
      Add("<tr><td>", E(event->at()), "</td><td class=\"text\">", E(event->host()),
          "</td><td class=\"text", event->severity() == "error" ? " bad" : "", "\">",
          E(event->message()), "</td></tr>\n");
    }
    Add("</tbody></table></div>\n");
  }

  void Environment() {
    if (report_.environment().empty()) return;
    const std::map<std::string, std::string> facts(report_.environment().begin(),
                                                   report_.environment().end());
    Add("<h2>Environment</h2>\n<details><summary>", facts.size(),
        " facts</summary><table><tbody>\n");
    for (const auto& [name, value] : facts) {
      Add("<tr><td>", E(name), "</td><td class=\"text\">", E(value), "</td></tr>\n");
    }
    Add("</tbody></table></details>\n");
  }

  const v1::Report& report_;
  std::string out_;
};

}  // namespace

std::string RenderHtml(const v1::Report& report) {
  const v1::Report safe = SafeToShow(report);
  return Page(safe).Render();
}

}  // namespace lockstep::controller
