// Versions and features of the workers' protocol over a real gRPC server: who is welcomed in which
// version, and what the refused ones are told.

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/version.h"
#include "controller/api/deliver_stream.h"
#include "controller/fleet/control_stream.h"
#include "controller/fleet/fleet.h"
#include "gtest/gtest.h"
#include "tests/controller/api/worker_calls.h"
#include "tests/fakes/memory_spool.h"
#include "tests/fakes/memory_store.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kVersionsLeaseNs = 3000000000;
constexpr int kLater = 77;  // a feature of a later version

class VersionsGateway final : public v1::WorkerService::CallbackService {
 public:
  VersionsGateway(Fleet* fleet, IngestPipeline* ingest) : fleet_(fleet), ingest_(ingest) {}
  grpc::ServerBidiReactor<v1::WorkerMessage, v1::ControllerMessage>* Control(
      grpc::CallbackServerContext* context) override {
    return new ControlStream(fleet_, context, {""});
  }
  grpc::ServerBidiReactor<v1::Delivery, v1::DeliveryAck>* Deliver(
      grpc::CallbackServerContext*) override {
    return DeliverStream::Make(fleet_, ingest_, "");
  }

 private:
  Fleet* fleet_;
  IngestPipeline* ingest_;
};

// A controller that speaks the versions 12 to 15 and admits no guard older than 13.
class ProtocolVersionsTest : public testing::Test {
 protected:
  ProtocolVersionsTest()
      : fleet_(Options(), &common::SystemClock(),
               {[](const v1::Hello&) {}, [](const std::string&, const v1::WorkerMessage&) {},
                [](const std::string&, const std::string&) {}}),
        ingest_(Pipeline()),
        gateway_(&fleet_, &ingest_) {
    ingest_.StartThread();
  }
  // Ends the sessions before their server, which would wait for them.
  ~ProtocolVersionsTest() override { fleet_.Shutdown(); }

  static Fleet::Options Options() {
    Fleet::Options options{7, "store", kVersionsLeaseNs};
    options.protocol = {12, 15, {v1::PROTOCOL_FEATURE_STAMPS}};
    options.lowest_guard = 13;
    return options;
  }
  IngestPipeline::Options Pipeline() {
    IngestPipeline::Options options;
    options.store = &store_;
    options.spool = &spool_;
    options.clock = &common::SystemClock();
    options.fenced = [](const std::string&) {};
    return options;
  }

  static v1::WorkerMessage Hello(uint32_t lowest, uint32_t highest) {
    v1::WorkerMessage message;
    v1::Hello* hello = message.mutable_hello();
    v1::SetOffer({lowest, highest, {v1::PROTOCOL_FEATURE_STAMPS, kLater}}, hello);
    hello->set_software_version("9.9");
    hello->set_worker_id(common::NewUuid());
    hello->set_instance_id(common::NewUuid());
    hello->mutable_host()->set_host_id(common::NewUuid());
    hello->mutable_host()->set_name("node-" + hello->worker_id());
    hello->mutable_host()->set_boot_id("boot");
    return message;
  }
  v1::ControllerMessage Say(const v1::WorkerMessage& message) { return served_.Say(message); }
  std::string Refusal(uint32_t lowest, uint32_t highest) {
    const v1::ControllerMessage answer = Say(Hello(lowest, highest));
    EXPECT_TRUE(answer.has_refused());
    EXPECT_FALSE(answer.refused().retry()) << "to dial again changes no version";
    return answer.refused().reason();
  }

  storage::MemoryDatabase database_;
  storage::MemoryStore store_{&database_};
  storage::MemorySpool spool_{1 << 20};
  Fleet fleet_;
  IngestPipeline ingest_;
  VersionsGateway gateway_;
  ServedWorkers served_{&gateway_};  // the last one: it ends first
};

