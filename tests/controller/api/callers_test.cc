// Callers over real TLS: calls and open streams of certificates that no longer count.

#include "controller/api/callers.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/tls.h"
#include "controller/pki/pki_directory.h"
#include "gmock/gmock.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

using ::testing::HasSubstr;

// A stream that is checked when it begins, and lasts until somebody cancels it.
class Endless final : public grpc::ServerGenericBidiReactor {
 public:
  Endless(Callers* callers, grpc::GenericCallbackServerContext* context) {
    if (const grpc::Status refused = callers->Check(*context); !refused.ok()) {
      Finish(refused);
    } else {
      admission_ = callers->Add(context);
      StartSendInitialMetadata();  // the caller sees that it is served
    }
  }
  void OnCancel() override { Finish(grpc::Status(grpc::StatusCode::CANCELLED, "cancelled")); }
  void OnDone() override { delete this; }

 private:
  std::shared_ptr<void> admission_;
};

class EndlessService final : public grpc::CallbackGenericService {
 public:
  explicit EndlessService(Callers* callers) : callers_(callers) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Endless(callers_, context);
  }

 private:
  Callers* callers_;
};

// A stream from a caller, on a connection of its own.
class Stream {
 public:
  Stream(const std::string& directory, int port) {
    common::TlsFiles files;
    files.directory = directory;
    const auto credentials = common::ClientCredentials(files);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port), *credentials, arguments));
    Open();
  }
  ~Stream() { Wait(); }
  // Another one on the same connection.
  void Open() {
    context_ = std::make_unique<grpc::ClientContext>();
    call_ = stub_->PrepareCall(context_.get(), "/none.None/None", &queue_);
    call_->StartCall(nullptr);
    Next();
    call_->ReadInitialMetadata(nullptr);
    Next();
  }
  // Its end.
  grpc::Status Wait() {
    if (call_ != nullptr) {
      call_->Finish(&status_, nullptr);
      Next();
      call_.reset();
    }
    return status_;
  }

 private:
  void Next() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
  }
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::Status status_;
};

class MovedClock final : public common::Clock {
 public:
  int64_t MonotonicNs() const override { return common::SystemClock().MonotonicNs(); }
  int64_t WallNs() const override { return common::SystemClock().WallNs() + ahead_ns; }
  void SleepUntil(int64_t at_ns) const override { common::SystemClock().SleepUntil(at_ns); }
  std::atomic<int64_t> ahead_ns{0};
};

class CallersTest : public ::testing::Test {
 protected:
  CallersTest() {
    char name[] = "/tmp/lscallersXXXXXX";
    base_ = mkdtemp(name);
    const absl::Status made =
        pki::PkiDirectory::Init(Path(""), "test", absl::Now(), absl::Hours(2000));
    EXPECT_TRUE(made.ok()) << made;
    Issue(pki::Holder::kController, "localhost", absl::Hours(1000));
    Issue(pki::Holder::kWorker, "node1", absl::Hours(1));
    Issue(pki::Holder::kViewer, "victor", absl::Hours(1000));
    common::TlsFiles files;
    files.directory = Path("/localhost");
    tls_ = *common::TlsStore::Open(files);
    callers_ = std::make_unique<Callers>(tls_, &clock_);
    service_ = std::make_unique<EndlessService>(callers_.get());
    credentials_ = common::ServerCredentials(tls_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", credentials_, &port_);
    builder.RegisterCallbackGenericService(service_.get());
    server_ = builder.BuildAndStart();
  }
  ~CallersTest() override {
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
    std::filesystem::remove_all(base_);
  }
  std::string Path(const std::string& name) const { return base_ + "/pki" + name; }
  void Issue(pki::Holder holder, const std::string& name, absl::Duration life) {
    auto pki = pki::PkiDirectory::Open(Path(""));
    ASSERT_TRUE(pki.ok()) << pki.status();
    pki::Request request{holder, name, {}, absl::Now(), absl::Now() + life};
    if (holder == pki::Holder::kController) request.addresses = {"127.0.0.1"};
    ASSERT_TRUE(pki->Issue(request, std::nullopt).ok());
  }
  void Revoke(const std::string& name) {
    auto pki = pki::PkiDirectory::Open(Path(""));
    ASSERT_TRUE(pki.ok()) << pki.status();
    ASSERT_TRUE(pki->Revoke(name, "", absl::Now()).ok());
    ASSERT_TRUE(tls_->Refresh().ok());
  }

  std::string base_;
  MovedClock clock_;
  std::shared_ptr<common::TlsStore> tls_;
  std::unique_ptr<Callers> callers_;
  std::unique_ptr<EndlessService> service_;
  std::shared_ptr<grpc::ServerCredentials> credentials_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(CallersTest, ARevokedCertificatesStreamsEndAndNoOthers) {
  Stream node1(Path("/node1"), port_);
  Stream victor(Path("/victor"), port_);
  EXPECT_EQ(callers_->Sweep(), 0u);
  Revoke("node1");
  EXPECT_EQ(callers_->Sweep(), 1u);
  EXPECT_EQ(node1.Wait().error_code(), grpc::StatusCode::CANCELLED);
  // The connection is open. A new call on it is refused, with the reason.
  node1.Open();
  const grpc::Status refused = node1.Wait();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(refused.error_message(), HasSubstr("the certificate of node1"));
  EXPECT_THAT(refused.error_message(), HasSubstr("was revoked"));
  Revoke("victor");
  EXPECT_EQ(callers_->Sweep(), 1u);
  EXPECT_EQ(victor.Wait().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(callers_->Sweep(), 0u);
}

TEST_F(CallersTest, AnExpiredCertificatesStreamsEnd) {
  Stream node1(Path("/node1"), port_);
  clock_.ahead_ns = absl::ToInt64Nanoseconds(absl::Minutes(59));
  EXPECT_EQ(callers_->Sweep(), 0u);
  clock_.ahead_ns = absl::ToInt64Nanoseconds(absl::Minutes(61));
  EXPECT_EQ(callers_->Sweep(), 1u);
  EXPECT_EQ(node1.Wait().error_code(), grpc::StatusCode::CANCELLED);
  node1.Open();
  EXPECT_THAT(node1.Wait().error_message(), HasSubstr("has expired on"));
}

TEST_F(CallersTest, TheControllersOwnCertificateIsDescribed) {
  v1::StatusReply reply;
  callers_->Describe(&reply);
  EXPECT_EQ(reply.certificate().warning(), "");
  EXPECT_NE(reply.certificate().not_after(), "");
  clock_.ahead_ns = absl::ToInt64Nanoseconds(absl::Hours(900));
  callers_->Describe(&reply);
  EXPECT_THAT(reply.certificate().warning(), HasSubstr("in 4 days"));
}

}  // namespace
}  // namespace lockstep::controller
