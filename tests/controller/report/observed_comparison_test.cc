// The tables of a comparison about observe phases.

#include "controller/report/observed_comparison.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// Three sets; so many figures that the first two have, and so many of the third alone.
v1::Comparison OfThree(int of_first_two, int of_third) {
  v1::Comparison comparison;
  for (const char* name : {"a", "b", "c"}) {
    v1::ComparedSet* set = comparison.add_sets();
    set->set_name(name);
    set->set_title(name);
    set->add_observed_runs(absl::StrCat("run-", name));
  }
  for (int i = 0; i < of_first_two + of_third; ++i) {
    v1::ComparedFigure* figure = comparison.add_observed();
    figure->set_phase("evening");
    figure->set_host("db-1");
    figure->set_figure("busy");
    figure->set_unit("%");
    for (int s = 0; s < 3; ++s) {
      v1::ComparedValue* value = figure->add_values();
      figure->add_devices(absl::StrCat("sd", i));
      if ((s < 2) != (i < of_first_two)) continue;
      value->set_runs(1);
      value->set_median(0.5);
    }
  }
  for (int s = 1; s < 3; ++s) {
    comparison.add_observed_can_tell(false);
    comparison.add_observed_conclusions("nothing");
  }
  return comparison;
}

TEST(ObservedComparisonTextTest, MoreRowsAreThoseOfThePairAlone) {
  // The first table has 302 rows, the second, whose pair has all figures, 352.
  const v1::Comparison comparison = OfThree(302, 50);
  for (const std::string& text :
       {RenderObservedComparison(comparison, 200), RenderObservedMarkdown(comparison)}) {
    const size_t first = text.find("and 2 more; --format json lists all\n");
    const size_t second = text.find("and 52 more; --format json lists all\n");
    ASSERT_NE(first, std::string::npos) << text;
    ASSERT_NE(second, std::string::npos) << text;
    EXPECT_LT(first, second);
  }
}

TEST(ObservedComparisonTextTest, ATableThatShowsAllSpeaksOfNoMore) {
  const v1::Comparison comparison = OfThree(250, 100);
  const std::string text = RenderObservedComparison(comparison, 200);
  const size_t more = text.find("more; --format json");
  EXPECT_EQ(text.find("and 50 more; --format json"), more - 7) << text;
  EXPECT_EQ(text.find("more; --format json", more + 1), std::string::npos) << text;
}

}  // namespace
}  // namespace lockstep::controller
