#include "controller/plan/sweep.h"

#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/validate.h"
#include "controller/report/sweep_text.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

v1::Sweep TwoAxes() {
  v1::Sweep sweep;
  v1::SweepAxis* size = sweep.add_axes();
  size->set_field("block_size");
  for (const char* value : {"4KiB", "8KiB"}) size->add_values(value);
  v1::SweepAxis* depth = sweep.add_axes();
  depth->set_field("queue_depth");
  for (const char* value : {"1", "4", "16"}) depth->add_values(value);
  return sweep;
}

v1::RunPhase TwoWorkloads() {
  v1::RunPhase run;
  run.add_workloads()->mutable_open_loop();
  run.add_workloads();
  return run;
}

TEST(SweepTest, AProductHasEveryCombinationTheLastAxisFastest) {
  const v1::Sweep sweep = TwoAxes();
  ASSERT_EQ(PointsOf(sweep), 6u);
  EXPECT_EQ(NameOf(PointAt(sweep, 0)), "block_size=4KiB queue_depth=1");
  EXPECT_EQ(NameOf(PointAt(sweep, 1)), "block_size=4KiB queue_depth=4");
  EXPECT_EQ(NameOf(PointAt(sweep, 5)), "block_size=8KiB queue_depth=16");
}

TEST(SweepTest, AZipGoesAlongItsAxesAndNeedsEqualOnes) {
  v1::Sweep sweep = TwoAxes();
  sweep.set_combine(v1::SWEEP_COMBINE_ZIP);
  EXPECT_EQ(PointsOf(sweep), 0u);
  sweep.mutable_axes(0)->add_values("16KiB");
  ASSERT_EQ(PointsOf(sweep), 3u);
  EXPECT_EQ(NameOf(PointAt(sweep, 2)), "block_size=16KiB queue_depth=16");
}

TEST(SweepTest, ARandomOrderHasEveryPointOnceInEachRepetition) {
  v1::Sweep sweep = TwoAxes();
  sweep.set_order(v1::SWEEP_ORDER_RANDOM);
  sweep.set_repeat(3);
  ASSERT_EQ(PointsOf(sweep), 18u);
  std::set<std::string> orders;
  for (uint32_t repeat = 0; repeat < 3; ++repeat) {
    std::set<std::string> points;
    std::string order;
    for (uint32_t i = 0; i < 6; ++i) {
      SweepPoint point = PointAt(sweep, repeat * 6 + i);
      EXPECT_EQ(point.repeat, repeat);
      point.repeat = 0;
      points.insert(NameOf(point));
      order += NameOf(point) + ";";
    }
    EXPECT_EQ(points.size(), 6u);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 3u);
  sweep.set_seed(7);
  EXPECT_EQ(NameOf(PointAt(sweep, 9)), NameOf(PointAt(sweep, 9)));
}

TEST(SweepTest, RepetitionsAloneComeOneAfterTheOther) {
  v1::Sweep sweep;
  sweep.set_repeat(2);
  EXPECT_EQ(PointsOf(sweep), 2u);
  EXPECT_EQ(NameOf(PointAt(sweep, 0)), "");
  EXPECT_EQ(NameOf(PointAt(sweep, 1)), "(2)");
}

TEST(SweepTest, FieldsAreThoseOfEveryWorkloadOfOneOrOfThePhase) {
  v1::RunPhase run = TwoWorkloads();
  ASSERT_TRUE(Apply("block_size", "8KiB", &run).ok());
  EXPECT_EQ(run.workloads(0).block_size_bytes(), 8192);
  EXPECT_EQ(run.workloads(1).block_size_bytes(), 8192);
  ASSERT_TRUE(Apply("workloads.1.threads", "7", &run).ok());
  EXPECT_EQ(run.workloads(0).threads(), 0u);
  EXPECT_EQ(run.workloads(1).threads(), 7u);
  ASSERT_TRUE(Apply("duration", "3s", &run).ok());
  EXPECT_EQ(run.duration_ns(), 3000000000);
  ASSERT_TRUE(Apply("read", "30%", &run).ok());
  EXPECT_DOUBLE_EQ(run.workloads(0).read_ratio(), 0.3);
  ASSERT_TRUE(Apply("hosts.count", "2", &run).ok());
  EXPECT_EQ(run.workloads(1).hosts().count(), 2u);
  ASSERT_TRUE(Apply("pattern", "sequential", &run).ok());
  EXPECT_TRUE(run.workloads(0).pattern().has_sequential());
  ASSERT_TRUE(Apply("workloads.0.open_loop.rate", "20k", &run).ok());
  EXPECT_DOUBLE_EQ(run.workloads(0).open_loop().rate_per_second(), 20000);
}

