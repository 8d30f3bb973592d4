#include "controller/analysis/silence_rule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "controller/analysis/silence_levels.h"
#include "controller/plan/loads.h"

namespace lockstep::controller {
namespace {

// A time in which a Poisson process expects so many is empty once in 20,000. A host with N I/Os has
// about N chances of one, hence the logarithm in Needed().
constexpr double kEnoughExpected = 10;
// A share of an interval: a shorter one is a part of one.
constexpr double kWholeInterval = 0.99;
// Of an interval: instants that differ by less are the same, after divisions.
constexpr double kSameInstant = 1e-6;
constexpr double kMinSeconds = 1e-9;

double CommonSeconds(const SilentSpan& a, const SilentSpan& b) {
  return std::max(
      0.0, std::min(a.end_seconds, b.end_seconds) - std::max(a.begin_seconds, b.begin_seconds));
}

// The whole intervals in which the part runs. What is left of the interval in which it begins or
// ends is silent because the job says so.
SilentSpan WholeOf(const SilencePart& part, double interval) {
  return {std::ceil(part.begin_seconds / interval - kSameInstant) * interval,
          std::floor(part.end_seconds / interval + kSameInstant) * interval};
}

// The instants at which the host's load becomes another one.
std::vector<double> PartTurnsOf(const std::vector<SilencePart>& parts) {
  std::vector<double> turns;
  for (const SilencePart& part : parts) {
    turns.push_back(part.begin_seconds);
    turns.push_back(part.end_seconds);
  }
  return turns;
}

class HostSilences {
 public:
  HostSilences(const std::vector<SilencePart>& parts, const SilentSpan& observed, double interval,
               const HostIos& ios_by_time)
      : parts_(parts),
        interval_(interval),
        levels_(ios_by_time, PartTurnsOf(parts)),
        outages_seconds_(parts.size(), 0) {
    double ios = 0;
    for (const SilencePart& part : parts) {
      whole_.push_back(WholeOf(part, interval));
      seconds_.push_back(ObservedSeconds(part, observed));
      ios += part.ios;
    }
    needed_ = kEnoughExpected + std::log(std::max(1.0, ios));
  }

  std::vector<SilentSpan> Outages(const std::vector<SilentSpan>& silences) {
    std::vector<SilentSpan> left = Running(silences);
    std::vector<Lacking> lacking = TakeBusy(&left);
    TakeLongest(left, &lacking);
    std::vector<SilentSpan> outages;
    for (const auto& [silence, rate] : lacking) {
      if (!levels_.Explain(silence, rate, needed_)) outages.push_back(silence);
    }
    std::sort(outages.begin(), outages.end(), [](const SilentSpan& a, const SilentSpan& b) {
      return a.begin_seconds < b.begin_seconds;
    });
    return outages;
  }

 private:
  // A silence that lacks enough, by this rate of the host's other time.
  struct Lacking {
    SilentSpan silence;
    double rate;  // per second
  };

  // The silences in which a workload runs, where they are whole intervals.
  std::vector<SilentSpan> Running(const std::vector<SilentSpan>& silences) const {
    std::vector<SilentSpan> runs = whole_;
    std::sort(runs.begin(), runs.end(), [](const SilentSpan& a, const SilentSpan& b) {
      return a.begin_seconds < b.begin_seconds;
    });
    std::vector<SilentSpan> joined;
    for (const SilentSpan& run : runs) {
      if (run.seconds() <= 0) continue;
      if (!joined.empty() && run.begin_seconds <= joined.back().end_seconds) {
        joined.back().end_seconds = std::max(joined.back().end_seconds, run.end_seconds);
      } else {
        joined.push_back(run);
      }
    }
    std::vector<SilentSpan> found;
    for (const SilentSpan& silence : silences) {
      for (const SilentSpan& run : joined) {
        if (CommonSeconds(silence, run) < kWholeInterval * interval_) continue;
        found.push_back({std::max(silence.begin_seconds, run.begin_seconds),
                         std::min(silence.end_seconds, run.end_seconds)});
      }
    }
    return found;
  }

  // How much of the part's time such a silence takes.
  double Taken(size_t part, const SilentSpan& silence) const {
    const SilencePart& p = parts_[part];
    if (silence.seconds() <= p.pause_seconds) return 0;
    return CommonSeconds(silence, {p.begin_seconds, p.end_seconds});
  }

  // I/Os that the silence lacks, if the parts' time is without these seconds.
  double Lacks(const SilentSpan& silence, const std::vector<double>& without) const {
    double lacks = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const double ran = CommonSeconds(silence, whole_[i]);
      if (ran <= 0 || silence.seconds() <= parts_[i].pause_seconds) continue;
      const double rest = seconds_[i] - without[i];
      if (parts_[i].ios <= 0 && std::isinf(parts_[i].expected_rate)) {
        return parts_[i].expected_rate;  // also of a share of 0, where a product is no number
      }
      if (parts_[i].ios <= 0) {
        lacks += parts_[i].expected_rate * parts_[i].min_share * ran;
      } else if (rest > kMinSeconds) {
        lacks += parts_[i].ios / rest * parts_[i].min_share * ran;
      }
    }
    return lacks;
  }

