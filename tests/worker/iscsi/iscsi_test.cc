// LUNs through libiscsi: identities by hand, secrets, and a target that goes away, comes back, and
// is another one.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

#include "gtest/gtest.h"
#include "tests/worker/tgt.h"
#include "worker/engine/iscsi_engine.h"
#include "worker/iscsi/identity.h"
#include "worker/iscsi/luns.h"
#include "worker/iscsi/secrets.h"

namespace lockstep::worker {
namespace {

using Bytes = std::vector<uint8_t>;

// A device identification page of these designators: code set, association and type, value.
struct Of {
  int type;
  Bytes value;
  int association = 0;
};
Bytes Page(const std::vector<Of>& designators) {
  Bytes body;
  for (const Of& d : designators) {
    body.push_back(d.type == 1 || d.type == 8 ? 2 : 1);
    body.push_back(static_cast<uint8_t>(d.association << 4 | d.type));
    body.push_back(0);
    body.push_back(static_cast<uint8_t>(d.value.size()));
    for (const uint8_t byte : d.value) body.push_back(byte);
  }
  Bytes page = {0, 0x83, static_cast<uint8_t>(body.size() >> 8), static_cast<uint8_t>(body.size())};
  for (const uint8_t byte : body) page.push_back(byte);
  return page;
}
Bytes Text(const std::string& text) { return {text.begin(), text.end()}; }

const Bytes kNaa6 = {0x60, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
const Bytes kNaa5 = {0x50, 1, 2, 3, 4, 5, 6, 7};
const Bytes kEui = {1, 2, 3, 4, 5, 6, 7, 8};

TEST(LunIdentityTest, TheOneThatIsLeastLikelyToBeGivenTwiceIsTaken) {
  EXPECT_EQ(LunIdentity(Page({{3, kNaa6}})), "naa.600102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(LunIdentity(Page({{1, Text("IET     00010001")}, {3, kNaa5}, {3, kNaa6}})),
            "naa.600102030405060708090a0b0c0d0e0f");
  EXPECT_EQ(LunIdentity(Page({{3, kNaa5}, {2, kEui}})), "naa.5001020304050607");
  EXPECT_EQ(LunIdentity(Page({{2, kEui}, {1, Text("IET     x  ")}})), "eui.0102030405060708");
  // As the kernel's attribute reads here: blanks are underscores.
  EXPECT_EQ(LunIdentity(Page({{1, Text("IET     00010001  ")}})), "t10.IET_____00010001");
  EXPECT_EQ(LunIdentity(Page({{8, Text("iqn.a:lun")}, {3, kNaa6}})), "iqn.a:lun");
}

TEST(LunIdentityTest, WhatIsOfThePortOrBrokenIsNone) {
  EXPECT_EQ(LunIdentity(Page({{3, kNaa6, 1}})), "");
  EXPECT_EQ(LunIdentity(Page({})), "");
  EXPECT_EQ(LunIdentity({}), "");
  EXPECT_EQ(LunIdentity(Page({{3, {}}})), "");
  EXPECT_EQ(LunIdentity(Page({{3, {0x60, 1}}})), "");
  EXPECT_EQ(LunIdentity(Page({{1, Text("\x01\x02\x1b")}})), "t10.___");
  // Cut anywhere, it is read as far as it goes.
  const Bytes whole = Page({{1, Text("IET     1")}, {3, kNaa6}});
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string found = LunIdentity(absl::MakeConstSpan(whole.data(), size));
    EXPECT_TRUE(found.empty() || found == "t10.IET_____1") << size << " " << found;
  }
}

TEST(IscsiSecretsTest, AFileThatOthersReadIsRefusedAndNoMessageHoldsASecret) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/secrets";
  const auto load = [&](const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return IscsiSecrets::Load(path);
  };
  EXPECT_EQ(load("iqn.a anna pass\n", 0640).status().code(), absl::StatusCode::kPermissionDenied);
  const auto secrets = load("# lab\n\niqn.a anna pass\n* bob word array proof\n", 0600);
  ASSERT_TRUE(secrets.ok()) << secrets.status();
  EXPECT_EQ(secrets->Of("iqn.a")->user, "anna");
  EXPECT_EQ(secrets->Of("iqn.a")->password, "pass");
  EXPECT_EQ(secrets->Of("iqn.b")->password, "word");
  EXPECT_EQ(secrets->Of("iqn.b")->target_password, "proof");
  for (const char* text :
       {"iqn.a anna\n", "iqn.a anna hidden more\n", "iqn.a anna hidden\niqn.a anna hidden\n"}) {
    const auto wrong = load(text, 0600);
    EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(std::string(wrong.status().message()).find("hidden"), std::string::npos);
  }
  EXPECT_EQ(IscsiSecrets::Load(path + "-none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(IscsiSecrets().Of("iqn.a"));
}

constexpr int64_t kSecond = 1000000000;
constexpr uint64_t kBytes = 1 << 20;

int64_t NowNs() { return common::SystemClock().MonotonicNs(); }

// Logs a session in and sends NOPs that want answers (RFC 7143, 11.19) for as long as it is there.
class FloodingTarget {
 public:
  FloodingTarget() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      for (int i = 0; i < 2 && LogIn(connection); ++i) {
      }
      Bytes nop(48);
      nop[0] = 0x20;
      nop[1] = 0x80;
      for (size_t i = 16; i < 20; ++i) nop[i] = 0xff;  // of no task; an answer is wanted
      Bytes many;
      for (int i = 0; i < 10000; ++i) many.insert(many.end(), nop.begin(), nop.end());
      while (send(connection, many.data(), many.size(), MSG_NOSIGNAL) > 0) {
      }
      close(connection);
    });
  }
  ~FloodingTarget() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  std::string url() const {
    return "iscsi://127.0.0.1:" + std::to_string(port_) + "/iqn.2026-11.test:flood/1";
  }

