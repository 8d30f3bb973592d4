#include "doctor/findings.h"

#include "common/version.h"
#include "doctor/certificates.h"
#include "doctor/controller_call.h"
#include "gtest/gtest.h"
#include "proto/protocol_version.h"

namespace lockstep::doctor {
namespace {

constexpr int64_t kDay = 86400;

// The one finding of this name; an empty one when there is none.
v1::DoctorFinding Of(const v1::DoctorReport& report, const std::string& check) {
  for (const v1::DoctorFinding& finding : report.findings()) {
    if (finding.check() == check) return finding;
  }
  return {};
}

TEST(Doctor, TheGravestFindingIsTheExitStatus) {
  v1::DoctorReport report;
  EXPECT_EQ(Conclude(&report), 0);
  Findings findings(&report, "host", "node1");
  findings.Ok("io_uring", "works");
  EXPECT_EQ(Conclude(&report), 0);
  findings.Warn("memlock", "8 MiB", {"it is little", "ulimit -l unlimited"});
  EXPECT_EQ(Conclude(&report), 1);
  findings.Problem("aio-max-nr", "none", {"nothing works", "another kernel"});
  findings.Warn("steal", "much", {"others", "move"});
  EXPECT_EQ(Conclude(&report), 2);
  EXPECT_EQ(report.exit_status(), 2u);
}

TEST(Doctor, TheTextHasWhatMattersAndNoControlCharacters) {
  v1::DoctorReport report;
  Findings(&report, "host", "no\x1b[2Jde").Warn("memlock", "8\nMiB", {"little", "ulimit -l"});
  Findings(&report, "store").Ok("schema", "34");
  Conclude(&report);
  const std::string text = RenderDoctor(report, Colour::kNo);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("WARNING  memlock: 8"), std::string::npos) << text;
  EXPECT_NE(text.find("→ ulimit -l"), std::string::npos) << text;
  EXPECT_NE(text.find("\nstore\n  ok       schema: 34\n"), std::string::npos) << text;
  EXPECT_NE(text.find("no problems, 1 warning\n"), std::string::npos) << text;
  EXPECT_NE(DoctorJson(report).find("\"exitStatus\": 1"), std::string::npos);
}

TEST(Doctor, CertificatesThatSoonExpireAreWarnedOf) {
  const auto severity = [](int64_t now_s) {
    v1::DoctorReport report;
    Findings findings(&report, "certificates");
    common::CertificateFacts facts;
    facts.name = "alice";
    facts.dns_names = {"admin.role.lockstep", "a.example"};
    facts.not_before = absl::FromUnixSeconds(100 * kDay);
    facts.not_after = absl::FromUnixSeconds(200 * kDay);
    CheckValidity(facts, "--tls-cert a.pem", now_s, "renew", &findings);
    EXPECT_NE(report.findings(0).found().find("(alice, admin)"), std::string::npos);
    return report.findings(0).severity();
  };
  EXPECT_EQ(severity(99 * kDay), "problem");
  EXPECT_EQ(severity(165 * kDay), "ok");
  EXPECT_EQ(severity(175 * kDay), "warning");
  EXPECT_EQ(severity(201 * kDay), "problem");
}

TEST(Doctor, AControllersStatusIsJudged) {
  v1::StatusReply status;
  status.set_version(common::kSoftwareVersion);
  status.add_workers();
  v1::DoctorReport good;
  Findings good_findings(&good, "controller", "ctl:9640");
  CheckStatus(status, Caller::kPerson, &good_findings);
  EXPECT_EQ(Conclude(&good), 0);

  status.set_version("0.0.1");
  status.mutable_workers(0)->set_disconnected(true);
  status.mutable_store_state()->set_unavailable(true);
  status.mutable_store_state()->set_reason("no route");
  status.mutable_store_state()->set_spooled_bytes(600);
  status.mutable_store_state()->set_spool_limit_bytes(1000);
  v1::DoctorReport bad;
  Findings bad_findings(&bad, "controller", "ctl:9640");
  CheckStatus(status, Caller::kPerson, &bad_findings);
  EXPECT_EQ(Of(bad, "version").severity(), "warning");
  EXPECT_EQ(Of(bad, "workers").severity(), "warning");
  EXPECT_EQ(Of(bad, "spool").severity(), "warning");
  EXPECT_EQ(Of(bad, "store").severity(), "problem");
  EXPECT_NE(Of(bad, "store").found().find("no route"), std::string::npos);
}

TEST(Doctor, AWorkerWithoutACommonProtocolIsAProblem) {
  v1::StatusReply status;
  status.set_version("9.9");
  const auto judge = [&](uint32_t lowest, uint32_t highest, Caller caller) {
    status.mutable_protocol()->set_lowest(lowest);
    status.mutable_protocol()->set_highest(highest);
    v1::DoctorReport report;
    Findings findings(&report, "controller", "ctl:9640");
    CheckStatus(status, caller, &findings);
    return Of(report, "version");
  };
  const uint32_t own = v1::OwnProtocol().highest;
  EXPECT_EQ(judge(own, own + 1, Caller::kWorker).severity(), "warning");
  const v1::DoctorFinding newer = judge(own + 1, own + 2, Caller::kWorker);
  EXPECT_EQ(newer.severity(), "problem");
  EXPECT_NE(newer.found().find("install Lockstep 9.9 on the worker's host"), std::string::npos);
  EXPECT_EQ(judge(1, own - 1, Caller::kWorker).severity(), "problem");
  // A command does not speak the workers' protocol.
  EXPECT_EQ(judge(own + 1, own + 2, Caller::kPerson).severity(), "warning");
}

TEST(Doctor, AWorkerMayBeTheFirst) {
  v1::StatusReply status;
  status.set_version(common::kSoftwareVersion);
  for (const Caller caller : {Caller::kPerson, Caller::kWorker}) {
    v1::DoctorReport report;
    Findings findings(&report, "controller", "ctl:9640");
    CheckStatus(status, caller, &findings);
    EXPECT_EQ(Conclude(&report), caller == Caller::kWorker ? 0 : 1);
  }
}

}  // namespace
}  // namespace lockstep::doctor
