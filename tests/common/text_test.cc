// Texts from elsewhere, made safe to show and to keep.

#include "common/text.h"

#include "gtest/gtest.h"

namespace lockstep::common {
namespace {

TEST(PrintableTest, WhatTakesNoColumnIsLimitedToo) {
  std::string marks = "e";
  for (int i = 0; i < 100000; ++i) marks += "\u0301";
  const std::string shown = Printable(marks, 10);
  EXPECT_LE(shown.size(), 43u);
  EXPECT_EQ(shown.substr(0, 3), "e\u0301");
  EXPECT_EQ(shown.substr(shown.size() - 3), "…");
  EXPECT_EQ(Printable("na\u0308ive", 10), "na\u0308ive") << "a few marks stay";
}

TEST(PrintableTest, ColumnsAreCountedAndControlsAreEscaped) {
  EXPECT_EQ(Printable("abcdef", 3), "ab…");
  EXPECT_EQ(Printable("abc", 3), "abc");
  EXPECT_EQ(Printable("a\x1b[31m", 20), "a\\x1b[31m");
}

}  // namespace
}  // namespace lockstep::common
