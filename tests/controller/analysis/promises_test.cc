// Figures beside the maximum that somebody promised: what is said, and what served the rest.

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "controller/report/markdown.h"
#include "controller/report/text.h"
#include "controller/report/verdict.h"
#include "measure/report_states.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

// The phase's load, changed in the job and in the stored phase.
template <typename Change>
void ChangeLoad(Stored* data, const Change& change) {
  change(data->run.job.mutable_phases(0)->mutable_run());
  data->phases[0].phase.spec = data->run.job.phases(0);
}

// Two workers with 400 IOPS and 1.6 MB/s together.
Stored PromisedIops(double iops) {
  Stored data = TwoWorkers();
  ChangeLoad(&data, [&](v1::RunPhase* run) { run->mutable_promised()->set_iops(iops); });
  return data;
}

v1::PromiseReport PromiseOf(const Stored& data) {
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.promised_size(), 1);
  return phase.promised_size() == 1 ? phase.promised(0) : v1::PromiseReport();
}

// Buffered I/O of which the device moves `share` of the bytes.
void LetCacheServe(double share, Stored* data) {
  ChangeLoad(data, [](v1::RunPhase* run) { run->mutable_workloads(0)->set_direct(false); });
  for (v1::IntervalSample& sample : data->intervals[0]) {
    v1::DeviceSample* d = sample.mutable_devices(0);
    d->set_reads(static_cast<uint64_t>(share * 400));
    d->set_read_bytes(static_cast<uint64_t>(share * 400 * 4096));
  }
}

TEST(PromiseTest, WithinThePromiseIsAShareAndNoWarning) {
  const v1::Report report = ReportOf(PromisedIops(500));
  const v1::PromiseReport promise = report.phases(0).promised(0);
  EXPECT_EQ(promise.text(), "400 of 500 IOPS promised: 80 %");
  EXPECT_DOUBLE_EQ(promise.found(), 400);
  EXPECT_DOUBLE_EQ(promise.ratio(), 0.8);
  EXPECT_FALSE(promise.exceeded());
  EXPECT_EQ(promise.cause(), "");
  EXPECT_FALSE(absl::StrContains(absl::StrJoin(Warnings(report), "\n"), "promised"));
  for (const bool detail : {false, true}) {
    TextOptions options;
    options.detail = detail;
    EXPECT_TRUE(absl::StrContains(RenderText(report, options), promise.text()));
  }
  EXPECT_TRUE(absl::StrContains(RenderMarkdown(report), "400 of 500 IOPS promised"));
}

TEST(PromiseTest, BeyondThePromiseIsAWarningWithItsCause) {
  Stored data = PromisedIops(300);
  LetCacheServe(0.42, &data);
  const v1::Report report = ReportOf(data);
  const v1::PromiseReport promise = report.phases(0).promised(0);
  EXPECT_TRUE(promise.exceeded());
  EXPECT_EQ(promise.cause(), "58 % of the reads came from the page cache");
  EXPECT_EQ(promise.text(),
            "400 of 300 IOPS promised (133 %): 58 % of the reads came from the page cache");
  EXPECT_TRUE(absl::StrContains(absl::StrJoin(Warnings(report), "\n"), promise.text()));
  EXPECT_TRUE(absl::StrContains(RenderMarkdown(report), "of the reads came from the page cache"));
  // It decides nothing.
  EXPECT_TRUE(report.expectations_met());
  EXPECT_EQ(report.run().expectations(), "2 of 2 met");
  EXPECT_EQ(VerdictOf(report).word, measure::VerdictWord::kPassed);
}

TEST(PromiseTest, ACacheThatServedTooLittleIsNotTheWholeCause) {
  Stored data = PromisedIops(100);
  LetCacheServe(0.7, &data);
  EXPECT_EQ(PromiseOf(data).cause(),
            "30 % of the reads came from the page cache, sda served the rest");
  // Another program may have moved what the device did.
  LetCacheServe(1, &data);
  v1::ProcessIo* other = data.phases[0].workers[0].result.add_others();
  other->set_command("tar");
  other->set_read_bytes(uint64_t{1200} * 4096);
  EXPECT_EQ(PromiseOf(data).cause(), "what served them is not known");
}

