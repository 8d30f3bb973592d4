// The contract that every engine fulfils.

#include <fcntl.h>
#include <linux/ioprio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "common/clock.h"
#include "common/files.h"
#include "gtest/gtest.h"
#include "tests/worker/tgt.h"
#include "worker/engine/libaio_engine.h"
#include "worker/engine/mmap_engine.h"
#include "worker/engine/null_engine.h"
#include "worker/engine/sync_engine.h"
#include "worker/engine/uring_engine.h"
#include "worker/iscsi/luns.h"

namespace lockstep::worker {
namespace {

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

constexpr uint64_t kFileBytes = 1 << 20;

struct Kind {
  std::string name;
  std::string engine;
  bool unregistered = false;
  TaskWork task_work = TaskWork::kByRule;
};

// Every engine that is registered and does I/O on files, and variants.
std::vector<Kind> Kinds() {
  std::vector<Kind> kinds = {
      {"io_uring_unregistered", "io_uring", true},
      {"io_uring_cooperative", "io_uring", false, TaskWork::kCooperative},
      {"io_uring_plain", "io_uring", false, TaskWork::kPlain},
  };
  for (const EngineEntry& entry : Engines()) {
    const bool lun = entry.reaches({RemoteLun{}, 1});
    if (lun || entry.reaches({OpenFile{0}, 1})) kinds.push_back({entry.name, entry.name});
  }
  return kinds;
}

class EngineContract : public testing::TestWithParam<Kind> {
 protected:
  static constexpr uint32_t kDepth = 8;

  void SetUp() override {
    std::string path = std::string(getenv("TEST_TMPDIR")) + "/file." + GetParam().name;
    if (IsLun()) {
      static Tgt tgt(kFileBytes);
      const auto found = luns_.Probe(*common::ParseIscsiUrl(tgt.url()), 5000000000);
      ASSERT_TRUE(found.ok()) << found.status();
      lun_ = *found;
      path = tgt.image();
    }
    const int fresh = IsLun() ? 0 : O_CREAT | O_TRUNC;
    file_ = common::FileDescriptor(open(path.c_str(), O_RDWR | fresh, 0600));
    ASSERT_TRUE(file_.valid());
    ASSERT_EQ(ftruncate(file_.get(), kFileBytes), 0);
    buffers_ = *IoBuffers::Make(kDepth, 4096);
    engine_ = Open(file_.get(), SyncMode::kFsync);
  }

  std::unique_ptr<IoEngine> Open(int descriptor, SyncMode mode) {
    EngineSetup setup;
    setup.files = {{OpenFile{descriptor}, kFileBytes}};
    if (IsLun()) setup.files = {{RemoteLun{&lun_}, kFileBytes}};
    setup.buffers = buffers_.get();
    setup.queue_depth = kDepth;
    setup.sync_mode = mode;
    setup.unregistered = GetParam().unregistered;
    setup.task_work = GetParam().task_work;
    std::unique_ptr<IoEngine> engine =
        FindEngine(GetParam().engine)->make({&common::SystemClock(), {}});
    const absl::Status opened = engine->Open(setup);
    EXPECT_TRUE(opened.ok()) << opened;
    return engine;
  }

  bool IsLun() const { return GetParam().engine == "iscsi"; }
  bool Maps() const { return GetParam().engine == "mmap"; }

  // All completions of these requests, by slot.
  std::vector<int32_t> DoAll(const std::vector<IoRequest>& requests) {
    std::vector<int32_t> results(kDepth, 12345);
    std::vector<IoCompletion> out(kDepth);
    size_t done = 0;
    bool first = true;
    while (done < requests.size()) {
      const auto count =
          engine_->Exchange(first ? absl::MakeConstSpan(requests) : absl::Span<const IoRequest>(),
                            1, NowNs() + 5000000000, absl::MakeSpan(out));
      EXPECT_TRUE(count.ok());
      if (!count.ok()) break;
      first = false;
      for (int i = 0; i < *count; ++i) results[out[i].slot] = out[i].result;
      done += *count;
    }
    return results;
  }

