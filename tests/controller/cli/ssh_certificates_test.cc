// Certificates for workers that are started over ssh: what is signed, as what, and what is not.

#include <openssl/evp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/certificate.h"
#include "common/files.h"
#include "controller/cli/ssh/certificates.h"
#include "controller/pki/pki_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/controller/pki/requests.h"

namespace lockstep::cli {
namespace {

using pki::ChallengedRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kDay = absl::Hours(24);

// A request that carries the challenge c, for the name of another role.
std::string RequestOfKey(EVP_PKEY* key, EVP_PKEY* signer) {
  return pki::RequestOfKey(key, signer, "admin.role.lockstep", "c");
}

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() {
    char path[] = "/tmp/lockstep-certificates-XXXXXX";
    base_ = mkdtemp(path);
    certificates_.pki = MakeAuthority("pki");
    certificates_.life = kDay;
    certificates_.authority = Read(certificates_.pki + "/ca.pem");
    certificates_.server_name = "ctl.example";
    record_.name = "node1";
    record_.token = "0123456789abcdef01234567";
  }
  ~CertificatesTest() override { std::filesystem::remove_all(base_); }

  std::string MakeAuthority(const std::string& name) {
    const std::string path = base_ + "/" + name;
    const absl::Status made = pki::PkiDirectory::Init(path, name, absl::Now(), 30 * kDay);
    EXPECT_TRUE(made.ok()) << made;
    return path;
  }
  static std::string Read(const std::string& path) {
    const auto read = common::ReadFile(path);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? *read : "";
  }
  absl::StatusOr<std::string> Sign(const std::string& csr, const std::string& challenge = "c") {
    return SignForHost(certificates_, csr, challenge, absl::Now(), &record_);
  }
  std::string WhyNot(const std::string& csr) {
    const auto refused = Sign(csr);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
    return std::string(refused.status().message());
  }
  std::vector<pki::Issued> List() const {
    const auto directory = pki::PkiDirectory::Open(certificates_.pki);
    EXPECT_TRUE(directory.ok()) << directory.status();
    return *directory->List();
  }

  std::string base_;
  HostCertificates certificates_;
  FleetRecord record_;
};

TEST_F(CertificatesTest, TheNameIsTheHostsAndNotTheRequests) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  const auto pem = Sign(RequestOfKey(key, key));
  EVP_PKEY_free(key);
  ASSERT_TRUE(pem.ok()) << pem.status();
  const auto facts = common::ReadCertificate(*pem);
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->name, "node1");
  EXPECT_THAT(facts->dns_names, ElementsAre("worker.role.lockstep"));
  EXPECT_LE(facts->not_after, absl::Now() + kDay);
  EXPECT_EQ(record_.serial, facts->serial);
  EXPECT_EQ(record_.pki, certificates_.pki);
  EXPECT_EQ(record_.valid_to_s, absl::ToUnixSeconds(facts->not_after));
  // The key is on the host, and the directory has none but the authority's.
  EXPECT_FALSE(std::filesystem::exists(certificates_.pki + "/node1"));
}

TEST_F(CertificatesTest, RequestsThatAreNotInOrderAreNotSigned) {
  EXPECT_THAT(WhyNot("hello"), HasSubstr("no certificate request in PEM"));
  EXPECT_THAT(WhyNot("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE "
                     "REQUEST-----\n"),
              HasSubstr("no certificate request in PEM"));
  EXPECT_THAT(WhyNot(ChallengedRequest("")), HasSubstr("does not carry the challenge"));
  EXPECT_THAT(WhyNot(ChallengedRequest("d")), HasSubstr("does not carry the challenge"));
  EVP_PKEY* key = EVP_EC_gen("P-256");
  EVP_PKEY* other = EVP_EC_gen("P-256");
  EXPECT_THAT(WhyNot(RequestOfKey(key, other)), HasSubstr("is not signed by its own key"));
  EVP_PKEY_free(key);
  EVP_PKEY_free(other);
  EVP_PKEY* curve = EVP_EC_gen("secp256k1");
  EXPECT_THAT(WhyNot(RequestOfKey(curve, curve)), HasSubstr("this kind of key is not accepted"));
  EVP_PKEY_free(curve);
  EVP_PKEY* weak = EVP_RSA_gen(1024);
  EXPECT_THAT(WhyNot(RequestOfKey(weak, weak)), HasSubstr("this kind of key is not accepted"));
  EVP_PKEY_free(weak);
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(record_.serial, "");
}

