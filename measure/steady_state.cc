#include "measure/steady_state.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace lockstep::measure {
namespace {

// One more than the largest window that a job may ask for (100 rounds).
constexpr size_t kKept = 101;

// Latencies have no value where no I/O completed. Rates have 0.
bool IsLatency(v1::SteadyFigure figure) {
  return figure == v1::STEADY_FIGURE_PERCENTILE || figure == v1::STEADY_FIGURE_MEAN;
}

}  // namespace

Variation VariationOf(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  double weighted = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    // Positions counted from the middle add up to 0, so that the slope of the least squares needs
    // neither the mean of the values nor a second pass.
    weighted += values[i] * (static_cast<double>(i) - (n - 1) / 2);
  }
  Variation variation;
  // Everything below divides by the mean. The comparison is written so that it refuses a NaN, too.
  if (values.size() < 2 || !(sum > 0)) return variation;
  variation.mean = sum / n;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  variation.range = (*most - *least) / variation.mean;
  const double squares = n * (n * n - 1) / 12;  // of the places, around their middle
  variation.slope = std::abs(weighted / squares) * (n - 1) / variation.mean;
  return variation;
}

void Rounds::Add(uint32_t interval, const MergedInterval::Part& part) {
  // A round with a gap would reach over a longer time than the others.
  if (open_ && interval != next_) open_.reset();
  if (!open_) {
    open_ = Round{interval, interval, part.begin_seconds, 0, 0};
    filled_ = 0;
    seconds_ = operations_ = bytes_ = latency_sum_ns_ = 0;
    latencies_.Clear();
  }
  next_ = interval + 1;
  seconds_ += part.seconds;
  operations_ += static_cast<double>(part.operations);
  bytes_ += static_cast<double>(part.bytes);
  latency_sum_ns_ += part.latency_sum_ns;
  // Percentiles of intervals have no mean: that of a round comes from the sum of their histograms.
  if (figure_ == v1::STEADY_FIGURE_PERCENTILE) latencies_.Add(part.latencies);
  if (++filled_ < intervals_) return;
  open_->last = interval;
  open_->end_seconds = part.begin_seconds + part.seconds;
  open_->value = Value();
  open_->has_io = operations_ > 0;
  complete_.push_back(*open_);
  if (complete_.size() > kKept) complete_.pop_front();
  open_.reset();
}

double Rounds::Value() const {
  switch (figure_) {
    case v1::STEADY_FIGURE_THROUGHPUT:
      return seconds_ > 0 ? bytes_ / seconds_ : 0;
    case v1::STEADY_FIGURE_MEAN:
      return operations_ > 0 ? latency_sum_ns_ / operations_ : 0;
    case v1::STEADY_FIGURE_PERCENTILE:
      return latencies_.PercentileIfAbove(percent_);
    default:
      return seconds_ > 0 ? operations_ / seconds_ : 0;
  }
}

std::vector<Rounds::Round> Rounds::LastRounds(uint32_t window) const {
  if (complete_.size() < window) return {};
  const auto from = complete_.end() - static_cast<std::ptrdiff_t>(window);
  for (auto round = from; round != complete_.end(); ++round) {
    if (round != from && round->first != std::prev(round)->last + 1) return {};
    // A round with too few I/Os for the percentile has none. Its largest latency is no stand-in.
    if (IsLatency(figure_) && !(round->value > 0)) return {};
  }
  return {from, complete_.end()};
}

std::optional<Variation> Rounds::Last(uint32_t window) const {
  std::vector<double> values;
  for (const Round& round : LastRounds(window)) values.push_back(round.value);
  const Variation variation = VariationOf(values);
  // A load that does nothing is not steady, however little it varies.
  return variation.mean > 0 ? std::optional(variation) : std::nullopt;
}

bool Rounds::StoodStill(uint32_t window) const {
  const std::vector<Round> rounds = LastRounds(window);
  return std::any_of(rounds.begin(), rounds.end(), [](const Round& r) { return !r.has_io; });
}

SteadyState::SteadyState(const v1::SteadyState& rule, int64_t interval_ns)
    : rule_(rule),
      intervals_(static_cast<uint32_t>(
          std::max<int64_t>(1, rule.round_ns() / std::max<int64_t>(1, interval_ns)))),
      fleet_(rule.figure(), rule.percent(), intervals_) {}

