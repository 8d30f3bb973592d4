// Rates and loops of runs.

#include "frontends/vdbench/rates.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/timing.h"
#include "frontends/vdbench/values.h"

namespace lockstep::frontends::vdbench {
namespace {

using timing::kSecond;

constexpr size_t kMaxValues = 100;  // of an axis
constexpr double kMaxRate = 1e12;
constexpr double kMinRate = 0.001;

// The points of vdbench's curve by default, in percent.
constexpr double kCurve[] = {10, 50, 70, 80, 90, 100};

// The smallest whole numbers that have the proportion of the shares, each to half a percent.
// Larger ones would be as good on average, but they are I/Os that a workload does at once while the
// others wait.
std::vector<uint32_t> WholeShares(const std::vector<double>& shares) {
  constexpr int kMaxFactor = 100;
  constexpr double kError = 0.005;
  constexpr double kMaxFlow = 1e6;
  const double least = *std::min_element(shares.begin(), shares.end());
  std::vector<uint32_t> numbers(shares.size());
  for (int factor = 1; factor <= kMaxFactor; ++factor) {
    bool is_close = true;
    for (size_t i = 0; i < shares.size(); ++i) {
      const double exact = std::min(kMaxFlow, shares[i] / least * factor);
      const double whole = std::round(exact);
      numbers[i] = static_cast<uint32_t>(whole);
      is_close = is_close && std::abs(whole - exact) <= exact * kError;
    }
    if (is_close) break;
  }
  return numbers;
}

class PhaseMaker {
 public:
  PhaseMaker(const RunPlan& plan, int64_t smallest_storage, std::set<std::string>* names,
             std::vector<Phase>* phases, Findings* findings)
      : plan_(plan),
        smallest_storage_(smallest_storage),
        names_(names),
        phases_(phases),
        findings_(findings) {}

  void Make() {
    ReadLoops();
    ReadRate();
    if (!findings_->errors.empty()) return;
    // The percentages of a curve are of a maximum that is not known yet: a phase has to measure it.
    if (is_curve_) return MakeCurve();
    // An axis gives all workloads the same rate. With different shares each rate needs a phase.
    if (rates_.size() > 1 && !AreSharesEqual()) return MakeEachRate();
    Phase phase = Begin(plan_.statement->name);
    if (rates_.empty()) {
      KeepShares(&phase);
    } else {
      SetRate(rates_[0], &phase);
    }
    AddAxes(&phase);
    End(std::move(phase));
  }

 private:
  const Parameter* Find(const char* key) const { return plan_.statement->Find(key); }

  // ---- Loops.

  struct Loop {
    const Parameter* from = nullptr;
    std::string field;
    std::vector<std::string> values;
    bool is_rate = false;
  };

  void ReadLoops() {
    ReadLoop("forxfersize", "block_size", [&](const std::string& text) {
      const auto size = ParseSize(text);
      // The smallest storage counts, because each size of the loop is used on all storages. A point
      // that does not fit would fail when the sweep reaches it.
      const bool fits = size && *size >= kMinBlock && *size <= kMaxBlock && *size % 512 == 0 &&
                        *size <= smallest_storage_;
      return fits ? absl::StrCat(*size) : "";
    });
    ReadLoop("forthreads", "threads", [](const std::string& text) {
      const auto number = ParseSize(text);
      return number && *number >= 1 && *number <= kMaxThreads ? absl::StrCat(*number) : "";
    });
    ReadLoop("forrdpct", "read", [](const std::string& text) {
      const auto percent = ParseNumber(text);
      // Ten digits give a percentage back as it was written. All digits of a double would show the
      // rounding of its binary form.
      return percent && *percent <= 100 ? absl::StrFormat("%.10g%%", *percent) : "";
    });
    if (const Parameter* rates = Find("foriorate")) {
      loops_.push_back({rates, "open_loop.rate", {}, true});
    }
    // vdbench nests its loops in the order of their keywords, as a sweep does its axes.
    std::sort(loops_.begin(), loops_.end(),
              [](const Loop& a, const Loop& b) { return a.from->order < b.from->order; });
  }

  template <typename Convert>
  void ReadLoop(const char* key, const char* field, const Convert& convert) {
    const Parameter* parameter = Find(key);
    if (parameter == nullptr) return;
    Loop loop{parameter, field, {}, false};
    for (const std::string& text : ListOf(*parameter, findings_)) {
      const std::string value = convert(text);
      if (value.empty()) {
        return findings_->Fail(parameter->where, absl::StrCat("has a value that no workload of "
                                                              "the run can take: ",
                                                              text));
      }
      // An axis with a value twice would measure the same point twice.
      const bool is_new =
          std::find(loop.values.begin(), loop.values.end(), value) == loop.values.end();
      if (is_new) loop.values.push_back(value);
    }
    if (loop.values.size() > kMaxValues) {
      return findings_->Fail(parameter->where, "has more than the 100 values of an axis");
    }
    if (!loop.values.empty()) loops_.push_back(std::move(loop));
  }

