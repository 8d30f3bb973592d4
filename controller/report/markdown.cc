#include "controller/report/markdown.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/report/conclusion.h"
#include "controller/report/notes.h"
#include "controller/report/observed_text.h"
#include "controller/report/report_writer.h"
#include "controller/report/safe_report.h"
#include "controller/report/sweep_text.h"
#include "controller/report/verdict.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

constexpr int kSharesInMarkdown = 20;

using common::FormatCount;
using common::FormatDuration;

void AddRow(const v1::PhaseReport& phase, const std::string& workload, const v1::OperationReport& o,
            std::string* out) {
  absl::StrAppend(out, "| ", PlainMarkdown(phase.name()), " | ", PlainMarkdown(workload), " | ",
                  PlainMarkdown(o.kind()), " | ", IopsText(o), " | ", ThroughputText(o), " | ",
                  KnownDuration(o.latency_avg_ns()), " | ", PercentileText(o, 50), " | ",
                  PercentileText(o, 99), " | ", PercentileText(o, 99.9), " | ",
                  KnownDuration(o.latency_max_ns()), " | ", FormatCount(o.errors()), " | ",
                  measure::Is(o, measure::Operations::kTotal) ? FairnessText(phase) : "", " |\n");
}

// Devices have no figures of an engine.
void AddObserved(const v1::PhaseReport& phase, std::string* out) {
  const std::vector<ObservedRow> rows = RowsOf(phase.observed().total());
  for (const ObservedRow& row : rows) {
    absl::StrAppend(
        out, "| ", PlainMarkdown(phase.name()), " | – | ", PlainMarkdown(row.name), " | ",
        FormatCount(row.per_second), " | ", absl::StrFormat("%.1f", row.bytes_per_second / 1048576),
        " | – | – | – | – | – | – | ", &row == &rows.back() ? FairnessText(phase) : "", " |\n");
  }
}

void AddTable(const v1::Report& report, std::string* out) {
  bool any = false;
  for (const v1::PhaseReport& phase : report.phases()) {
    if (phase.workloads().empty() && !phase.has_observed()) continue;
    if (!any) {
      absl::StrAppend(out,
                      "| phase | workload | operation | IOPS | MiB/s | mean | p50 | p99 | p99.9 | "
                      "max | errors | Jain |\n| --- | --- | --- | ---: | ---: | ---: | ---: | "
                      "---: | ---: | ---: | ---: | ---: |\n");
    }
    any = true;
    if (phase.has_observed()) {
      AddObserved(phase, out);
      continue;
    }
    for (const v1::WorkloadReport& w : phase.workloads()) {
      for (const v1::OperationReport& o : w.operations()) AddRow(phase, w.name(), o, out);
    }
    AddRow(phase, "all", phase.total(), out);
  }
  if (any) *out += "\n";
}

// Adds the sentences of phases about limits of other runs, stalls and promises.
void AddSentences(const v1::Report& report, std::string* out) {
  for (const v1::PhaseReport& phase : report.phases()) {
    for (const std::string& share : ShareSentencesOf(phase.observed(), kSharesInMarkdown)) {
      absl::StrAppend(out, PlainMarkdown(phase.name()), ": ", PlainMarkdown(share), "\n\n");
    }
    for (const v1::WorkloadReport& w : phase.workloads()) {
      if (w.stalled_ratio() < kStallsShown) continue;
      absl::StrAppend(out, PlainMarkdown(phase.name()), ", ", PlainMarkdown(w.name()), ": ",
                      PlainMarkdown(StallsText(w)), "\n\n");
    }
    for (const v1::PromiseReport& promise : phase.promised()) {
      if (promise.exceeded()) continue;
      absl::StrAppend(out, PlainMarkdown(phase.name()), ": ", PlainMarkdown(promise.text()),
                      "\n\n");
    }
  }
}

}  // namespace

std::string PlainMarkdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '@':  // names nobody
        out += "&#64;";
        break;
      case '#':
        out += "&#35;";
        break;
      case ':':  // begins no address
        out += "&#58;";
        break;
      default:
        if (std::string_view("\\`*_{}[]()!|~$").find(c) != std::string_view::npos) out += '\\';
        out += common::EscapeHtml(std::string(1, c));
    }
  }
  // GitHub also links a text that begins with www. (GFM, extended autolinks).
  return absl::StrReplaceAll(out, {{"www.", "www&#46;"}});
}

