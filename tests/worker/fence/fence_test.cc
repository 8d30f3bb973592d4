// Persistent reservations on a real target (tgt), and the steps of taking one over what may go
// wrong, on a device that does as it is told.

#include <cerrno>
#include <map>

#include "common/clock.h"
#include "gtest/gtest.h"
#include "tests/worker/tgt.h"
#include "worker/fence/fences.h"
#include "worker/iscsi/session.h"

namespace lockstep::worker {
namespace {

constexpr uint64_t kA = 0x4c53000000010000;
constexpr uint64_t kB = 0x4c53000000010001;
constexpr uint64_t kForeign = 0x4c53000000020000;

enum class Part { kRegisters, kReserves };

v1::ReservationUse Use(uint64_t key, Part part, const std::vector<uint64_t>& lost = {}) {
  v1::ReservationUse use;
  use.set_key(key);
  use.set_holds(part == Part::kReserves);
  for (const uint64_t other : lost) use.add_lost(other);
  return use;
}

// One device, as its registrants see it. SPC-5 5.13, of what is used.
struct Device {
  std::map<int, uint64_t> registered;  // by session
  int holder = -1;
  uint32_t generation = 0;
  bool tells = true;  // READ KEYS
};

class FakeReserver final : public Reserver {
 public:
  FakeReserver(Device* device, int session) : device_(device), session_(session) {}

  absl::Status Register(uint64_t key) override {
    ++device_->generation;
    if (key != 0) {
      device_->registered[session_] = key;
    } else {
      device_->registered.erase(session_);
      if (device_->holder == session_) device_->holder = -1;
    }
    return absl::OkStatus();
  }
  absl::Status Rejoin(uint64_t key) override {
    for (const auto& [session, registered] : device_->registered) {
      if (registered == key) return Register(key);
    }
    return Conflict();
  }
  absl::Status Reserve(uint64_t) override {
    if (device_->holder != -1 && device_->holder != session_) return Conflict();
    device_->holder = session_;
    return absl::OkStatus();
  }
  absl::Status Preempt(uint64_t, uint64_t lost) override {
    const bool held = device_->holder != -1 && device_->registered[device_->holder] == lost;
    const uint64_t own = device_->registered[session_];
    if (std::erase_if(device_->registered, [&](const auto& r) { return r.second == lost; }) == 0) {
      return Conflict();
    }
    if (lost == own) device_->registered[session_] = own;
    ++device_->generation;
    if (held) device_->holder = session_;
    return absl::OkStatus();
  }
  absl::StatusOr<ReservationFacts> Read() override {
    if (!device_->tells) return absl::UnimplementedError("no keys");
    ReservationFacts facts;
    facts.generation = device_->generation;
    for (const auto& [session, key] : device_->registered) facts.keys.push_back(key);
    if (device_->holder != -1) {
      facts.holder = device_->registered[device_->holder];
      facts.type = kWriteExclusiveRegistrantsOnly;
    }
    return facts;
  }

 private:
  static absl::Status Conflict() { return absl::FailedPreconditionError("reservation conflict"); }

