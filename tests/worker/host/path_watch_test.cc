#include "worker/host/path_watch.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"
#include "tests/worker/simulated_time.h"

namespace lockstep::worker {
namespace {

;

constexpr int64_t kSecondNs = 1000000000;

// Answers as multipathd does, on an abstract socket of its own. A stand-in: this kernel may have no
// device mapper, without which multipathd does not run.
class Multipathd {
 public:
  explicit Multipathd(std::string answer) : answer_(std::move(answer)) {
    name_ = "lockstep-test-multipathd-" + std::to_string(getpid());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path + 1, name_.data(), name_.size());
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~Multipathd() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }
  const std::string& name() const { return name_; }
  std::string asked() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return asked_;
  }
  void SetAnswer(std::string answer) {
    std::lock_guard<std::mutex> lock(mutex_);
    answer_ = std::move(answer);
  }

 private:
  void Serve() {
    while (true) {
      const int peer = accept(socket_, nullptr, nullptr);
      if (peer < 0) return;
      size_t length = 0;
      if (recv(peer, &length, sizeof length, MSG_WAITALL) == sizeof length && length < 1000) {
        std::string text(length, 0);
        recv(peer, text.data(), length, MSG_WAITALL);
        std::lock_guard<std::mutex> lock(mutex_);
        asked_ = text.substr(0, length - 1);
        const size_t size = answer_.size() + 1;
        send(peer, &size, sizeof size, MSG_NOSIGNAL);
        send(peer, answer_.c_str(), size, MSG_NOSIGNAL);
      }
      close(peer);
    }
  }

  std::string name_;
  mutable std::mutex mutex_;
  std::string answer_, asked_;
  int socket_ = -1;
  std::thread thread_;
};

// LVM's dm-1 on multipath's dm-0, which has the paths sda and sdb.
class PathWatchTest : public ::testing::Test, protected FakeSysfs {
 protected:
  PathWatchTest() {
    AddDisk("sda", 8, 0, 2000);
    AddDisk("sdb", 8, 16, 2000);
    AddDisk("dm-0", 253, 0, 2000);
    AddDisk("dm-1", 253, 1, 2000);
    SetState("sda", "running");
    SetState("sdb", "running");
    Write("sys/devices/dm-0/dm/uuid", "mpath-36001\n");
    Write("sys/devices/dm-1/dm/uuid", "LVM-abc\n");
    AddSlave("dm-0", "sda");
    AddSlave("dm-0", "sdb");
    AddSlave("dm-1", "dm-0");
  }
  void SetState(const std::string& disk, const std::string& state) {
    Write("sys/devices/" + disk + "/device/state", state + "\n");
  }
  PathWatch::Ports ports(const std::string& multipathd = "lockstep-test-nobody") {
    return {root().string(), multipathd, [this] { return oldest_ns_; }, &clock_};
  }
  std::vector<std::string> Texts(PathWatch* watch) {
    std::vector<std::string> texts;
    for (const PathWatch::Event& event : watch->TakeEvents()) {
      texts.push_back((event.is_loss ? "! " : "") + event.text);
    }
    return texts;
  }

  SimulatedTime clock_;
  int64_t oldest_ns_ = 0;
};

TEST_F(PathWatchTest, ALostPathIsToldWithTheStallAndThatItIsBack) {
  PathWatch watch({"dm-1"}, ports());
  watch.Poll();
  EXPECT_EQ(watch.CountOf("dm-1").paths, 2u);
  EXPECT_EQ(watch.CountOf("dm-1").running, 2u);
  EXPECT_TRUE(watch.TakeEvents().empty());

  SetState("sdb", "offline");
  oldest_ns_ = 30 * kSecondNs;  // it had waited before the kernel gave the path up
  watch.Poll();
  EXPECT_EQ(watch.CountOf("dm-1").running, 1u);
  EXPECT_EQ(Texts(&watch),
            (std::vector<std::string>{"! path sdb of dm-0: running, now offline; 1 of 2 run"}));
  clock_.Pass(kSecondNs);
  oldest_ns_ = 31 * kSecondNs;
  watch.Poll();
  EXPECT_TRUE(watch.TakeEvents().empty()) << "it still waits";
  clock_.Pass(kSecondNs);
  oldest_ns_ = kSecondNs / 1000;
  watch.Poll();
  EXPECT_EQ(Texts(&watch),
            (std::vector<std::string>{"after the loss of path sdb of dm-0 the I/O that waited "
                                      "longest was in flight for at least 31 s"}));
  SetState("sdb", "running");
  watch.Poll();
  EXPECT_EQ(Texts(&watch),
            (std::vector<std::string>{"path sdb of dm-0: offline, now running; 2 of 2 run"}));
  RemoveSlave("dm-0", "sda");
  watch.Poll();
  EXPECT_EQ(Texts(&watch).front(), "! path sda of dm-0: running, now gone; 1 of 1 run");
  EXPECT_EQ(watch.CountOf("dm-1").paths, 1u);
}