TEST_F(ProtocolVersionsTest, NeighboursAreWelcomedInTheHighestCommonVersion) {
  for (const auto& [lowest, highest, spoken] :
       std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>{
           {12, 15, 15}, {10, 14, 14}, {15, 20, 15}, {0, 13, 13}}) {
    const v1::ControllerMessage answer = Say(Hello(lowest, highest));
    ASSERT_TRUE(answer.has_welcome()) << answer.refused().reason();
    EXPECT_EQ(answer.welcome().protocol_version(), spoken);
    EXPECT_EQ(answer.welcome().software_version(), common::kSoftwareVersion);
    // The feature that this controller does not know is neither refused nor used.
    ASSERT_EQ(answer.welcome().features_size(), 1);
    EXPECT_EQ(answer.welcome().features(0), v1::PROTOCOL_FEATURE_STAMPS);
  }
}

TEST_F(ProtocolVersionsTest, TheListOfWorkersHasVersionAndFeaturesOfTheSession) {
  grpc::ClientContext context;
  auto call = served_.stub()->Control(&context);
  v1::WorkerMessage hello = Hello(10, 14);
  hello.mutable_hello()->set_spoken_version(15);  // which is not its to say
  call->Write(hello);
  v1::ControllerMessage welcome;
  ASSERT_TRUE(call->Read(&welcome));
  const std::vector<v1::AttachedWorker> workers = fleet_.List();
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].hello().spoken_version(), 14u);
  EXPECT_EQ(workers[0].hello().protocol_version(), 14u);
  ASSERT_EQ(workers[0].hello().features_size(), 1);
  context.TryCancel();
  call->Finish();
}

TEST_F(ProtocolVersionsTest, OlderNewerAndInvalidOnesAreRefusedWithWords) {
  EXPECT_NE(Refusal(16, 17).find("install Lockstep 9.9 on the controller's host"),
            std::string::npos);
  for (const uint32_t lowest : {9u, 0u}) {
    const std::string remedy =
        absl::StrCat("install Lockstep ", common::kSoftwareVersion, " on the worker's host");
    EXPECT_NE(Refusal(lowest, 11).find(remedy), std::string::npos);
  }
  EXPECT_NE(Refusal(15, 12).find("which is no range"), std::string::npos);
  EXPECT_NE(Refusal(0, 0).find("names no protocol version"), std::string::npos);
  EXPECT_NE(Refusal(1, ~0u).find("the highest possible number is"), std::string::npos);
  EXPECT_TRUE(fleet_.List().empty());
}

TEST_F(ProtocolVersionsTest, ACommonVersionDoesNotHelpAnOldGuard) {
  EXPECT_NE(Refusal(12, 12).find("admits none older than version 13"), std::string::npos);
  EXPECT_NE(Refusal(0, 12).find("admits none older than version 13"), std::string::npos);
  EXPECT_TRUE(Say(Hello(12, 13)).has_welcome());
}

TEST_F(ProtocolVersionsTest, DeliveryIsOfTheSessionsVersion) {
  grpc::ClientContext control_context;
  auto control = served_.stub()->Control(&control_context);
  const v1::WorkerMessage hello = Hello(12, 14);
  control->Write(hello);
  v1::ControllerMessage welcome;
  ASSERT_TRUE(control->Read(&welcome));
  const auto deliver = [&](uint32_t version) {
    grpc::ClientContext context;
    auto call = served_.stub()->Deliver(&context);
    v1::Delivery first;
    first.mutable_hello()->set_protocol_version(version);
    first.mutable_hello()->set_worker_id(hello.hello().worker_id());
    first.mutable_hello()->set_session(welcome.welcome().session());
    call->Write(first);
    // Nobody takes part in this phase: an answer that says so comes from an open stream.
    v1::Delivery batch;
    batch.mutable_batch()->mutable_phase()->set_run_id("none");
    batch.mutable_batch()->add_items()->mutable_interval();
    call->Write(batch);
    v1::DeliveryAck ack;
    const bool is_open = call->Read(&ack);
    if (is_open) context.TryCancel();
    const grpc::Status status = call->Finish();
    return is_open ? "open" : status.error_message();
  };
  EXPECT_EQ(deliver(14), "open");
  EXPECT_EQ(deliver(15), "DeliverHello names protocol version 15; this session speaks version 14");
  control_context.TryCancel();
  control->Finish();
}

}  // namespace
}  // namespace lockstep::controller
