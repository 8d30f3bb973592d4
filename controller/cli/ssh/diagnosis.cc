#include "controller/cli/ssh/diagnosis.h"

#include "absl/strings/str_cat.h"
#include "doctor/findings.h"
#include "google/protobuf/util/json_util.h"
#include "proto/doctor.pb.h"

namespace lockstep::cli {
namespace {

// A host of a SAN may have a warning for each of its devices, and a fleet has many hosts.
constexpr int kMaxShownFindings = 10;

v1::DoctorReport ReportOf(const SshConnection::DoctorAnswer& answer) {
  v1::DoctorReport report;
  // A doctor that has checked a host has findings, if only that all is well.
  if (google::protobuf::util::JsonStringToMessage(answer.report, &report).ok() &&
      !report.findings().empty()) {
    return report;
  }
  v1::DoctorReport none;
  doctor::Findings(&none, "host")
      .Problem("doctor",
               absl::StrCat("has not answered: ", answer.unanswered.empty()
                                                      ? "the host sends something else"
                                                      : answer.unanswered),
               {"a worker may hang or fail there in the same way",
                "df and dmesg, on the host, show a file system or a device that hangs"});
  return none;
}

}  // namespace

HostDiagnosis ReadDiagnosis(const SshConnection::DoctorAnswer& answer) {
  const v1::DoctorReport report = ReportOf(answer);
  HostDiagnosis diagnosis;
  int found = 0;
  const auto add = [&](const std::string& severity) {
    for (const v1::DoctorFinding& finding : report.findings()) {
      if (finding.severity() != severity || ++found > kMaxShownFindings) continue;
      absl::StrAppend(&diagnosis.text, doctor::RenderFinding(finding, doctor::Colour::kNo));
    }
  };
  // The problems first: they are what a cut must not hide.
  add("problem");
  diagnosis.problems = found;
  add("warning");
  if (found > kMaxShownFindings) {
    absl::StrAppend(&diagnosis.text, "  and ", found - kMaxShownFindings, " more\n");
  }
  return diagnosis;
}

}  // namespace lockstep::cli
