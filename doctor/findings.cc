#include "doctor/findings.h"

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "google/protobuf/util/json_util.h"

namespace lockstep::doctor {
namespace {

constexpr char kOk[] = "ok";
constexpr char kWarning[] = "warning";
constexpr char kProblem[] = "problem";

// Texts of a finding are sentences, with a path or an error of the system in them.
constexpr size_t kMaxColumns = 2000;

std::string Count(int count, const char* noun) {
  return absl::StrCat(count == 0 ? "no" : absl::StrCat(count), " ", noun, count == 1 ? "" : "s");
}

std::string Label(const std::string& severity, Colour colour) {
  const std::string word = severity == kProblem   ? "PROBLEM"
                           : severity == kWarning ? "WARNING"
                                                  : "ok     ";
  if (colour == Colour::kNo) return word;
  const char* const code = severity == kProblem ? "31" : severity == kWarning ? "33" : "32";
  return absl::StrCat("\x1b[", code, "m", word, "\x1b[0m");
}

int CountOf(const v1::DoctorReport& report, const std::string& severity) {
  int count = 0;
  for (const v1::DoctorFinding& finding : report.findings()) {
    count += finding.severity() == severity ? 1 : 0;
  }
  return count;
}

}  // namespace

void Findings::Add(const char* severity, const std::string& check, const std::string& found,
                   const Advice& advice) {
  v1::DoctorFinding* finding = report_->add_findings();
  finding->set_severity(severity);
  finding->set_area(area_);
  finding->set_subject(common::Printable(subject_, kMaxColumns));
  finding->set_check(check);
  // Errors hold paths, which need not be UTF-8. protobuf would not make JSON of such a text.
  finding->set_found(common::Printable(found, kMaxColumns));
  finding->set_why(common::Printable(advice.why, kMaxColumns));
  finding->set_help(common::Printable(advice.help, kMaxColumns));
}

void Findings::Ok(const std::string& check, const std::string& found) {
  Add(kOk, check, found, {});
}

void Findings::Warn(const std::string& check, const std::string& found, const Advice& advice) {
  Add(kWarning, check, found, advice);
}

void Findings::Problem(const std::string& check, const std::string& found, const Advice& advice) {
  Add(kProblem, check, found, advice);
}

int Conclude(v1::DoctorReport* report) {
  // Scripts read the status alone: a problem must not hide behind warnings.
  const int status = CountOf(*report, kProblem) > 0 ? 2 : CountOf(*report, kWarning) > 0 ? 1 : 0;
  report->set_exit_status(static_cast<uint32_t>(status));
  return status;
}

std::string RenderFinding(const v1::DoctorFinding& finding, Colour colour) {
  constexpr char kIndent[] = "           ";
  std::string text = absl::StrCat("  ", Label(finding.severity(), colour), "  ",
                                  common::Printable(finding.check()), ": ",
                                  common::Printable(finding.found(), kMaxColumns), "\n");
  if (!finding.why().empty()) {
    absl::StrAppend(&text, kIndent, common::Printable(finding.why(), kMaxColumns), "\n");
  }
  if (!finding.help().empty()) {
    absl::StrAppend(&text, kIndent, "→ ", common::Printable(finding.help(), kMaxColumns), "\n");
  }
  return text;
}

std::string RenderDoctor(const v1::DoctorReport& report, Colour colour) {
  std::string text;
  std::string last;
  for (const v1::DoctorFinding& finding : report.findings()) {
    const std::string head = common::Printable(
        absl::StrCat(finding.area(), finding.subject().empty() ? "" : " ", finding.subject()));
    if (head != last) absl::StrAppend(&text, text.empty() ? "" : "\n", head, "\n");
    last = head;
    absl::StrAppend(&text, RenderFinding(finding, colour));
  }
  absl::StrAppend(&text, text.empty() ? "" : "\n", Count(CountOf(report, kProblem), "problem"),
                  ", ", Count(CountOf(report, kWarning), "warning"), "\n");
  return text;
}

std::string DoctorJson(const v1::DoctorReport& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  // Readers of the JSON then find each field of a finding, also an empty one.
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(report, &json, options);
  return status.ok() ? json : "{}";
}

}  // namespace lockstep::doctor
