#include "controller/report/report_writer.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/units.h"
#include "controller/report/conclusion.h"
#include "controller/report/notes.h"
#include "controller/report/sweep_text.h"
#include "controller/report/text_table.h"
#include "controller/report/verdict.h"
#include "measure/report_states.h"
#include "measure/states.h"

namespace lockstep::controller {

using common::FormatCount;
using common::FormatDuration;

std::string Plural(double count, const char* noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

std::string ReportWriter::Wrapped(const std::string& text, const std::string& indent,
                                  const std::string& first) const {
  std::string out;
  std::string line = first;
  for (const auto& piece : absl::StrSplit(text, ' ')) {
    const std::string word(piece);
    // A word that is wider than the line stays whole, because people copy paths and ids from here.
    const bool begins = line == first || line == indent;
    if (!begins && DisplayWidth(line) + 1 + DisplayWidth(word) > width_) {
      out += line + "\n";
      line = indent + word;
    } else {
      line += (begins ? "" : " ") + word;
    }
  }
  return out + line + "\n";
}

void ReportWriter::Rule(const std::string& title) {
  const size_t width = DisplayWidth(title);
  std::string rule;
  for (size_t i = width + 4; i < width_; ++i) rule += "─";
  Line("");
  Line("── ", Bold(title), " ", Dim(rule));
}

std::string KnownDuration(double ns) { return ns > 0 ? FormatDuration(ns) : "–"; }

std::string StallsText(const v1::WorkloadReport& workload) {
  if (!workload.has_stalled_ratio()) return "";
  const std::string share = absl::StrFormat("for %.1f %% of the threads' time nothing completed",
                                            100 * workload.stalled_ratio());
  if (!workload.has_corrected_p99_ns()) return share;
  return absl::StrCat(share, "; p99 ", PercentileText(workload.total(), 99),
                      ", with the I/Os that are missing ",
                      FormatDuration(workload.corrected_p99_ns()));
}

std::string MillisecondsText(bool is_known, double ms) {
  return is_known ? FormatDuration(1e6 * ms) : "–";
}

std::string IopsText(const v1::OperationReport& operation) {
  return operation.has_iops() ? FormatCount(operation.iops()) : "–";
}

std::string ThroughputText(const v1::OperationReport& operation) {
  if (!operation.has_bytes_per_second()) return "–";
  return absl::StrFormat("%.1f", operation.bytes_per_second() / 1048576);
}

std::string FairnessText(const v1::PhaseReport& phase) {
  // The first entry is the one over the hosts (fairness.cc).
  if (phase.fairness().empty()) return "";
  const v1::Fairness& hosts = phase.fairness(0);
  return hosts.count() > 1 && hosts.has_jain() ? absl::StrFormat("%.4f", hosts.jain()) : "";
}

std::string KnownPercentile(double ns, bool is_uncertain) {
  return ns > 0 ? common::FormatPercentile(ns, is_uncertain) : "–";
}

std::string PercentileText(const v1::OperationReport& operation, double percent) {
  for (const v1::Percentile& p : operation.percentiles()) {
    if (p.percent() != percent || !p.has_latency_ns()) continue;
    return common::FormatPercentile(p.latency_ns(), p.is_uncertain());
  }
  return "–";
}

std::string IntervalText(const v1::OperationReport& operation, double percent) {
  for (const v1::Percentile& p : operation.percentiles()) {
    if (p.percent() != percent || !p.has_low_ns()) continue;
    const std::string low = FormatDuration(p.low_ns());
    return p.has_high_ns() ? absl::StrCat(low, " to ", FormatDuration(p.high_ns()))
                           : absl::StrCat("from ", low);
  }
  return "–";
}

std::string ReportWriter::InColourOf(VerdictSeverity severity, const std::string& text) const {
  switch (severity) {
    case VerdictSeverity::kGood:
      return Good(text);
    case VerdictSeverity::kWarning:
      return Colour(text, "33");
    case VerdictSeverity::kBad:
      return Bad(text);
    case VerdictSeverity::kUnknown:
      break;
  }
  return text;
}

const std::string* ReasonIn(const std::string& conclusion,
                            const std::vector<std::string>& reasons) {
  constexpr absl::string_view kCut = "…";
  const size_t colon = conclusion.find(": ");
  if (colon == std::string::npos) return nullptr;
  absl::string_view said = absl::string_view(conclusion).substr(colon + 2);
  // A conclusion has a limited width (conclusion.h), and may end within the reason.
  const bool is_cut = absl::ConsumeSuffix(&said, kCut);
  said = absl::StripTrailingAsciiWhitespace(said);
  for (const std::string& reason : reasons) {
    if (said.empty() || (is_cut ? !absl::StartsWith(reason, said) : reason != said)) continue;
    return &reason;
  }
  return nullptr;
}

std::string WithWholeReason(const std::string& conclusion, const std::string* whole) {
  return whole == nullptr ? conclusion
                          : absl::StrCat(conclusion.substr(0, conclusion.find(": ") + 2), *whole);
}

void ReportWriter::Head() {
  const v1::RunSummary& run = report_.run();
  const Verdict verdict = VerdictOf(report_);
  const std::string word = absl::AsciiStrToUpper(verdict.text);
  Line(Bold(absl::StrCat("Lockstep: ", run.job_name())), "   ", InColourOf(verdict.severity, word));
  const std::string conclusion = ConclusionOf(report_);
  // A reason that the conclusion begins with is shown once, in full.
  const std::string* whole = ReasonIn(conclusion, verdict.reasons);
  if (!conclusion.empty()) {
    out_ += Wrapped(Bold(WithWholeReason(conclusion, whole)), "  ", "  ");
  }
  if (!report_.description().empty()) out_ += Wrapped(report_.description(), "  ", "  ");
  // A run that never started shows when it was submitted.
  Line("  run ", run.run_id(), "   by ", run.owner(), "   started ",
       run.started_at().empty() ? run.submitted_at() : run.started_at());
  Line("  ", run.hosts(), run.hosts() == 1 ? " host" : " hosts", "   seed ", report_.seed(),
       "   store: ", report_.store());
  if (!run.labels().empty()) {
    std::vector<std::string> labels;
    for (const auto& [key, value] : run.labels()) labels.push_back(absl::StrCat(key, "=", value));
    // A map of protobuf has no order of its own. Two reports of one run must not differ.
    std::sort(labels.begin(), labels.end());
    Line("  labels ", absl::StrJoin(labels, " "));
  }
  if (report_.samples_pruned()) {
    Line("  the samples of its intervals were pruned; this is the report as it was before");
  }
  for (const std::string& reason : verdict.reasons) {
    // The conclusion above has it already.
    if (&reason == whole || absl::StrContains(conclusion, reason)) continue;
    out_ += Wrapped(verdict.good ? reason : InColourOf(verdict.severity, reason), "  ", "  ");
  }
}

void ReportWriter::Steady(const v1::PhaseReport& phase, const std::string& name) {
  if (!phase.has_steady()) return;
  const v1::SteadyReport& s = phase.steady();
  if (s.rounds() < s.window()) {
    Line("  ", name, "steady: ", Bad("not known"), ", ", s.rounds(), " whole rounds of ",
         s.window());
    return;
  }
  if (!(s.mean() > 0)) {
    Line("  ", name, "steady: ", Bad("not known"), ", no ", s.window(),
         " rounds in a row all have a value of ", s.figure());
    return;
  }
  const std::string mean = measure::Is(s, measure::Unit::kNanoseconds) ? FormatDuration(s.mean())
                           : measure::Is(s, measure::Unit::kBytesPerSecond)
                               ? common::FormatThroughput(s.mean())
                               : FormatCount(s.mean());
  out_ += Wrapped(
      absl::StrFormat("%s from %.1f to %.1f s (%d rounds of %g s): %s %s, range %.1f %% of "
                      "%.3g %%, slope %.1f %% of %.3g %%%s",
                      s.steady()                   ? Good("yes") + ","
                      : s.has_changed_at_seconds() ? Bad("not to the end") + ", only"
                                                   : Bad("no") + ",",
                      s.begin_seconds(), s.end_seconds(), s.window(), s.round_seconds(), s.figure(),
                      mean, 100 * s.range(), 100 * s.range_limit(), 100 * s.slope(),
                      100 * s.slope_limit(),
                      s.worst_host().empty()
                          ? ""
                          : absl::StrFormat("; most on %s: %.1f %%, slope %.1f %%", s.worst_host(),
                                            100 * s.worst_range(), 100 * s.worst_slope())),
      "    ", absl::StrCat("  ", name, "steady: "));
}

void ReportWriter::Promises(const v1::PhaseReport& phase, const std::string& name) {
  for (const v1::PromiseReport& promise : phase.promised()) {
    // Exceeded promises are among the warnings.
    if (!promise.exceeded()) Line("  ", name, promise.text());
  }
}

// The points of a sweep or a curve are phases of their own, up to a thousand. They are shown as one
// table, not one by one.
std::set<uint32_t> ReportWriter::ShownTogether() const {
  std::set<uint32_t> swept;
  for (const v1::SweepReport& sweep : report_.sweeps()) {
    for (const v1::SweepPointReport& point : sweep.points()) {
      swept.insert(point.phases().begin(), point.phases().end());
    }
    for (const v1::PhaseReport& phase : report_.phases()) {
      // A phase that lays out or removes the files of its points (NextPhase() names them). Those
      // that failed are shown.
      const bool is_own =
          absl::StartsWith(phase.name(), sweep.phase()) &&
          (absl::EndsWith(phase.name(), ", prepare") || absl::EndsWith(phase.name(), ", cleanup"));
      const bool is_done = measure::Is(phase, measure::PhaseState::kDone);
      if (is_own && is_done && phase.remarks().empty()) swept.insert(phase.index());
    }
  }
  for (const v1::CurveReport& curve : report_.curves()) {
    for (const v1::CurvePointReport& point : curve.points()) swept.insert(point.phase());
  }
  return swept;
}

void ReportWriter::Sweep(const v1::SweepReport& sweep, PointDetail detail) {
  Rule(absl::StrCat(sweep.phase(), " (sweep), ", Plural(sweep.points_size(), "point")));
  if (sweep.has_conclusion()) {
    out_ += Wrapped(sweep.conclusion().sentence(), "  ", "  ");
    Line("");
  }
  out_ += RenderSweep(sweep, width_);
  // A run that was refused has nothing to say of knees and medians.
  if (!HasMeasuredPoint(sweep)) return;
  if (detail == PointDetail::kAll) out_ += RenderTimeSpent(sweep, width_);
  for (const std::string& remark : sweep.remarks()) out_ += Wrapped(remark, "    ", "  ");
  for (const v1::KneeReport& knee : sweep.knees()) Knee(knee);
  for (const std::string& reason : sweep.without_knee()) Line("  ", reason);
  if (sweep.warm_up() > 0) {
    Line("    the first ", sweep.warm_up() == 1 ? "run" : absl::StrCat(sweep.warm_up(), " runs"),
         " of each point warmed up, and ", sweep.warm_up() == 1 ? "is" : "are", " in no figure");
  }
  if (!sweep.ended().empty()) out_ += Wrapped(sweep.ended(), "    ", "  repetitions: ");
  Line("  (medians over the runs of a point; --format json has everything of each)");
}

void ReportWriter::WarningsOfPoints(const std::set<uint32_t>& phases) {
  int met = 0;
  int expected = 0;
  for (const v1::PhaseReport& phase : report_.phases()) {
    if (!phases.contains(phase.index())) continue;
    for (const v1::Expectation& e : phase.expectations()) {
      ++expected;
      met += e.met();
      if (!e.met()) {
        Line("  expect  ", Bad("FAILED"), "  ", e.text(), " at ", phase.name(), "   found ",
             e.found());
      }
    }
  }
  if (expected > 0) Line("  expect  ", met, " of ", expected, " met");
  for (const v1::PhaseReport& phase : report_.phases()) {
    if (phases.contains(phase.index()) && !measure::Is(phase, measure::PhaseState::kDone)) {
      out_ += Wrapped(absl::StrCat(phase.name(), " is ", phase.state()), "    ", "  ! ");
    }
  }
  for (const std::string& warning : WarningsOf(report_, phases)) {
    out_ += Wrapped(warning, "    ", "  ! ");
  }
}

void ReportWriter::Sweeps(PointDetail detail) {
  for (const v1::SweepReport& sweep : report_.sweeps()) {
    Sweep(sweep, detail);
    // The first screen has the warnings of all phases in one place.
    if (detail != PointDetail::kAll) continue;
    std::set<uint32_t> phases;
    for (const v1::SweepPointReport& point : sweep.points()) {
      phases.insert(point.phases().begin(), point.phases().end());
    }
    WarningsOfPoints(phases);
  }
}

void ReportWriter::Knee(const v1::KneeReport& knee) {
  out_ += Wrapped(
      absl::StrCat(knee.reason(),
                   knee.has_confidence()
                       ? absl::StrFormat("; the same in %.0f %% of the resamplings of its runs",
                                         100 * knee.confidence())
                       : ""),
      "        ", "  knee: ");
}

void ReportWriter::Curves(PointDetail detail) {
  for (const v1::CurveReport& curve : report_.curves()) {
    Rule(absl::StrCat(curve.phase(), " (curve), ", Plural(curve.points_size(), "point")));
    TextTable table({"load", "offered/s", "IOPS", "mean", "p50", "p99"});
    for (const v1::CurvePointReport& point : curve.points()) {
      table.Add({absl::StrFormat("%.4g %%", 100 * point.share()), FormatCount(point.offered()),
                 point.has_achieved() ? FormatCount(point.achieved()) : "–",
                 KnownDuration(point.mean_ns()),
                 KnownPercentile(point.p50_ns(), point.is_p50_uncertain()),
                 KnownPercentile(point.p99_ns(), point.is_p99_uncertain())});
    }
    out_ += table.Render("    ", width_);
    if (curve.has_knee()) Knee(curve.knee());
    if (!curve.without_knee().empty()) Line("  ", curve.without_knee());
    if (detail != PointDetail::kAll) continue;
    std::set<uint32_t> phases;
    for (const v1::CurvePointReport& point : curve.points()) phases.insert(point.phase());
    WarningsOfPoints(phases);
  }
}

void ReportWriter::Notes(size_t max) {
  const std::vector<NoteLine> notes = NotesOf(report_);
  if (notes.empty()) return;
  Rule("notes");
  const size_t left_out = notes.size() > max ? notes.size() - max : 0;
  if (left_out > 0) Line("  ", left_out, " earlier ones are left out");
  for (size_t i = left_out; i < notes.size(); ++i) {
    const NoteLine& note = notes[i];
    out_ += Wrapped(
        absl::StrCat(note.where.empty() ? "" : absl::StrCat("(", note.where, ") "), note.text),
        "      ", absl::StrCat("  ", note.name, note.name.empty() ? "" : " ", note.at, " "));
  }
}

void ReportWriter::Events(size_t max) {
  std::vector<const v1::EventReport*> events;
  for (const v1::EventReport& event : report_.events()) {
    // The head already says why a run was refused.
    const bool is_said =
        report_.phases().empty() && absl::StrContains(report_.run().outcome(), event.message());
    // Notes have a section of their own.
    if (!measure::Is(event, measure::Severity::kInfo) && !is_said && !IsNote(event)) {
      events.push_back(&event);
    }
  }
  if (events.empty()) return;
  Rule("events");
  // The last events are kept, because they say how the run ended.
  const size_t left_out = events.size() > max ? events.size() - max : 0;
  if (left_out > 0) Line("  ", left_out, " earlier ones are left out");
  for (size_t i = left_out; i < events.size(); ++i) {
    const v1::EventReport& event = *events[i];
    const std::string line = absl::StrCat(event.severity(), event.host().empty() ? "" : " ",
                                          event.host(), ": ", event.message());
    // The time of an RFC 3339 instant.
    const std::string at = event.at().size() > 11 ? event.at().substr(11, 12) : event.at();
    out_ += Wrapped(measure::Is(event, measure::Severity::kError) ? Bad(line) : line, "      ",
                    absl::StrCat("  ", at, " "));
  }
}

}  // namespace lockstep::controller
