// The worker's protocol over a real gRPC server and real sockets: who is refused, with which words,
// and that nobody else is harmed.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/ids.h"
#include "controller/api/deliver_stream.h"
#include "controller/fleet/control_stream.h"
#include "controller/fleet/fleet.h"
#include "gtest/gtest.h"
#include "tests/controller/api/worker_calls.h"
#include "tests/fakes/memory_spool.h"
#include "tests/fakes/memory_store.h"

namespace lockstep::controller {
namespace {

using ControlCall = grpc::ClientReaderWriter<v1::WorkerMessage, v1::ControllerMessage>;
using DeliverCall = grpc::ClientReaderWriter<v1::Delivery, v1::DeliveryAck>;

class Gateway final : public v1::WorkerService::CallbackService {
 public:
  Gateway(Fleet* fleet, IngestPipeline* ingest) : fleet_(fleet), ingest_(ingest) {}
  grpc::ServerBidiReactor<v1::WorkerMessage, v1::ControllerMessage>* Control(
      grpc::CallbackServerContext* context) override {
    ++calls_;
    return new ControlStream(fleet_, context, {certificate_});
  }
  grpc::ServerBidiReactor<v1::Delivery, v1::DeliveryAck>* Deliver(
      grpc::CallbackServerContext*) override {
    return DeliverStream::Make(fleet_, ingest_, certificate_);
  }

 private:
  Fleet* fleet_;
  IngestPipeline* ingest_;

 public:
  std::string certificate_;    // whose every caller is
  std::atomic<int> calls_{0};  // of Control
};

// Long enough for a busy machine, as some tests must say something within it.
constexpr int64_t kLeaseNs = 3000000000;

class ProtocolTest : public testing::Test {
 protected:
  ProtocolTest()
      : fleet_({7, "store", kLeaseNs}, &common::SystemClock(),
               {[this](const v1::Hello& hello) {
                  Tell("attached " + hello.worker_id()), Count(&attached_);
                },
                [this](const std::string&, const v1::WorkerMessage&) { Count(&messages_); },
                [this](const std::string& id, const std::string& reason) {
                  Keep(reason), Tell("lost " + id), Count(&lost_), on_lost_(id);
                },
                [this](const v1::Hello&, const std::string&, const std::string&) {
                  Count(&intruders_);
                }}),
        ingest_(Pipeline()),
        gateway_(&fleet_, &ingest_) {
    for (int i = 0; i < 7; ++i) (void)store_.AcquireEpoch("test");
    measure::RunRecord run;
    run.run_id = Phase().run_id();
    EXPECT_TRUE(store_.Enqueue(run).ok());
    measure::PhaseRecord phase;
    EXPECT_TRUE(store_.BeginPhase(run.run_id, phase, {}, {0}).ok());
    store_.set_fate([this](bool changing) {
      if (!changing || outages_ == 0) return storage::MemoryStore::Fate::kDone;
      --outages_;
      return storage::MemoryStore::Fate::kUnavailable;
    });
    ingest_.StartThread();
  }
  // Ends the sessions before their server, which would wait for them.
  ~ProtocolTest() override { fleet_.Shutdown(); }

