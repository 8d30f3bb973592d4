#include "controller/report/text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/report/sweep_text.h"
#include "controller/report/text_table.h"
#include "proto/fields.h"

namespace lockstep::controller {
namespace {

using common::FormatCount;
using common::FormatDuration;
using common::FormatSize;
using common::FormatThroughput;

constexpr size_t kNarrowest = 40;
constexpr int kThreadsShown = 16;
constexpr int kHostsShown = 64;

std::string Plural(double count, const char* noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

// `text` broken at blanks to the width, each line begun with `indent`.
std::string WrapAt(const std::string& text, const std::string& indent, const std::string& first,
                   size_t width) {
  std::string out;
  std::string line = first;
  for (const auto& piece : absl::StrSplit(text, ' ')) {
    const std::string word(piece);
    const bool begins = line == first || line == indent;
    if (!begins && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      out += line + "\n";
      line = indent + word;
    } else {
      line += (begins ? "" : " ") + word;
    }
  }
  return out + line + "\n";
}

class Renderer {
 public:
  Renderer(const v1::Report& report, const TextOptions& options)
      : report_(report), options_(options), width_(std::max(options.width, kNarrowest)) {}

  std::string Render() {
    Head();
    for (const v1::PhaseReport& phase : report_.phases()) {
      if (!SweptPhases().contains(phase.index())) Phase(phase);
    }
    for (const v1::SweepReport& sweep : report_.sweeps()) Sweep(sweep);
    Events();
    return std::move(out_);
  }

 private:
  std::string Colour(const std::string& text, const char* code) const {
    return options_.colour ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m") : text;
  }
  std::string Bold(const std::string& text) const { return Colour(text, "1"); }
  std::string Good(const std::string& text) const { return Colour(text, "32"); }
  std::string Bad(const std::string& text) const { return Colour(text, "31"); }
  std::string Dim(const std::string& text) const { return Colour(text, "2"); }
  std::string Wrapped(const std::string& text, const std::string& indent,
                      const std::string& first) const {
    return WrapAt(text, indent, first, width_);
  }
  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&out_, parts..., "\n");
  }

  void Rule(const std::string& title) {
    const size_t width = DisplayWidth(title);
    std::string rule;
    for (size_t i = width + 4; i < width_; ++i) rule += "─";
    Line("");
    Line("── ", Bold(title), " ", Dim(rule));
  }

  std::string State(const std::string& state) const {
    return state == "done" ? Good(state) : Bad(state);
  }

  void Head() {
    const v1::RunSummary& run = report_.run();
    Line(Bold(absl::StrCat("Lockstep: ", run.job_name())), "   ", State(run.state()),
         run.degraded() ? Bad(" (degraded)") : "");
    if (!report_.description().empty()) out_ += Wrapped(report_.description(), "  ", "  ");
    Line("  run ", run.run_id(), "   by ", run.owner(), "   started ",
         run.started_at().empty() ? run.submitted_at() : run.started_at());
    Line("  ", run.hosts(), run.hosts() == 1 ? " host" : " hosts", "   seed ", report_.seed(),
         "   store: ", report_.store());
    if (!run.labels().empty()) {
      std::vector<std::string> labels;
      for (const auto& [key, value] : run.labels()) labels.push_back(absl::StrCat(key, "=", value));
      std::sort(labels.begin(), labels.end());
      Line("  labels ", absl::StrJoin(labels, " "));
    }
    if (report_.samples_pruned()) {
      Line("  the samples of its intervals were pruned; this is the report as it was before");
    }
    if (!run.outcome().empty()) out_ += Wrapped(Bad(run.outcome()), "  ", "  ");
  }