// Without a terminal OpenSSL reads a password from standard input.
TEST_F(CertificatesTest, AnEncryptedRequestAsksForNoPassword) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "secret\n", 7), 7);
  close(ends[1]);
  const int before = dup(STDIN_FILENO);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  EXPECT_THAT(WhyNot("-----BEGIN CERTIFICATE REQUEST-----\nProc-Type: 4,ENCRYPTED\n"
                     "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n"
                     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
                     "-----END CERTIFICATE REQUEST-----\n"),
              HasSubstr("no certificate request in PEM"));
  int unread = 0;
  EXPECT_EQ(ioctl(ends[0], FIONREAD, &unread), 0);
  EXPECT_EQ(unread, 7);
  if (before >= 0) dup2(before, STDIN_FILENO);
  close(before);
  close(ends[0]);
}

TEST_F(CertificatesTest, NoChallengeComesTwice) {
  const std::string challenge = NewChallenge();
  EXPECT_EQ(challenge.size(), 32u);
  EXPECT_NE(challenge, NewChallenge());
  // A request that was sent before is of no use.
  const std::string old = ChallengedRequest(challenge);
  ASSERT_TRUE(Sign(old, challenge).ok());
  EXPECT_FALSE(Sign(old, NewChallenge()).ok());
}

TEST_F(CertificatesTest, TheAuthorityMustBeOneThatTheControllerKnows) {
  EXPECT_TRUE(CheckCertificates(certificates_, absl::Now()).ok());
  const std::string other = MakeAuthority("other");
  // While authorities change, the file has several.
  certificates_.authority = Read(other + "/ca.pem") + Read(certificates_.pki + "/ca.pem");
  EXPECT_TRUE(CheckCertificates(certificates_, absl::Now()).ok());
  certificates_.authority = Read(other + "/ca.pem");
  const absl::Status refused = CheckCertificates(certificates_, absl::Now());
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is not in your --tls-ca"));
}

TEST_F(CertificatesTest, AFileOfAuthoritiesMayHaveAKey) {
  const std::string authority = certificates_.authority;
  const std::string key = Read(certificates_.pki + "/ca.key");
  EXPECT_EQ(common::CertificatesOnly("mine\n" + key + authority), authority);
  EXPECT_EQ(common::CertificatesOnly(authority + key + authority), authority + authority);
  EXPECT_EQ(common::CertificatesOnly(key), "");
}

TEST_F(CertificatesTest, WhatCannotSignIsRefusedBeforeAnyHost) {
  certificates_.life = 31 * kDay;
  EXPECT_THAT(std::string(CheckCertificates(certificates_, absl::Now()).message()),
              HasSubstr("--valid-for: the certificates would outlive"));
  certificates_.life = kDay;
  chmod((certificates_.pki + "/ca.key").c_str(), 0644);
  EXPECT_THAT(std::string(CheckCertificates(certificates_, absl::Now()).message()),
              HasSubstr("chmod 600"));
  std::filesystem::remove(certificates_.pki + "/ca.key");
  const absl::Status refused = CheckCertificates(certificates_, absl::Now());
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--pki "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("has no ca.key"));
}

TEST_F(CertificatesTest, RevokingIsOneStepAndSparesWhatHasExpired) {
  std::vector<FleetRecord> fleet(3, record_);
  for (size_t i = 0; i < fleet.size(); ++i) {
    fleet[i].name = absl::StrCat("node", i);
    ASSERT_TRUE(
        SignForHost(certificates_, ChallengedRequest("c"), "c", absl::Now(), &fleet[i]).ok());
  }
  FleetRecord plain;
  plain.name = "plain";
  fleet[2].valid_to_s = 1;
  const auto done = RevokeCertificates("", absl::Now(), {&fleet[0], &plain, &fleet[1], &fleet[2]});
  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].status.ok()) << done[0].status;
  EXPECT_EQ(done[0].pki, certificates_.pki);
  EXPECT_THAT(done[0].names, ElementsAre("node0", "node1"));
  for (const FleetRecord& record : fleet) EXPECT_EQ(record.serial, "");
  for (const pki::Issued& one : List()) EXPECT_EQ(one.revoked, one.facts.name != "node2");
}

