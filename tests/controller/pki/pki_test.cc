#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/certificate.h"
#include "common/files.h"
#include "controller/pki/authority.h"
#include "controller/pki/pki_directory.h"
#include "controller/pki/validity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/controller/pki/requests.h"

namespace lockstep::pki {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kYear = absl::Hours(365 * 24);

std::shared_ptr<X509> Parse(const std::string& pem) {
  BIO* memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* parsed = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
  BIO_free(memory);
  return {parsed, X509_free};
}

// OpenSSL's result for a certificate that a peer shows, for this purpose (X509_PURPOSE_…).
int Verified(const std::string& pem, const std::string& authority, int purpose) {
  const auto certificate = Parse(pem);
  const auto root = Parse(authority);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, root.get());
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, certificate.get(), nullptr);
  X509_STORE_CTX_set_purpose(context, purpose);
  X509_verify_cert(context);
  const int error = X509_STORE_CTX_get_error(context);
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return error;
}

mode_t ModeOf(const std::string& path) {
  struct stat facts = {};
  return stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
}

class PkiTest : public ::testing::Test {
 protected:
  PkiTest() {
    char name[] = "/tmp/lspkiXXXXXX";
    base_ = mkdtemp(name);
    path_ = base_ + "/pki";
  }
  ~PkiTest() override { std::filesystem::remove_all(base_); }

  void Init() {
    const absl::Status made = PkiDirectory::Init(path_, "storage lab", absl::Now(), 10 * kYear);
    ASSERT_TRUE(made.ok()) << made;
  }
  // A directory is locked while it is open: each of these opens and closes it.
  absl::StatusOr<std::string> Issue(Holder holder, const std::string& name,
                                    const std::optional<std::string>& csr = std::nullopt,
                                    absl::Duration life = kYear) {
    auto directory = PkiDirectory::Open(path_);
    if (!directory.ok()) return directory.status();
    Request request{holder, name, {}, absl::Now(), absl::Now() + life};
    if (holder == Holder::kController) request.addresses = {name};
    return directory->Issue(request, csr);
  }
  std::string Read(const std::string& name) {
    auto read = common::ReadFile(absl::StrCat(path_, "/", name));
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? *read : "";
  }
  common::CertificateFacts Facts(const std::string& name) {
    const auto facts = common::ReadCertificate(Read(name));
    EXPECT_TRUE(facts.ok()) << facts.status();
    return facts.ok() ? *facts : common::CertificateFacts();
  }
  std::vector<Issued> List() {
    const auto directory = PkiDirectory::Open(path_);
    EXPECT_TRUE(directory.ok()) << directory.status();
    const auto list = directory->List();
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() ? *list : std::vector<Issued>();
  }

  std::string base_, path_;
};

