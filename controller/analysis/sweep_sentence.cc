#include "controller/analysis/sweep_sentence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

// A sweep has up to a thousand points, and a sentence is read at once.
constexpr size_t kNamedAlike = 6;
constexpr size_t kNamedWorse = 3;
constexpr size_t kNamedNotCompared = 3;
// Medians of few rounds often differ by less from what the means say.
constexpr double kOtherMedian = 0.05;

using Points = std::vector<const v1::SweepPointReport*>;

std::string RoundsText(uint32_t rounds) {
  return absl::StrCat(rounds, rounds == 1 ? " round" : " rounds");
}

std::string PercentText(double ratio) {
  const double percent = 100 * ratio;
  // 99.96 % slower would become 100 %, which is nothing left.
  if (percent < 10) return absl::StrFormat("%.2g %%", percent);
  return percent < 99.5 ? absl::StrFormat("%.0f %%", percent) : absl::StrFormat("%.4g %%", percent);
}

// "±4 %"; of logarithms, for the larger side.
std::string MarginText(double margin) {
  const double ratio = std::expm1(margin);
  return ratio > 1 ? "more than ±100 %" : absl::StrCat("±", PercentText(ratio));
}

class Sentence {
 public:
  explicit Sentence(const v1::SweepReport& sweep)
      : sweep_(sweep), is_latency_(!sweep.conclusion().higher_is_better()) {
    for (const v1::SweepPointReport& point : sweep.points()) {
      // Only a point that was compared has a mean.
      const bool is_unordered = point.comparison().standing() == v1::STANDING_UNSPECIFIED &&
                                point.comparison().has_mean();
      (is_unordered ? unordered_ : Of(point.comparison().standing())).push_back(&point);
    }
    for (Points* points : {&alike_, &worse_}) {
      // From the nearest to the best point to the farthest.
      std::stable_sort(points->begin(), points->end(), [&](const auto* a, const auto* b) {
        const double x = a->comparison().ratio();
        const double y = b->comparison().ratio();
        return is_latency_ ? x < y : x > y;
      });
    }
  }

  std::string Text() {
    if (!best_.empty()) {
      Best();
      Worse();
      Fairness();
    } else if (!alone_.empty()) {
      Alone();
    } else {
      NoBest();
    }
    Knee();
    AddNotCompared();
    std::string text = absl::StrJoin(parts_, "; ") + ".";
    // The values of axes stay as the job writes them.
    if (text.starts_with("no ") || text.starts_with("the ")) text[0] = absl::ascii_toupper(text[0]);
    return text;
  }

 private:
  Points& Of(v1::Standing standing) {
    switch (standing) {
      case v1::STANDING_BEST:
        return best_;
      case v1::STANDING_NOT_DISTINGUISHABLE:
        return alike_;
      case v1::STANDING_WORSE:
        return worse_;
      case v1::STANDING_TOO_FEW_ROUNDS:
        return too_few_;
      case v1::STANDING_ALONE:
        return alone_;
      default:
        return without_;
    }
  }

  std::string Name(const v1::SweepPointReport* point) const { return PointName(sweep_, *point); }

  std::string Value(double value) const {
    if (is_latency_) return common::FormatDuration(value);
    if (measure::Is(sweep_.conclusion(), measure::SweepFigure::kIops)) {
      return absl::StrCat(common::FormatCount(value), " IOPS");
    }
    return common::FormatRate(value);
  }

  // The figure of the point in the tables: the median over its rounds. The means of its comparison
  // would put a second number beside that one.
  std::string Reached(const v1::SweepPointReport& point) const {
    if (is_latency_) {
      return common::FormatPercentile(point.p99_ns(), point.is_p99_uncertain());
    }
    return Value(Rate(point));
  }
  double Rate(const v1::SweepPointReport& point) const {
    const bool is_iops = measure::Is(sweep_.conclusion(), measure::SweepFigure::kIops);
    return is_iops ? point.iops() : point.bytes_per_second();
  }

