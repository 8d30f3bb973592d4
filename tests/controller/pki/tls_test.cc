// TLS over real sockets with certificates of an authority of one's own: what servers and clients
// take from files that change while they run.

#include "common/tls.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/certificate.h"
#include "common/dial.h"
#include "common/files.h"
#include "controller/pki/pki_directory.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"

namespace lockstep::pki {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLife = absl::Hours(1000);

// The answer to a call to a server that has no method: UNIMPLEMENTED from the server, UNAVAILABLE
// without a connection.
struct Answer {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string serial;  // of the server's certificate
};

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    char name[] = "/tmp/lstlsXXXXXX";
    base_ = mkdtemp(name);
    MakeAuthority("pki");
    Issue("pki", Holder::kController, "localhost");
    Issue("pki", Holder::kWorker, "node1");
  }
  ~TlsTest() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    std::filesystem::remove_all(base_);
  }

  std::string Path(const std::string& name) const { return absl::StrCat(base_, "/", name); }
  void MakeAuthority(const std::string& directory) {
    const absl::Status made =
        PkiDirectory::Init(Path(directory), directory, absl::Now(), 2 * kLife);
    ASSERT_TRUE(made.ok()) << made;
  }
  void Issue(const std::string& directory, Holder holder, const std::string& name) {
    auto pki = PkiDirectory::Open(Path(directory));
    ASSERT_TRUE(pki.ok()) << pki.status();
    Request request{holder, name, {}, absl::Now(), absl::Now() + kLife};
    if (holder == Holder::kController) request.addresses = {name, "127.0.0.1"};
    const auto made = pki->Issue(request, std::nullopt);
    ASSERT_TRUE(made.ok()) << made.status();
  }
  void Renew(const std::string& name) {
    auto pki = PkiDirectory::Open(Path("pki"));
    ASSERT_TRUE(pki.ok()) << pki.status();
    ASSERT_TRUE(pki->Renew(name, absl::Now(), kLife).ok());
  }
  void Revoke(const std::string& name) {
    auto pki = PkiDirectory::Open(Path("pki"));
    ASSERT_TRUE(pki.ok()) << pki.status();
    ASSERT_TRUE(pki->Revoke(name, "", absl::Now()).ok());
  }
  std::string SerialOf(const std::string& file) {
    const auto pem = common::ReadFile(Path(file));
    const auto facts = common::ReadCertificate(pem.ok() ? *pem : "");
    return facts.ok() ? facts->serial : "none";
  }
  static common::TlsFiles In(const std::string& directory) {
    common::TlsFiles files;
    files.directory = directory;
    return files;
  }

  void Start(int ports = 1, const std::string& name = "localhost") {
    auto opened = common::TlsStore::Open(In(Path("pki/" + name)));
    ASSERT_TRUE(opened.ok()) << opened.status();
    tls_ = *std::move(opened);
    credentials_ = common::ServerCredentials(tls_);
    grpc::ServerBuilder builder;
    ports_.resize(static_cast<size_t>(ports));
    for (int& port : ports_) builder.AddListeningPort("127.0.0.1:0", credentials_, &port);
    builder.AddListeningPort("unix:" + Path("socket"), credentials_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  // Over a new connection.
  Answer Call(const std::shared_ptr<grpc::ChannelCredentials>& credentials, size_t port = 0) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel =
        grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", ports_[port]), credentials, arguments);
    return CallOn(channel);
  }
  Answer CallAs(const std::string& directory, size_t port = 0) {
    const auto credentials = common::ClientCredentials(In(Path(directory)));
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return Call(*credentials, port);
  }
  static Answer CallOn(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto call =
        stub.PrepareUnaryCall(&context, "/none.None/None", grpc::ByteBuffer(), &queue);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    void* tag = nullptr;
    bool ok = false;
    call->Finish(&reply, &status, nullptr);
    queue.Next(&tag, &ok);
    Answer answer{status.error_code(), ""};
    if (const auto auth = context.auth_context(); auth != nullptr) {
      for (const auto& pem : auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
        const auto facts = common::ReadCertificate(std::string(pem.data(), pem.size()));
        if (facts.ok()) answer.serial = facts->serial;
      }
    }
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) continue;
    return answer;
  }

  std::string base_;
  std::shared_ptr<common::TlsStore> tls_;
  grpc::CallbackGenericService service_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<int> ports_;
};

