// The values of an axis are numbers of one unit, in whichever way they are written.

#include "controller/analysis/sweep_axes.h"

#include <initializer_list>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

using Numbers = std::vector<double>;

Numbers OrderedAlong(const std::string& field, std::initializer_list<const char*> values) {
  v1::SweepAxis axis;
  axis.set_field(field);
  for (const char* value : values) axis.add_values(value);
  return OrderedValuesOf(axis);
}

TEST(SweepAxesTest, ValuesMayGoUpOrDown) {
  EXPECT_EQ(OrderedAlong("threads", {"1", "16", "128"}), (Numbers{1, 16, 128}));
  EXPECT_EQ(OrderedAlong("threads", {"128", "16", "1"}), (Numbers{128, 16, 1}));
  EXPECT_EQ(OrderedAlong("fsync.every_ios", {"100", "0"}), (Numbers{100, 0}));
  EXPECT_EQ(OrderedAlong("threads", {"1", "128", "16"}), Numbers());
  EXPECT_EQ(OrderedAlong("threads", {"1", "1"}), Numbers());
  EXPECT_EQ(OrderedAlong("scheduler", {"none", "bfq"}), Numbers());
  EXPECT_EQ(OrderedAlong("scheduler", {}), Numbers());
}

TEST(SweepAxesTest, ValuesOfOneAxisHaveOneUnit) {
  constexpr double kMiB = 1024 * 1024;
  EXPECT_EQ(OrderedAlong("block_size", {"512k", "1m", "1G"}),
            (Numbers{kMiB / 2, kMiB, 1024 * kMiB}));
  EXPECT_EQ(OrderedAlong("think_time", {"0", "500us", "1ms"}), (Numbers{0, 5e5, 1e6}));
  // As sizes, 5m would be less than 30 s.
  EXPECT_EQ(OrderedAlong("start_delay", {"30s", "5m", "1h"}), (Numbers{30e9, 300e9, 3600e9}));
  EXPECT_EQ(OrderedAlong("read", {"100%", "0%"}), (Numbers{1, 0}));
  EXPECT_EQ(OrderedAlong("max_throughput", {"25MiB/s", "50MiB/s"}),
            (Numbers{25 * kMiB, 50 * kMiB}));
}

TEST(SweepAxesTest, ThousandsOfARateAreNoPowersOfTwo) {
  EXPECT_EQ(OrderedAlong("open_loop.rate", {"500", "20k", "1.5M"}), (Numbers{500, 20e3, 1.5e6}));
  EXPECT_EQ(OrderedAlong("max_iops", {"20k", "40k"}), (Numbers{20e3, 40e3}));
}

TEST(SweepAxesTest, TheFieldSaysWhatItsValuesAre) {
  constexpr double kMiB = 1024 * 1024;
  // Nothing but minutes, without the field.
  for (const char* field : {"block_size", "targets.data.file.size", "region.offset"}) {
    EXPECT_EQ(OrderedAlong(field, {"1m", "4m"}), (Numbers{kMiB, 4 * kMiB})) << field;
  }
  EXPECT_EQ(OrderedAlong("operations", {"1k", "1010"}), (Numbers{1000, 1010}));
  EXPECT_EQ(OrderedAlong("targets.data.file.count", {"10k", "1k"}), (Numbers{10000, 1000}));
  EXPECT_EQ(OrderedAlong("workloads.1.fsync.every_ios", {"1k", "2k"}), (Numbers{1000, 2000}));
  EXPECT_EQ(OrderedAlong("access.0.up_to", {"1m", "4m"}), (Numbers{kMiB, 4 * kMiB}));
  EXPECT_EQ(OrderedAlong("duration", {"1m", "2m"}), (Numbers{60e9, 120e9}));
}

TEST(SweepAxesTest, OnlyFieldsThatAreNumbersHaveAnOrder) {
  EXPECT_EQ(OrderedAlong("targets.data.file.path", {"1", "2"}), Numbers());
  EXPECT_EQ(OrderedAlong("hosts.names", {"1", "2"}), Numbers());
  EXPECT_EQ(OrderedAlong("no_such_field", {"1", "2"}), Numbers());
  EXPECT_EQ(OrderedAlong("threads.more", {"1", "2"}), Numbers());
}

}  // namespace
}  // namespace lockstep::controller