void SteadyState::Add(const MergedInterval& merged) {
  // An interval that lacks a worker would look like a drop of the fleet's figure. It is left out,
  // and Rounds::Add() begins a new round after the gap.
  if (verdict_.departure || !merged.whole || merged.interval_class != v1::INTERVAL_CLASS_MEASURED) {
    return;
  }
  // A sum of fewer workers is no change of the load.
  if (verdict_.steady && merged.workers.size() != steady_workers_) return;
  // A worker that has left is waited for no longer.
  std::erase_if(workers_, [&](const auto& own) { return !merged.workers.contains(own.first); });
  MergedInterval::Part all;
  for (const auto& [worker, part] : merged.workers) {
    if (rule_.each_host()) {
      workers_.try_emplace(worker, rule_.figure(), rule_.percent(), intervals_)
          .first->second.Add(merged.interval, part);
    }
    all.begin_seconds = part.begin_seconds;
    // Workers run side by side: their times do not add up.
    all.seconds = std::max(all.seconds, part.seconds);
    all.operations += part.operations;
    all.bytes += part.bytes;
    all.latency_sum_ns += part.latency_sum_ns;
  }
  if (rule_.figure() == v1::STEADY_FIGURE_PERCENTILE) {
    common::Histogram latencies;
    for (const auto& [worker, part] : merged.workers) latencies.Add(part.latencies);
    all.latencies = latencies.Occupied();
  }
  // complete() drops old rounds, so its size does not tell whether this interval has completed one.
  // The interval at which the newest round ends does.
  const auto last = fleet_.complete().empty() ? 0 : fleet_.complete().back().last + 1;
  fleet_.Add(merged.interval, all);
  if (fleet_.complete().empty() || fleet_.complete().back().last + 1 == last) return;
  if (verdict_.steady) return FindDeparture();
  ++verdict_.rounds;
  Judge();
  steady_workers_ = merged.workers.size();
}

bool SteadyState::Holds(const Rounds& rounds, const Variation& variation) const {
  // A load that stands still for a round is not steady, whatever range the rule allows.
  return variation.range <= rule_.range_ratio() && variation.slope <= rule_.slope_ratio() &&
         !rounds.StoodStill(rule_.window());
}

void SteadyState::Judge() {
  const auto& rounds = fleet_.complete();
  verdict_.values.push_back(rounds.back().value);
  if (verdict_.values.size() > kKept) verdict_.values.erase(verdict_.values.begin());
  // Without a full window of rounds in a row there is nothing to judge, and the figures of the last
  // window stand.
  const std::optional<Variation> fleet = fleet_.Last(rule_.window());
  if (!fleet) return;
  verdict_.fleet = *fleet;
  verdict_.begin_seconds = rounds[rounds.size() - rule_.window()].begin_seconds;
  verdict_.end_seconds = rounds.back().end_seconds;
  verdict_.worst_worker.reset();
  bool holds = Holds(fleet_, *fleet);
  for (const auto& [worker, own] : workers_) {
    const std::optional<Variation> variation = own.Last(rule_.window());
    // A host that has no full window yet may still change: it counts as not steady.
    holds = holds && variation && Holds(own, *variation);
    if (!variation) continue;
    if (!verdict_.worst_worker || variation->range > verdict_.worst.range) {
      verdict_.worst_worker = worker;
      verdict_.worst = *variation;
    }
  }
  verdict_.steady = holds;
  if (!holds) return;
  for (const auto& [worker, own] : workers_) steady_means_[worker] = own.Last(rule_.window())->mean;
}

void SteadyState::FindDeparture() {
  FindDeparture(fleet_, verdict_.fleet.mean, std::nullopt);
  for (const auto& [worker, mean] : steady_means_) {
    const auto own = workers_.find(worker);
    if (own != workers_.end()) FindDeparture(own->second, mean, worker);
  }
}

void SteadyState::FindDeparture(const Rounds& rounds, double steady_mean,
                                std::optional<uint32_t> worker) {
  if (verdict_.departure || rounds.complete().empty()) return;
  // The mean of a window can stay within a wide range while the load stands still for a whole
  // round. A window of latencies has no mean then.
  const Rounds::Round& last = rounds.complete().back();
  if (!last.has_io && last.begin_seconds >= verdict_.end_seconds) {
    verdict_.departure = {last.begin_seconds, last.end_seconds, 0, steady_mean, worker};
    return;
  }
  const std::vector<Rounds::Round> newest = rounds.LastRounds(rule_.window());
  if (newest.empty()) return;
  double sum = 0;
  for (const Rounds::Round& round : newest) sum += round.value;
  const double mean = sum / static_cast<double>(newest.size());
  const auto differs = [&](double value) {
    return std::abs(value - steady_mean) > rule_.range_ratio() * steady_mean;
  };
  if (!differs(mean)) return;
  // Rounds of the steady window may be among them.
  const auto first = std::find_if(newest.begin(), newest.end(), [&](const Rounds::Round& round) {
    return round.begin_seconds >= verdict_.end_seconds && differs(round.value);
  });
  if (first == newest.end()) return;
  verdict_.departure = {first->begin_seconds, newest.back().end_seconds, mean, steady_mean, worker};
  for (const Rounds::Round& round : newest) {
    verdict_.departure->rounds.emplace_back(round.end_seconds, round.value);
  }
}

}  // namespace lockstep::measure