 private:
  // Answers a login request (RFC 7143, 11.12): whatever it asks for is agreed to.
  static bool LogIn(int connection) {
    Bytes request(48);
    if (recv(connection, request.data(), 48, MSG_WAITALL) != 48) return false;
    const size_t length = request[5] << 16 | request[6] << 8 | request[7];
    Bytes text((length + 3) / 4 * 4);
    if (recv(connection, text.data(), text.size(), MSG_WAITALL) !=
        static_cast<ssize_t>(text.size())) {
      return false;
    }
    Bytes response(68);  // with padding
    const std::string agreed = "HeaderDigest=None";
    std::copy(agreed.begin(), agreed.end(), response.begin() + 48);
    response[7] = static_cast<uint8_t>(agreed.size() + 1);
    response[0] = 0x23;
    response[1] = request[1];
    std::copy_n(request.begin() + 8, 6, response.begin() + 8);    // ISID
    response[15] = 1;                                             // TSIH
    std::copy_n(request.begin() + 16, 4, response.begin() + 16);  // of which request
    std::copy_n(request.begin() + 24, 4, response.begin() + 28);  // commands are expected from here
    response[32] = 0x7f;                                          // and taken up to here
    return send(connection, response.data(), 68, MSG_NOSIGNAL) == 68;
  }

  const int listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

TEST(FloodTest, ATargetThatSendsWithoutEndIsLeftWhenTheTimeIsOver) {
  signal(SIGPIPE, SIG_IGN);
  FloodingTarget target;
  Luns luns("iqn.2026-11.test:me", {});
  const auto found = luns.Probe(*common::ParseIscsiUrl(target.url()), kSecond / 2);
  EXPECT_TRUE(absl::IsDeadlineExceeded(found.status())) << found.status();
}

class LostTargetTest : public testing::Test {
 protected:
  // As the worker does.
  LostTargetTest() { signal(SIGPIPE, SIG_IGN); }

  void Open(int64_t reconnect_ns) {
    const auto found = luns_.Probe(*common::ParseIscsiUrl(tgt_.url()), 10 * kSecond);
    ASSERT_TRUE(found.ok()) << found.status();
    lun_ = *found;
    lun_.reconnect_ns = reconnect_ns;
    buffers_ = *IoBuffers::Make(4, 4096);
    EngineContext context;
    context.clock = &common::SystemClock();
    context.report = [this](measure::Severity severity, const std::string& text) {
      said_ += Text(severity) + ": " + text + "\n";
    };
    engine_ = NewIscsiEngine(context);
    EngineSetup setup;
    setup.files = {{RemoteLun{&lun_}, kBytes}};
    setup.buffers = buffers_.get();
    setup.queue_depth = 4;
    const absl::Status opened = engine_->Open(setup);
    ASSERT_TRUE(opened.ok()) << opened;
  }