  void Steady(const v1::PhaseReport& phase) {
    if (!phase.has_steady()) return;
    const v1::SteadyReport& s = phase.steady();
    if (s.rounds() < s.window()) {
      Line("  steady: ", Bad("not known"), ", ", s.rounds(), " whole rounds of ", s.window());
      return;
    }
    const std::string mean = s.unit() == "ns"    ? FormatDuration(s.mean())
                             : s.unit() == "B/s" ? FormatThroughput(s.mean())
                                                 : FormatCount(s.mean());
    out_ +=
        Wrapped(absl::StrFormat(
                    "%s, from %.1f to %.1f s (%d rounds of %g s): %s %s, range %.1f %% of "
                    "%.3g %%, slope %.1f %% of %.3g %%%s",
                    s.steady() ? Good("yes") : Bad("no"), s.begin_seconds(), s.end_seconds(),
                    s.window(), s.round_seconds(), s.figure(), mean, 100 * s.range(),
                    100 * s.range_limit(), 100 * s.slope(), 100 * s.slope_limit(),
                    s.worst_host().empty()
                        ? ""
                        : absl::StrFormat("; most on %s: %.1f %%, slope %.1f %%", s.worst_host(),
                                          100 * s.worst_range(), 100 * s.worst_slope())),
                "    ", "  steady: ");
  }

  void Phase(const v1::PhaseReport& phase) {
    Rule(absl::StrCat(
        phase.name(), phase.name() == phase.kind() ? "" : absl::StrCat(" (", phase.kind(), ")"),
        phase.duration_seconds() > 0 ? absl::StrFormat(", %.1f s", phase.duration_seconds()) : "",
        phase.state() == "done" ? "" : absl::StrCat(", ", phase.state())));
    if (phase.workloads().empty()) {
      Files(phase);
    } else {
      const bool any = phase.workers_lost() < phase.workers();
      for (const v1::WorkloadReport& workload : phase.workloads()) {
        if (any) Workload(workload);
      }
      if (any) Window(phase);
      if (any) Steady(phase);
      Hosts(phase);
      if (any) Threads(phase);
      Devices(phase);
      Kernels(phase);
    }
    for (const v1::Expectation& e : phase.expectations()) {
      Line("  expect  ", e.held() ? Good("held    ") : Bad("NOT HELD"), "  ", e.text(), "   found ",
           e.found());
    }
    for (const std::string& remark : phase.remarks()) out_ += Wrapped(remark, "    ", "  ! ");
  }

  // Phases that a matrix shows, unless something is to be said of them.
  std::set<uint32_t> SweptPhases() const {
    std::set<uint32_t> swept;
    for (const v1::SweepReport& sweep : report_.sweeps()) {
      for (const v1::SweepPointReport& point : sweep.points()) {
        swept.insert(point.phases().begin(), point.phases().end());
      }
    }
    return swept;
  }

  void Sweep(const v1::SweepReport& sweep) {
    Rule(absl::StrCat(sweep.phase(), " (sweep), ", Plural(sweep.points_size(), "point")));
    out_ += RenderSweep(sweep, width_);
    const std::set<uint32_t> swept = SweptPhases();
    std::map<std::string, int> remarks;  // of how many points
    int held = 0;
    int expected = 0;
    for (const v1::PhaseReport& phase : report_.phases()) {
      if (!swept.contains(phase.index())) continue;
      for (const std::string& remark : phase.remarks()) ++remarks[remark];
      if (phase.state() != "done") ++remarks[absl::StrCat(phase.name(), " is ", phase.state())];
      for (const v1::Expectation& e : phase.expectations()) {
        ++expected;
        held += e.held();
        if (!e.held()) {
          Line("  expect  ", Bad("NOT HELD"), "  ", e.text(), " at ", phase.name(), "   found ",
               e.found());
        }
      }
    }
    if (expected > 0) Line("  expect  ", held, " of ", expected, " held");
    for (const auto& [remark, count] : remarks) {
      out_ += Wrapped(count > 1 ? absl::StrCat(remark, " (", count, " points)") : remark, "    ",
                      "  ! ");
    }
    Line("  (medians over the runs of a point; --format json has everything of each)");
  }