  // Takes those of which each single interval lacks enough, also if only the intervals with I/Os
  // are the host's time: then no empty interval is chance. A host that stands still for most of the
  // time is known by this.
  std::vector<Lacking> TakeBusy(std::vector<SilentSpan>* left) {
    std::vector<double> without(parts_.size(), 0);
    for (const SilentSpan& silence : *left) {
      for (size_t i = 0; i < parts_.size(); ++i) without[i] += Taken(i, silence);
    }
    std::vector<Lacking> found;
    std::erase_if(*left, [&](const SilentSpan& silence) {
      const double rate = Lacks(silence, without) / silence.seconds();
      if (rate * interval_ < needed_) return false;
      found.push_back({silence, rate});
      return true;
    });
    for (const Lacking& lacking : found) AddOutage(lacking.silence);
    return found;
  }

  // Takes the longest first: with a low rate, the time between two I/Os is silent as well, and the
  // rate would be too high without it.
  void TakeLongest(std::vector<SilentSpan> left, std::vector<Lacking>* found) {
    std::stable_sort(left.begin(), left.end(), [](const SilentSpan& a, const SilentSpan& b) {
      return a.seconds() > b.seconds();
    });
    std::vector<double> without(parts_.size(), 0);
    for (const SilentSpan& silence : left) {
      for (size_t i = 0; i < parts_.size(); ++i) {
        without[i] = outages_seconds_[i] + Taken(i, silence);
      }
      const double lacks = Lacks(silence, without);
      if (lacks < needed_) continue;
      found->push_back({silence, lacks / silence.seconds()});
      AddOutage(silence);
    }
  }

  void AddOutage(const SilentSpan& outage) {
    for (size_t i = 0; i < parts_.size(); ++i) outages_seconds_[i] += Taken(i, outage);
  }

  const std::vector<SilencePart>& parts_;
  const double interval_;
  const SilenceLevels levels_;
  double needed_ = 0;
  // By part.
  std::vector<SilentSpan> whole_;
  std::vector<double> seconds_;
  std::vector<double> outages_seconds_;
};

// Whether the job says how fast the workload is, or that it waits.
bool IsSlowedDown(const v1::Workload& w) {
  return w.has_open_loop() || w.max_iops() > 0 || w.max_throughput_bytes_per_second() > 0 ||
         w.has_read_limit() || w.has_write_limit() || w.flow() > 0 || LongestThinkNs(w) > 0;
}

}  // namespace

double PauseSeconds(const v1::Workload& workload, double median_latency_ns) {
  constexpr double kThinkTimes = 2;
  constexpr double kMedians = 20;
  const int64_t think_ns = LongestThinkNs(workload);
  if (think_ns <= 0) return 0;
  return (kThinkTimes * static_cast<double>(think_ns) + kMedians * median_latency_ns) / 1e9;
}

double LeastShare(const v1::Workload& workload) {
  if (!workload.open_loop().has_ramp_to_ratio()) return 1;
  const double last = workload.open_loop().ramp_to_ratio();  // over the first
  return std::min(1.0, last) / ((1 + last) / 2);
}

double ObservedSeconds(const SilencePart& part, const SilentSpan& observed) {
  return CommonSeconds({part.begin_seconds, part.end_seconds}, observed);
}

std::vector<SilentSpan> OutagesAmong(const std::vector<SilentSpan>& silences,
                                     const std::vector<SilencePart>& parts,
                                     const SilentSpan& observed, double interval_seconds,
                                     const HostIos& ios) {
  if (silences.empty() || parts.empty() || !(interval_seconds > 0)) return {};
  return HostSilences(parts, observed, interval_seconds, ios).Outages(silences);
}

void MeanRates::Add(uint32_t workload, double ios, double seconds) {
  if (ios <= 0 || seconds <= 0) return;
  Sums& sums = sums_[workload];
  sums.ios += ios;
  sums.seconds += seconds;
}

double MeanRates::Expected(uint32_t workload, const v1::Workload& as_given) const {
  const auto rate = [](const Sums& sums) { return sums.ios / sums.seconds; };
  const auto found = sums_.find(workload);
  if (found != sums_.end()) return rate(found->second);
  if (IsSlowedDown(as_given) || sums_.empty()) return 0;
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& [other, sums] : sums_) slowest = std::min(slowest, rate(sums));
  return slowest;
}

}  // namespace lockstep::controller