  void AddAxes(Phase* phase) const {
    for (const Loop& loop : loops_) {
      std::vector<std::string> values = loop.values;
      if (loop.is_rate) values = RateTexts();
      AddAxis(loop.field, values, loop.from->where, phase);
    }
    const bool has_rate_loop =
        std::any_of(loops_.begin(), loops_.end(), [](const Loop& loop) { return loop.is_rate; });
    if (rates_.size() > 1 && !has_rate_loop) {
      AddAxis("open_loop.rate", RateTexts(), rate_from_->where, phase);
    }
  }

  static void AddAxis(const std::string& field, const std::vector<std::string>& values,
                      const Origin& from, Phase* phase) {
    if (values.empty()) return;
    v1::Sweep* sweep = phase->spec.mutable_run()->mutable_sweep();
    phase->origins[absl::StrCat("run.sweep.axes[", sweep->axes_size(), "]")] = from;
    v1::SweepAxis* axis = sweep->add_axes();
    axis->set_field(field);
    for (const std::string& value : values) axis->add_values(value);
  }

  // ---- Rates.

  void ReadRate() {
    const Parameter* loop = Find("foriorate");
    rate_from_ = loop != nullptr ? loop : Find("iorate");
    if (rate_from_ == nullptr) {
      return findings_->Fail(plan_.statement->where, "has no iorate");
    }
    ReadDistribution();
    if (const Parameter* data = Find("maxdata"); data != nullptr) ReadMaxData(*data);
    if (absl::EqualsIgnoreCase(rate_from_->value, "max")) return DropRateLoop();
    if (absl::EqualsIgnoreCase(rate_from_->value, "curve")) {
      is_curve_ = true;
      DropRateLoop();
      return ReadCurve();
    }
    for (const std::string& text : ListOf(*rate_from_, findings_)) {
      const auto rate = ParseNumber(text);
      // The rate of the smallest share must still be one that a job can have.
      const double least = rate ? *rate * SmallestPercent() / 100 : 0;
      if (!rate || least < kMinRate || *rate > kMaxRate) {
        return findings_->Fail(rate_from_->where,
                               absl::StrCat("is no rate in I/Os per second, max or curve: ", text));
      }
      if (std::find(rates_.begin(), rates_.end(), *rate) == rates_.end()) rates_.push_back(*rate);
    }
    if (rates_.size() > kMaxValues) {
      findings_->Fail(rate_from_->where, "has more than the 100 values of an axis");
    }
  }

  // A loop over `max` alone has no rates.
  void DropRateLoop() {
    loops_.erase(
        std::remove_if(loops_.begin(), loops_.end(), [](const Loop& loop) { return loop.is_rate; }),
        loops_.end());
  }

  void ReadDistribution() {
    const Parameter* distribution = Find("distribution");
    if (distribution == nullptr) return;
    // The first letter tells them apart: deterministic, exponential (the default) and uniform.
    if (absl::StartsWithIgnoreCase(distribution->value, "d")) {
      arrival_ = v1::ARRIVAL_FIXED;
    } else if (!absl::StartsWithIgnoreCase(distribution->value, "e")) {
      findings_->Refuse(distribution->where, "gaps between I/Os that are uniformly distributed");
    }
  }

  void ReadMaxData(const Parameter& data) {
    const auto bytes = ParseSize(data.value);
    // vdbench counts the bytes of all workloads together. A job counts those of each workload.
    if (plan_.flows.size() != 1) {
      return findings_->Refuse(data.where, "a limit of the bytes of several workloads together");
    }
    if (!bytes || *bytes < (64 << 20)) {
      return findings_->Fail(data.where, "is no number of bytes from 64m on");
    }
    max_data_ = *bytes;
  }

  void ReadCurve() {
    const Parameter* curve = Find("curve");
    if (curve == nullptr) {
      shares_.assign(std::begin(kCurve), std::end(kCurve));
      return;
    }
    for (const std::string& text : ListOf(*curve, findings_)) {
      const auto percent = ParseNumber(text);
      if (!percent || *percent < 0.1 || *percent > 1000 || shares_.size() >= kMaxValues) {
        return findings_->Fail(curve->where, "is no list of at most 100 percentages");
      }
      shares_.push_back(*percent);
    }
  }