  Device* const device_;
  const int session_;
};

TEST(TakeReservationTest, OneReservesAndTheOthersRegister) {
  Device device;
  FakeReserver a(&device, 1), b(&device, 2);
  EXPECT_TRUE(TakeReservation(&b, "lun", Use(kB, Part::kRegisters)).ok())
      << "before the one who reserves";
  EXPECT_TRUE(TakeReservation(&a, "lun", Use(kA, Part::kReserves)).ok());
  EXPECT_EQ(device.holder, 1);
  EXPECT_EQ(device.registered.size(), 2u);
}

TEST(TakeReservationTest, ALostWorkersRegistrationsEndAndItsReservationIsTakenOver) {
  Device device;
  FakeReserver lost(&device, 1), other(&device, 3), b(&device, 2);
  ASSERT_TRUE(TakeReservation(&lost, "lun", Use(kA, Part::kReserves)).ok());
  ASSERT_TRUE(other.Register(kA).ok()) << "another session of the same worker";
  ASSERT_TRUE(TakeReservation(&b, "lun", Use(kB, Part::kReserves, {kA})).ok());
  EXPECT_EQ(device.registered, (std::map<int, uint64_t>{{2, kB}}));
  EXPECT_EQ(device.holder, 2);
}

TEST(TakeReservationTest, AnEarlierSessionOfThisWorkerIsNoStranger) {
  Device device;
  FakeReserver earlier(&device, 1), again(&device, 2);
  ASSERT_TRUE(TakeReservation(&earlier, "lun", Use(kA, Part::kReserves)).ok());
  EXPECT_TRUE(TakeReservation(&again, "lun", Use(kA, Part::kReserves)).ok());
}

TEST(TakeReservationTest, WhoeverElseIsRegisteredIsLeftAlone) {
  Device device;
  FakeReserver stranger(&device, 1), a(&device, 2);
  ASSERT_TRUE(stranger.Register(kForeign).ok());
  const absl::Status status = TakeReservation(&a, "lun", Use(kA, Part::kReserves));
  EXPECT_NE(status.message().find("is registered by key 0x4c53000000020000"), std::string::npos)
      << status;
  EXPECT_EQ(device.registered.size(), 1u) << "nothing was changed";
}

TEST(FencesTest, AKeyThatSomebodyElseRegistersMeanwhileIsReported) {
  Device device;
  std::vector<std::string> said;
  Fences fences([&](measure::Severity, const std::string& text) { said.push_back(text); });
  const auto open = [&]() -> absl::StatusOr<std::unique_ptr<Reserver>> {
    return std::make_unique<FakeReserver>(&device, 1);
  };
  ASSERT_TRUE(fences.Take("run", "lun", Use(kA, Part::kReserves), open).ok());
  device.registered[2] = kB;  // another worker of the run
  fences.ReportForeignKeys("run");
  EXPECT_TRUE(said.empty());
  FakeReserver stranger(&device, 3);
  ASSERT_TRUE(stranger.Register(kForeign).ok());
  fences.ReportForeignKeys("another run");
  EXPECT_TRUE(said.empty());
  fences.ReportForeignKeys("run");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0],
            "lun: key 0x4c53000000020000 was registered during the phase by an initiator that is "
            "not part of this run; it may have written to the target");
  device.tells = false;
  fences.ReportForeignKeys("run");
  EXPECT_EQ(said.size(), 1u);
}

TEST(TakeReservationTest, WhereNoKeysAreToldAReservationOfAnotherIsSeenByTheConflict) {
  Device device;
  device.tells = false;
  FakeReserver stranger(&device, 1), a(&device, 2);
  ASSERT_TRUE(stranger.Register(kForeign).ok());
  ASSERT_TRUE(stranger.Reserve(kForeign).ok());
  EXPECT_EQ(TakeReservation(&a, "lun", Use(kA, Part::kReserves)).code(),
            absl::StatusCode::kFailedPrecondition);
  Device quiet;
  quiet.tells = false;
  FakeReserver b(&quiet, 1);
  EXPECT_TRUE(TakeReservation(&b, "lun", Use(kB, Part::kReserves, {kA})).ok())
      << "a lost worker that was never registered";
}

TEST(FencesTest, WhoWasFencedOffItselfRegistersNoMore) {
  Device device;
  std::vector<std::string> said;
  {
    Fences fenced([&](measure::Severity, const std::string& text) { said.push_back(text); });
    const auto open = [&]() -> absl::StatusOr<std::unique_ptr<Reserver>> {
      return std::make_unique<FakeReserver>(&device, 1);
    };
    ASSERT_TRUE(fenced.Take("run", "lun", Use(kA, Part::kReserves), open).ok());
    FakeReserver other(&device, 2);
    ASSERT_TRUE(other.Register(kB).ok());
    ASSERT_TRUE(other.Preempt(kB, kA).ok());
    v1::Preempt preempt;
    preempt.mutable_phase()->set_run_id("run");
    preempt.set_key(kB);
    fenced.Preempt(preempt);
  }
  EXPECT_EQ(device.registered, (std::map<int, uint64_t>{{2, kB}}));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("could not be fenced off"), std::string::npos) << said[0];
}

class FencesOnTgtTest : public testing::Test {
 protected:
  FencesOnTgtTest() : luns_("iqn.2026-11.test:a", {}) {}

