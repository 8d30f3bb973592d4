// What `fleet up` shows of a doctor's report that a host has sent.

#include "absl/strings/str_cat.h"
#include "controller/cli/ssh/diagnosis.h"
#include "doctor/findings.h"
#include "gtest/gtest.h"

namespace lockstep::cli {
namespace {

HostDiagnosis Read(const v1::DoctorReport& report) {
  return ReadDiagnosis({doctor::DoctorJson(report), ""});
}

TEST(HostDiagnosisTest, AHostWithoutFaultsNeedsNoLine) {
  v1::DoctorReport report;
  doctor::Findings(&report, "host", "node1").Ok("io_uring", "works");
  const HostDiagnosis diagnosis = Read(report);
  EXPECT_EQ(diagnosis.problems, 0);
  EXPECT_EQ(diagnosis.text, "");
}

TEST(HostDiagnosisTest, ProblemsComeBeforeWarnings) {
  v1::DoctorReport report;
  doctor::Findings host(&report, "host", "node1");
  host.Ok("io_uring", "works");
  host.Warn("clocksource", "hpet", {"it is slow", "echo tsc"});
  host.Problem("/mnt/test", "No such file or directory", {"a worker does not start", "ls -ld"});
  const HostDiagnosis diagnosis = Read(report);
  EXPECT_EQ(diagnosis.problems, 1);
  EXPECT_EQ(diagnosis.text,
            "  PROBLEM  /mnt/test: No such file or directory\n"
            "           a worker does not start\n"
            "           → ls -ld\n"
            "  WARNING  clocksource: hpet\n"
            "           it is slow\n"
            "           → echo tsc\n");
}

TEST(HostDiagnosisTest, ManyFindingsAreCutAndCounted) {
  v1::DoctorReport report;
  doctor::Findings host(&report, "allow", "node1");
  for (int i = 0; i < 100; ++i) host.Warn(absl::StrCat("/dev/sd", i), "carries ext4", {});
  for (int i = 0; i < 3; ++i) host.Problem(absl::StrCat("problem", i), "none", {});
  const HostDiagnosis diagnosis = Read(report);
  EXPECT_EQ(diagnosis.problems, 3);
  for (const char* shown : {"problem0", "problem2", "/dev/sd0:", "/dev/sd6:", "  and 93 more\n"}) {
    EXPECT_NE(diagnosis.text.find(shown), std::string::npos) << shown << "\n" << diagnosis.text;
  }
  EXPECT_EQ(diagnosis.text.find("/dev/sd7:"), std::string::npos) << diagnosis.text;
}

TEST(HostDiagnosisTest, AllProblemsCountAlsoThoseThatAreCut) {
  v1::DoctorReport report;
  doctor::Findings host(&report, "allow", "node1");
  for (int i = 0; i < 12; ++i) host.Problem(absl::StrCat("/dev/sd", i), "none", {});
  EXPECT_EQ(Read(report).problems, 12);
}

TEST(HostDiagnosisTest, ADoctorThatDoesNotAnswerIsAProblem) {
  const HostDiagnosis hangs = ReadDiagnosis({"", "it takes longer than 20 s"});
  EXPECT_EQ(hangs.problems, 1);
  EXPECT_NE(hangs.text.find("has not answered: it takes longer than 20 s\n"), std::string::npos)
      << hangs.text;
  // A report without findings has checked nothing.
  for (const char* wrong : {"", "{", "[]", "rubbish", "{}", "{\"findings\": [{\"wrong\": 1}]}"}) {
    const HostDiagnosis diagnosis = ReadDiagnosis({wrong, ""});
    EXPECT_EQ(diagnosis.problems, 1) << wrong;
    EXPECT_NE(diagnosis.text.find("sends something else"), std::string::npos) << diagnosis.text;
  }
}

TEST(HostDiagnosisTest, AHostCannotChangeTheTerminal) {
  const HostDiagnosis diagnosis = ReadDiagnosis(
      {R"({"findings": [{"severity": "warning", "check": "a\u001b[2J", "found": "b\nnode2  up",
                         "why": "c\r", "help": "d\u001b]0;x\u0007"}]})",
       ""});
  EXPECT_EQ(diagnosis.text.find_first_of("\x1b\r\x07"), std::string::npos) << diagnosis.text;
  EXPECT_EQ(diagnosis.text.find("\nnode2"), std::string::npos) << diagnosis.text;
}

}  // namespace
}  // namespace lockstep::cli
