#include "common/units.h"

#include "gtest/gtest.h"

namespace lockstep::common {
namespace {

TEST(UnitsTest, Sizes) {
  const std::pair<const char*, int64_t> cases[] = {
      {"4096", 4096}, {"4k", 4096},           {"4KiB", 4096},       {"4K", 4096},
      {"4kB", 4000},  {"1.5GiB", 1610612736}, {"64 MiB", 67108864}, {"1PiB", int64_t{1} << 50},
      {"512B", 512},  {"2MB", 2000000}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(*ParseSize(text), bytes) << text;
}

TEST(UnitsTest, WhatIsNoSizeIsRefusedWithWhatWouldBeOne) {
  for (const char* text : {"4q", "", "-1", "k", "1e400", "0.3", "nan", "9EiB", "4 k b"}) {
    EXPECT_FALSE(ParseSize(text).ok()) << text;
  }
  EXPECT_EQ(ParseSize("4q").status().message(), "'4q' is not a size; write 4096, 4KiB, 4k");
}

TEST(UnitsTest, DurationsNeedAUnit) {
  const std::pair<const char*, int64_t> cases[] = {{"250us", 250000},
                                                   {"2ms", 2000000},
                                                   {"1.5s", 1500000000},
                                                   {"5m", 300000000000},
                                                   {"12h", 43200000000000},
                                                   {"0", 0},
                                                   {"7ns", 7}};
  for (const auto& [text, nanoseconds] : cases) {
    EXPECT_EQ(*ParseDuration(text), nanoseconds) << text;
  }
  for (const char* text : {"10", "s", "5 parsecs", "-1s"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(UnitsTest, SharesAndCounts) {
  EXPECT_DOUBLE_EQ(*ParseRatio("70%"), 0.7);
  EXPECT_DOUBLE_EQ(*ParseRatio("0.7"), 0.7);
  EXPECT_DOUBLE_EQ(*ParseCount("20k"), 20000);
  EXPECT_DOUBLE_EQ(*ParseCount("1.5M"), 1500000);
  EXPECT_FALSE(ParseRatio("half").ok());
  EXPECT_FALSE(ParseCount("20 dozen").ok());
}

TEST(UnitsTest, FiguresForPeople) {
  EXPECT_EQ(FormatSize(8192), "8 KiB");
  EXPECT_EQ(FormatSize(777), "777 B");
  EXPECT_EQ(FormatSize(1.5 * 1073741824), "1.50 GiB");
  EXPECT_EQ(FormatDuration(38200), "38.2 µs");
  EXPECT_EQ(FormatDuration(1.2e6), "1.20 ms");
  EXPECT_EQ(FormatDuration(999.9996e6), "1.00 s");
  EXPECT_EQ(FormatDuration(15e9), "15 s");
  EXPECT_EQ(FormatDuration(300e9), "5 min");
  EXPECT_EQ(FormatCount(5432), "5,432");
  EXPECT_EQ(FormatCount(123456), "123 k");
  EXPECT_EQ(FormatDigits(0, 3), "0");
  EXPECT_EQ(FormatDigits(6.928, 2), "6.9");
  EXPECT_EQ(FormatDigits(99.4, 2), "99");
  EXPECT_EQ(FormatDigits(99.6, 2), "100");
  EXPECT_EQ(FormatDigits(692.8, 2), "693");
  EXPECT_EQ(FormatDigits(12345.6, 4), "12346");
  EXPECT_EQ(FormatPerIo(0.05274), "0.0527");
  EXPECT_EQ(FormatPerIo(999.4), "999");
  EXPECT_EQ(FormatPerIo(999.6), "1,000");
  EXPECT_EQ(FormatPerIo(1012.6), "1,013");
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatThroughput(327680000), "312 MiB/s (328 MB/s)");
  EXPECT_EQ(FormatThroughput(1427.5 * 1048576), "1.39 GiB/s (1.50 GB/s)");
  EXPECT_EQ(FormatBitRate(10e9), "10 Gbit/s");
  EXPECT_EQ(FormatBitRate(1.5e6), "1.50 Mbit/s");
  EXPECT_EQ(FormatInstant(1769860800250999999), "2026-01-31T12:00:00.250Z");
}

// The same table as in tests/web/lists_scenes_test.cjs: the page must not show another number.
TEST(UnitsTest, RatesHaveThreeDigitsInTheUnitThatFits) {
  const std::pair<double, const char*> cases[] = {{0, "0 B/s"},
                                                  {512, "512 B/s"},
                                                  {38.0 * 1024, "38.0 KiB/s"},
                                                  {28.0 * 1048576, "28.0 MiB/s"},
                                                  {312.5 * 1048576, "312 MiB/s"},
                                                  {1000.0 * 1048576, "1,000 MiB/s"},
                                                  {1023.0 * 1048576, "1,023 MiB/s"},
                                                  {1023.9 * 1048576, "1.00 GiB/s"},
                                                  {1427.5 * 1048576, "1.39 GiB/s"},
                                                  {191333.3 * 1048576, "187 GiB/s"}};
  for (const auto& [rate, text] : cases) EXPECT_EQ(FormatRate(rate), text) << rate;
}

}  // namespace
}  // namespace lockstep::common