  void Files(const v1::PhaseReport& phase) {
    std::vector<std::string> parts;
    if (phase.files_made() > 0) {
      parts.push_back(absl::StrCat(
          Plural(phase.files_made(), "file"), " made, ", FormatSize(phase.bytes_written()),
          " written",
          phase.duration_seconds() > 0
              ? absl::StrCat(" at ",
                             FormatThroughput(phase.bytes_written() / phase.duration_seconds()))
              : ""));
    }
    if (phase.files_reused() > 0) {
      parts.push_back(
          absl::StrCat(Plural(phase.files_reused(), "file"), " kept, which fit already"));
    }
    if (phase.files_removed() > 0) {
      parts.push_back(absl::StrCat(Plural(phase.files_removed(), "file"), " removed"));
    }
    const bool done = phase.state() == "done";
    // A worker that failed or was stopped says why, not what it had done until then.
    const std::string none =
        done ? "there was nothing to do"
        : phase.kind() == "prepare"
            ? "not done; the workers removed the files that they had made, as far as they could"
            : "not done; how far it came is not known";
    out_ += Wrapped(parts.empty() ? none
                                  : absl::StrCat(absl::StrJoin(parts, "; "),
                                                 done ? "" : "; the others did not finish"),
                    "  ", "  ");
  }

  static std::string PercentileText(const v1::OperationReport& o, double percent) {
    for (const v1::Percentile& p : o.percentiles()) {
      if (p.percent() == percent) return FormatDuration(p.latency_ns());
    }
    return "-";
  }

  void Workload(const v1::WorkloadReport& workload) {
    Line("  ", Bold(workload.name()), ": ", workload.summary());
    out_ += Wrapped(Dim(absl::StrFormat("%s, %.1f I/Os per submission", workload.engine(),
                                        workload.average_batch())),
                    "    ", "    ");
    TextTable table(
        {"", "IOPS", "MiB/s (MB/s)", "avg", "p50", "p95", "p99", "p99.9", "max", "errors"});
    const auto row = [&](const v1::OperationReport& o) {
      table.Add({o.kind(), FormatCount(o.iops()),
                 absl::StrFormat("%.1f (%.1f)", o.bytes_per_second() / 1048576,
                                 o.bytes_per_second() / 1e6),
                 FormatDuration(o.latency_avg_ns()), PercentileText(o, 50), PercentileText(o, 95),
                 PercentileText(o, 99), PercentileText(o, 99.9), FormatDuration(o.latency_max_ns()),
                 FormatCount(o.errors())});
    };
    for (const v1::OperationReport& operation : workload.operations()) row(operation);
    if (workload.operations_size() > 1) row(workload.total());
    for (const v1::OperationReport& operation : workload.service_times()) {
      row(Named(operation, "service"));
    }
    for (const v1::OperationReport& operation : workload.submission_latencies()) {
      row(Named(operation, "slat"));
    }
    out_ += table.Render("    ", width_);
    if (!workload.limited_by().empty()) {
      out_ +=
          Wrapped(absl::StrCat(Bold(workload.limited_by()), " (", workload.limited_because(), ")"),
                  "      ", "    limited by: ");
    }
    if (workload.due_per_second() > 0) {
      out_ += Wrapped(absl::StrFormat("%s I/Os per second were due; the longest backlog was %s",
                                      FormatCount(workload.due_per_second()),
                                      FormatDuration(workload.longest_backlog_ns())),
                      "      ", "    open loop: ");
    }
    Verification(workload);
    for (const std::string& note : workload.notes()) out_ += Wrapped(note, "      ", "    note: ");
    for (const std::string& error : workload.errors()) {
      out_ += Wrapped(Bad(error), "      ", "    first error on ");
    }
  }

  static v1::OperationReport Named(v1::OperationReport operation, const std::string& metric) {
    operation.set_kind(absl::StrCat(operation.kind(), " ", metric));
    return operation;
  }

  void Verification(const v1::WorkloadReport& workload) {
    if (!workload.has_verification()) return;
    const v1::VerificationReport& v = workload.verification();
    const std::string verdict =
        v.mismatches() > 0
            ? Bad(absl::StrCat(absl::StrCat(FormatCount(v.mismatches()),
                                            v.mismatches() == 1 ? " MISMATCH" : " MISMATCHES"),
                               ": ", v.by_verdict()))
        : v.checked() > 0 ? Good("all as written")
                          : Bad("nothing verified");
    out_ += Wrapped(
        absl::StrCat(
            Plural(v.checked(), "block"), " checked, ", verdict,
            v.not_checkable() > 0
                ? absl::StrCat("; ", FormatCount(v.not_checkable()),
                               " could NOT be checked (not written by this run, or being written)")
                : ""),
        "      ", "    verified: ");
    for (const std::string& detail : v.details()) {
      out_ += Wrapped(Bad(detail), "        ", "      ");
    }
  }