  Luns luns_{"iqn.2026-11.test:initiator", {}};
  LunSpec lun_;
  common::FileDescriptor file_;
  std::unique_ptr<IoBuffers> buffers_;
  std::unique_ptr<IoEngine> engine_;
};

// A slot's request may carry the priority of an earlier one. Syncs take none.
TEST_P(EngineContract, APriorityGoesWithReadsAndWrites) {
  IoRequest read = {IoKind::kRead, 0, 0, 0, 4096, 0};
  read.priority = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7);
  IoRequest sync = {IoKind::kSync, 0, 1, 0, 0, 0};
  sync.priority = read.priority;
  EXPECT_EQ(DoAll({read})[0], 4096);
  EXPECT_EQ(DoAll({sync})[1], 0);
  // There is no class 7.
  read.priority = IOPRIO_PRIO_VALUE(7, 0);
  const bool sends = GetParam().engine == "io_uring" || GetParam().engine == "libaio";
  EXPECT_EQ(DoAll({read})[0], sends ? -EINVAL : 4096);
}

TEST_P(EngineContract, WhatWasWrittenIsReadBack) {
  std::vector<IoRequest> writes, reads;
  for (uint32_t slot = 0; slot < kDepth; ++slot) {
    memset(buffers_->at(slot), 'a' + static_cast<int>(slot), 4096);
    writes.push_back({IoKind::kWrite, 0, slot, slot, 4096, slot * 4096ul});
    // Read back into another buffer than it was written from.
    reads.push_back({IoKind::kRead, 0, slot, kDepth - 1 - slot, 4096, slot * 4096ul});
  }
  for (int32_t result : DoAll(writes)) EXPECT_EQ(result, 4096);
  for (int32_t result : DoAll(reads)) EXPECT_EQ(result, 4096);
  for (uint32_t slot = 0; slot < kDepth; ++slot) {
    EXPECT_EQ(buffers_->at(kDepth - 1 - slot)[100], 'a' + static_cast<char>(slot));
  }
}

TEST_P(EngineContract, ATransferBeyondTheEndIsShortAndNoError) {
  if (IsLun()) {  // which ends with a block
    EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, kFileBytes}})[0], -ENXIO);
    EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, kFileBytes - 4096}})[0], 4096);
    return;
  }
  ASSERT_EQ(ftruncate(file_.get(), 6000), 0);
  if (Maps()) {  // the page that is cut reads as zeros to its end; beyond it there is none
    EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, 4096}})[0], 4096);
    EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, 8192}})[0], -EIO);
    return;
  }
  EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, 4096}})[0], 6000 - 4096);
  EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, 8192}})[0], 0);
}

TEST_P(EngineContract, AFailedTransferGivesItsErrnoAndTheEngineGoesOn) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/read-only." + GetParam().name;
  common::FileDescriptor made(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
  ASSERT_EQ(ftruncate(made.get(), kFileBytes), 0);
  // a write to a page that may only be read is the process's fault, not an I/O's
  if (Maps()) return;
  if (IsLun()) {  // no whole block
    EXPECT_EQ(DoAll({{IoKind::kWrite, 0, 0, 0, 100, 0}})[0], -EINVAL);
    EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, 0}})[0], 4096);
    return;
  }
  common::FileDescriptor read_only(open(path.c_str(), O_RDONLY));
  engine_ = Open(read_only.get(), SyncMode::kFsync);
  EXPECT_EQ(DoAll({{IoKind::kWrite, 0, 0, 0, 4096, 0}})[0], -EBADF);
  EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, 0}})[0], 4096);
}

TEST_P(EngineContract, EverySyncModeSucceedsAfterAWrite) {
  for (SyncMode mode : {SyncMode::kFsync, SyncMode::kFdatasync, SyncMode::kSyncFileRange}) {
    engine_ = Open(file_.get(), mode);
    EXPECT_EQ(DoAll({{IoKind::kWrite, 0, 0, 0, 4096, 8192}})[0], 4096);
    EXPECT_EQ(DoAll({{IoKind::kSync, 0, 3, 0, 0, 0}})[3], 0);
  }
}

TEST_P(EngineContract, ATrimmedBlockReadsAsZerosAndItsNeighboursStay) {
  memset(buffers_->at(0), 'x', 4096);
  DoAll({{IoKind::kWrite, 0, 0, 0, 4096, 0}});
  DoAll({{IoKind::kWrite, 0, 0, 0, 4096, 4096}});
  EXPECT_EQ(DoAll({{IoKind::kTrim, 0, 1, 0, 4096, 4096}})[1], 0);
  EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 1, 4096, 0}, {IoKind::kRead, 0, 1, 2, 4096, 4096}})[0],
            4096);
  EXPECT_EQ(buffers_->at(1)[4095], 'x');
  EXPECT_EQ(buffers_->at(2)[0], 0);
  struct stat facts;
  ASSERT_EQ(fstat(file_.get(), &facts), 0);
  EXPECT_EQ(facts.st_size, static_cast<off_t>(kFileBytes));
}

