#include "frontends/fio/values.h"

#include "gtest/gtest.h"

namespace lockstep::frontends::fio {
namespace {

int64_t Bytes(const std::string& text, int kb_base = 1024) {
  const auto number = ParseBytes(text, kb_base);
  return number ? number->value : -1;
}

// Each was read by `fio --parse-only --debug=parse`.
TEST(FioValuesTest, UnitsOfSizesAreSwappedUnlessKbBaseIs1000) {
  EXPECT_EQ(Bytes("4k"), 4096);
  EXPECT_EQ(Bytes("4K"), 4096);
  EXPECT_EQ(Bytes("4kb"), 4096);
  EXPECT_EQ(Bytes("4kib"), 4000);
  EXPECT_EQ(Bytes("4ki"), 4096);
  EXPECT_EQ(Bytes("1mib"), 1000000);
  EXPECT_EQ(Bytes("4k", 1000), 4000);
  EXPECT_EQ(Bytes("4kib", 1000), 4096);
  EXPECT_EQ(Bytes("4ki", 1000), 4000);
  EXPECT_EQ(Bytes("1mb", 1000), 1000000);
  EXPECT_EQ(Bytes("2t"), int64_t{2} << 40);
}

TEST(FioValuesTest, FractionsAndUnitsBehindBlanksAreCut) {
  EXPECT_EQ(Bytes("1.5g"), 1);
  EXPECT_EQ(Bytes(" 1m"), 1);
  EXPECT_EQ(Bytes("1mfoo"), 1 << 20);
  EXPECT_EQ(Bytes("4x"), 4);
  EXPECT_EQ(Bytes("1e3"), 1);
  EXPECT_EQ(Bytes("0x10"), 16);
  EXPECT_EQ(Bytes("g"), -1);
  EXPECT_EQ(Bytes(""), -1);
  EXPECT_EQ(Bytes("99999999999999999999"), -1);
  EXPECT_EQ(Bytes("9999999999t"), -1);
}

TEST(FioValuesTest, SharesAndZonesAreMarked) {
  EXPECT_EQ(ParseBytes("50%", 1024)->mark, '%');
  EXPECT_EQ(ParseBytes("50%", 1024)->value, 50);
  EXPECT_EQ(ParseBytes("3z", 1024)->mark, 'z');
}

TEST(FioValuesTest, TimesHaveShortUnitsOnly) {
  const auto time = [](const std::string& text, TimeUnit unit) {
    return ParseTime(text, unit).value_or(-1);
  };
  EXPECT_EQ(time("5", TimeUnit::kSeconds), 5000000);
  EXPECT_EQ(time("5", TimeUnit::kMicroseconds), 5);
  EXPECT_EQ(time("5", TimeUnit::kMilliseconds), 5000);
  EXPECT_EQ(time("5s", TimeUnit::kMicroseconds), 5000000);
  EXPECT_EQ(time("5ms", TimeUnit::kSeconds), 5000);
  EXPECT_EQ(time("5m", TimeUnit::kSeconds), 300000000);
  EXPECT_EQ(time("1h", TimeUnit::kSeconds), 3600000000);
  EXPECT_EQ(time("1d", TimeUnit::kSeconds), 86400000000);
  // `sec` and `min` are no units: microseconds.
  EXPECT_EQ(time("5sec", TimeUnit::kSeconds), 5);
  EXPECT_EQ(time("5min", TimeUnit::kSeconds), 5);
  EXPECT_EQ(time("1.5s", TimeUnit::kSeconds), 1000000);
  EXPECT_EQ(time("x", TimeUnit::kSeconds), -1);
}

TEST(FioValuesTest, ExpressionsHaveUnitsAndPrecedence) {
  EXPECT_EQ(Bytes("(2*1m+4k)"), (2 << 20) + 4096);
  EXPECT_EQ(Bytes("(2^10)"), 1024);
  EXPECT_EQ(Bytes("((1+2)*4)"), 12);
  EXPECT_EQ(Bytes("(1/0)"), -1);
  EXPECT_EQ(Bytes("(1+"), -1);
  EXPECT_EQ(Bytes(std::string(100000, '(')), -1);
  EXPECT_EQ(Bytes("(" + std::string(100000, '-') + "1)"), -1);
  EXPECT_EQ(*Evaluate("7/2*2", Units::kNone, 1024), 6);
}

TEST(FioValuesTest, DirectionsTakeTheLastValueForTheRest) {
  const auto all = [](const std::string& text) {
    const Directions parts = SplitDirections(text);
    return parts.read + "|" + parts.write + "|" + parts.trim;
  };
  EXPECT_EQ(all("4k"), "4k|4k|4k");
  EXPECT_EQ(all("4k,8k"), "4k|8k|8k");
  EXPECT_EQ(all("4k,8k,"), "4k|8k|");
  EXPECT_EQ(all(",8k"), "|8k|8k");
}

TEST(FioValuesTest, PartsWithoutAShareShareTheRest) {
  const auto parts = ParseParts("4k/10:8k/:16k/");
  ASSERT_TRUE(parts);
  EXPECT_EQ((*parts)[1].percent, 45);
  EXPECT_EQ((*parts)[2].percent, 45);
  EXPECT_FALSE(ParseParts("4k/70:8k/70"));
  EXPECT_FALSE(ParseParts(""));
}

TEST(FioValuesTest, ColonsAreEscaped) {
  EXPECT_EQ(SplitColons("/a:/b\\:c"), (std::vector<std::string>{"/a", "/b:c"}));
  EXPECT_EQ(*ParseNumbers("0-2,8"), (std::vector<uint32_t>{0, 1, 2, 8}));
  EXPECT_FALSE(ParseNumbers("0-99999999"));
}

}  // namespace
}  // namespace lockstep::frontends::fio