  // Four reads, one for each slot; their results once all are done.
  std::vector<int32_t> ReadAll() {
    std::vector<IoRequest> requests;
    for (uint32_t slot = 0; slot < 4; ++slot) {
      requests.push_back({IoKind::kRead, 0, slot, slot, 4096, slot * 4096ul});
    }
    return Finish(requests);
  }
  std::vector<int32_t> Finish(const std::vector<IoRequest>& requests) {
    std::vector<int32_t> results(4, 1);
    std::vector<IoCompletion> out(4);
    size_t done = 0;
    for (bool first = true; done < 4 && NowNs() < limit_ns_; first = false) {
      const auto count =
          engine_->Exchange(first ? absl::MakeConstSpan(requests) : absl::Span<const IoRequest>(),
                            1, NowNs() + kSecond / 10, absl::MakeSpan(out));
      EXPECT_TRUE(count.ok());
      for (int i = 0; i < *count; ++i) results[out[i].slot] = out[i].result;
      done += static_cast<size_t>(*count);
    }
    EXPECT_EQ(done, 4u) << said_;
    return results;
  }

  Tgt tgt_{kBytes};
  Luns luns_{"iqn.2026-11.test:initiator", {}};
  LunSpec lun_;
  std::unique_ptr<IoBuffers> buffers_;
  std::unique_ptr<IoEngine> engine_;
  std::string said_;
  const int64_t limit_ns_ = NowNs() + 120 * kSecond;
};

TEST_F(LostTargetTest, WhatWasInFlightIsSentAgainWhenItIsBack) {
  Open(60 * kSecond);
  EXPECT_EQ(ReadAll(), std::vector<int32_t>(4, 4096));
  tgt_.Kill();
  std::vector<IoCompletion> out(4);
  std::vector<IoRequest> requests;
  for (uint32_t slot = 0; slot < 4; ++slot) {
    requests.push_back({IoKind::kWrite, 0, slot, slot, 4096, slot * 4096ul});
  }
  EXPECT_EQ(*engine_->Exchange(requests, 1, NowNs() + kSecond / 5, absl::MakeSpan(out)), 0);
  EXPECT_NE(said_.find("warning: " + tgt_.url()), std::string::npos) << said_;
  tgt_.Start();
  EXPECT_EQ(Finish({}), std::vector<int32_t>(4, 4096));
  EXPECT_NE(said_.find("is back after"), std::string::npos) << said_;
}

TEST_F(LostTargetTest, OneThatStaysAwayFailsWhatWaitsAndWhatComes) {
  Open(kSecond);
  tgt_.Kill();
  EXPECT_EQ(ReadAll(), std::vector<int32_t>(4, -ENOTCONN));
  EXPECT_NE(said_.find("error: " + tgt_.url() + ": was not back after 1 s"), std::string::npos)
      << said_;
  EXPECT_EQ(ReadAll(), std::vector<int32_t>(4, -ENOTCONN));
}

TEST_F(LostTargetTest, AnotherLunUnderTheSameAddressGetsNothing) {
  Open(60 * kSecond);
  tgt_.Kill();
  ASSERT_EQ(truncate(tgt_.image().c_str(), 2 * kBytes), 0);
  tgt_.Start();
  EXPECT_EQ(ReadAll(), std::vector<int32_t>(4, -ESTALE));
  EXPECT_NE(said_.find("another LUN answers"), std::string::npos) << said_;
}

TEST_F(LostTargetTest, WhatIsAskedOfATargetThatDiesIsAnsweredWithTheLoss) {
  IscsiSession session(*common::ParseIscsiUrl(tgt_.url()), {"iqn.2026-11.test:initiator", {}});
  ASSERT_TRUE(session.AwaitReady(limit_ns_).ok());
  tgt_.Kill();
  const auto data = session.Read(0, 4096, limit_ns_);
  EXPECT_EQ(data.status().code(), absl::StatusCode::kUnavailable) << data.status();
}

TEST_F(LostTargetTest, APortalThatIsNotThereIsSaidAtOnce) {
  tgt_.Kill();
  const auto found = luns_.Probe(*common::ParseIscsiUrl(tgt_.url()), 10 * kSecond);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnavailable) << found.status();
  EXPECT_NE(std::string(found.status().message()).find(tgt_.url()), std::string::npos);
}

}  // namespace
}  // namespace lockstep::worker
