#include "controller/report/junit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "controller/report/verdict.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

class Suite {
 public:
  void Add(const std::string& classname, const std::string& name, const std::string& outcome) {
    ++tests_;
    absl::StrAppend(&cases_, "    <testcase classname=\"lockstep.", XmlText(classname),
                    "\" name=\"", XmlText(name), "\">", outcome, "</testcase>\n");
  }
  // A failure is a condition that was not met, an error anything else that went wrong. CI systems
  // count and show the two apart.
  std::string Failure(const std::string& message) {
    ++failures_;
    return absl::StrCat("<failure message=\"", XmlText(message), "\"/>");
  }
  std::string Error(const std::string& message) {
    ++errors_;
    return absl::StrCat("<error message=\"", XmlText(message), "\"/>");
  }
  std::string Skipped(const std::string& message) {
    ++skipped_;
    return absl::StrCat("<skipped message=\"", XmlText(message), "\"/>");
  }
  std::string Render(const std::string& name, const std::string& warnings) const {
    return absl::StrFormat(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"%s\" "
        "tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n%s    "
        "<system-err>%s</system-err>\n  </testsuite>\n</testsuites>\n",
        XmlText(name), tests_, failures_, errors_, skipped_, cases_, warnings);
  }

 private:
  int tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
  std::string cases_;
};

}  // namespace

std::string XmlText(const std::string& text) {
  // XML 1.0 has no form for most control characters, not even as references. A parser would refuse
  // the whole file.
  return absl::StrReplaceAll(
      common::Printable(text),
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&apos;"}});
}

std::string RenderRunJUnit(const v1::Report& report) {
  Suite suite;
  const std::string& state = report.run().state();
  const std::string corruption = CorruptionText(report);
  // A run that did nothing would be a passed test.
  const std::string unmeasured = UnmeasuredText(report);
  suite.Add(report.run().job_name(), "run " + report.run().run_id().substr(0, 8),
            !corruption.empty() ? suite.Error(corruption)
            : !measure::Is(report.run(), measure::RunState::kDone)
                ? suite.Error(absl::StrCat("the run is ", state,
                                           report.run().outcome().empty() ? "" : ": ",
                                           report.run().outcome()))
            : !unmeasured.empty() ? suite.Error(unmeasured)
                                  : "");
  for (const v1::PhaseReport& phase : report.phases()) {
    // The run's own case has the reason why a phase did not end. A failure of each of its
    // expectations would count that one cause many times.
    const bool done = measure::Is(phase, measure::PhaseState::kDone);
    for (const v1::Expectation& e : phase.expectations()) {
      const std::string found = absl::StrCat(e.text(), "; found ", e.found());
      suite.Add(absl::StrCat(report.run().job_name(), ".", phase.name()), e.text(),
                e.met() ? absl::StrCat("<system-out>", XmlText(found), "</system-out>")
                : !done ? suite.Skipped(absl::StrCat("the phase is ", phase.state()))
                        : suite.Failure(found));
    }
  }
  std::string warnings;
  for (const std::string& warning : report.verdict().warnings()) {
    absl::StrAppend(&warnings, XmlText(warning), "\n");
  }
  return suite.Render("lockstep " + report.run().job_name(), warnings);
}

}  // namespace lockstep::controller
