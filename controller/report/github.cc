#include "controller/report/github.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "controller/report/comparison_text.h"
#include "controller/report/verdict.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

enum class Annotation { kError, kWarning, kNotice };

// A percent sign begins an escape in both; in a property ':' and ',' end it.
std::string AnnotationText(const std::string& text) {
  return absl::StrReplaceAll(common::Printable(text), {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}});
}

std::string AnnotationTitle(const std::string& text) {
  return absl::StrReplaceAll(AnnotationText(text), {{":", "%3A"}, {",", "%2C"}});
}

std::string Annotate(Annotation kind, const std::string& title, const std::string& message) {
  const char* const name = kind == Annotation::kError     ? "error"
                           : kind == Annotation::kWarning ? "warning"
                                                          : "notice";
  return absl::StrCat("::", name, " title=", AnnotationTitle(title), "::", AnnotationText(message),
                      "\n");
}

std::string NameOfFigure(const v1::ComparedFigure& figure) {
  std::string name = figure.phase();
  for (const std::string& part : {figure.workload(), figure.kind(), figure.figure()}) {
    if (!part.empty()) absl::StrAppend(&name, " ", part);
  }
  return name;
}

}  // namespace

std::string RenderGithub(const v1::Report& report) {
  const v1::RunSummary& run = report.run();
  const std::string job = "lockstep " + run.job_name();
  std::string text;
  if (const std::string corruption = CorruptionText(report); !corruption.empty()) {
    text += Annotate(Annotation::kError, job, corruption);
  }
  if (!measure::Is(run, measure::RunState::kDone)) {
    text += Annotate(
        Annotation::kError, job,
        absl::StrCat("the run is ", run.state(), run.outcome().empty() ? "" : ": ", run.outcome()));
  } else if (const std::string unmeasured = UnmeasuredText(report); !unmeasured.empty()) {
    text += Annotate(Annotation::kError, job, unmeasured);
  }
  for (const v1::PhaseReport& phase : report.phases()) {
    // The run's own line has the reason why a phase did not end.
    if (!measure::Is(phase, measure::PhaseState::kDone)) continue;
    for (const v1::Expectation& e : phase.expectations()) {
      if (e.met()) continue;
      text += Annotate(Annotation::kError, absl::StrCat(job, " ", phase.name()),
                       absl::StrCat(e.text(), "; found ", e.found()));
    }
  }
  // Annotations fail no step of a workflow. The exit status does, so that errors and warnings may
  // stand side by side.
  for (const std::string& warning : report.verdict().warnings()) {
    text += Annotate(Annotation::kWarning, job, warning);
  }
  return text + Annotate(Annotation::kNotice, job,
                         absl::StrCat("run ", run.run_id().substr(0, 8), ": ",
                                      run.conclusion().empty() ? run.state() : run.conclusion()));
}

std::string RenderGithub(const v1::Comparison& comparison) {
  std::string text;
  int judged = 0;
  int unknown = 0;
  for (const v1::ComparedFigure& figure : comparison.figures()) {
    if (!figure.judged()) continue;
    for (int s = 1; s < figure.values_size(); ++s) {
      const v1::ComparedValue& value = figure.values(s);
      const std::string& set = comparison.sets(s).name();
      const std::string title = absl::StrCat("lockstep gate ", NameOfFigure(figure));
      ++judged;
      if (value.judgement() == v1::JUDGEMENT_LEFT_OUT) {
        --judged;  // the warnings name it
      } else if (value.judgement() == v1::JUDGEMENT_UNKNOWN) {
        const int lacking = value.runs() > 0 ? 0 : s;
        text +=
            Annotate(Annotation::kWarning, title,
                     absl::StrCat(figure.values(lacking).partial_runs() > 0 ? "not in all runs of "
                                                                            : "no value in ",
                                  comparison.sets(lacking).name()));
      } else if (value.regression()) {
        text +=
            Annotate(Annotation::kError, title,
                     absl::StrFormat(
                         "%s: worse by %.1f %% than %s%s", set, std::abs(value.change()) * 100,
                         comparison.sets(0).name(),
                         value.has_p_value() ? absl::StrFormat(" (p %.4f)", value.p_value()) : ""));
      } else if (value.verdict() == v1::CHANGE_UNKNOWN) {
        ++unknown;
      }
    }
  }
  // One line for all: each figure of a short comparison is in this state.
  if (unknown > 0) {
    text += Annotate(Annotation::kWarning, "lockstep gate",
                     absl::StrCat(unknown, " of ", judged,
                                  " figures: nobody can tell (too few runs, or a drift)"));
  }
  for (const std::string& warning : comparison.warnings()) {
    text += Annotate(Annotation::kWarning, "lockstep gate", warning);
  }
  // Without figures there was nothing to compare with.
  if (comparison.figures().empty()) {
    for (const std::string& conclusion : comparison.conclusions()) {
      text += Annotate(Annotation::kWarning, "lockstep gate", conclusion);
    }
  }
  return text + Annotate(Annotation::kNotice, "lockstep gate",
                         absl::StrCat(judged, " figures judged, ", comparison.regressions(),
                                      " regressed"));
}

}  // namespace lockstep::controller