TEST_F(CertificatesTest, AnOldAuthoritysCertificateKeepsNoOther) {
  ASSERT_TRUE(Sign(ChallengedRequest("c")).ok());
  FleetRecord old = record_;
  std::filesystem::rename(certificates_.pki, base_ + "/old");
  MakeAuthority("pki");
  record_.name = "node2";
  ASSERT_TRUE(Sign(ChallengedRequest("c")).ok());
  const auto done = RevokeCertificates("", absl::Now(), {&old, &record_});
  ASSERT_EQ(done.size(), 2u);
  EXPECT_TRUE(done[0].status.ok()) << done[0].status;
  EXPECT_THAT(done[0].names, ElementsAre("node2"));
  EXPECT_TRUE(absl::IsNotFound(done[1].status)) << done[1].status;
  EXPECT_THAT(done[1].names, ElementsAre("node1"));
  EXPECT_EQ(record_.serial, "");
  EXPECT_NE(old.serial, "");
}

TEST_F(CertificatesTest, AnAuthorityThatIsAwayLeavesTheRecord) {
  ASSERT_TRUE(Sign(ChallengedRequest("c")).ok());
  const std::string serial = record_.serial;
  const std::string moved = base_ + "/moved";
  std::filesystem::rename(certificates_.pki, moved);
  const auto failed = RevokeCertificates("", absl::Now(), {&record_});
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(failed[0].status)) << failed[0].status;
  EXPECT_EQ(record_.serial, serial);
  // Another authority's directory does not revoke it, and does not say so.
  EXPECT_FALSE(RevokeCertificates(MakeAuthority("other"), absl::Now(), {&record_})[0].status.ok());
  EXPECT_EQ(record_.serial, serial);
  EXPECT_TRUE(RevokeCertificates(moved, absl::Now(), {&record_})[0].status.ok());
  EXPECT_EQ(record_.serial, "");
}

TEST_F(CertificatesTest, ARenewalIsOnRecordBeforeTheHostHasIt) {
  ASSERT_TRUE(Sign(ChallengedRequest("c")).ok());
  const std::string first = record_.serial;
  std::vector<FleetRecord> saved;
  const auto save = [&](const FleetRecord& record) {
    saved.push_back(record);
    return absl::OkStatus();
  };
  std::string delivered;
  const auto deliver = [&](const std::string& pem) {
    EXPECT_EQ(saved.size(), 1u);
    delivered = pem;
    return absl::OkStatus();
  };
  certificates_.life = 2 * kDay;
  const absl::Status done = RenewForHost(certificates_, ChallengedRequest("d"), "d", absl::Now(),
                                         &record_, save, deliver);
  ASSERT_TRUE(done.ok()) << done;
  ASSERT_EQ(saved.size(), 2u);
  EXPECT_EQ(saved[0].serial, first);
  ASSERT_EQ(saved[0].other_certificates.size(), 1u);
  const auto facts = common::ReadCertificate(delivered);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(saved[0].other_certificates[0].serial, facts->serial);
  EXPECT_EQ(saved[1].serial, facts->serial);
  EXPECT_EQ(saved[1].valid_to_s, absl::ToUnixSeconds(facts->not_after));
  ASSERT_EQ(saved[1].other_certificates.size(), 1u);
  EXPECT_EQ(saved[1].other_certificates[0].serial, first);
  // Both go with the worker.
  ASSERT_EQ(RevokeCertificates("", absl::Now(), {&record_}).size(), 1u);
  EXPECT_EQ(record_.serial, "");
  EXPECT_TRUE(record_.other_certificates.empty());
  const std::vector<pki::Issued> list = List();
  EXPECT_EQ(list.size(), 2u);
  for (const pki::Issued& one : list) EXPECT_TRUE(one.revoked);
}

