#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::controller {

// Statistics of a few values each, all pure.

// 0 for none.
double MedianOf(std::vector<double> values);

// Two-sided p of Student's t with `degrees` of freedom (> 0).
double StudentP(double t, double degrees);
// Two-sided p of the t-test with a pooled variance; 1 where a side has no value or both sides have
// one alone, 0 where the means differ and nothing varies.
double StudentTest(const std::vector<double>& a, const std::vector<double>& b);

// By how much `b` is larger than `a`: the median of all differences of a pair (J. L. Hodges, E. L.
// Lehmann, 1963), and the 95 % interval that the rank test of Mann and Whitney gives. No interval
// where there are too few values for one: 4 and 4 have one, 3 and 4 have none.
struct Shift {
  double estimate = 0;
  struct Interval {
    double low = 0, high = 0;
  };
  std::optional<Interval> interval;
};
Shift ShiftOf(const std::vector<double>& a, const std::vector<double>& b);

// The least p that PermutationTest() can give: 2 over the number of ways to choose who is `a`.
double LeastP(size_t a, size_t b);

// Do `b`'s values differ from `a`'s? `values` has a row for each figure, in it `a` values of the
// one side and then `b` of the other. Returns for each figure the probability of a difference as
// large in any of the figures if the sides do not differ: the family-wise error is held whatever
// the number of figures and however they depend on each other (P. H. Westfall, S. S. Young,
// "Resampling-Based Multiple Testing", 1993: step-down maxT over permutations of the runs; the
// statistic is Student's t). All permutations where there are at most 20,000 (fewer where the
// figures are thousands), else so many random ones of a fixed seed. Needs a + b > 2, a > 0 and b >
// 0.
std::vector<double> PermutationTest(const std::vector<std::vector<double>>& values, size_t a,
                                    size_t b);

// The t that Student's distribution exceeds, in either direction, with this probability.
double StudentQuantile(double p, double degrees);
// The normal distribution's, of 5 %.
inline constexpr double kNormal95 = 1.959963984540054;

// The correlation of neighbours in a series, from their correlation `r` in what `fitted` means have
// left of its `count` values: each mean takes a part of it (F. H. C. Marriott, J. A. Pope, 1954).
// Between 0, since values that repel each other would make a test bolder, and 0.9.
double CorrectedCorrelation(double r, double fitted, double count);

// Half of an interval that holds the mean in 95 % of the cases, also where further values are drawn
// until this margin is small enough; infinite for fewer than two values. Such a stop favours
// moments at which the values happen to vary little: Student's 95 % would hold it in 91 to 94 %
// then. His 97.5 %, which this gives, holds it in 95 % or more from the third value on (by
// simulation, in the test).
double MeanMargin(const std::vector<double>& values);

// The interval of order statistics that holds the median with 95 % or more, whatever the
// distribution (H. A. David, "Order Statistics"). None for fewer than six values: their least and
// largest enclose it with less.
std::optional<Shift::Interval> MedianInterval(std::vector<double> values);

// The interval that holds a share with 95 % or more (C. J. Clopper, E. S. Pearson, 1934), from
// `found` of `count` independent trials, which need not be whole numbers; for many E. B. Wilson's
// (1927), whose bounds then differ from these by at most 2 % of the width.
Shift::Interval ShareInterval(double found, double count);

struct ChangeAt {
  size_t index = 0;  // the first value after it
  double mean_before = 0, mean_after = 0;
  double p_value = 0;
};
// The points at which the level of a series changed: E-divisive means (D. S. Matteson, N. A. James,
// 2014) in overlapping windows of 50, each change held to a t-test of p < 0.001 between its
// neighbours. There are at least three values on each side.
std::vector<ChangeAt> ChangesIn(const std::vector<double>& series);

}  // namespace lockstep::controller