  IngestPipeline::Options Pipeline() {
    IngestPipeline::Options options;
    options.store = &store_;
    options.spool = &spool_;
    options.clock = &common::SystemClock();
    options.fenced = [](const std::string&) { FAIL(); };
    return options;
  }
  void Keep(const std::string& reason) {
    std::lock_guard<std::mutex> lock(mutex_);
    why_lost_ = reason;
  }
  void Tell(const std::string& what) {
    std::lock_guard<std::mutex> lock(mutex_);
    told_.push_back(what);
  }
  void Count(int* counter) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++*counter;
    changed_.notify_all();
  }
  bool Reach(const int* counter, int value) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return *counter >= value; });
  }
  // With a connection, or waited for.
  bool IsAttached(const std::string& worker_id) const {
    const std::vector<v1::Hello> hellos = fleet_.Hellos();
    return std::any_of(hellos.begin(), hellos.end(),
                       [&](const v1::Hello& hello) { return hello.worker_id() == worker_id; });
  }

  static v1::WorkerMessage Hello(const std::string& host,
                                 uint32_t version = v1::PROTOCOL_VERSION_CURRENT,
                                 const std::string& id = common::NewUuid()) {
    v1::WorkerMessage message;
    v1::Hello* hello = message.mutable_hello();
    hello->set_protocol_version(version);
    hello->set_software_version("9.9");
    hello->set_worker_id(id);
    hello->set_instance_id(common::NewUuid());
    hello->mutable_host()->set_host_id(common::NewUuid());
    hello->mutable_host()->set_name(host);
    hello->mutable_host()->set_boot_id("boot");
    return message;
  }

  v1::ControllerMessage Say(const v1::WorkerMessage& message) { return served_.Say(message); }

  static v1::PhaseId Phase() {
    v1::PhaseId phase;
    phase.set_run_id("11111111-1111-4111-8111-111111111111");
    phase.set_attempt(1);
    return phase;
  }
  static v1::Delivery Batch(uint64_t first, int items) {
    v1::Delivery delivery;
    *delivery.mutable_batch()->mutable_phase() = Phase();
    delivery.mutable_batch()->set_first_sequence(first);
    for (int i = 0; i < items; ++i) {
      delivery.mutable_batch()->add_items()->mutable_interval()->set_interval(
          static_cast<uint32_t>(first) + i);
    }
    return delivery;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;  // who attached and who was lost, in order
  std::string why_lost_;           // the last one
  std::function<void(const std::string&)> on_lost_ = [](const std::string&) {};
  int attached_ = 0, messages_ = 0, lost_ = 0, intruders_ = 0;
  storage::MemoryDatabase database_;
  storage::MemoryStore store_{&database_};
  std::atomic<int> outages_{0};
  storage::MemorySpool spool_{1 << 20};
  Fleet fleet_;
  IngestPipeline ingest_;
  Gateway gateway_;
  ServedWorkers served_{&gateway_};  // the last one: it ends first
};

TEST_F(ProtocolTest, AnotherVersionIsRefusedWithWords) {
  const v1::ControllerMessage answer = Say(Hello("node1", 99));
  ASSERT_TRUE(answer.has_refused());
  EXPECT_EQ(answer.refused().reason(),
            absl::StrCat("the worker (Lockstep 9.9) speaks protocol version 99, this controller "
                         "(Lockstep 0.1.0) speaks version ",
                         v1::PROTOCOL_VERSION_CURRENT,
                         ": install Lockstep 9.9 on the controller's host"));
  EXPECT_EQ(attached_, 0);
}

TEST_F(ProtocolTest, WhoDoesNotSayHelloOrHasNoIdentityIsRefused) {
  v1::WorkerMessage heartbeat;
  heartbeat.mutable_heartbeat();
  EXPECT_EQ(Say(heartbeat).refused().reason(), "the first message must be Hello");
  EXPECT_EQ(Say(Hello("node1", v1::PROTOCOL_VERSION_CURRENT, "me")).refused().reason(),
            "its worker, host or instance id is not a UUID");
}

TEST_F(ProtocolTest, AttachedTwiceOrUnderATakenNameIsRefusedAndTheFirstStays) {
  const std::string id = common::NewUuid();
  grpc::ClientContext context;
  auto call = served_.stub()->Control(&context);
  call->Write(Hello("node1", v1::PROTOCOL_VERSION_CURRENT, id));
  v1::ControllerMessage welcome;
  ASSERT_TRUE(call->Read(&welcome));
  EXPECT_TRUE(welcome.has_welcome());
  EXPECT_EQ(welcome.epoch(), 7u);
  EXPECT_NE(Say(Hello("node2", v1::PROTOCOL_VERSION_CURRENT, id))
                .refused()
                .reason()
                .find("is attached already"),
            std::string::npos);
  EXPECT_NE(Say(Hello("node1")).refused().reason().find("start this one with --name"),
            std::string::npos);
  EXPECT_TRUE(IsAttached(id));
  v1::WorkerMessage armed;
  armed.mutable_armed();
  call->Write(armed);
  EXPECT_TRUE(Reach(&messages_, 1));
  context.TryCancel();
  call->Finish();
  // It is waited for, and lost after the lease.
  EXPECT_TRUE(Reach(&lost_, 1));
  EXPECT_NE(why_lost_.find(" for "), std::string::npos) << why_lost_;
  EXPECT_FALSE(IsAttached(id));
}