TEST_F(PkiTest, AWorkerCallsAndIsNoController) {
  Init();
  ASSERT_TRUE(Issue(Holder::kWorker, "node1").ok());
  const std::string pem = Read("node1/cert.pem");
  EXPECT_EQ(Verified(pem, Read("ca.pem"), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_EQ(Verified(pem, Read("ca.pem"), X509_PURPOSE_SSL_SERVER), X509_V_ERR_INVALID_PURPOSE);
  const auto facts = Facts("node1/cert.pem");
  EXPECT_EQ(facts.name, "node1");
  EXPECT_THAT(facts.dns_names, ElementsAre("worker.role.lockstep"));
  EXPECT_TRUE(facts.addresses.empty());
  EXPECT_TRUE(common::CheckKeyOf(pem, Read("node1/key.pem")).ok());
  EXPECT_FALSE(common::CheckKeyOf(pem, Read("ca.key")).ok());
  EXPECT_EQ(Read("node1/ca.pem"), Read("ca.pem"));
}

TEST_F(PkiTest, AControllerIsReachedByNameAndNeverCalls) {
  Init();
  {
    auto directory = PkiDirectory::Open(path_);
    ASSERT_TRUE(directory.ok()) << directory.status();
    ASSERT_TRUE(directory
                    ->Issue({Holder::kController,
                             "ctl.example",
                             {"ctl.example", "192.0.2.10", "2001:db8::1"},
                             absl::Now(),
                             absl::Now() + kYear},
                            std::nullopt)
                    .ok());
  }
  const std::string pem = Read("ctl.example/cert.pem");
  EXPECT_EQ(Verified(pem, Read("ca.pem"), X509_PURPOSE_SSL_SERVER), X509_V_OK);
  EXPECT_EQ(Verified(pem, Read("ca.pem"), X509_PURPOSE_SSL_CLIENT), X509_V_ERR_INVALID_PURPOSE);
  const auto facts = Facts("ctl.example/cert.pem");
  EXPECT_THAT(facts.dns_names, ElementsAre("ctl.example"));
  EXPECT_THAT(facts.addresses, ElementsAre("192.0.2.10", "2001:db8::1"));
  EXPECT_EQ(Read("ctl.example/crl.pem"), Read("crl.pem"));
}

TEST_F(PkiTest, EachRoleIsInItsCertificate) {
  Init();
  for (const Holder holder : {Holder::kViewer, Holder::kSubmitter, Holder::kAdmin}) {
    const std::string name = HolderName(holder);
    ASSERT_TRUE(Issue(holder, name).ok());
    EXPECT_THAT(Facts(name + "/cert.pem").dns_names, ElementsAre(name + ".role.lockstep"));
    const auto request = RequestOf(Read(name + "/cert.pem"));
    ASSERT_TRUE(request.ok()) << request.status();
    EXPECT_EQ(request->holder, holder);
  }
}

TEST_F(PkiTest, NobodyElseReadsKeysOrEnters) {
  umask(0);
  Init();
  ASSERT_TRUE(Issue(Holder::kController, "ctl.example").ok());
  umask(022);
  EXPECT_EQ(ModeOf(path_), 0700u);
  EXPECT_EQ(ModeOf(path_ + "/issued"), 0700u);
  EXPECT_EQ(ModeOf(path_ + "/ca.key"), 0600u);
  EXPECT_EQ(ModeOf(path_ + "/ca.pem"), 0644u);
  EXPECT_EQ(ModeOf(path_ + "/ctl.example"), 0700u);
  EXPECT_EQ(ModeOf(path_ + "/ctl.example/key.pem"), 0600u);
  EXPECT_EQ(ModeOf(path_ + "/ctl.example/cert.pem"), 0644u);
}

TEST_F(PkiTest, AKeyThatOthersMayReadIsNotUsed) {
  Init();
  ASSERT_EQ(chmod((path_ + "/ca.key").c_str(), 0640), 0);
  const auto refused = Issue(Holder::kWorker, "node1");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("only you may read"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "/node1"));
}

TEST_F(PkiTest, NothingThatIsThereIsOverwritten) {
  Init();
  const std::string key = Read("ca.key");
  EXPECT_TRUE(absl::IsAlreadyExists(PkiDirectory::Init(path_, "other", absl::Now(), kYear)));
  EXPECT_EQ(Read("ca.key"), key);
  ASSERT_TRUE(Issue(Holder::kWorker, "node1").ok());
  const std::string certificate = Read("node1/cert.pem");
  EXPECT_TRUE(absl::IsAlreadyExists(Issue(Holder::kAdmin, "node1").status()));
  EXPECT_EQ(Read("node1/cert.pem"), certificate);
  // Its own files are names, too.
  for (const char* name : {"issued", "ca.key", "ca.pem", "crl.pem"}) {
    EXPECT_TRUE(absl::IsAlreadyExists(Issue(Holder::kWorker, name).status())) << name;
  }
  EXPECT_EQ(Read("ca.key"), key);
  // A link that somebody has put there is not followed.
  std::filesystem::create_directory_symlink(base_, path_ + "/node2");
  EXPECT_TRUE(absl::IsAlreadyExists(Issue(Holder::kWorker, "node2").status()));
  EXPECT_FALSE(std::filesystem::exists(base_ + "/key.pem"));
  EXPECT_EQ(List().size(), 1u);
}

// An interrupted command can be repeated: a file without all its bytes has no name.
TEST_F(PkiTest, AKilledCommandLeavesAWholeHolderOrNone) {
  for (int i = 0; i < 25; ++i) {
    std::filesystem::remove_all(path_);
    const pid_t init = fork();
    if (init == 0) {
      (void)PkiDirectory::Init(path_ + "/", "storage lab", absl::Now(), 2 * kYear);
      _exit(0);
    }
    usleep(static_cast<useconds_t>(i) * 150);
    kill(init, SIGKILL);
    waitpid(init, nullptr, 0);
    if (!std::filesystem::exists(path_)) Init();
    ASSERT_TRUE(PkiDirectory::Open(path_).ok()) << i;
    const pid_t issue = fork();
    if (issue == 0) {
      (void)Issue(Holder::kController, "ctl.example");
      _exit(0);
    }
    usleep(static_cast<useconds_t>(i) * 150);
    kill(issue, SIGKILL);
    waitpid(issue, nullptr, 0);
    if (!std::filesystem::exists(path_ + "/ctl.example")) {
      const auto issued = Issue(Holder::kController, "ctl.example");
      ASSERT_TRUE(issued.ok()) << i << " " << issued.status();
    }
    EXPECT_TRUE(common::CheckKeyOf(Read("ctl.example/cert.pem"), Read("ctl.example/key.pem")).ok());
    ASSERT_TRUE(Issue(Holder::kWorker, "node1").ok());
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
    }
    EXPECT_GE(List().size(), 2u);
  }
}

