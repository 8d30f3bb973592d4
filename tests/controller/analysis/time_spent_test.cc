#include "controller/analysis/sweep_remarks.h"
#include "controller/report/sweep_text.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

v1::SweepReport SweepOver(const std::string& field, const std::vector<std::string>& values) {
  v1::SweepReport sweep;
  v1::SweepAxisReport* axis = sweep.add_axes();
  axis->set_field(field);
  for (uint32_t i = 0; i < values.size(); ++i) {
    axis->add_values(values[i]);
    v1::SweepPointReport* point = sweep.add_points();
    point->add_indices(i);
    point->set_runs(1);
  }
  return sweep;
}

v1::TimeSpent* SpentAt(v1::SweepReport* sweep, int point) {
  return sweep->mutable_points(point)->mutable_time_spent();
}

TEST(TimeSpentTest, PointsWithMostAndLeastContextSwitchesAreNamed) {
  v1::SweepReport sweep = SweepOver("threads", {"128", "16", "1"});
  const struct { double per_second, per_io; } kPoints[] = {{24800, 7.1}, {12000, 2.5}, {8500, 1.4}};
  for (int p = 0; p < 3; ++p) {
    SpentAt(&sweep, p)->set_context_switches_per_second(kPoints[p].per_second);
    SpentAt(&sweep, p)->set_context_switches_per_io(kPoints[p].per_io);
  }
  AddSweepRemarks(&sweep);
  ASSERT_EQ(sweep.remarks_size(), 1);
  EXPECT_EQ(sweep.remarks(0),
            "128: 24,800 context switches/s, 7.1 per I/O; 1: 8,500 context switches/s, 1.4 per "
            "I/O");
}

TEST(TimeSpentTest, PointsThatAreAlikeOrUnknownHaveNoSentence) {
  v1::SweepReport sweep = SweepOver("threads", {"1", "2", "4"});
  AddSweepRemarks(&sweep);
  EXPECT_TRUE(sweep.remarks().empty());
  SpentAt(&sweep, 0)->set_context_switches_per_io(2);
  SpentAt(&sweep, 1)->set_context_switches_per_io(2.8);
  // A point without a whole run has no figures that count.
  SpentAt(&sweep, 2)->set_context_switches_per_io(50);
  sweep.mutable_points(2)->set_runs(0);
  AddSweepRemarks(&sweep);
  EXPECT_TRUE(sweep.remarks().empty());
}

TEST(TimeSpentTest, TimeInFsyncIsNamedWhereItDiffers) {
  v1::SweepReport sweep = SweepOver("fsync", {"1", "100"});
  SpentAt(&sweep, 0)->set_fsync_ratio(0.71);
  SpentAt(&sweep, 1)->set_fsync_ratio(0.12);
  AddSweepRemarks(&sweep);
  ASSERT_EQ(sweep.remarks_size(), 1);
  EXPECT_EQ(sweep.remarks(0), "1: the threads spent 71 % of their time in fsync; 100: 12 %");
}

TEST(TimeSpentTest, TheTableHasADashWhereAFigureIsNotKnown) {
  v1::SweepReport sweep = SweepOver("threads", {"1", "2"});
  EXPECT_EQ(RenderTimeSpent(sweep, 100), "");
  SpentAt(&sweep, 1)->set_context_switches_per_io(2.5);
  SpentAt(&sweep, 1)->set_wait_ratio(0.97);
  const std::string table = RenderTimeSpent(sweep, 100);
  EXPECT_NE(table.find("where the time went"), std::string::npos);
  EXPECT_NE(table.find("97 %"), std::string::npos) << table;
  EXPECT_NE(table.find("–"), std::string::npos) << table;
}

}  // namespace
}  // namespace lockstep::controller