  // "a, b and 3 more".
  std::string List(const Points& points, size_t most) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(most, points.size()); ++i) names.push_back(Name(points[i]));
    if (points.size() > most) names.push_back(absl::StrCat(points.size() - most, " more"));
    if (names.size() < 2) return absl::StrJoin(names, "");
    const std::string last = names.back();
    names.pop_back();
    return absl::StrCat(absl::StrJoin(names, ", "), " and ", last);
  }

  // "(8 rounds, ±4 %)": how well the difference between these points and the best one is known.
  std::string Known(const Points& points) const {
    uint32_t fewest = points.front()->comparison().rounds();
    uint32_t most = 0;
    double margin = 0;
    bool is_known = true;
    for (const v1::SweepPointReport* point : points) {
      const v1::PointComparison& c = point->comparison();
      fewest = std::min(fewest, c.rounds());
      most = std::max(most, c.rounds());
      is_known = is_known && c.has_ratio_high();
      if (is_known) margin = std::max(margin, std::log(c.ratio_high() / c.ratio()));
    }
    return absl::StrCat("(", fewest < most ? absl::StrCat(fewest, " to ") : "", RoundsText(most),
                        is_known ? absl::StrCat(", ", MarginText(margin)) : "", ")");
  }

  void Best() {
    const v1::SweepPointReport* best = best_.front();
    std::string lead = absl::StrCat(Name(best), is_latency_ ? " has the lowest p99, " : " reaches ",
                                    Reached(*best));
    if (!alike_.empty()) {
      parts_.push_back(lead);
      parts_.push_back(absl::StrCat(List(alike_, kNamedAlike), alike_.size() == 1 ? " is" : " are",
                                    " not distinguishable from it ", Known(alike_)));
      BetterMedian(*best);
      Missing();
    } else {
      // A point is best by at least one comparison, so that one of the others is worse.
      const bool all_compared = without_.empty() && too_few_.empty();
      parts_.push_back(absl::StrCat(lead,
                                    is_latency_    ? " "
                                    : all_compared ? ", more than every other point "
                                                   : ", more than every other compared point ",
                                    Known({worse_.front()})));
    }
  }

  // Points are ranked by their means, and the tables have medians. A reader who sees a better one
  // below the leading point's must not take the ranking for a mistake.
  void BetterMedian(const v1::SweepPointReport& best) {
    const auto is_better = [&](const v1::SweepPointReport& a, const v1::SweepPointReport& b) {
      return is_latency_ ? a.p99_ns() > 0 && a.p99_ns() < b.p99_ns() : Rate(a) > Rate(b);
    };
    const v1::SweepPointReport* most = &best;
    for (const v1::SweepPointReport* point : alike_) {
      if (is_better(*point, *most)) most = point;
    }
    if (most == &best) return;
    const double ratio = is_latency_ ? best.p99_ns() / most->p99_ns() : Rate(*most) / Rate(best);
    if (!(ratio >= 1 + kOtherMedian)) return;
    const double mean = most->comparison().mean();
    const double of_best = best.comparison().mean();
    const char* const better = is_latency_ ? "lower" : "higher";
    // Its mean may be the better one, too, by rounds that the other point did not complete.
    const bool has_mean = is_latency_ ? mean < of_best : mean > of_best;
    parts_.push_back(absl::StrCat(Name(most), " has the ", better, " median, ", Reached(*most),
                                  has_mean ? ", but is not better in the rounds that both have"
                                           : absl::StrCat(", but not the ", better, " mean")));
  }

  void Missing() {
    const char* them = alike_.size() == 1 ? "them" : "all of them";
    if (!sweep_.conclusion().has_more_rounds()) {
      parts_.push_back(absl::StrCat("even 100 rounds would hardly tell ", them, " apart"));
      return;
    }
    const uint32_t more = sweep_.conclusion().more_rounds();
    parts_.push_back(absl::StrCat("about ", more, more == 1 ? " more round" : " more rounds",
                                  " would tell ", them, " apart"));
  }

  void Worse() {
    for (size_t i = 0; i < std::min(kNamedWorse, worse_.size()); ++i) {
      const double ratio = worse_[i]->comparison().ratio();
      if (!is_latency_) {
        parts_.push_back(absl::StrCat(Name(worse_[i]), " is ", PercentText(1 - ratio), " slower"));
      } else if (ratio < 2) {
        parts_.push_back(absl::StrCat("the p99 of ", Name(worse_[i]), " is ",
                                      PercentText(ratio - 1), " higher"));
      } else {
        parts_.push_back(absl::StrCat("the p99 of ", Name(worse_[i]), " is ",
                                      common::FormatCount(ratio), " times as high"));
      }
    }
    if (worse_.size() <= kNamedWorse) return;
    const size_t more = worse_.size() - kNamedWorse;
    parts_.push_back(absl::StrCat(more, more == 1 ? " more point is " : " more points are ",
                                  is_latency_ ? "higher still" : "slower still"));
  }

  // The fairness of the points that are named above, in their order.
  void Fairness() {
    constexpr double kDifference = 0.02;
    std::vector<std::string> values;
    double least = 1;
    double most = 0;
    const auto add = [&](const Points& points, size_t named) {
      for (size_t i = 0; i < std::min(named, points.size()); ++i) {
        const double jain = points[i]->thread_jain();
        least = std::min(least, jain);
        most = std::max(most, jain);
        values.push_back(absl::StrFormat("%.2f", jain));
      }
    };
    add(best_, 1);
    add(alike_, kNamedAlike);
    add(worse_, kNamedWorse);
    // 0: not known.
    if (!(least > 0) || most - least < kDifference) return;
    parts_.push_back(absl::StrCat("fairness of threads ", absl::StrJoin(values, ", ")));
  }

  void Alone() {
    const v1::PointComparison& c = alone_.front()->comparison();
    const std::string margin =
        c.has_high() ? absl::StrCat(", ", MarginText(std::log(c.high() / c.mean()))) : "";
    parts_.push_back(
        absl::StrCat(Name(alone_.front()), is_latency_ ? " has a p99 of " : " reaches ",
                     Reached(*alone_.front()), " (", RoundsText(c.rounds()), margin, ")"));
    if (!sweep_.axes().empty()) {
      parts_.emplace_back("there is no other point to compare it with");
    }
  }

  void NoBest() {
    const v1::SweepConclusion& conclusion = sweep_.conclusion();
    if (!unordered_.empty()) {
      parts_.push_back(
          absl::StrCat("no point can be called best: ", unordered_.front()->comparison().reason()));
      return;
    }
    if (too_few_.empty()) {
      if (sweep_.points_size() > 1) parts_.emplace_back("no point can be called best");
      return;
    }
    const uint32_t more = conclusion.more_rounds();
    parts_.push_back(absl::StrCat(
        "no point can be called best ",
        conclusion.rounds() > 0 ? absl::StrCat("after ", RoundsText(conclusion.rounds()))
                                : "without a round that two points share",
        ": at least ", more, more == 1 ? " more is" : " more are", " needed"));
  }

  // The knee of the row along the last axis that the best point is in.
  void Knee() {
    for (const v1::KneeReport& knee : sweep_.knees()) {
      if (knee.at() != (best_.empty() ? "" : RowOf(*best_.front()))) continue;
      const std::string at = absl::StrCat(knee.of(), "=", knee.value());
      if (knee.is_last_served_rate()) {
        parts_.push_back(
            absl::StrCat(best_.empty() ? "so far, " : "", at, " is the last rate that is served"));
        // A bend of the IOPS says nothing where another figure decides: more bytes in each I/O make
        // them fewer, and a rate holds them.
      } else if (measure::Is(sweep_.conclusion(), measure::SweepFigure::kIops)) {
        Bend(knee, at);
      }
    }
  }

  void Bend(const v1::KneeReport& knee, const std::string& at) {
    const v1::SweepPointReport* point = nullptr;
    bool is_longer = false;  // does any point after the knee have a clearly longer p99?
    double highest = 0;      // that one after the knee can have, over the best point's
    for (const v1::SweepPointReport& other : sweep_.points()) {
      if (RowOf(other) != knee.at()) continue;
      if (ValueOnAxis(other, sweep_.axes_size() - 1) == at) {
        point = &other;
      } else if (point != nullptr) {
        constexpr double kLonger = 1.05;
        is_longer = is_longer || (knee.p99_ns() > 0 && other.p99_ns() > kLonger * knee.p99_ns());
        highest = std::max(highest, HighestRatio(other.comparison()));
      }
    }
    const v1::Standing standing =
        point == nullptr ? v1::STANDING_UNSPECIFIED : point->comparison().standing();
    const std::string beyond = absl::StrCat(knee.of(), " beyond ", knee.value());
    if (standing == v1::STANDING_BEST || standing == v1::STANDING_NOT_DISTINGUISHABLE) {
      // Points that are not distinguishable may still differ, by as much as the rounds do not tell.
      constexpr double kNothing = 0.05;
      // The end of the interval at which the points differ most: "adds nothing" must hold there
      // too.
      const double most =
          standing == v1::STANDING_BEST ? highest - 1 : 1 / point->comparison().ratio_low() - 1;
      if (most <= kNothing) {
        parts_.push_back(beyond + (is_longer ? " adds nothing but latency" : " adds nothing"));
      } else if (most <= 1) {
        parts_.push_back(absl::StrCat(beyond, " adds at most ", PercentText(most), " to the IOPS"));
      } else {
        parts_.push_back(absl::StrCat("the gain by ", beyond, " is not known"));
      }
    } else if (standing == v1::STANDING_WORSE) {
      parts_.push_back(absl::StrCat(beyond, " adds at most ",
                                    PercentText(1 / point->comparison().ratio() - 1),
                                    " to the IOPS"));
    } else {
      // Without repetitions this may be the knee of one round alone.
      parts_.push_back("so far, the knee is at " + at);
    }
  }

  // The ratio of a point to the best one, at the end of the interval.
  static double HighestRatio(const v1::PointComparison& comparison) {
    if (comparison.standing() == v1::STANDING_WORSE) return 1;
    if (comparison.standing() != v1::STANDING_NOT_DISTINGUISHABLE) return 0;
    return comparison.has_ratio_high() ? comparison.ratio_high()
                                       : std::numeric_limits<double>::infinity();
  }

  // The values on all axes but the last, as a knee has them.
  std::string RowOf(const v1::SweepPointReport& point) const {
    std::vector<std::string> others;
    for (int a = 0; a + 1 < sweep_.axes_size(); ++a) others.push_back(ValueOnAxis(point, a));
    return absl::StrJoin(others, " ");
  }

  std::string ValueOnAxis(const v1::SweepPointReport& point, int axis) const {
    return absl::StrCat(sweep_.axes(axis).field(), "=",
                        sweep_.axes(axis).values(static_cast<int>(point.indices(axis))));
  }

  // Points that are in no comparison.
  void AddNotCompared() {
    size_t named = 0;
    size_t left = 0;
    const auto add = [&](const v1::SweepPointReport* point, const std::string& reason) {
      if (named == kNamedNotCompared) {
        ++left;
        return;
      }
      ++named;
      parts_.push_back(absl::StrCat(Name(point), " is not compared: ", reason));
    };
    for (const v1::SweepPointReport* point : without_) add(point, point->comparison().reason());
    // Without a best point NoBest() has said how many rounds are missing.
    for (const v1::SweepPointReport* point : best_.empty() ? Points() : too_few_) {
      add(point, absl::StrCat("it shares ", RoundsText(point->comparison().rounds()),
                              " with the best point"));
    }
    if (left > 0) {
      parts_.push_back(absl::StrCat(left, left == 1 ? " more is" : " more are", " not compared"));
    }
  }

  const v1::SweepReport& sweep_;
  const bool is_latency_;
  Points best_, alike_, worse_, too_few_, alone_, without_;
  Points unordered_;  // have enough rounds, and none of them is best
  std::vector<std::string> parts_;
};

}  // namespace

std::string PointName(const v1::SweepReport& sweep, const v1::SweepPointReport& point) {
  std::vector<std::string> values;
  for (int a = 0; a < sweep.axes_size() && a < point.indices_size(); ++a) {
    const auto index = static_cast<int>(point.indices(a));
    if (index >= sweep.axes(a).values_size()) continue;
    values.push_back(absl::StrCat(sweep.axes(a).field(), "=", sweep.axes(a).values(index)));
  }
  return values.empty() ? "the load" : absl::StrJoin(values, " ");
}

std::string SentenceOf(const v1::SweepReport& sweep) { return Sentence(sweep).Text(); }

}  // namespace lockstep::controller