TEST_F(PkiTest, NamesWithPathsOrControlCharactersAreRefused) {
  Init();
  for (const std::string& name :
       {std::string(""), std::string("."), std::string(".."), std::string("../x"),
        std::string("a/b"), std::string("/etc"), std::string("-rf"), std::string(".hidden"),
        std::string("a\nb"), std::string("a\x1b[31m"), std::string("a\0b", 3), std::string("a b"),
        std::string("a,DNS:admin.role.lockstep"), std::string("ä"), std::string(65, 'a')}) {
    const auto refused = Issue(Holder::kWorker, name);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << name;
    EXPECT_EQ(refused.status().message().find('\x1b'), std::string::npos);
  }
  EXPECT_TRUE(Issue(Holder::kViewer, "anna.b_c-d@example.com").ok());
  EXPECT_TRUE(Issue(Holder::kViewer, std::string(64, 'a')).ok());
  EXPECT_EQ(List().size(), 2u);
}

TEST_F(PkiTest, AnAddressIsNoRole) {
  Init();
  for (const char* address : {"admin.role.lockstep", "Admin.Role.Lockstep", "x.role.lockstep",
                              "a,DNS:b", "ctl.example:9640", "*.example", "", "a\nb"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckControllerAddress(address))) << address;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Issue(Holder::kController, "admin.role.lockstep").status()));
  // Others have no address at all.
  auto directory = PkiDirectory::Open(path_);
  ASSERT_TRUE(directory.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      directory
          ->Issue({Holder::kWorker, "node1", {"ctl.example"}, absl::Now(), absl::Now() + kYear},
                  std::nullopt)
          .status()));
}

TEST_F(PkiTest, ARequestGivesItsKeyAndNothingElse) {
  Init();
  EVP_PKEY* key = EVP_EC_gen("P-256");
  ASSERT_TRUE(Issue(Holder::kWorker, "node1", RequestOfKey(key, key, "admin")).ok());
  EXPECT_EQ(Facts("node1/cert.pem").name, "node1");
  EXPECT_EQ(X509_check_private_key(Parse(Read("node1/cert.pem")).get(), key), 1);
  EXPECT_FALSE(std::filesystem::exists(path_ + "/node1/key.pem"));
  // Somebody else's public key, and what is no request.
  EVP_PKEY* other = EVP_EC_gen("P-256");
  EXPECT_TRUE(absl::IsInvalidArgument(
      Issue(Holder::kWorker, "node2", RequestOfKey(key, other, "node2")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Issue(Holder::kWorker, "node2", "no PEM").status()));
  EVP_PKEY* weak = EVP_RSA_gen(1024);
  EXPECT_TRUE(absl::IsInvalidArgument(
      Issue(Holder::kWorker, "node2", RequestOfKey(weak, weak, "node2")).status()));
  EXPECT_FALSE(std::filesystem::exists(path_ + "/node2"));
  EVP_PKEY_free(weak);
  EVP_PKEY_free(other);
  EVP_PKEY_free(key);
}

TEST_F(PkiTest, RenewingKeepsKeyNameAndRole) {
  Init();
  ASSERT_TRUE(Issue(Holder::kSubmitter, "anna", std::nullopt, absl::Hours(2)).ok());
  const auto before = Facts("anna/cert.pem");
  {
    auto directory = PkiDirectory::Open(path_);
    ASSERT_TRUE(directory.ok());
    const auto renewed = directory->Renew("anna", absl::Now() + absl::Hours(1), std::nullopt);
    ASSERT_TRUE(renewed.ok()) << renewed.status();
    EXPECT_EQ(*renewed, path_ + "/anna/cert.pem");
    EXPECT_TRUE(absl::IsNotFound(directory->Renew("otto", absl::Now(), std::nullopt).status()));
  }
  const auto after = Facts("anna/cert.pem");
  EXPECT_NE(after.serial, before.serial);
  EXPECT_EQ(after.name, "anna");
  EXPECT_EQ(after.dns_names, before.dns_names);
  EXPECT_EQ(after.not_after - after.not_before, before.not_after - before.not_before);
  EXPECT_GE(after.not_after, before.not_after + absl::Minutes(59));
  EXPECT_TRUE(common::CheckKeyOf(Read("anna/cert.pem"), Read("anna/key.pem")).ok());
  const auto list = List();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].facts.serial, after.serial);
  EXPECT_FALSE(list[0].replaced);
  EXPECT_TRUE(list[1].replaced);
}