TEST_F(ProtocolTest, PingsGiveAClockWithABoundThatHoldsTheTruth) {
  const std::string id = common::NewUuid();
  constexpr int64_t kAhead = 5000000000000;
  grpc::ClientContext context;
  auto call = served_.stub()->Control(&context);
  call->Write(Hello("node1", v1::PROTOCOL_VERSION_CURRENT, id));
  v1::ControllerMessage message;
  for (int replies = 0; replies < 8 && call->Read(&message);) {
    if (!message.has_clock_ping()) continue;
    v1::WorkerMessage reply;
    reply.mutable_clock_reply()->set_id(message.clock_ping().id());
    reply.mutable_clock_reply()->set_received_ns(common::SystemClock().MonotonicNs() + kAhead);
    reply.mutable_clock_reply()->set_replied_ns(common::SystemClock().MonotonicNs() + kAhead);
    call->Write(reply);
    ++replies;
  }
  ClockEstimator::Estimate clock;
  for (int i = 0; i < 6000 && !clock.known; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    clock = fleet_.ClockAt(id, common::SystemClock().MonotonicNs());
  }
  ASSERT_TRUE(clock.known);
  EXPECT_LE(std::abs(clock.offset_ns - kAhead), clock.bound_ns);
  context.TryCancel();
  call->Finish();
}

class DeliverTest : public ProtocolTest {
 protected:
  DeliverTest() {
    control_ = served_.stub()->Control(&control_context_);
    control_->Write(Hello("node1", v1::PROTOCOL_VERSION_CURRENT, id_));
    v1::ControllerMessage welcome;
    control_->Read(&welcome);
    session_ = welcome.welcome().session();
    v1::RunPhase load;
    load.add_workloads();
    ingest_.Open(
        Phase(), {{id_, {0, "node1"}}}, load, 1000000000,
        {[](const v1::FleetInterval&) {}, [](const std::string&) {}, [](const std::string&) {},
         [](uint32_t, const v1::PhaseResult&, const std::string&) {}},
        {});
    deliver_ = served_.stub()->Deliver(&deliver_context_);
    v1::Delivery hello;
    hello.mutable_hello()->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
    hello.mutable_hello()->set_worker_id(id_);
    hello.mutable_hello()->set_session(session_);
    deliver_->Write(hello);
  }
  ~DeliverTest() override {
    deliver_context_.TryCancel();
    control_context_.TryCancel();
    deliver_->Finish();
    control_->Finish();
  }
  v1::DeliveryAck Ack(const v1::Delivery& delivery) {
    deliver_->Write(delivery);
    v1::DeliveryAck ack;
    EXPECT_TRUE(deliver_->Read(&ack));
    return ack;
  }

  const std::string id_ = common::NewUuid();
  std::string session_;
  grpc::ClientContext control_context_, deliver_context_;
  std::unique_ptr<ControlCall> control_;
  std::unique_ptr<DeliverCall> deliver_;
};

