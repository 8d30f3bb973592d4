// The contract that every engine fulfils.

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "common/files.h"
#include "gtest/gtest.h"
#include "worker/engine/sync_engine.h"
#include "worker/engine/uring_engine.h"

namespace lockstep::worker {
namespace {

int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

struct Kind {
  const char* name;
  std::unique_ptr<IoEngine> (*make)();
};

class EngineContract : public testing::TestWithParam<Kind> {
 protected:
  static constexpr uint32_t kDepth = 8;

  void SetUp() override {
    const std::string path = std::string(getenv("TEST_TMPDIR")) + "/file." + GetParam().name;
    file_ = common::FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    ASSERT_TRUE(file_.valid());
    buffers_ = *IoBuffers::Make(kDepth, 4096);
    engine_ = GetParam().make();
    ASSERT_TRUE(engine_->Open({{file_.get()}, buffers_.get(), kDepth}).ok());
  }

  // All completions of these requests, by slot.
  std::vector<int32_t> DoAll(const std::vector<IoRequest>& requests) {
    std::vector<int32_t> results(kDepth, 12345);
    std::vector<IoCompletion> out(kDepth);
    size_t done = 0;
    bool first = true;
    while (done < requests.size()) {
      const auto count = engine_->Exchange(first ? absl::MakeConstSpan(requests) : absl::Span<const IoRequest>(), 1, NowNs() + 5000000000, absl::MakeSpan(out));
      EXPECT_TRUE(count.ok());
      if (!count.ok()) break;
      first = false;
      for (int i = 0; i < *count; ++i) results[out[i].slot] = out[i].result;
      done += *count;
    }
    return results;
  }

  common::FileDescriptor file_;
  std::unique_ptr<IoBuffers> buffers_;
  std::unique_ptr<IoEngine> engine_;
};

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
  for (uint32_t slot = 0; slot < kDepth; ++slot) EXPECT_EQ(buffers_->at(kDepth - 1 - slot)[100], 'a' + static_cast<char>(slot));
}

TEST_P(EngineContract, ATransferBeyondTheEndIsShortAndNoError) {
  ASSERT_EQ(ftruncate(file_.get(), 6000), 0);
  EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, 4096}})[0], 6000 - 4096);
  EXPECT_EQ(DoAll({{IoKind::kRead, 0, 0, 0, 4096, 8192}})[0], 0);
}

TEST_P(EngineContract, AFailedTransferGivesItsErrno) {
  common::FileDescriptor read_only(open("/dev/null", O_RDONLY));
  std::unique_ptr<IoEngine> engine = GetParam().make();
  ASSERT_TRUE(engine->Open({{read_only.get()}, buffers_.get(), 1}).ok());
  std::vector<IoCompletion> out(1);
  const std::vector<IoRequest> requests = {{IoKind::kWrite, 0, 0, 0, 4096, 0}};
  const auto count = engine->Exchange(requests, 1, NowNs() + 5000000000, absl::MakeSpan(out));
  ASSERT_TRUE(count.ok());
  ASSERT_EQ(*count, 1);
  EXPECT_EQ(out[0].result, -EBADF);
}

TEST_P(EngineContract, NothingToDoReturnsAtTheDeadline) {
  std::vector<IoCompletion> out(kDepth);
  const auto count = engine_->Exchange({}, 1, NowNs() + 1000000, absl::MakeSpan(out));
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 0);
}

INSTANTIATE_TEST_SUITE_P(All, EngineContract, testing::Values(Kind{"io_uring", NewUringEngine}, Kind{"sync", NewSyncEngine}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(UringEngineTest, ReturnsAtTheDeadlineWhileAReadHangsAndReapsItLater) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  auto buffers = *IoBuffers::Make(1, 4096);
  auto engine = NewUringEngine();
  ASSERT_TRUE(engine->Open({{pipe_ends[0]}, buffers.get(), 1}).ok());
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
  EXPECT_EQ(ConsequenceOf(EIO), ErrorConsequence::kCount);
  EXPECT_EQ(ConsequenceOf(ENOSPC), ErrorConsequence::kStop);
  EXPECT_EQ(ConsequenceOf(ENODEV), ErrorConsequence::kStop);
}

}  // namespace
}  // namespace lockstep::worker