TEST(SweepTest, TheSetOfHostsIsAnAxis) {
  v1::RunPhase run = TwoWorkloads();
  run.mutable_workloads(0)->mutable_hosts()->add_names("before");
  ASSERT_TRUE(Apply("hosts.names", "node[1,3-4], db1", &run).ok());
  for (const v1::Workload& workload : run.workloads()) {
    ASSERT_EQ(workload.hosts().names_size(), 2);
    EXPECT_EQ(workload.hosts().names(0), "node[1,3-4]");
    EXPECT_EQ(workload.hosts().names(1), "db1");
  }
  ASSERT_TRUE(Apply("workloads.1.hosts.labels", "rack=1,disk=ssd", &run).ok());
  EXPECT_TRUE(run.workloads(0).hosts().labels().empty());
  ASSERT_EQ(run.workloads(1).hosts().labels_size(), 2u);
  EXPECT_EQ(run.workloads(1).hosts().labels().at("disk"), "ssd");
  EXPECT_FALSE(Apply("hosts.names", "a,,b", &run).ok());
  EXPECT_FALSE(Apply("hosts.labels", "rack", &run).ok());
  EXPECT_FALSE(Apply("targets", "a,b", &run).ok()) << "what is written is known without points";
}

TEST(SweepTest, APointMayHaveNoSyncs) {
  v1::RunPhase run = TwoWorkloads();
  SweepPoint point;
  point.values = {{"fsync.every", "0"}};
  ASSERT_TRUE(Apply(point, &run).ok());
  EXPECT_FALSE(run.workloads(0).has_fsync());
  point.values = {{"fsync.every", "8"}};
  ASSERT_TRUE(Apply(point, &run).ok());
  EXPECT_EQ(run.workloads(1).fsync().every(), 8u);
  // The sync at the end is one, too.
  run.mutable_workloads(0)->mutable_fsync()->set_at_end(true);
  point.values = {{"fsync.every", "0"}};
  ASSERT_TRUE(Apply(point, &run).ok());
  EXPECT_TRUE(run.workloads(0).has_fsync());
  EXPECT_FALSE(run.workloads(1).has_fsync());
  // A job's own empty policy stays, and is refused.
  run.mutable_workloads(1)->mutable_fsync();
  point.values = {{"threads", "2"}};
  ASSERT_TRUE(Apply(point, &run).ok());
  EXPECT_TRUE(run.workloads(1).has_fsync());
}

TEST(SweepTest, WhatIsNoFieldOrNoValueIsRefusedInWords) {
  v1::RunPhase run = TwoWorkloads();
  for (const auto& [field, text, words] : {std::tuple("quue", "1", "no `quue`"),
                                           {"block_size", "4q", "4q"},
                                           {"queue_depth", "9999999", "too large"},
                                           {"workloads.9.threads", "1", "no item 9"},
                                           {"workloads", "1", "is a list"},
                                           {"queue_depth.x", "1", "behind a plain field"},
                                           {"pattern", "spiral", "not one of the choices"},
                                           {"sweep.repeat", "2", "cannot be swept"},
                                           {"", "1", "is no field"},
                                           {"..", "1", "is no field"}}) {
    const absl::Status status = Apply(field, text, &run);
    EXPECT_NE(status.message().find(words), absl::string_view::npos) << field << ": " << status;
  }
}

TEST(SweepTest, TheMatrixHasARowAndAColumnForEachValueAndMarksTheBest) {
  v1::SweepReport report;
  const v1::Sweep sweep = TwoAxes();
  for (const v1::SweepAxis& axis : sweep.axes()) {
    v1::SweepAxisReport* out = report.add_axes();
    out->set_field(axis.field());
    *out->mutable_values() = axis.values();
  }
  for (uint32_t i = 0; i < 5; ++i) {  // the last point was not run
    v1::SweepPointReport* point = report.add_points();
    const SweepPoint at = PointAt(sweep, i);
    point->mutable_indices()->Assign(at.indices.begin(), at.indices.end());
    point->set_runs(1);
    point->set_iops(1000 * (i + 1));
    point->set_p99_ns(1e6 * (i + 1));
  }
  const std::string text = RenderSweep(report, 100);
  EXPECT_NE(text.find("block_size \\ queue_depth"), std::string::npos) << text;
  EXPECT_NE(text.find("1,000    2,000 ░  3,000 ▒"), std::string::npos) << text;
  EXPECT_NE(text.find("5,000 █"), std::string::npos) << text;
  EXPECT_NE(text.find("-\n"), std::string::npos);
}