TEST_F(PkiTest, ARequestMustCarryTheChallenge) {
  Init();
  auto directory = PkiDirectory::Open(path_);
  ASSERT_TRUE(directory.ok());
  const Request request{Holder::kWorker, "node1", {}, absl::Now(), absl::Now() + kYear};
  EVP_PKEY* key = EVP_EC_gen("P-256");
  for (const std::string& csr :
       {ChallengedRequest(""), ChallengedRequest("0123456789abcdee"),
        ChallengedRequest("0123456789abcdef0"), RequestOfKey(key, key, "0123456789abcdef")}) {
    const auto refused = directory->IssueToHost(request, csr, "0123456789abcdef");
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("does not carry the challenge"));
  }
  EVP_PKEY_free(key);
  EXPECT_TRUE(directory->List()->empty());
  const auto issued =
      directory->IssueToHost(request, ChallengedRequest("0123456789abcdef"), "0123456789abcdef");
  ASSERT_TRUE(issued.ok()) << issued.status();
  EXPECT_EQ(Verified(*issued, Read("ca.pem"), X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

// The same host gets one for each fleet. Its own, which `issue` has made, stays what it is.
TEST_F(PkiTest, CertificatesOfHostsLeaveTheNamesOwnAlone) {
  Init();
  ASSERT_TRUE(Issue(Holder::kWorker, "node1").ok());
  auto directory = PkiDirectory::Open(path_);
  ASSERT_TRUE(directory.ok());
  const Request request{Holder::kWorker, "node1", {}, absl::Now(), absl::Now() + absl::Hours(1)};
  std::vector<std::string> serials;
  for (int i = 0; i < 2; ++i) {
    const auto issued = directory->IssueToHost(request, ChallengedRequest("c"), "c");
    ASSERT_TRUE(issued.ok()) << issued.status();
    serials.push_back(common::ReadCertificate(*issued)->serial);
  }
  auto list = *directory->List();
  ASSERT_EQ(list.size(), 3u);
  for (const Issued& one : list) EXPECT_FALSE(one.replaced);
  EXPECT_THAT(*directory->RevokeSerials(serials, absl::Now()), ElementsAre());
  EXPECT_THAT(*directory->RevokeSerials(serials, absl::Now()), ElementsAre());
  list = *directory->List();
  for (const Issued& one : list) {
    EXPECT_EQ(one.revoked, one.facts.serial != Facts("node1/cert.pem").serial);
  }
  ASSERT_TRUE(directory->Renew("node1", absl::Now(), std::nullopt).ok());
  EXPECT_TRUE(common::CheckKeyOf(Read("node1/cert.pem"), Read("node1/key.pem")).ok());
  // A name that has nothing of its own is not renewed.
  Request other = request;
  other.name = "node2";
  ASSERT_TRUE(directory->IssueToHost(other, ChallengedRequest("c"), "c").ok());
  EXPECT_TRUE(absl::IsNotFound(directory->Renew("node2", absl::Now(), std::nullopt).status()));
  // One that is another authority's keeps no other from being revoked.
  const std::string own = Facts("node1/cert.pem").serial;
  EXPECT_THAT(*directory->RevokeSerials({own, "4711"}, absl::Now()), ElementsAre("4711"));
  EXPECT_FALSE(directory->Renew("node1", absl::Now(), std::nullopt).ok());
}

TEST_F(PkiTest, AHostIsNotTakenForAPersonOrAController) {
  Init();
  ASSERT_TRUE(Issue(Holder::kAdmin, "alma").ok());
  ASSERT_TRUE(Issue(Holder::kController, "ctl.example").ok());
  auto directory = PkiDirectory::Open(path_);
  ASSERT_TRUE(directory.ok());
  for (const char* name : {"alma", "ctl.example"}) {
    const Request request{Holder::kWorker, name, {}, absl::Now(), absl::Now() + absl::Hours(1)};
    const auto refused = directory->IssueToHost(request, ChallengedRequest("c"), "c");
    EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  }
  for (const char* name : {"../x", "issued/x", "", "-x"}) {
    const Request request{Holder::kWorker, name, {}, absl::Now(), absl::Now() + absl::Hours(1)};
    EXPECT_FALSE(directory->IssueToHost(request, ChallengedRequest("c"), "c").ok()) << name;
  }
}

TEST(Life, HasAUnitAndALimit) {
  EXPECT_EQ(*ParseValidity("--valid", "30d"), absl::Hours(30 * 24));
  EXPECT_EQ(*ParseValidity("--valid", "12h"), absl::Hours(12));
  for (const char* text : {"", "0d", "-1d", "36501d", "x", "d", "1ms"}) {
    const auto refused = ParseValidity("--valid-for", text);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("--valid-for '")) << text;
  }
}

TEST_F(PkiTest, NothingOutlivesTheAuthority) {
  Init();
  const auto refused = Issue(Holder::kWorker, "node1", std::nullopt, 11 * kYear);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("would outlive its authority"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "/node1"));
}