  double SmallestPercent() const {
    double least = 100;
    for (const Flow& flow : plan_.flows) least = std::min(least, flow.percent);
    return least;
  }
  bool AreSharesEqual() const {
    return std::all_of(plan_.flows.begin(), plan_.flows.end(), [&](const Flow& flow) {
      return std::abs(flow.percent - plan_.flows[0].percent) < 1e-9;
    });
  }
  std::vector<std::string> RateTexts() const {
    std::vector<std::string> texts;
    for (const double rate : rates_) {
      texts.push_back(absl::StrFormat("%.10g", rate * plan_.flows[0].percent / 100));
    }
    return texts;
  }

  void SetRate(double rate, Phase* phase) const {
    v1::RunPhase* run = phase->spec.mutable_run();
    for (int i = 0; i < run->workloads_size(); ++i) {
      v1::OpenLoop* loop = run->mutable_workloads(i)->mutable_open_loop();
      loop->set_rate_per_second(rate * plan_.flows[static_cast<size_t>(i)].percent / 100);
      loop->set_arrival(arrival_);
      phase->origins[absl::StrCat("run.workloads[", i, "].open_loop.rate")] = rate_from_->where;
    }
    findings_->Remark(rate_from_->where,
                      "I/Os begin by a schedule; a latency counts from the time that it says");
  }

  // At its maximum vdbench controls the shares of workloads if one of them has a skew.
  void KeepShares(Phase* phase) const {
    if (plan_.flows.size() < 2) return;
    const auto skewed = std::find_if(plan_.flows.begin(), plan_.flows.end(),
                                     [](const Flow& flow) { return flow.skew != nullptr; });
    if (skewed == plan_.flows.end()) {
      return findings_->Remark(rate_from_->where,
                               "vdbench makes workloads and storages equally fast; in the job each "
                               "is as fast as it can be");
    }
    const std::string hosts = plan_.flows[0].workload.hosts().SerializeAsString();
    for (const Flow& flow : plan_.flows) {
      if (flow.workload.hosts().SerializeAsString() == hosts) continue;
      // A flow is kept by each host by itself, and knows nothing of others.
      return findings_->Refuse((flow.skew != nullptr ? flow : *skewed).skew->where,
                               "shares of workloads on different hosts that run as fast as they "
                               "can; give an iorate");
    }
    SetFlows(*skewed, phase);
  }

  void SetFlows(const Flow& skewed, Phase* phase) const {
    std::vector<double> percents;
    for (const Flow& flow : plan_.flows) percents.push_back(flow.percent);
    const std::vector<uint32_t> numbers = WholeShares(percents);
    v1::RunPhase* run = phase->spec.mutable_run();
    std::string proportion;
    for (int i = 0; i < run->workloads_size(); ++i) {
      const auto index = static_cast<size_t>(i);
      run->mutable_workloads(i)->set_flow(numbers[index]);
      const Parameter* own = plan_.flows[index].skew;
      phase->origins[absl::StrCat("run.workloads[", i, "].flow")] =
          own != nullptr ? own->where : Origin{"", 0, "what the skews leave"};
      absl::StrAppend(&proportion, i == 0 ? "" : " : ", numbers[index]);
    }
    findings_->Remark(
        skewed.skew->where,
        absl::StrCat("each host keeps the I/Os of the workloads in proportion: ", proportion));
  }

  // ---- Phases.

  Phase Begin(const std::string& name) const {
    Phase phase;
    phase.spec.set_name(UniqueName(name, names_));
    phase.origins["name"] = plan_.statement->where;
    v1::RunPhase* run = phase.spec.mutable_run();
    run->set_duration_ns(plan_.duration_ns);
    run->set_ramp_ns(plan_.ramp_ns);
    phase.origins["run.duration"] = plan_.duration_from;
    phase.origins["run.ramp"] = plan_.ramp_from;
    std::set<std::string> names;
    for (const Flow& flow : plan_.flows) {
      const std::string field = absl::StrCat("run.workloads[", run->workloads_size(), "].");
      v1::Workload* w = run->add_workloads();
      *w = flow.workload;
      w->set_name(UniqueName(flow.workload.name(), &names));
      if (max_data_ > 0) w->set_io_size_bytes(max_data_);
      for (const auto& [key, origin] : flow.origins) phase.origins[field + key] = origin;
      // An axis of sizes is for workloads of one size.
      for (const Loop& loop : loops_) {
        if (loop.field == "block_size" && !w->block_sizes().empty()) w->clear_block_sizes();
      }
    }
    return phase;
  }

  void End(Phase phase) { phases_->push_back(std::move(phase)); }