  LunSpec Look() {
    auto spec = luns_.Probe(*common::ParseIscsiUrl(tgt_.url()), kLimitNs);
    EXPECT_TRUE(spec.ok()) << spec.status();
    return *spec;
  }
  Fences::Open Open() {
    return [spec = Look()] { return NewLunReserver(spec, kLimitNs); };
  }
  std::vector<uint64_t> Keys() {
    auto reserver = NewLunReserver(Look(), kLimitNs);
    EXPECT_TRUE(reserver.ok()) << reserver.status();
    const auto facts = (*reserver)->Read();
    EXPECT_TRUE(facts.ok()) << facts.status();
    return facts->keys;
  }
  // The result of a write by a session that registers under `key`; 0: one that does not.
  int Write(uint64_t key) {
    const LunSpec spec = Look();
    IscsiSession session(spec.numeric, spec.login);
    EXPECT_TRUE(session.AwaitReady(Deadline()).ok());
    if (key != 0) {
      const absl::Status joined =
          session.Reserve(ReservationAction::kRegisterAndIgnore, 0, key, Deadline());
      EXPECT_TRUE(joined.ok()) << joined;
    }
    std::string data(512, 'x');
    LunCommand command;
    command.kind = LunCommand::Kind::kWrite;
    command.length = 512;
    command.data = data.data();
    command.result = 1;
    command.done = [](LunCommand*) {};
    session.Start(&command);
    IscsiSession* one = &session;
    while (command.result == 1) IscsiSession::Wait({&one, 1}, Deadline());
    return command.result;
  }
  static int64_t Deadline() { return common::SystemClock().MonotonicNs() + kLimitNs; }

  static constexpr int64_t kLimitNs = 20000000000;
  Tgt tgt_{16 << 20};
  Luns luns_;
};

TEST_F(FencesOnTgtTest, WhoIsNotRegisteredWritesNothingAndALostWorkerNothingMore) {
  Fences a([](measure::Severity, const std::string& text) { ADD_FAILURE() << text; });
  ASSERT_EQ(Write(0), 512);
  ASSERT_TRUE(a.Take("run", "lun", Use(kA, Part::kReserves), Open()).ok());
  EXPECT_EQ(Write(0), -EBADE);
  EXPECT_EQ(Write(kB), 512);
  // B is lost.
  ASSERT_TRUE(a.Take("run", "lun", Use(kA, Part::kReserves, {kB}), Open()).ok());
  for (const uint64_t key : Keys()) EXPECT_EQ(key, kA);
  EXPECT_EQ(Write(0), -EBADE);
  Fences stranger([](measure::Severity, const std::string&) {});
  EXPECT_FALSE(stranger.Take("other", "lun", Use(kForeign, Part::kReserves), Open()).ok());
}

TEST_F(FencesOnTgtTest, TheRunsEndLeavesNothingBehind) {
  const auto fail = [](measure::Severity, const std::string& text) { ADD_FAILURE() << text; };
  {
    Fences a(fail), b(fail);
    ASSERT_TRUE(a.Take("run", "lun", Use(kA, Part::kReserves), Open()).ok());
    ASSERT_TRUE(b.Take("run", "lun", Use(kB, Part::kRegisters), Open()).ok());
    ASSERT_TRUE(a.Take("run", "lun", Use(kA, Part::kReserves), Open()).ok()) << "the next phase";
    a.Release("another run");
    EXPECT_FALSE(Keys().empty());
    a.Release("run");
  }
  EXPECT_TRUE(Keys().empty());
  EXPECT_EQ(Write(0), 512);
}

TEST_F(FencesOnTgtTest, AMemberEndsALostOnesRegistrationsWhileTheLoadRuns) {
  std::vector<std::string> said;
  {
    Fences a([&](measure::Severity, const std::string& text) { said.push_back(text); });
    ASSERT_TRUE(a.Take("run", "lun", Use(kA, Part::kRegisters), Open()).ok());
    {
      // The lost one had reserved: that passes to the one who ends it.
      auto lost = NewLunReserver(Look(), kLimitNs);
      ASSERT_TRUE(lost.ok());
      ASSERT_TRUE(TakeReservation(lost->get(), "lun", Use(kB, Part::kReserves)).ok());
      v1::Preempt preempt;
      preempt.mutable_phase()->set_run_id("run");
      preempt.set_key(kB);
      preempt.set_host("node2");
      a.Preempt(preempt);
    }
  }
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("the lost worker on node2 was fenced off"), std::string::npos) << said[0];
  EXPECT_TRUE(Keys().empty());
}

}  // namespace
}  // namespace lockstep::worker