TEST_P(EngineContract, NothingToDoReturnsAtTheDeadline) {
  std::vector<IoCompletion> out(kDepth);
  const auto count = engine_->Exchange({}, 1, NowNs() + 1000000, absl::MakeSpan(out));
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 0);
}

INSTANTIATE_TEST_SUITE_P(All, EngineContract, testing::ValuesIn(Kinds()),
                         [](const auto& info) { return info.param.name; });

TEST(EngineRegistryTest, EveryEngineOfAJobIsRegistered) {
  std::vector<std::string> names;
  for (const EngineEntry& entry : Engines()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"io_uring", "iscsi", "libaio", "mmap", "null",
                                             "preadv2", "sync"}));
  EXPECT_EQ(FindEngine("spdk"), nullptr);
}

EngineSetup SetupOf(std::vector<EngineFile> files, const IoBuffers* buffers, uint32_t depth) {
  EngineSetup setup;
  setup.files = std::move(files);
  setup.buffers = buffers;
  setup.queue_depth = depth;
  return setup;
}

TEST(UringEngineTest, ATargetWithoutStorageMovesWhatWasAskedFor) {
  auto buffers = *IoBuffers::Make(2, 4096);
  auto engine = NewUringEngine();
  ASSERT_TRUE(engine->Open(SetupOf({{NoStorage{}, 4096}}, buffers.get(), 2)).ok());
  std::vector<IoCompletion> out(2);
  const std::vector<IoRequest> requests = {{IoKind::kRead, 0, 0, 0, 4096, 0},
                                           {IoKind::kWrite, 0, 1, 1, 512, 0}};
  const auto count = engine->Exchange(requests, 2, NowNs() + 5000000000, absl::MakeSpan(out));
  ASSERT_TRUE(count.ok());
  ASSERT_EQ(*count, 2);
  EXPECT_EQ(out[0].result, 4096);
  EXPECT_EQ(out[1].result, 512);
}

TEST(UringEngineTest, WhatTheHostCannotPollIsRefusedWithTheReason) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/unpolled";
  common::FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
  ASSERT_EQ(ftruncate(file.get(), kFileBytes), 0);
  auto buffers = *IoBuffers::Make(1, 4096);
  EngineSetup setup = SetupOf({{OpenFile{file.get()}, kFileBytes}}, buffers.get(), 1);
  setup.completion_polling = true;
  const absl::Status status = NewUringEngine()->Open(setup);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(std::string(status.message()).find("polled queues"), std::string::npos) << status;
  EXPECT_EQ(NewSyncEngine()->Open(setup).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(NewLibaioEngine()->Open(setup).code(), absl::StatusCode::kUnimplemented);
}

TEST(UringEngineTest, AKernelThreadSubmitsWhenAsked) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/sqpoll";
  common::FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
  ASSERT_EQ(ftruncate(file.get(), kFileBytes), 0);
  auto buffers = *IoBuffers::Make(1, 4096);
  EngineSetup setup = SetupOf({{OpenFile{file.get()}, kFileBytes}}, buffers.get(), 1);
  setup.submission_polling = true;
  auto engine = NewUringEngine();
  ASSERT_TRUE(engine->Open(setup).ok());
  EXPECT_NE(engine->Describe().find("submission polling"), std::string::npos);
  std::vector<IoCompletion> out(1);
  for (int i = 0; i < 100; ++i) {
    const std::vector<IoRequest> requests = {{IoKind::kRead, 0, 0, 0, 4096, 0}};
    auto count = engine->Exchange(requests, 1, NowNs() + 5000000000, absl::MakeSpan(out));
    while (count.ok() && *count == 0) {
      count = engine->Exchange({}, 1, NowNs() + 5000000000, absl::MakeSpan(out));
    }
    ASSERT_TRUE(count.ok());
    EXPECT_EQ(out[0].result, 4096);
  }
}

