// Whom a worker obeys, when it gives up and what it says: worker/link/protocol.h with an executor
// that does as it is told.

#include <vector>

#include "common/timing.h"
#include "gtest/gtest.h"
#include "worker/link/protocol.h"

namespace lockstep::worker {
namespace {

using timing::kSecond;

class ToldExecutor final : public PhaseExecutor {
 public:
  absl::Status Assign(const v1::Assignment&) override { return ++assigned, absl::OkStatus(); }
  absl::Status Go(const v1::Go& go) override {
    return went.push_back(go.at_ns()), absl::OkStatus();
  }
  void StopAt(const v1::StopAt&) override {}
  void StopNow(const std::string& run_id) override { stopped.push_back(run_id); }
  int assigned = 0;
  std::vector<int64_t> went;
  std::vector<std::string> stopped;
};

class AgentProtocolTest : public testing::Test {
 protected:
  AgentProtocolTest() : protocol_(Ports()) { EXPECT_TRUE(protocol_.OnFirst(Welcome(5)).ok()); }

  Protocol::Ports Ports() {
    Protocol::Ports ports;
    ports.executor = &executor_;
    ports.outbox = &outbox_;
    ports.send = [this](const v1::WorkerMessage& message) { sent_.push_back(message); };
    ports.inspect = [](const v1::Inspect&) {};
    ports.now = [this] { return now_; };
    return ports;
  }
  static v1::ControllerMessage Welcome(uint64_t epoch, const std::string& store = "store") {
    v1::ControllerMessage message;
    message.set_epoch(epoch);
    message.mutable_welcome()->set_store_id(store);
    message.mutable_welcome()->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
    return message;
  }
  static v1::PhaseId Phase(uint32_t attempt = 1) {
    v1::PhaseId phase;
    phase.set_run_id("run");
    phase.set_attempt(attempt);
    return phase;
  }
  void Assign(bool load, uint64_t epoch = 5) {
    v1::ControllerMessage message;
    message.set_epoch(epoch);
    *message.mutable_assign()->mutable_phase() = Phase();
    message.mutable_assign()->set_go_within_ns(90 * kSecond);
    message.mutable_assign()->set_hard_stop_ns(10 * kSecond);
    if (load) {
      message.mutable_assign()->mutable_run();
    } else {
      message.mutable_assign()->mutable_prepare();
    }
    protocol_.OnCommand(message, now_);
  }
  void Arm() {
    v1::Armed armed;
    *armed.mutable_phase() = Phase();
    protocol_.OnArmed(armed);
  }
  void Go(int64_t at_ns, uint64_t epoch = 5, uint32_t attempt = 1) {
    v1::ControllerMessage message;
    message.set_epoch(epoch);
    *message.mutable_go()->mutable_phase() = Phase(attempt);
    message.mutable_go()->set_at_ns(at_ns);
    protocol_.OnCommand(message, now_);
  }
  void Stop() {
    v1::ControllerMessage message;
    message.set_epoch(5);
    message.mutable_stop_now()->set_run_id("run");
    *message.mutable_stop_now()->mutable_phase() = Phase();
    protocol_.OnCommand(message, now_);
  }
  // The result that lies in the outbox.
  v1::PhaseResult Result() {
    auto batch = outbox_.NextBatch(0);
    EXPECT_TRUE(batch.has_value());
    return batch->items(batch->items_size() - 1).result();
  }