TEST(PromiseTest, TheCacheIsNamedAlsoBesideProgramsThatRead) {
  Stored data = PromisedIops(300);
  // The device moves as many bytes as the engines, or more, and none of them for the load.
  for (const double share : {1.0, 3.0}) {
    LetCacheServe(share, &data);
    for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
      worker.result.set_own_read_bytes(0);
      worker.result.set_own_write_bytes(0);
    }
    const v1::PhaseReport phase = ReportOf(data).phases(0);
    EXPECT_EQ(phase.promised(0).cause(), "100 % of the reads came from the page cache");
    EXPECT_EQ(phase.devices(0).cross_check().verdict(), v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE);
    EXPECT_TRUE(phase.devices(0).cross_check().has_own_read_bytes());
    EXPECT_EQ(phase.workloads(0).limited_because(),
              "sda moved 0 % of the engines' bytes for them, memory the rest");
  }
  // Of some programs' reads the share is known, too.
  LetCacheServe(0.7, &data);
  EXPECT_EQ(PromiseOf(data).cause(), "100 % of the reads came from the page cache");
}

TEST(PromiseTest, WritesThatStayInThePageCacheAreNamed) {
  Stored data = PromisedIops(300);
  LetCacheServe(0, &data);
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.mutable_workloads(0)->mutable_measured(0)->set_kind(v1::OPERATION_KIND_WRITE);
  }
  for (auto& [worker, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) {
      sample.mutable_workloads(0)->mutable_operations(0)->set_kind(v1::OPERATION_KIND_WRITE);
    }
  }
  EXPECT_EQ(PromiseOf(data).cause(), "100 % of the writes were still in the page cache");
}

TEST(PromiseTest, MergedRequestsAreNamed) {
  Stored data = PromisedIops(300);
  for (v1::IntervalSample& sample : data.intervals[0]) sample.mutable_devices(0)->set_reads(40);
  EXPECT_EQ(PromiseOf(data).cause(),
            "the kernel merged neighbouring I/Os, and 40 requests/s reached sda");
  // Beyond a promise of throughput they explain nothing.
  ChangeLoad(&data, [](v1::RunPhase* run) {
    run->mutable_promised()->Clear();
    run->mutable_promised()->set_throughput_bytes_per_second(1 << 20);
  });
  EXPECT_EQ(PromiseOf(data).text(),
            "1.56 MiB/s of 1.00 MiB/s promised (156 %): sda served them, by its own counters");
}

TEST(PromiseTest, WhereNothingShowsTheCauseItIsNotKnown) {
  EXPECT_EQ(PromiseOf(PromisedIops(300)).cause(), "sda served them, by its own counters");
  Stored without = PromisedIops(300);
  for (measure::RunWorker& worker : without.workers) {
    worker.inspection.mutable_targets(0)->clear_device_name();
  }
  EXPECT_EQ(PromiseOf(without).cause(), "what served them is not known");
  Stored data = PromisedIops(300);
  data.run.job.mutable_targets(0)->mutable_null();
  EXPECT_EQ(PromiseOf(data).cause(), "no storage served the I/Os: the targets are null targets");
  data.workers[0].inspection.set_synthetic(true);
  EXPECT_EQ(PromiseOf(data).cause(), "the figures of synthetic workers are made up");
}

TEST(PromiseTest, WhatIsWithinTheIntervalIsNotBeyondThePromise) {
  const auto exceeds = [](double promised, uint64_t amplitude) {
    // 800 IOPS in all.
    Stored data = FourHosts(
        [&](uint32_t, uint32_t k) { return k % 2 == 0 ? 200 - amplitude : 200 + amplitude; });
    ChangeLoad(&data, [&](v1::RunPhase* run) { run->mutable_promised()->set_iops(promised); });
    const v1::PromiseReport promise = PromiseOf(data);
    EXPECT_DOUBLE_EQ(promise.found(), 800);
    return promise.exceeded();
  };
  EXPECT_TRUE(exceeds(750, 0));
  // Beyond it by less than 1 %, and by more.
  EXPECT_FALSE(exceeds(795, 0));
  EXPECT_TRUE(exceeds(790, 0));
  // The mean of ten intervals of 600 and 1,000 is known within 19 %.
  EXPECT_FALSE(exceeds(750, 50));
  EXPECT_TRUE(exceeds(600, 50));
}

TEST(PromiseTest, WithoutAnIoThereIsNoShare) {
  Stored data = PromisedIops(300);
  data.phases[0].phase.ramp_ns = 5000000000;
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    worker.result.set_stopped_early(true);
    worker.result.mutable_workloads(0)->clear_measured();
  }
  for (auto& [worker, samples] : data.intervals) {
    for (v1::IntervalSample& sample : samples) {
      sample.set_interval_class(v1::INTERVAL_CLASS_RAMP);
    }
  }
  const v1::PromiseReport promise = PromiseOf(data);
  EXPECT_EQ(promise.text(), "300 IOPS promised: nothing was measured");
  EXPECT_FALSE(promise.has_found());
  EXPECT_FALSE(promise.has_ratio());
}

}  // namespace
}  // namespace lockstep::controller