TEST_F(PkiTest, RevokingCoversAllThatANameHas) {
  Init();
  ASSERT_TRUE(Issue(Holder::kController, "ctl.example").ok());
  ASSERT_TRUE(Issue(Holder::kWorker, "node1").ok());
  ASSERT_TRUE(Issue(Holder::kWorker, "node2").ok());
  const auto first = Facts("node1/cert.pem");
  auto directory = PkiDirectory::Open(path_);
  ASSERT_TRUE(directory.ok());
  ASSERT_TRUE(directory->Renew("node1", absl::Now(), std::nullopt).ok());
  const auto revoked = directory->Revoke("node1", "", absl::Now());
  ASSERT_TRUE(revoked.ok()) << revoked.status();
  EXPECT_EQ(*revoked, 2u);
  const auto list = common::RevocationList::Parse(Read("crl.pem"), Read("ca.pem"));
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_TRUE(list->Contains(first));
  EXPECT_TRUE(list->Contains(Facts("node1/cert.pem")));
  EXPECT_FALSE(list->Contains(Facts("node2/cert.pem")));
  EXPECT_EQ(Read("ctl.example/crl.pem"), Read("crl.pem"));
  // Once more it is known already; the next one is added to it.
  EXPECT_EQ(*directory->Revoke("node1", "", absl::Now()), 0u);
  EXPECT_EQ(*directory->Revoke("", Facts("node2/cert.pem").serial, absl::Now()), 1u);
  const auto more = common::RevocationList::Parse(Read("crl.pem"), Read("ca.pem"));
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(more->size(), 3u);
  EXPECT_TRUE(more->Covers(*list));
  EXPECT_FALSE(list->Covers(*more));
  EXPECT_TRUE(absl::IsNotFound(directory->Revoke("otto", "", absl::Now()).status()));
  // A key that may be in other hands gets no new certificate.
  EXPECT_TRUE(
      absl::IsFailedPrecondition(directory->Renew("node1", absl::Now(), std::nullopt).status()));
}

TEST_F(PkiTest, AnotherAuthoritysListDoesNotCount) {
  Init();
  ASSERT_TRUE(PkiDirectory::Init(base_ + "/other", "storage lab", absl::Now(), kYear).ok());
  const auto other = common::ReadFile(base_ + "/other/crl.pem");
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(
      absl::IsInvalidArgument(common::RevocationList::Parse(*other, Read("ca.pem")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(common::RevocationList::Parse("", Read("ca.pem")).status()));
  // The first list is whole, the second is not.
  std::string damaged = Read("crl.pem") + Read("crl.pem");
  damaged.erase(damaged.size() - 60, 20);
  EXPECT_TRUE(
      absl::IsInvalidArgument(common::RevocationList::Parse(damaged, Read("ca.pem")).status()));
}

TEST(Expiry, IsSoonInTheLastThirdOrThirtyDays) {
  const absl::Time begin = absl::FromUnixSeconds(1800000000);
  common::CertificateFacts facts;
  facts.not_before = begin;
  facts.not_after = begin + kYear;
  using common::Validity;
  EXPECT_EQ(common::ValidityAt(facts, begin + absl::Hours(334 * 24)), Validity::kValid);
  EXPECT_EQ(common::ValidityAt(facts, begin + absl::Hours(336 * 24)), Validity::kSoonExpired);
  EXPECT_EQ(common::ValidityAt(facts, facts.not_after), Validity::kExpired);
  EXPECT_EQ(common::DescribeExpiry(facts, facts.not_after - absl::Hours(72)),
            "expires on 2028-01-15, in 3 days");
  EXPECT_EQ(common::DescribeExpiry(facts, facts.not_after), "has expired on 2028-01-15");
  facts.not_after = begin + absl::Hours(3);
  EXPECT_EQ(common::ValidityAt(facts, begin + absl::Minutes(119)), Validity::kValid);
  EXPECT_EQ(common::ValidityAt(facts, begin + absl::Minutes(121)), Validity::kSoonExpired);
}

}  // namespace
}  // namespace lockstep::pki