  int64_t now_ = 100 * kSecond;
  ToldExecutor executor_;
  Outbox outbox_;
  std::vector<v1::WorkerMessage> sent_;
  Protocol protocol_;
};

TEST_F(AgentProtocolTest, OlderEpochsAreRefusedNewerOnesObeyed) {
  Assign(/*load=*/true, 4);
  EXPECT_EQ(executor_.assigned, 0);
  ASSERT_TRUE(sent_.back().has_event());
  EXPECT_NE(sent_.back().event().message().find("epoch 4"), std::string::npos);
  Assign(/*load=*/true, 6);
  EXPECT_EQ(executor_.assigned, 1);
  EXPECT_EQ(protocol_.epoch(), 6u);
  EXPECT_EQ(protocol_.OnFirst(Welcome(5)).code(), absl::StatusCode::kUnavailable);
  // epochs of different stores do not compare
  EXPECT_TRUE(protocol_.OnFirst(Welcome(1, "another store")).ok());
}

TEST_F(AgentProtocolTest, ASessionOfAVersionNotOfferedIsRefusedWithWords) {
  v1::ControllerMessage welcome = Welcome(9);
  welcome.mutable_welcome()->set_protocol_version(99);
  welcome.mutable_welcome()->set_software_version("9.9");
  const absl::Status newer = protocol_.OnFirst(welcome);
  EXPECT_EQ(newer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(newer.message().find("it (Lockstep 9.9) answers in protocol version 99"),
            std::string::npos);
  EXPECT_NE(newer.message().find("install Lockstep 9.9 on this host"), std::string::npos);
  welcome.mutable_welcome()->set_protocol_version(0);
  welcome.mutable_welcome()->clear_software_version();
  EXPECT_NE(protocol_.OnFirst(welcome).message().find("on the controller's host"),
            std::string::npos);
  // Nothing of it is kept, not even its epoch.
  EXPECT_EQ(protocol_.epoch(), 5u);
  EXPECT_TRUE(protocol_.OnFirst(Welcome(5)).ok());
}

TEST_F(AgentProtocolTest, WhatIsSaidTwiceCountsOnce) {
  Assign(/*load=*/true);
  Assign(/*load=*/true);
  EXPECT_EQ(executor_.assigned, 1);
  Arm();
  Go(now_ + kSecond);
  Go(now_ + 2 * kSecond);
  EXPECT_EQ(executor_.went, std::vector<int64_t>{now_ + kSecond});
}

TEST_F(AgentProtocolTest, AGoOfAnotherAttemptOrBeforeItIsArmedIsNotObeyed) {
  Assign(/*load=*/true);
  Go(now_ + kSecond);
  Arm();
  Go(now_ + kSecond, 5, 2);
  EXPECT_TRUE(executor_.went.empty());
}

TEST_F(AgentProtocolTest, ALateGoIsNotStarted) {
  Assign(/*load=*/true);
  Arm();
  Go(now_ - 3000);
  EXPECT_TRUE(executor_.went.empty());
  ASSERT_EQ(executor_.stopped.size(), 1u);
  protocol_.OnResult(Phase(), v1::PhaseResult());  // without I/O
  EXPECT_EQ(outbox_.uncommitted(), 0u);
  EXPECT_TRUE(protocol_.status().not_started());
  EXPECT_EQ(protocol_.status().failed(), "the go came 3 us after T");
}

TEST_F(AgentProtocolTest, WithoutAGoItGivesUp) {
  Assign(/*load=*/true);
  Arm();
  now_ += 90 * kSecond;
  protocol_.Tick();
  EXPECT_TRUE(executor_.stopped.empty());
  now_ += 1;
  protocol_.Tick();
  EXPECT_EQ(executor_.stopped.size(), 1u);
  protocol_.OnResult(Phase(), v1::PhaseResult());
  EXPECT_TRUE(protocol_.status().not_started());
}

// A load ends itself at its hard stop, and is whole; files that are laid out or removed are not.
TEST_F(AgentProtocolTest, APrepareThatReachesItsHardStopHasFailed) {
  for (const bool load : {true, false}) {
    Assign(load);
    Arm();
    Go(now_ + kSecond);
    now_ += 11 * kSecond;
    protocol_.Tick();
    protocol_.Tick();
    ASSERT_EQ(executor_.stopped.size(), 1u);
    protocol_.OnResult(Phase(), v1::PhaseResult());
    EXPECT_EQ(Result().error(), load ? "" : "it was not done at its hard stop, 10 s after T");
    // The next one is a phase of its own.
    v1::DeliveryAck ack;
    *ack.mutable_phase() = Phase();
    ack.set_committed(1);
    outbox_.OnAck(ack);
    executor_.stopped.clear();
    if (!load) break;
    v1::ControllerMessage other;
    other.set_epoch(5);
    *other.mutable_assign()->mutable_phase() = Phase(2);
    protocol_.OnCommand(other, now_);
    v1::PhaseFailed failed;
    *failed.mutable_phase() = Phase(2);
    protocol_.OnFailed(failed);
  }
}

TEST_F(AgentProtocolTest, AStopIsAnsweredWhenNothingIsDoneAnyMore) {
  Stop();
  ASSERT_TRUE(sent_.back().has_status());
  EXPECT_EQ(sent_.back().status().answers().run_id(), "run");
  Assign(/*load=*/true);
  Arm();
  Go(now_ + kSecond);
  sent_.clear();
  Stop();
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(executor_.stopped, std::vector<std::string>{"run"});
  protocol_.OnResult(Phase(), v1::PhaseResult());
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].status().state(), v1::WorkerStatus::STATE_IDLE);
  EXPECT_EQ(sent_[0].status().answers().run_id(), "run");
}

}  // namespace
}  // namespace lockstep::worker