// A child process, because the limit cannot be raised again; root is not held by it.
TEST(UringEngineTest, BuffersThatMayNotBeLockedAreUsedUnregisteredWithANote) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(3);
    const rlimit little = {1 << 20, 1 << 20};  // the ring itself needs some
    if (setrlimit(RLIMIT_MEMLOCK, &little) != 0) _exit(4);
    auto buffers = *IoBuffers::Make(16, 1 << 20);
    const int zero = open("/dev/zero", O_RDWR);
    auto engine = NewUringEngine();
    const absl::Status opened =
        engine->Open(SetupOf({{OpenFile{zero}, kFileBytes}}, buffers.get(), 16));
    if (!opened.ok()) {
      fprintf(stderr, "%s\n", std::string(opened.message()).c_str());
      _exit(5);
    }
    bool noted = false;
    for (const std::string& note : engine->notes()) {
      noted = noted || note.find("locked memory") != std::string::npos;
    }
    std::vector<IoCompletion> out(16);
    const std::vector<IoRequest> requests = {{IoKind::kRead, 0, 0, 0, 1 << 20, 0}};
    auto count = engine->Exchange(requests, 1, NowNs() + 5000000000, absl::MakeSpan(out));
    while (count.ok() && *count == 0) {
      count = engine->Exchange({}, 1, NowNs() + 5000000000, absl::MakeSpan(out));
    }
    if (!noted) _exit(6);
    if (!count.ok() || *count != 1) _exit(7);
    // /dev/zero stops early when the thread has other work, as completions of a ring are.
    _exit(out[0].result > 0 ? 0 : 8);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(BuffersTest, HugePagesThatAreNotThereAreRefusedWithTheRemedy) {
  // More than any host has reserved.
  const auto made = IoBuffers::Make(1024, size_t{64} << 30, IoBuffers::Pages::kHuge);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(std::string(made.status().message()).find("vm.nr_hugepages"), std::string::npos)
      << made.status();
}

// Virtual time, one thread.
class StepClock final : public common::Clock {
 public:
  int64_t MonotonicNs() const override { return now_; }
  int64_t WallNs() const override { return now_; }
  void SleepUntil(int64_t at_ns) const override { now_ = std::max(now_, at_ns); }

 private:
  mutable int64_t now_ = 1000;
};

TEST(NullEngineTest, CompletesByTheScriptAndStallsWhenItSays) {
  const StepClock clock;
  auto engine = NewNullEngine({1000, 10000, 4000}, &clock);
  ASSERT_TRUE(engine->Open(SetupOf({{NoStorage{}, 4096}}, nullptr, 2)).ok());
  std::vector<IoCompletion> out(2);
  // The first stall begins with the first I/O and ends after 4000.
  std::vector<IoRequest> one = {{IoKind::kRead, 0, 0, 0, 4096, 0}};
  ASSERT_EQ(*engine->Exchange(one, 1, INT64_MAX, absl::MakeSpan(out)), 1);
  EXPECT_EQ(clock.MonotonicNs(), 5000);
  ASSERT_EQ(*engine->Exchange(one, 1, INT64_MAX, absl::MakeSpan(out)), 1);
  EXPECT_EQ(clock.MonotonicNs(), 6000);
  // Not before its time, and not beyond the deadline.
  ASSERT_EQ(*engine->Exchange(one, 1, 6500, absl::MakeSpan(out)), 0);
  EXPECT_EQ(clock.MonotonicNs(), 6500);
  ASSERT_EQ(*engine->Exchange({}, 1, INT64_MAX, absl::MakeSpan(out)), 1);
  EXPECT_EQ(clock.MonotonicNs(), 7000);
  EXPECT_EQ(out[0].result, 4096);
}

TEST(UringEngineTest, ReturnsAtTheDeadlineWhileAReadHangsAndReapsItLater) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  auto buffers = *IoBuffers::Make(1, 4096);
  auto engine = NewUringEngine();
  ASSERT_TRUE(engine->Open(SetupOf({{OpenFile{pipe_ends[0]}, 4096}}, buffers.get(), 1)).ok());
  std::vector<IoCompletion> out(1);
  const std::vector<IoRequest> requests = {{IoKind::kRead, 0, 0, 0, 4096, ~uint64_t{0}}};
  auto count = engine->Exchange(requests, 1, NowNs() + 20000000, absl::MakeSpan(out));
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 0);
  ASSERT_EQ(write(pipe_ends[1], "hello", 5), 5);
  count = engine->Exchange({}, 1, NowNs() + 5000000000, absl::MakeSpan(out));
  ASSERT_TRUE(count.ok());
  ASSERT_EQ(*count, 1);
  EXPECT_EQ(out[0].result, 5);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(ErrorTest, AFailingMediumIsCountedAndAHopelessTargetStops) {
  EXPECT_EQ(ConsequenceOf(EINTR), ErrorConsequence::kRetry);
  EXPECT_EQ(ConsequenceOf(EAGAIN), ErrorConsequence::kRetry);
  EXPECT_EQ(ConsequenceOf(EIO), ErrorConsequence::kCount);
  EXPECT_EQ(ConsequenceOf(ENOSPC), ErrorConsequence::kStop);
  EXPECT_EQ(ConsequenceOf(ENODEV), ErrorConsequence::kStop);
}

}  // namespace
}  // namespace lockstep::worker
