#include "measure/silences.h"

#include "gtest/gtest.h"

namespace lockstep::measure {
namespace {

TEST(SilencesTest, IntervalsThatFollowEachOtherAreOne) {
  Silences silences;
  silences.Add(0, 10);
  silences.Add(10, 20);
  silences.Add(30, 40);
  silences.Add(50, 50);
  EXPECT_EQ(silences.spans(), (std::vector<Silences::Span>{{0, 20}, {30, 40}}));
}

// Rare I/Os make many short silences, which must not hide a long one after them.
TEST(SilencesTest, OfTooManyTheLongestAreKept) {
  Silences silences(3);
  for (int64_t k = 0; k < 100; ++k) {
    silences.Add(10 * k, 10 * k + (k == 7 ? 5 : k == 50 ? 6 : 1));
  }
  silences.Add(2000, 2009);
  ASSERT_LE(silences.spans().size(), 6u);
  EXPECT_EQ(silences.spans().back(), Silences::Span(2000, 2009));
  EXPECT_EQ(silences.spans()[0], Silences::Span(70, 75));
  EXPECT_EQ(silences.spans()[1], Silences::Span(500, 506));
}

}  // namespace
}  // namespace lockstep::measure