  void MakeEachRate() {
    if (!loops_.empty() && !(loops_.size() == 1 && loops_[0].is_rate)) {
      return findings_->Refuse(loops_[0].from->where,
                               "several rates of workloads with different shares as an axis");
    }
    for (const double rate : rates_) {
      Phase phase = Begin(absl::StrFormat("%s at %.10g/s", plan_.statement->name, rate));
      SetRate(rate, &phase);
      End(std::move(phase));
    }
  }

  void MakeCurve() {
    if (!loops_.empty()) {
      return findings_->Refuse(loops_[0].from->where, "a curve at each point of a sweep");
    }
    // The curve's shares are taken of the rate that this phase reaches.
    Phase most = Begin(absl::StrCat(plan_.statement->name, " max"));
    KeepShares(&most);
    const std::string name = most.spec.name();
    End(std::move(most));
    Phase curve = Begin(absl::StrCat(plan_.statement->name, " curve"));
    v1::RunPhase* run = curve.spec.mutable_run();
    for (int i = 0; i < run->workloads_size(); ++i) {
      v1::OpenLoop* loop = run->mutable_workloads(i)->mutable_open_loop();
      loop->mutable_measured()->set_phase(name);
      loop->mutable_measured()->set_share_ratio(plan_.flows[static_cast<size_t>(i)].percent / 100);
      loop->set_arrival(arrival_);
      curve.origins[absl::StrCat("run.workloads[", i, "].open_loop.measured")] = rate_from_->where;
    }
    for (const double percent : shares_) run->mutable_curve()->add_share_ratio(percent / 100);
    curve.origins["run.curve.share"] =
        Find("curve") != nullptr ? Find("curve")->where : rate_from_->where;
    End(std::move(curve));
  }

  const RunPlan& plan_;
  const int64_t smallest_storage_;
  std::set<std::string>* names_;
  std::vector<Phase>* phases_;
  Findings* findings_;
  const Parameter* rate_from_ = nullptr;
  std::vector<Loop> loops_;
  std::vector<double> rates_;   // empty: as fast as it can
  std::vector<double> shares_;  // of a curve, percent
  bool is_curve_ = false;
  int64_t max_data_ = 0;
  // vdbench's default: the gaps between I/Os have an exponential distribution.
  v1::Arrival arrival_ = v1::ARRIVAL_POISSON;
};

// vdbench waits before the next run begins. A phase that only observes does no I/O, either, and its
// samples show what the devices still do after the load.
void AddPause(const Statement& run, size_t steps, std::set<std::string>* names,
              std::vector<Phase>* phases, Findings* findings) {
  const Parameter* pause = run.Find("pause");
  if (pause == nullptr) return;
  const auto seconds = ParseSeconds(pause->value);
  if (!seconds || *seconds > kMaxPhaseSeconds) {
    return findings->Fail(pause->where, kNoPhaseTime);
  }
  if (*seconds == 0) return;
  // A sweep or a curve is one phase, between whose steps no other one fits.
  if (steps > 1) {
    return findings->Refuse(pause->where, "a pause between the steps of a loop or a curve");
  }
  Phase phase;
  phase.spec.set_name(UniqueName(absl::StrCat(run.name, " pause"), names));
  phase.spec.mutable_observe()->set_duration_ns(*seconds * kSecond);
  phase.origins["observe.duration"] = pause->where;
  phases->push_back(std::move(phase));
}

}  // namespace

void AddPhases(const RunPlan& plan, int64_t smallest_storage, std::set<std::string>* names,
               std::vector<Phase>* phases, Findings* findings) {
  const size_t before = StepsOf(*phases);
  PhaseMaker(plan, smallest_storage, names, phases, findings).Make();
  AddPause(*plan.statement, StepsOf(*phases) - before, names, phases, findings);
}

size_t StepsOf(const std::vector<Phase>& phases) {
  size_t steps = 0;
  for (const Phase& phase : phases) {
    // Axes multiply: a sweep runs each combination of their values.
    size_t own = 1;
    for (const v1::SweepAxis& axis : phase.spec.run().sweep().axes()) {
      own *= static_cast<size_t>(axis.values_size());
    }
    steps += std::max(own, static_cast<size_t>(phase.spec.run().curve().share_ratio_size()));
  }
  return steps;
}

size_t WorkloadsOf(const std::vector<Phase>& phases) {
  size_t workloads = 0;
  for (const Phase& phase : phases) {
    workloads += StepsOf({phase}) * static_cast<size_t>(phase.spec.run().workloads_size());
  }
  return workloads;
}

}  // namespace lockstep::frontends::vdbench