TEST_F(PathWatchTest, MultipathdKnowsOfFailedPathsThatTheKernelStillRuns) {
  Multipathd daemon("sda active ready\nsdb active ready\n");
  PathWatch watch({"dm-0"}, ports(daemon.name()));
  watch.Poll();
  EXPECT_EQ(daemon.asked(), "show paths raw format \"%d %t %T\"");
  EXPECT_EQ(watch.CountOf("dm-0").running, 2u);
  daemon.SetAnswer("sda active ready\nsdb failed faulty\nnonsense\n");
  watch.Poll();
  EXPECT_EQ(watch.CountOf("dm-0").running, 1u);
  EXPECT_EQ(
      Texts(&watch),
      (std::vector<std::string>{"! path sdb of dm-0: running, now failed (faulty); 1 of 2 run"}));
}

TEST_F(PathWatchTest, AnotherAnswerThanMultipathdsIsNone) {
  EXPECT_EQ(QueryMultipathd("lockstep-test-nobody").status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_FALSE(QueryMultipathd(std::string(200, 'x')).ok());
  Multipathd daemon("fail\n");
  const auto answer = QueryMultipathd(daemon.name());
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->empty());
  PathWatch watch({"dm-0"}, ports(daemon.name()));
  watch.Poll();
  EXPECT_EQ(watch.CountOf("dm-0").running, 2u) << "sysfs counts then";
}

// It announces much and never ends: byte by byte, until whoever asked goes away.
TEST_F(PathWatchTest, AnAnswerThatNeverEndsIsGivenUp) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = "lockstep-test-drip-" + std::to_string(getpid());
  memcpy(address.sun_path + 1, name.data(), name.size());
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(listening, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
            0);
  ASSERT_EQ(listen(listening, 1), 0);
  std::thread drip([listening] {
    const int peer = accept(listening, nullptr, nullptr);
    const size_t size = 4 << 20;
    send(peer, &size, sizeof size, MSG_NOSIGNAL);
    while (send(peer, "x", 1, MSG_NOSIGNAL) == 1) usleep(10000);
    close(peer);
  });
  EXPECT_FALSE(QueryMultipathd(name).ok());
  drip.join();
  close(listening);
}

TEST_F(PathWatchTest, ADeviceOfOnePathTellsItsLossAndCountsNone) {
  PathWatch watch({"sda"}, ports());
  watch.Poll();
  EXPECT_EQ(watch.CountOf("sda").paths, 0u);
  SetState("sda", "blocked");
  watch.Poll();
  EXPECT_EQ(Texts(&watch), (std::vector<std::string>{"! device sda: running, now blocked"}));
  oldest_ns_ = 2 * kSecondNs;
  clock_.Pass(kSecondNs);
  watch.End();
  EXPECT_EQ(Texts(&watch), (std::vector<std::string>{
                               "after the loss of device sda the I/O that waited longest was "
                               "in flight for at least 2 s, and it is still"}));
}

TEST_F(PathWatchTest, APathThatIsWatchedItselfTellsItsLossOnce) {
  PathWatch watch({"dm-1", "dm-0", "sda", "sdb"}, ports());
  watch.Poll();
  EXPECT_EQ(watch.CountOf("dm-0").paths, 2u);
  EXPECT_EQ(watch.CountOf("sda").paths, 0u);
  SetState("sdb", "offline");
  watch.Poll();
  EXPECT_EQ(Texts(&watch),
            (std::vector<std::string>{"! path sdb of dm-0: running, now offline; 1 of 2 run"}));
}

TEST_F(PathWatchTest, NvmesOwnPathsHaveTheStateOfTheirController) {
  AddDisk("nvme0n1", 259, 0, 2000);
  for (const char* controller : {"nvme0", "nvme1"}) {
    const std::string path = std::string("nvme0c") + controller[4] + "n1";
    const std::string folder = std::string("sys/devices/") + controller;
    Write(folder + "/state", "live\n");
    Write(absl::StrCat(folder, "/", path, "/ana_state"), "optimized\n");
    std::filesystem::create_directories(root() / "sys/devices/nvme0n1/multipath");
    std::filesystem::create_symlink(root() / folder / path,
                                    root() / "sys/devices/nvme0n1/multipath" / path);
  }
  PathWatch watch({"nvme0n1"}, ports());
  watch.Poll();
  EXPECT_EQ(watch.CountOf("nvme0n1").running, 2u);
  Write("sys/devices/nvme1/state", "connecting\n");
  watch.Poll();
  EXPECT_EQ(watch.CountOf("nvme0n1").running, 1u);
  EXPECT_EQ(Texts(&watch),
            (std::vector<std::string>{
                "! path nvme0c1n1 of nvme0n1: optimized, now connecting; 1 of 2 run"}));
}

TEST_F(PathWatchTest, WhatHasNoPathsIsNotWatched) {
  AddDisk("loop0", 7, 0, 2000);
  PathWatch watch({"loop0", "no-such-device"}, ports());
  EXPECT_TRUE(watch.Begin().ok());
  watch.End();
  EXPECT_EQ(watch.CountOf("loop0").paths, 0u);
  EXPECT_TRUE(watch.TakeEvents().empty());
}

}  // namespace
}  // namespace lockstep::worker