  void Window(const v1::PhaseReport& phase) {
    const std::string metric = phase.total().metric() == "response_time"
                                   ? "response time (intended start to completion)"
                                   : "service time (submission to completion)";
    Line(absl::StrFormat("  latency is %s; rates over %.2f–%.2f s after T, when all%s ran", metric,
                         phase.window_begin_seconds(), phase.window_end_seconds(),
                         phase.workers_lost() > 0 ? " that ended" : ""));
    if (phase.start_skew_hosts() > 1) {
      const std::string limit =
          phase.start_skew_limit_ns() > 0
              ? absl::StrCat("; limit ", FormatDuration(phase.start_skew_limit_ns()))
              : "";
      Line(absl::StrFormat(
          "  first done %.3f s, last done %.3f s; start skew %s ± %s over %d hosts%s",
          phase.first_done_seconds(), phase.last_done_seconds(),
          FormatDuration(phase.start_skew_ns()), FormatDuration(phase.start_skew_bound_ns()),
          phase.start_skew_hosts(), limit));
    }
  }

  void Hosts(const v1::PhaseReport& phase) {
    double scale = 0;
    for (const v1::HostReport& host : phase.hosts()) {
      for (double value : host.iops_by_interval()) scale = std::max(scale, value);
    }
    TextTable table({"host", "IOPS", "MiB/s", "p50", "p99", "errors", "start", "IOPS over time"},
                    {0, 7});
    int shown = 0;
    for (const v1::HostReport& host : phase.hosts()) {
      if (++shown > kHostsShown) break;
      const std::vector<double> values(host.iops_by_interval().begin(),
                                       host.iops_by_interval().end());
      table.Add({absl::StrCat(host.host(), host.lost() ? Bad(" (lost)") : ""),
                 FormatCount(host.iops()),
                 absl::StrFormat("%.1f", host.bytes_per_second() / 1048576),
                 host.lost() ? "-" : FormatDuration(host.p50_ns()),
                 host.lost() ? "-" : FormatDuration(host.p99_ns()),
                 host.lost() ? "-" : FormatCount(host.errors()),
                 host.lost() ? "-" : absl::StrCat("+", FormatDuration(host.start_offset_ns())),
                 Sparkline(values, 30, scale)});
    }
    out_ += table.Render("    ", width_);
    if (phase.hosts_size() > kHostsShown) {
      Line("    and ", phase.hosts_size() - kHostsShown, " more; --format json lists all");
    }
    for (const v1::Fairness& fairness : phase.fairness()) {
      if (fairness.count() < 2) continue;
      Line(absl::StrFormat("  fairness of %s: Jain %.4f, max/min %.2f (n = %d)", fairness.of(),
                           fairness.jain(), fairness.max_over_min(), fairness.count()));
    }
  }

  void Threads(const v1::PhaseReport& phase) {
    if (phase.threads_size() > 0 && phase.threads_size() <= kThreadsShown) {
      TextTable table({"thread", "workload", "I/Os", "IOPS", "exec time", "in I/O", "fsync", "rate",
                       "think", "CPU"},
                      {0, 1});
      const auto share = [](double ratio) { return absl::StrFormat("%.0f %%", 100 * ratio); };
      for (const v1::ThreadReport& t : phase.threads()) {
        table.Add({absl::StrCat(t.host(), "/", t.thread()), t.workload(),
                   FormatCount(t.operations()), FormatCount(t.iops()),
                   absl::StrFormat("%.3f s", t.execution_time_seconds()), share(t.wait_ratio()),
                   share(t.fsync_ratio()), share(t.rate_ratio()), share(t.think_ratio()),
                   share(t.cpu_ratio())});
      }
      out_ += table.Render("    ", width_);
    }
    const v1::ThreadFairness& f = phase.thread_fairness();
    Line(
        absl::StrFormat("  threads fairness: events (avg/stddev) %.4f/%.2f, execution time "
                        "(avg/stddev) %.4f/%.2f s",
                        f.events_avg(), f.events_stddev(), f.execution_time_avg_seconds(),
                        f.execution_time_stddev_seconds()));
  }