TEST_F(TlsTest, OnlyCertificatesThatMayCallGetIn) {
  MakeAuthority("other");
  Issue("other", Holder::kAdmin, "eve");
  Start();
  EXPECT_EQ(CallAs("pki/node1").code, grpc::StatusCode::UNIMPLEMENTED);
  // A controller's certificate has the usage of a server alone.
  EXPECT_EQ(CallAs("pki/localhost").code, grpc::StatusCode::UNAVAILABLE);
  // A certificate of another authority; none; plaintext.
  std::filesystem::copy_file(Path("pki/ca.pem"), Path("other/eve/ca.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(CallAs("other/eve").code, grpc::StatusCode::UNAVAILABLE);
  grpc::SslCredentialsOptions none;
  none.pem_root_certs = *common::ReadFile(Path("pki/ca.pem"));
  EXPECT_EQ(Call(grpc::SslCredentials(none)).code, grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Call(grpc::InsecureChannelCredentials()).code, grpc::StatusCode::UNAVAILABLE);
}

// As through ssh: what is dialled is not what the certificate is for.
TEST_F(TlsTest, AServersNameIsDemandedAndVerified) {
  Issue("pki", Holder::kController, "ctl.example");
  Start(1, "ctl.example");
  const auto call = [&](const std::string& server_name) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    common::DemandServerName(server_name, &arguments);
    const auto credentials = common::ClientCredentials(In(Path("pki/node1")));
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return CallOn(grpc::CreateCustomChannel("unix:" + Path("socket"), *credentials, arguments))
        .code;
  };
  EXPECT_EQ(call("ctl.example"), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(call("127.0.0.1"), grpc::StatusCode::UNIMPLEMENTED);
  for (const char* other : {"", "other.example", "ctl.example.other", "127.0.0.2"}) {
    EXPECT_EQ(call(other), grpc::StatusCode::UNAVAILABLE) << other;
  }
}

TEST_F(TlsTest, AServersNameNeedsTls) {
  common::TlsFiles files;
  files.server_name = "ctl.example";
  EXPECT_TRUE(absl::IsInvalidArgument(common::MakeCredentialsSource(files).status()));
}

TEST_F(TlsTest, EachPortShowsTheRenewedCertificate) {
  Start(2);
  const std::string before = SerialOf("pki/localhost/cert.pem");
  EXPECT_EQ(CallAs("pki/node1", 0).serial, before);
  EXPECT_EQ(CallAs("pki/node1", 1).serial, before);
  Renew("localhost");
  const std::string after = SerialOf("pki/localhost/cert.pem");
  ASSERT_NE(after, before);
  EXPECT_TRUE(tls_->Refresh().ok());
  EXPECT_EQ(CallAs("pki/node1", 0).serial, after);
  EXPECT_EQ(CallAs("pki/node1", 1).serial, after);
  EXPECT_EQ(CallAs("pki/node1", 0).serial, after);
}

TEST_F(TlsTest, ANewAuthorityTakesThePlaceOfTheOld) {
  Start();
  MakeAuthority("other");
  Issue("other", Holder::kController, "localhost");
  Issue("other", Holder::kWorker, "node2");
  for (const char* file : {"cert.pem", "key.pem", "ca.pem", "crl.pem"}) {
    std::filesystem::copy_file(Path(absl::StrCat("other/localhost/", file)),
                               Path(absl::StrCat("pki/localhost/", file)),
                               std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_TRUE(tls_->Refresh().ok());
  EXPECT_EQ(CallAs("other/node2").code, grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(CallAs("pki/node1").code, grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, FilesThatDoNotFitLeaveTheLastOnes) {
  Start();
  const std::string before = SerialOf("pki/localhost/cert.pem");
  std::filesystem::copy_file(Path("pki/node1/key.pem"), Path("pki/localhost/key.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  const absl::Status refused = tls_->Refresh();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("is not the key of the certificate"));
  EXPECT_EQ(tls_->problem(), refused);
  EXPECT_TRUE(tls_->Refresh().ok());  // said once
  EXPECT_EQ(tls_->problem(), refused);
  EXPECT_EQ(CallAs("pki/node1").serial, before);
  // Whole again, it is read.
  std::filesystem::copy_file(Path("pki/node1/cert.pem"), Path("pki/localhost/cert.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(tls_->Refresh().ok());
  EXPECT_TRUE(tls_->problem().ok());
}

TEST_F(TlsTest, WhatWasRevokedStaysRevoked) {
  Start();
  const std::string empty = *common::ReadFile(Path("pki/crl.pem"));
  const auto node1 = common::ReadCertificate(*common::ReadFile(Path("pki/node1/cert.pem")));
  ASSERT_TRUE(node1.ok());
  EXPECT_FALSE(tls_->Current()->revoked.Contains(*node1));
  Revoke("node1");
  EXPECT_TRUE(tls_->Refresh().ok());
  EXPECT_TRUE(tls_->Current()->revoked.Contains(*node1));
  std::ofstream(Path("pki/localhost/crl.pem")) << empty;
  EXPECT_TRUE(absl::IsFailedPrecondition(tls_->Refresh()));
  EXPECT_TRUE(tls_->Current()->revoked.Contains(*node1));
  std::filesystem::remove(Path("pki/localhost/crl.pem"));
  EXPECT_TRUE(absl::IsFailedPrecondition(tls_->Refresh()));
  EXPECT_TRUE(tls_->Current()->revoked.Contains(*node1));
}

// As when a second authority is added, which is to take the first one's place some day.
TEST_F(TlsTest, AnotherAuthorityLetsNobodyInAgain) {
  Start();
  const std::string empty = *common::ReadFile(Path("pki/crl.pem"));
  const std::string first = *common::ReadFile(Path("pki/ca.pem"));
  const auto node1 = common::ReadCertificate(*common::ReadFile(Path("pki/node1/cert.pem")));
  Revoke("node1");
  ASSERT_TRUE(tls_->Refresh().ok());
  MakeAuthority("second");
  const std::string second = *common::ReadFile(Path("second/ca.pem"));
  for (const std::string& both : {first + "\n", second + first}) {
    std::ofstream(Path("pki/localhost/ca.pem")) << both;
    std::ofstream(Path("pki/localhost/crl.pem")) << empty;
    EXPECT_TRUE(absl::IsFailedPrecondition(tls_->Refresh()));
    EXPECT_TRUE(tls_->Current()->revoked.Contains(*node1));
  }
}

TEST_F(TlsTest, AListThatIsNamedMustBeThere) {
  common::TlsFiles files = In(Path("pki/localhost"));
  files.revocations = Path("none");
  EXPECT_THAT(std::string(common::TlsStore::Open(files).status().message()),
              HasSubstr("--tls-crl"));
  // Beside the others it may come later.
  std::filesystem::remove(Path("pki/localhost/crl.pem"));
  EXPECT_TRUE(common::TlsStore::Open(In(Path("pki/localhost"))).ok());
  std::ofstream(Path("pki/localhost/crl.pem")) << "no list";
  EXPECT_THAT(std::string(common::TlsStore::Open(In(Path("pki/localhost"))).status().message()),
              HasSubstr("no revocation list in PEM"));
}

TEST_F(TlsTest, EachConnectionHasTheCertificateOfItsMoment) {
  const auto source = common::MakeCredentialsSource(In(Path("pki/node1")));
  ASSERT_TRUE(source.ok()) << source.status();
  Start();
  EXPECT_EQ(Call((*source)()).code, grpc::StatusCode::UNIMPLEMENTED);
  // The server goes over to another authority; the client's files follow.
  MakeAuthority("other");
  Issue("other", Holder::kController, "localhost");
  Issue("other", Holder::kWorker, "node1");
  for (const char* holder : {"localhost", "node1"}) {
    for (const char* file : {"cert.pem", "key.pem", "ca.pem"}) {
      std::filesystem::copy_file(Path(absl::StrCat("other/", holder, "/", file)),
                                 Path(absl::StrCat("pki/", holder, "/", file)),
                                 std::filesystem::copy_options::overwrite_existing);
    }
  }
  std::filesystem::copy_file(Path("other/crl.pem"), Path("pki/localhost/crl.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(tls_->Refresh().ok());
  EXPECT_EQ(Call((*source)()).code, grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace lockstep::pki