namespace {

const char* SignOf(const Verdict& verdict) {
  switch (verdict.severity) {
    case VerdictSeverity::kGood:
      return "✅ ";
    case VerdictSeverity::kWarning:
      return "⚠️ ";
    case VerdictSeverity::kBad:
      return "❌ ";
    case VerdictSeverity::kUnknown:
      break;
  }
  return "";
}

}  // namespace

std::string RenderMarkdown(const v1::Report& report) {
  const v1::Report safe = SafeToShow(report);
  const v1::RunSummary& run = safe.run();
  const Verdict verdict = VerdictOf(safe);
  std::string out = absl::StrCat("### ", SignOf(verdict), PlainMarkdown(run.job_name()), ": ",
                                 PlainMarkdown(verdict.text), "\n\n");
  const std::string conclusion = ConclusionOf(safe);
  const std::string* whole = ReasonIn(conclusion, verdict.reasons);
  if (!conclusion.empty()) {
    absl::StrAppend(&out, "**", PlainMarkdown(WithWholeReason(conclusion, whole)), "**\n\n");
  }
  for (const std::string& reason : verdict.reasons) {
    // The conclusion above has it already.
    if (&reason == whole || absl::StrContains(conclusion, reason)) continue;
    absl::StrAppend(&out, PlainMarkdown(reason), "\n\n");
  }
  absl::StrAppend(&out, "Run `", run.run_id(), "`, ", run.hosts(),
                  run.hosts() == 1 ? " host" : " hosts", ", by ", PlainMarkdown(run.owner()), ", ",
                  PlainMarkdown(run.started_at()), ".");
  std::vector<std::string> labels;
  for (const auto& [key, value] : run.labels()) {
    labels.push_back(absl::StrCat(PlainMarkdown(key), "=", PlainMarkdown(value)));
  }
  // A map of protobuf has no order of its own. Two reports of one run must not differ.
  std::sort(labels.begin(), labels.end());
  if (!labels.empty()) absl::StrAppend(&out, " Labels: ", absl::StrJoin(labels, ", "), ".");
  out += "\n\n";
  AddTable(safe, &out);
  AddSentences(safe, &out);
  const std::vector<std::string> things = Warnings(safe);
  if (!things.empty()) {
    out += "**Warnings**\n\n";
    for (const std::string& thing : things) absl::StrAppend(&out, "- ", PlainMarkdown(thing), "\n");
    out += "\n";
  }
  if (const std::vector<NoteLine> notes = NotesOf(safe); !notes.empty()) {
    out += "**Notes**\n\n";
    for (const NoteLine& note : notes) {
      absl::StrAppend(&out, "- ", PlainMarkdown(note.at),
                      note.where.empty() ? "" : absl::StrCat(" (", PlainMarkdown(note.where), ")"),
                      " ", PlainMarkdown(note.text), "\n");
    }
    out += "\n";
  }
  for (const v1::SweepReport& sweep : safe.sweeps()) {
    absl::StrAppend(&out, "**", PlainMarkdown(sweep.phase()), "**\n\n");
    if (sweep.has_conclusion()) {
      absl::StrAppend(&out, PlainMarkdown(sweep.conclusion().sentence()), "\n\n");
    }
    out += "<pre>\n";
    // Within <pre> Markdown means nothing, so only HTML is escaped.
    // With a width of 0 no cell is cut, since a page can scroll.
    absl::StrAppend(&out, common::EscapeHtml(RenderSweep(sweep, 0)), "</pre>\n\n");
    if (!sweep.ended().empty()) {
      absl::StrAppend(&out, "Repetitions: ", PlainMarkdown(sweep.ended()), "\n\n");
    }
  }
  if (!safe.environment().empty()) {
    // The copy is sorted, for the same reason as the labels.
    const std::map<std::string, std::string> facts(safe.environment().begin(),
                                                   safe.environment().end());
    out += "<details><summary>Environment</summary>\n\n| fact | value |\n| --- | --- |\n";
    for (const auto& [name, value] : facts) {
      absl::StrAppend(&out, "| ", PlainMarkdown(name), " | ", PlainMarkdown(value), " |\n");
    }
    out += "\n</details>\n";
  }
  return out;
}

}  // namespace lockstep::controller