// All certificates of a worker are revoked in one directory.
TEST_F(CertificatesTest, AnotherAuthorityDoesNotRenew) {
  ASSERT_TRUE(Sign(ChallengedRequest("c")).ok());
  const std::string own = certificates_.pki;
  certificates_.pki = MakeAuthority("other");
  const auto never = [](const auto&) { return absl::InternalError("came to this"); };
  const absl::Status refused =
      RenewForHost(certificates_, ChallengedRequest("d"), "d", absl::Now(), &record_, never, never);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(record_.pki, own);
  EXPECT_TRUE(record_.other_certificates.empty());
}

TEST_F(CertificatesTest, ARenewalThatFailsIsRevokedToo) {
  ASSERT_TRUE(Sign(ChallengedRequest("c")).ok());
  const FleetRecord before = record_;
  const absl::Status failed = RenewForHost(
      certificates_, ChallengedRequest("d"), "d", absl::Now(), &record_,
      [](const FleetRecord&) { return absl::OkStatus(); },
      [](const std::string&) { return absl::UnavailableError("away"); });
  EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
  EXPECT_EQ(record_.serial, before.serial);
  EXPECT_EQ(record_.valid_to_s, before.valid_to_s);
  // Also when the worker's own has expired by then.
  record_.valid_to_s = 1;
  ASSERT_EQ(RevokeCertificates("", absl::Now(), {&record_}).size(), 1u);
  EXPECT_EQ(record_.serial, "");
  EXPECT_TRUE(record_.other_certificates.empty());
  for (const pki::Issued& one : List()) {
    EXPECT_EQ(one.revoked, one.facts.serial != before.serial) << one.facts.serial;
  }
}

TEST_F(CertificatesTest, WhatHasExpiredLeavesTheRecordWithTheNextRenewal) {
  ASSERT_TRUE(Sign(ChallengedRequest("c")).ok());
  record_.valid_to_s = 1;
  const auto saved = [](const FleetRecord&) { return absl::OkStatus(); };
  const auto delivered = [](const std::string&) { return absl::OkStatus(); };
  ASSERT_TRUE(RenewForHost(certificates_, ChallengedRequest("d"), "d", absl::Now(), &record_, saved,
                           delivered)
                  .ok());
  EXPECT_TRUE(record_.other_certificates.empty());
}

TEST_F(CertificatesTest, ALoadThatOutlastsCertificatesIsWarnedOf) {
  const absl::Time now = absl::Now();
  const auto record = [&](const std::string& name, absl::Duration life) {
    FleetRecord made;
    made.name = name;
    made.controller = "ctl:9640";
    made.serial = "4A11";
    made.valid_to_s = absl::ToUnixSeconds(now + life);
    return made;
  };
  std::vector<FleetRecord> fleet = {record("node1", 2 * kDay), record("node2", kDay / 2)};
  EXPECT_EQ(WarnOfExpiry(fleet, "ctl:9640", now, kDay / 4), "");
  const std::string warning = WarnOfExpiry(fleet, "other:9640,ctl:9640", now, kDay);
  EXPECT_THAT(warning, HasSubstr("(node2)"));
  EXPECT_THAT(warning, HasSubstr("lockstep fleet renew"));
  EXPECT_EQ(WarnOfExpiry(fleet, "other:9640", now, kDay), "");
  // Of a controller without TLS, and of a host that is down but for its record.
  for (FleetRecord& one : fleet) one.serial.clear();
  EXPECT_EQ(WarnOfExpiry(fleet, "ctl:9640", now, 9 * kDay), "");
  fleet.clear();
  for (int i = 0; i < 7; ++i) fleet.push_back(record(absl::StrCat("node", i), kDay));
  EXPECT_THAT(WarnOfExpiry(fleet, "ctl:9640", now, 2 * kDay), HasSubstr("node4 and 2 more)"));
}

}  // namespace
}  // namespace lockstep::cli