// A stranger who knows a worker's id gets nothing, and the worker's own stream goes on.
TEST_F(DeliverTest, OnlyWhomControlWelcomedDelivers) {
  const auto refused = [&](const std::string& session, const std::string& certificate) {
    gateway_.certificate_ = certificate;
    grpc::ClientContext context;
    auto call = served_.stub()->Deliver(&context);
    v1::Delivery hello;
    hello.mutable_hello()->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
    hello.mutable_hello()->set_worker_id(id_);
    hello.mutable_hello()->set_session(session);
    call->Write(hello);
    v1::Delivery result = Batch(0, 0);
    result.mutable_batch()->add_items()->mutable_result();
    call->Write(result);
    v1::DeliveryAck ack;
    EXPECT_FALSE(call->Read(&ack));
    gateway_.certificate_.clear();
    return call->Finish();
  };
  EXPECT_EQ(refused("", "").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused(common::NewUuid(), "").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused(session_, "another's").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(*store_.Cursor(Phase(), 0), 0u);
  EXPECT_EQ(Ack(Batch(0, 1)).committed(), 1u);
}

TEST_F(ProtocolTest, AWorkersIdAndNameBelongToTheirFirstCertificate) {
  const std::string id = common::NewUuid();
  gateway_.certificate_ = "node2";
  EXPECT_TRUE(Say(Hello("node2", v1::PROTOCOL_VERSION_CURRENT, id)).has_welcome());
  EXPECT_TRUE(Reach(&lost_, 1));
  gateway_.certificate_ = "node1";
  EXPECT_NE(Say(Hello("node2", v1::PROTOCOL_VERSION_CURRENT, id))
                .refused()
                .reason()
                .find("belongs to the certificate node2, not to the certificate node1"),
            std::string::npos);
  EXPECT_NE(Say(Hello("node2"))
                .refused()
                .reason()
                .find("the host name node2 belongs to the certificate node2"),
            std::string::npos);
  EXPECT_TRUE(Reach(&intruders_, 2));
  EXPECT_TRUE(Say(Hello("node1")).has_welcome());
  gateway_.certificate_ = "node2";
  EXPECT_TRUE(Say(Hello("node2", v1::PROTOCOL_VERSION_CURRENT, id)).has_welcome());
  EXPECT_TRUE(Reach(&lost_, 3));
  EXPECT_EQ(fleet_.Forget("node2"), 1u);
  gateway_.certificate_ = "new node2";
  EXPECT_TRUE(Say(Hello("node2")).has_welcome());
}

TEST_F(ProtocolTest, NamesThatWouldReachATerminalOrAPathAreRefused) {
  for (const std::string& name :
       {std::string("../.."), std::string("a b"), std::string("x\x1b]0;owned\x07"),
        std::string("a\nb"), std::string(10000, 'n'), std::string()}) {
    EXPECT_TRUE(Say(Hello(name)).has_refused()) << name.substr(0, 20);
  }
  v1::WorkerMessage many = Hello("node1");
  for (int i = 0; i < 5000; ++i) many.mutable_hello()->add_allow("/x");
  EXPECT_NE(Say(many).refused().reason().find("allow: has 5000 items; the maximum is 1000"),
            std::string::npos);
  EXPECT_EQ(attached_, 0);
}

TEST_F(DeliverTest, NothingIsStoredTwiceAndAGapIsSentBack) {
  EXPECT_EQ(Ack(Batch(0, 3)).committed(), 3u);
  EXPECT_EQ(Ack(Batch(0, 3)).committed(), 3u);  // again, all of it
  EXPECT_EQ(Ack(Batch(1, 4)).committed(), 5u);  // again, and two more
  const v1::DeliveryAck gap = Ack(Batch(9, 1));
  EXPECT_EQ(gap.refused(), "sequence 9 came before 5");
  EXPECT_EQ(gap.committed(), 5u);
  EXPECT_FALSE(gap.final());
  EXPECT_EQ(*store_.Cursor(Phase(), 0), 5u);
}

TEST_F(DeliverTest, AnOutageOfTheStoreDelaysAndLosesNothing) {
  outages_ = 2;
  const v1::DeliveryAck spooled = Ack(Batch(0, 3));
  EXPECT_EQ(spooled.spooled(), 3u);
  EXPECT_EQ(spooled.committed(), 0u);
  v1::DeliveryAck committed;
  EXPECT_TRUE(deliver_->Read(&committed));
  EXPECT_EQ(committed.committed(), 3u);
  EXPECT_EQ(*store_.Cursor(Phase(), 0), 3u);
}

TEST_F(DeliverTest, SamplesOfAPhaseThatIsNotThereAreRefusedForGood) {
  v1::Delivery other = Batch(0, 1);
  other.mutable_batch()->mutable_phase()->set_phase(5);
  const v1::DeliveryAck ack = Ack(other);
  EXPECT_TRUE(ack.final());
  EXPECT_NE(ack.refused().find("is not in progress"), std::string::npos);
}

TEST_F(DeliverTest, GarbageIsRefusedAndStoresNothing) {
  v1::Delivery garbage = Batch(0, 1);
  v1::OperationCounters* c = garbage.mutable_batch()
                                 ->mutable_items(0)
                                 ->mutable_interval()
                                 ->add_workloads()
                                 ->add_operations();
  c->add_histograms()->set_buckets("\xff");
  EXPECT_TRUE(Ack(garbage).final());
  v1::Delivery empty = Batch(0, 0);
  empty.mutable_batch()->add_items();
  EXPECT_TRUE(Ack(empty).final());
  EXPECT_EQ(*store_.Cursor(Phase(), 0), 0u);
}

TEST_F(DeliverTest, IntervalsThatNoPhaseHasAreRefused) {
  const auto refused = [&](int64_t begin, int64_t end, uint32_t interval) {
    v1::Delivery delivery = Batch(0, 1);
    v1::IntervalSample* sample = delivery.mutable_batch()->mutable_items(0)->mutable_interval();
    sample->set_begin_ns(begin);
    sample->set_end_ns(end);
    sample->set_interval(interval);
    return Ack(delivery);
  };
  EXPECT_NE(refused(-5, 5, 0).refused().find("lies from -5"), std::string::npos);
}

TEST_F(DeliverTest, SamplesAfterTheResultAreRefused) {
  v1::Delivery result = Batch(0, 1);
  result.mutable_batch()->add_items()->mutable_result()->set_intervals(1);
  EXPECT_EQ(Ack(result).committed(), 2u);
  EXPECT_EQ(Ack(Batch(2, 1)).refused(), "an item after the worker's result");
}

// A worker that piles up what it is not answered is not read from; its connection, and everybody
// else's, stay.
TEST_F(DeliverTest, FloodingIsHeldBack) {
  for (uint64_t i = 0; i < 400; ++i) ASSERT_TRUE(deliver_->Write(Batch(i, 1)));
  uint64_t committed = 0;
  v1::DeliveryAck ack;
  while (committed < 400 && deliver_->Read(&ack)) committed = std::max(committed, ack.committed());
  EXPECT_EQ(committed, 400u);
  EXPECT_EQ(*store_.Cursor(Phase(), 0), 400u);
  EXPECT_TRUE(IsAttached(id_));
}

TEST_F(ProtocolTest, AWorkerThatFloodsIsSentAwayWithWords) {
  const std::string id = common::NewUuid();
  grpc::ClientContext context;
  auto call = served_.stub()->Control(&context);
  call->Write(Hello("node1", v1::PROTOCOL_VERSION_CURRENT, id));
  std::thread flood([&] {
    v1::WorkerMessage event;
    event.mutable_event()->set_message("again");
    for (int i = 0; i < 200000 && call->Write(event); ++i) {
    }
  });
  v1::ControllerMessage message;
  std::string refused;
  while (call->Read(&message)) {
    if (message.has_refused()) refused = message.refused().reason();
  }
  flood.join();
  EXPECT_NE(refused.find("floods this controller"), std::string::npos) << refused;
  EXPECT_EQ(Say(Hello("node2")).has_welcome(), true);  // others are served
}

// Its connection is dropped without a word to it; the same process comes back, and nobody held it
// for lost.
TEST_F(ProtocolTest, TheSameProcessIsTakenBackWithinTheLease) {
  const v1::WorkerMessage hello = Hello("node1");
  EXPECT_TRUE(Say(hello).has_welcome());
  EXPECT_TRUE(Say(hello).has_welcome());
  EXPECT_EQ(lost_, 0);
  v1::WorkerMessage other = hello;
  other.mutable_hello()->set_instance_id(common::NewUuid());
  // Another process is refused for as long as the connection of the first is not known to have
  // ended.
  v1::ControllerMessage answer = Say(other);
  while (answer.has_refused() && answer.refused().retry()) answer = Say(other);
  EXPECT_TRUE(answer.has_welcome());
  EXPECT_TRUE(Reach(&lost_, 1));
}

// The leases of two end at once; the second comes back while the loss of the first is being told.
TEST_F(ProtocolTest, AWorkerThatReturnsWhileItsLossIsToldIsNotLostAfterItAttached) {
  const v1::WorkerMessage first = Hello("node1");
  const v1::WorkerMessage second = Hello("node2");
  std::thread returning;
  on_lost_ = [&](const std::string& id) {
    if (returning.joinable()) return;
    const int calls = gateway_.calls_;
    returning = std::thread([this, &second, &first, id] {
      EXPECT_TRUE(Say(id == first.hello().worker_id() ? second : first).has_welcome());
    });
    // Its call has come, and it has had some time to get as far as it can.
    while (gateway_.calls_ == calls) std::this_thread::yield();
    for (int i = 0; i < 10000; ++i) std::this_thread::yield();
  };
  EXPECT_TRUE(Say(first).has_welcome());
  EXPECT_TRUE(Say(second).has_welcome());
  EXPECT_TRUE(Reach(&attached_, 3));
  // the one that did not return, and the other at the latest when its second lease has ended
  EXPECT_TRUE(Reach(&lost_, 2));
  if (returning.joinable()) returning.join();
  std::lock_guard<std::mutex> lock(mutex_);
  for (const v1::WorkerMessage& hello : {first, second}) {
    const std::string& id = hello.hello().worker_id();
    // Attached, lost, attached, lost: never lost twice in a row.
    std::string before;
    for (const std::string& what : told_) {
      if (what.find(id) == std::string::npos) continue;
      EXPECT_FALSE(before == what && what.rfind("lost", 0) == 0) << what;
      before = what;
    }
  }
}

TEST_F(ProtocolTest, ADeliveryWithoutAnAttachedWorkerIsRefused) {
  grpc::ClientContext context;
  auto call = served_.stub()->Deliver(&context);
  v1::Delivery hello;
  hello.mutable_hello()->set_protocol_version(v1::PROTOCOL_VERSION_CURRENT);
  hello.mutable_hello()->set_worker_id(common::NewUuid());
  call->Write(hello);
  v1::DeliveryAck ack;
  EXPECT_FALSE(call->Read(&ack));
  EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace lockstep::controller