TEST(SweepTest, ALimitIsNeverCut) {
  v1::SweepReport report;
  v1::SweepAxisReport* axis = report.add_axes();
  axis->set_field("queue_depth");
  uint32_t number = 0;
  for (const char* limit : {"queue depth", "above the device", "above the device"}) {
    axis->add_values(absl::StrCat(1 << number));
    v1::SweepPointReport* point = report.add_points();
    point->add_indices(number++);
    point->set_runs(1);
    point->set_iops(1000 * number);
    point->set_p99_ns(1.23e6);
    point->set_limited_by(limit);
  }
  const std::string narrow = RenderSweep(report, 90);
  EXPECT_EQ(narrow.find("…"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("    limited by: queue depth at 1; above the device at 2, 4\n"),
            std::string::npos)
      << narrow;
  const std::string wide = RenderSweep(report, 200);
  EXPECT_EQ(wide.find("limited by: "), std::string::npos) << wide;
  EXPECT_NE(wide.find("above the device\n"), std::string::npos) << wide;
}

TEST(SweepTest, APercentileThatIsNotThereIsNotTheBest) {
  v1::SweepReport report;
  v1::SweepAxisReport* axis = report.add_axes();
  axis->set_field("operations");
  for (uint32_t i = 0; i < 3; ++i) {
    axis->add_values(absl::StrCat(i));
    v1::SweepPointReport* point = report.add_points();
    point->add_indices(i);
    point->set_runs(1);
    if (i > 0) point->set_p99_ns(i * 1e6);
  }
  const std::string text = RenderSweep(report, 200);
  EXPECT_EQ(text.find("– █"), std::string::npos) << text;
  EXPECT_NE(text.find("1 ms █"), std::string::npos) << text;
  EXPECT_NE(text.find("2 ms  "), std::string::npos) << text;
}

// A job whose only phase repeats two depths until the mean is known to 5 %.
v1::JobSpec Repeated(uint32_t repeat, uint32_t warm_up) {
  v1::JobSpec job;
  v1::PhaseSpec* phase = job.add_phases();
  phase->set_name("load");
  v1::Sweep* sweep = phase->mutable_run()->mutable_sweep();
  phase->mutable_run()->add_workloads();
  v1::SweepAxis* depth = sweep->add_axes();
  depth->set_field("queue_depth");
  for (const char* value : {"1", "4"}) depth->add_values(value);
  sweep->set_repeat(repeat);
  sweep->set_warm_up(warm_up);
  sweep->mutable_until()->set_within_ratio(0.05);
  sweep->mutable_until()->set_least(3);
  return job;
}

// How many steps it takes when each gives the next of these IOPS, over and over.
size_t StepsOf(const v1::JobSpec& job, const std::vector<double>& iops, size_t fails = SIZE_MAX,
               size_t without_a_host = SIZE_MAX) {
  std::vector<StepResult> results;
  while (true) {
    const auto next = NextPhase(job, results, Remaining::kAll);
    EXPECT_TRUE(next.ok());
    if (!next.ok() || !next->has_value()) return results.size();
    StepResult result{.job_phase = (*next)->job_phase,
                      .step = (*next)->step,
                      .name = (*next)->spec.name(),
                      .done = true};
    result.done = results.size() != fails;
    result.figures.set_iops(iops[results.size() % iops.size()]);
    result.figures.set_p99_ns(result.figures.iops());
    result.figures.set_workers(results.size() == without_a_host ? 3 : 4);
    results.push_back(result);
  }
}

TEST(RepetitionTest, GoesOnUntilTheMeanIsKnownWellEnoughAndNoFurther) {
  // Steps are pairs: both depths once.
  EXPECT_EQ(StepsOf(Repeated(20, 0), {100, 200}), 6u);
  EXPECT_EQ(StepsOf(Repeated(20, 2), {100, 200}), 10u);
  // One depth varies: the other waits for it, up to the limit.
  EXPECT_EQ(StepsOf(Repeated(5, 0), {100, 200, 100, 400}), 10u);
  // ±2 around 100: three values have a margin of 2.9 to 5 %.
  EXPECT_LE(StepsOf(Repeated(20, 0), {98, 200, 102, 200, 100, 200}), 10u);
  // A warm-up that is far away from the rest is in no figure.
  std::vector<double> warming = {1, 1};
  for (int i = 0; i < 40; ++i) warming.push_back(i % 2 == 0 ? 100 : 200);
  EXPECT_EQ(StepsOf(Repeated(20, 1), warming), 8u);
  // One that ended early is no value.
  EXPECT_EQ(StepsOf(Repeated(20, 0), {100, 200}, 3), 8u);
  // Nor is one that lost a host.
  EXPECT_EQ(StepsOf(Repeated(20, 0), {100, 200}, SIZE_MAX, 2), 8u);
}

TEST(RepetitionTest, ARunWithTooFewIosForThePercentileGivesNoValue) {
  v1::JobSpec job = Repeated(20, 0);
  std::vector<double> p99 = {0, 200};  // 0: none
  for (int i = 0; i < 40; ++i) p99.push_back(i % 2 == 0 ? 100 : 200);
  job.mutable_phases(0)->mutable_run()->mutable_sweep()->mutable_until()->set_figure(
      v1::REPEAT_FIGURE_P99);
  EXPECT_EQ(StepsOf(job, p99), 8u);
  EXPECT_EQ(StepsOf(job, {0, 200}), 40u) << "never known";
}

TEST(StopTest, TheFirstPointThatIsTooSlowEndsTheSweep) {
  v1::JobSpec job = Repeated(1, 0);
  v1::Sweep* sweep = job.mutable_phases(0)->mutable_run()->mutable_sweep();
  sweep->clear_until();
  for (const char* value : {"8", "16"}) sweep->mutable_axes(0)->add_values(value);
  const std::vector<double> iops = {100, 50, 20, 10};
  EXPECT_EQ(StepsOf(job, iops), 4u);
  sweep->set_stop_at_iops(50);
  EXPECT_EQ(StepsOf(job, iops), 2u);
  // One that ended early does not decide.
  EXPECT_EQ(StepsOf(job, iops, 1), 3u);
  sweep->set_stop_at_iops(1);
  EXPECT_EQ(StepsOf(job, iops), 4u);
}

TEST(StopTest, ASweepWhoseOrderDoesNotSayWhatFollowsHasNone) {
  const auto refused = [](const std::function<void(v1::Sweep*)>& change) {
    v1::JobSpec job = Repeated(1, 0);
    v1::Sweep* sweep = job.mutable_phases(0)->mutable_run()->mutable_sweep();
    sweep->clear_until();
    sweep->set_stop_at_iops(8);
    change(sweep);
    FillJob(&job);
    for (const v1::Problem& problem : Validate(job)) {
      if (problem.path() == "phases[0].run.sweep.stop_at_iops") return true;
    }
    return false;
  };
  EXPECT_FALSE(refused([](v1::Sweep*) {}));
  EXPECT_TRUE(refused([](v1::Sweep* sweep) { sweep->set_repeat(2); }));
  EXPECT_TRUE(refused([](v1::Sweep* sweep) { sweep->set_order(v1::SWEEP_ORDER_RANDOM); }));
  EXPECT_TRUE(refused([](v1::Sweep* sweep) {
    v1::SweepAxis* other = sweep->add_axes();
    other->set_field("block_size");
    other->add_values("4KiB");
  }));
}

TEST(RepetitionTest, WhatCannotBeIsRefused) {
  v1::JobSpec job = Repeated(3, 3);
  const auto said = [&] {
    std::string all;
    FillJob(&job);
    for (const v1::Problem& problem : Validate(job)) all += problem.message() + "\n";
    return all;
  };
  EXPECT_NE(said().find("leaves none of the 3"), std::string::npos) << said();
  job = Repeated(4, 2);
  EXPECT_NE(said().find("`repeat` is their limit"), std::string::npos) << said();
}

}  // namespace
}  // namespace lockstep::controller
