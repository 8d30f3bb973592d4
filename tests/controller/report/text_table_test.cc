#include "controller/report/text_table.h"

#include <limits>

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

TEST(TextTableTest, TheFirstColumnStandsToTheLeftTheOthersToTheRight) {
  TextTable table({"host", "IOPS", "p99"});
  table.Add({"node1", "12,345", "1 ms"});
  table.Add({"n2", "7", "10 ms"});
  EXPECT_EQ(table.Render("  "),
            "  host     IOPS    p99\n"
            "  node1  12,345   1 ms\n"
            "  n2          7  10 ms\n");
}

TEST(TextTableTest, LinesEndWithoutBlanksAndMissingCellsAreNone) {
  TextTable table({"a", "b", "c"}, {0, 1, 2});
  table.Add({"1"});
  table.Add({"2", "x", ""});
  EXPECT_EQ(table.Render(), "a  b  c\n1\n2  x\n");
}

TEST(TextTableTest, WidthsAreThoseThatAreSeen) {
  TextTable table({"host", "n"});
  table.Add({"\x1b[31mred\x1b[0m", "1"});  // a colour has no width
  table.Add({"日本", "22"});               // wide characters have two columns each
  EXPECT_EQ(table.Render(),
            "host   n\n"
            "\x1b[31mred\x1b[0m    1\n"
            "日本  22\n");
}

TEST(TextTableTest, TextsAreCutToTheWidthAndNamesLast) {
  TextTable table({"host", "what", "n"}, {0, 1}, {0});
  table.Add({"a-host-of-some-length", "a description that is much too long for it", "5"});
  for (size_t width : {60, 45, 36}) {
    const std::string text = table.Render("", width);
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      EXPECT_LE(DisplayWidth(text.substr(at, end - at)), width) << text;
      at = end + 1;
    }
    EXPECT_NE(text.find("a-host-of-some-length"), std::string::npos) << text;
    EXPECT_NE(text.find("…"), std::string::npos) << text;
    EXPECT_NE(text.find("5\n"), std::string::npos) << text;
  }
  EXPECT_EQ(table.Render("", 30).find("a-host-of-some-length"), std::string::npos);
}

TEST(TextTableTest, FiguresAreNeverCut) {
  TextTable table({"h", "a", "b"});
  table.Add({"x", "123456789012345", "123456789012345"});
  EXPECT_NE(table.Render("", 10).find("123456789012345  123456789012345"), std::string::npos);
}

TEST(TextTableTest, AColumnWithoutATextIsTakenOut) {
  TextTable table({"host", "Jain", "why"}, {0, 2}, {0});
  table.Add({"node1", "", "rate"});
  table.Add({"n2", "", "device"});
  TextTable kept = table;
  table.RemoveIfEmpty(1);
  EXPECT_EQ(table.Render(),
            "host   why\n"
            "node1  rate\n"
            "n2     device\n");
  kept.Add({"all", "1.0000", ""});
  kept.RemoveIfEmpty(1);
  EXPECT_NE(kept.Render().find("Jain"), std::string::npos);
}

TEST(SparklineTest, OneCharacterAValueFromZeroToTheLargest) {
  EXPECT_EQ(Sparkline({0, 50, 100}, 10, 100), "▁▅█");
  EXPECT_EQ(Sparkline({}, 10, 1), "");
  EXPECT_EQ(Sparkline({1, 2}, 10, 0), "▁▁");  // nothing to scale to
}

TEST(SparklineTest, WhatIsNotKnownIsAHole) {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Sparkline({0, unknown, 100}, 10, 100), "▁ █");
  EXPECT_EQ(Sparkline({100, 100, unknown, 100}, 2, 100), "█ ");
}

TEST(SparklineTest, NeighboursAreAveragedWhereThereAreMoreThanFit) {
  std::vector<double> values(1000, 100);
  for (int i = 0; i < 500; ++i) values[i] = 0;
  EXPECT_EQ(Sparkline(values, 4, 100), "▁▁██");
}

}  // namespace
}  // namespace lockstep::controller
