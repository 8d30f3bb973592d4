#include "worker/sampler/recorder.h"

#include <thread>

#include "gtest/gtest.h"
#include "worker/sampler/timeline.h"

namespace lockstep::worker {
namespace {

TEST(RecorderTest, IntervalsComeOutInOrderAndNothingIsLostBetweenTwoThreads) {
  Recorder recorder({});
  constexpr int kIntervals = 300;
  std::thread writer([&] {
    for (int interval = 0; interval < kIntervals; ++interval) {
      for (int i = 0; i <= interval; ++i) {
        recorder.RecordDone(IoKind::kRead, 1000 + i, 1000 + i, 4096, Recorder::Transfer::kWhole);
      }
      if (interval + 1 < kIntervals) recorder.CloseInterval();
    }
    recorder.Finish(5, Recorder::End::kAllDone);
  });
  int taken = 0;
  while (taken < kIntervals) {
    const IntervalStats* stats = recorder.Front();
    if (stats == nullptr) {
      std::this_thread::yield();
      continue;
    }
    EXPECT_EQ((*stats)[0].counts.operations, static_cast<uint64_t>(taken + 1));
    measure::OperationStats totals;
    (*stats)[0].AddTo(&totals);
    EXPECT_EQ(totals.histogram(v1::METRIC_SERVICE_TIME).count(), static_cast<uint64_t>(taken + 1));
    EXPECT_EQ((*stats)[0].counts.latency_max_ns, 1000u + taken);
    EXPECT_EQ((*stats)[1].counts.operations, 0u);
    recorder.Pop();
    ++taken;
  }
  writer.join();
  EXPECT_TRUE(recorder.finished());
  EXPECT_EQ(recorder.Front(), nullptr);
}

void Record(Recorder* recorder) {
  recorder->RecordDone(IoKind::kRead, 1000, 1000, 4096, Recorder::Transfer::kWhole);
}

TEST(RecorderTest, AThreadInsideACallHasItsIntervalsClosed) {
  Recorder recorder({});
  Record(&recorder);
  // It may record more.
  EXPECT_FALSE(recorder.CloseForBlocked());
  EXPECT_EQ(recorder.Front(), nullptr);
  recorder.EnterCall();
  ASSERT_TRUE(recorder.CloseForBlocked());
  ASSERT_NE(recorder.Front(), nullptr);
  EXPECT_EQ((*recorder.Front())[0].counts.operations, 1u);
  EXPECT_EQ(recorder.interval(), 1u);
  // Further ones are empty. A slot that nobody has read stays as it is.
  int closed = 1;
  while (recorder.CloseForBlocked()) ++closed;
  EXPECT_EQ(closed, 7);
  recorder.Pop();
  EXPECT_EQ((*recorder.Front())[0].counts.operations, 0u);
  recorder.LeaveCall();
  EXPECT_FALSE(recorder.CloseForBlocked());
  Record(&recorder);
  EXPECT_EQ(recorder.interval(), 7u);
  recorder.Finish(1, Recorder::End::kLoadEnd);
  for (int interval = 1; interval < 7; ++interval) recorder.Pop();
  EXPECT_EQ((*recorder.Front())[0].counts.operations, 1u);
}

// One thread goes in and out of calls, the other closes its intervals whenever it can.
TEST(RecorderTest, NothingIsLostBetweenAThreadAndWhoeverClosesForIt) {
  Recorder recorder({});
  constexpr uint64_t kOperations = 2000;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kOperations; ++i) {
      recorder.EnterCall();
      if (i % 100 == 0) std::this_thread::yield();
      recorder.LeaveCall();
      Record(&recorder);
    }
    recorder.Finish(1, Recorder::End::kAllDone);
  });
  uint64_t taken = 0;
  while (!recorder.finished() || recorder.Front() != nullptr) {
    recorder.CloseForBlocked();
    while (const IntervalStats* stats = recorder.Front()) {
      taken += (*stats)[0].counts.operations;
      recorder.Pop();
    }
  }
  writer.join();
  EXPECT_EQ(taken, kOperations);
}

TEST(RecorderTest, AnOpenLoopKeepsServiceAndResponseTimesApart) {
  Recorder::Options options;
  options.kinds = {true, false, false, false};
  options.response = options.submission = true;
  Recorder recorder(options);
  recorder.RecordDone(IoKind::kRead, 100, 5000, 4096, Recorder::Transfer::kWhole);
  recorder.RecordSubmission(IoKind::kRead, 20);
  recorder.Finish(1, Recorder::End::kLoadEnd);
  measure::OperationStats totals;
  (*recorder.Front())[0].AddTo(&totals);
  EXPECT_EQ(totals.histogram(v1::METRIC_SERVICE_TIME).bucket(common::BucketOf(100)), 1u);
  EXPECT_EQ(totals.histogram(v1::METRIC_RESPONSE_TIME).bucket(common::BucketOf(5000)), 1u);
  EXPECT_EQ(totals.histogram(v1::METRIC_SUBMISSION_LATENCY).bucket(common::BucketOf(20)), 1u);
  EXPECT_EQ(totals.counts().latency_sum_ns, 5000u);
}

TEST(TimelineTest, TheGridIsCutAtTheLoadsEnd) {
  Timeline timeline(1000, 2000);
  timeline.Begin(50000, 4500);
  EXPECT_EQ(timeline.EndOf(0), 51000);
  EXPECT_TRUE(timeline.IsRamp(1));
  EXPECT_FALSE(timeline.IsRamp(2));
  EXPECT_EQ(timeline.EndOf(4), 54500);
  timeline.EndAt(53200);
  EXPECT_EQ(timeline.EndOf(3), 53200);
  timeline.EndAt(54000);  // later than the end so far: nothing
  EXPECT_EQ(timeline.load_end_ns(), 53200);
}

TEST(RecorderDeathTest, WhatBreaksTheOrderOfIntervalsEndsTheProgram) {
  Recorder recorder({});
  EXPECT_DEATH(recorder.Pop(), "not handed over");
  recorder.Finish(1, Recorder::End::kAllDone);
  EXPECT_DEATH(recorder.Finish(1, Recorder::End::kAllDone), "finishes twice");
  EXPECT_DEATH(recorder.CloseInterval(), "after the last one");
}

#ifndef NDEBUG
TEST(RecorderDeathTest, InDebugBuildsWhatTheOptionsDoNotNameEndsTheProgram) {
  Recorder recorder({});
  EXPECT_DEATH(recorder.RecordSubmission(IoKind::kRead, 20), "do not name");
  EXPECT_DEATH(recorder.RecordDone(IoKind::kRead, 100, 5000, 4096, Recorder::Transfer::kWhole),
               "no response time");
  recorder.EnterCall();
  EXPECT_DEATH(Record(&recorder), "inside a call");
}
#endif

}  // namespace
}  // namespace lockstep::worker