  static std::string VerdictText(const v1::CrossCheck& check) {
    switch (check.verdict()) {
      case v1::CrossCheck::AGREE:
        return "agree";
      case v1::CrossCheck::PAGE_CACHE:
        return "page cache";
      case v1::CrossCheck::COALESCED:
        return "coalesced";
      case v1::CrossCheck::AMPLIFIED:
        return absl::StrFormat("amplified ×%.2f", check.factor());
      default:
        return "not attributable";
    }
  }

  void Devices(const v1::PhaseReport& phase) {
    if (phase.devices().empty()) return;
    TextTable table({"device", "r/s", "rMiB/s", "r_await", "rareq", "w/s", "wMiB/s", "w_await",
                     "wareq", "f/s", "aqu-sz", "busy"});
    for (const v1::DeviceReport& d : phase.devices()) {
      table.Add({d.name(), FormatCount(d.reads_per_second()),
                 absl::StrFormat("%.1f", d.read_bytes_per_second() / 1048576),
                 FormatDuration(d.read_await_ms() * 1e6),
                 absl::StrFormat("%.1fk", d.read_request_bytes() / 1024),
                 FormatCount(d.writes_per_second()),
                 absl::StrFormat("%.1f", d.write_bytes_per_second() / 1048576),
                 FormatDuration(d.write_await_ms() * 1e6),
                 absl::StrFormat("%.1fk", d.write_request_bytes() / 1024),
                 FormatCount(d.flushes_per_second()), absl::StrFormat("%.2f", d.queue_size()),
                 absl::StrFormat("%.0f %%", 100 * d.busy_ratio())});
    }
    out_ += table.Render("    ", width_);
    for (const v1::DeviceReport& d : phase.devices()) {
      const bool fine = d.cross_check().verdict() == v1::CrossCheck::AGREE;
      const std::string verdict = VerdictText(d.cross_check());
      out_ += Wrapped(
          absl::StrCat(d.name(), " against the engines of ", d.hosts_size(),
                       d.hosts_size() == 1 ? " host: " : " hosts: ",
                       fine ? Good(verdict) : Bad(verdict), " (", d.cross_check().reason(), ")"),
          "    ", "  cross-check: ");
    }
  }

  void Kernels(const v1::PhaseReport& phase) {
    for (const v1::KernelReport& k : phase.kernels()) {
      const std::string hosts =
          k.hosts_size() == 1
              ? k.hosts(0)
              : absl::StrCat(k.hosts(0), " and ", k.hosts_size() - 1, " more on one kernel");
      Line(absl::StrFormat(
          "  %s: us %.0f sy %.0f id %.0f wa %.0f st %.0f %%, run queue %.1f, %s cs/s", hosts,
          100 * k.user_ratio(), 100 * k.system_ratio(), 100 * k.idle_ratio(),
          100 * k.iowait_ratio(), 100 * k.steal_ratio(), k.run_queue_avg(),
          FormatCount(k.context_switches_per_second())));
      Line(absl::StrFormat(
          "    per I/O: %.2f context switches, %s of all CPU; workers alone %s user + %s system",
          k.context_switches_per_io(), FormatDuration(k.cpu_ns_per_io()),
          FormatDuration(phase.worker_cpu_user_ns_per_io()),
          FormatDuration(phase.worker_cpu_system_ns_per_io())));
    }
  }

  void Events() {
    bool any = false;
    for (const v1::EventReport& event : report_.events()) {
      if (event.severity() == "info") continue;
      if (!any) Rule("events");
      any = true;
      const std::string line = absl::StrCat(event.severity(), event.host().empty() ? "" : " ",
                                            event.host(), ": ", event.message());
      out_ += Wrapped(event.severity() == "error" ? Bad(line) : line, "      ",
                      absl::StrCat("  ", event.at().substr(11, 12), " "));
    }
  }

  const v1::Report& report_;
  const TextOptions options_;
  const size_t width_;
  std::string out_;
};

}  // namespace

std::string RenderText(const v1::Report& report, const TextOptions& options) {
  v1::Report safe = report;
  v1::CleanTexts(&safe);
  return Renderer(safe, options).Render();
}

}  // namespace lockstep::controller
