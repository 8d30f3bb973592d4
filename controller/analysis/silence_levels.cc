#include "controller/analysis/silence_levels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace lockstep::controller {
namespace {

// Fewer points with I/Os are no level: I/Os that come back one by one within an outage make some.
// Points count, not I/Os: those that time out together complete together.
constexpr int kMinLevelPoints = 10;
// Of a point: instants that differ by less are the same.
constexpr double kSamePoint = 0.01;

// How unlikely so few I/Os are where `expected` are: the exponent of the probability. For none of
// them it is `expected`, which is by what silences are judged.
double Unlikeliness(double ios, double expected) {
  if (ios >= expected) return 0;
  return expected - ios + (ios > 0 ? ios * std::log(ios / expected) : 0);
}

}  // namespace

// The points beside a silence that are of one level, so far.
struct SilenceLevels::Level {
  double silence_seconds, rate, needed;  // as Explain()
  double ios = 0, seconds = 0;
  int points = 0;  // with I/Os

  bool Explains() const {
    return points >= kMinLevelPoints && Unlikeliness(ios, rate * seconds) >= needed;
  }
};

SilenceLevels::SilenceLevels(const HostIos& ios, std::vector<double> turns)
    : ios_(ios), turns_(std::move(turns)) {}

bool SilenceLevels::IsIn(std::ptrdiff_t point, const SilentSpan& piece) const {
  if (point < 0 || point >= static_cast<std::ptrdiff_t>(ios_.ios.size())) return false;
  if (std::isnan(ios_.ios[static_cast<size_t>(point)])) return false;
  const double begin = ios_.begin_seconds + static_cast<double>(point) * ios_.step_seconds;
  const double slack = kSamePoint * ios_.step_seconds;
  return begin >= piece.begin_seconds - slack &&
         begin + ios_.step_seconds <= piece.end_seconds + slack;
}

bool SilenceLevels::AddSide(std::ptrdiff_t first, std::ptrdiff_t step, const SilentSpan& piece,
                            Level* level) const {
  const auto at = [&](std::ptrdiff_t i) { return ios_.ios[static_cast<size_t>(i)]; };
  const auto width =
      std::max<std::ptrdiff_t>(1, std::llround(level->silence_seconds / ios_.step_seconds));
  // A point may be longer than the silence.
  const double share = level->silence_seconds / (static_cast<double>(width) * ios_.step_seconds);
  // The window of the last `width` points: what has left it is of the level.
  double in_window = 0;
  std::ptrdiff_t oldest = first;
  std::ptrdiff_t i = first;
  const auto take_oldest = [&] {
    in_window -= at(oldest);
    level->ios += at(oldest);
    level->seconds += ios_.step_seconds;
    level->points += at(oldest) > 0 ? 1 : 0;
    oldest += step;
    return level->Explains();
  };
  for (; IsIn(i, piece); i += step) {
    in_window += at(i);
    if (share * in_window >= level->needed) {
      // The end of the window that alone holds so many is of another level.
      while (share * (in_window - at(oldest)) >= level->needed) {
        if (take_oldest()) return true;
      }
      return false;
    }
    if ((i - oldest) * step + 1 == width && take_oldest()) return true;
  }
  while (oldest != i) {
    if (take_oldest()) return true;
  }
  return false;
}

bool SilenceLevels::Explain(const SilentSpan& silence, double rate, double needed) const {
  if (ios_.ios.empty() || !(ios_.step_seconds > 0)) return false;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double slack = kSamePoint * ios_.step_seconds;
  SilentSpan piece{-kInfinity, kInfinity};
  for (const double turn : turns_) {
    if (turn <= silence.begin_seconds + slack) {
      piece.begin_seconds = std::max(piece.begin_seconds, turn);
    } else if (turn >= silence.end_seconds - slack) {
      piece.end_seconds = std::min(piece.end_seconds, turn);
    } else {
      return false;  // the load before it is no measure of the whole silence, nor that after it
    }
  }
  Level level{silence.seconds(), rate, needed};
  // The last point that ends, and the first that begins, outside of the silence.
  const auto point = [&](double seconds) {
    return (seconds - ios_.begin_seconds) / ios_.step_seconds;
  };
  const auto before =
      static_cast<std::ptrdiff_t>(std::floor(point(silence.begin_seconds) + kSamePoint)) - 1;
  const auto after =
      static_cast<std::ptrdiff_t>(std::ceil(point(silence.end_seconds) - kSamePoint));
  return AddSide(before, -1, piece, &level) || AddSide(after, 1, piece, &level);
}

}  // namespace lockstep::controller
