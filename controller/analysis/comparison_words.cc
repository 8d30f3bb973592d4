#include "controller/analysis/comparison_words.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/figure_table.h"
#include "controller/analysis/observed_figures.h"
#include "google/protobuf/util/json_util.h"
#include "measure/report_states.h"
#include "proto/field_differences.h"
#include "proto/job.pb.h"

namespace lockstep::controller {
namespace {

// A list of differences is read, and a set of runs may differ in the facts of a thousand hosts.
constexpr int kMaxDifferences = 50;
constexpr size_t kMaxValues = 3;
constexpr size_t kMaxTitleLabels = 2;
// The name of the rate in kFigures.
constexpr char kIops[] = "iops";

// For each name the values that each set has.
using ValuesBySet = std::map<std::string, std::vector<std::set<std::string>>>;

void AddValues(const google::protobuf::Map<std::string, std::string>& values, size_t set,
               size_t sets, ValuesBySet* all) {
  for (const auto& [name, value] : values) {
    std::vector<std::set<std::string>>& of = (*all)[name];
    of.resize(sets);
    of[set].insert(value);
  }
}

// The labels of the runs that are compared.
ValuesBySet LabelsOf(const std::vector<RunSet>& sets) {
  ValuesBySet labels;
  for (size_t s = 0; s < sets.size(); ++s) {
    for (const v1::RunFigures& run : sets[s].runs) {
      if (IsCompared(run)) AddValues(run.run().labels(), s, sets.size(), &labels);
    }
  }
  return labels;
}

bool Differ(const std::vector<std::set<std::string>>& values) {
  return std::any_of(values.begin(), values.end(),
                     [&](const auto& of) { return of != values.front(); });
}

std::string ValuesText(const std::set<std::string>& values) {
  if (values.empty()) return "-";
  std::vector<std::string> shown(values.begin(), values.end());
  const size_t more = shown.size() > kMaxValues ? shown.size() - kMaxValues : 0;
  shown.resize(shown.size() - more);
  return absl::StrCat(absl::StrJoin(shown, " or "),
                      more > 0 ? absl::StrCat(" or ", more, " more") : "");
}

void AddDiffering(measure::DifferenceKind kind, const ValuesBySet& all,
                  v1::Comparison* comparison) {
  for (const auto& [name, values] : all) {
    if (!Differ(values) || comparison->differences_size() >= kMaxDifferences) continue;
    v1::SetDifference* difference = comparison->add_differences();
    difference->set_kind(Text(kind));
    difference->set_name(name);
    for (const std::set<std::string>& of : values) difference->add_values(ValuesText(of));
  }
}

// The fields in which the first job of each set differs from the first set's.
void AddJobs(const std::vector<RunSet>& sets, v1::Comparison* comparison) {
  std::vector<v1::JobSpec> jobs(sets.size());
  for (size_t s = 0; s < sets.size(); ++s) {
    const auto run = std::find_if(sets[s].runs.begin(), sets[s].runs.end(),
                                  [](const auto& r) { return IsCompared(r); });
    // A job of another version that cannot be read is a warning of the comparison.
    if (run == sets[s].runs.end() ||
        !google::protobuf::util::JsonStringToMessage(run->job(), &jobs[s]).ok()) {
      return;
    }
  }
  ValuesBySet fields;
  for (size_t s = 1; s < sets.size(); ++s) {
    for (const v1::FieldDifference& d : v1::DifferingFields(jobs[0], jobs[s])) {
      std::vector<std::set<std::string>>& of = fields[d.path];
      // Sets that do not differ in the field have the first one's value.
      if (of.empty()) of.assign(sets.size(), {d.before});
      of[s] = {d.after};
    }
  }
  AddDiffering(measure::DifferenceKind::kJob, fields, comparison);
}

bool IsTold(const v1::ComparedValue& value) {
  return value.verdict() == v1::CHANGE_BETTER || value.verdict() == v1::CHANGE_WORSE;
}

// The sentence on one set beside the first.
class SetSentence {
 public:
  SetSentence(const v1::Comparison& comparison, int set)
      : comparison_(comparison), set_(set), can_tell_(comparison.can_tell(set - 1)) {
    Choose();
  }

  std::string Text() const {
    const int before = comparison_.sets(0).runs_size();
    const int after = comparison_.sets(set_).runs_size();
    if (before == 0 || after == 0) {
      return absl::StrCat("no run of ", Title(before == 0 ? 0 : set_), " can be compared");
    }
    const std::string figures = Figures();
    if (figures.empty()) return "the sets have no figure in common";
    if (!can_tell_) {
      return TooFewRuns(figures, comparison_.sets(0).runs(), comparison_.sets(set_).runs(),
                        comparison_.fewest_runs());
    }
    const std::string where = phases_.size() > 1 ? absl::StrCat(" in ", phase_) : "";
    if (told_ == 0 && drifting_ > 0) {
      return absl::StrCat("the difference between ", Title(0), " and ", Title(set_), where,
                          " may be drift of the machine: ", figures);
    }
    if (told_ == 0) {
      return absl::StrCat("no difference found between ", Title(0), " and ", Title(set_), where,
                          ": ", figures);
    }
    return absl::StrCat(Title(set_), " ", What(), " ", Title(0), where, ": ", figures,
                        absl::StrFormat("; by chance with p = %.2g", p_value_), Elsewhere());
  }

 private:
  const std::string& Title(int set) const { return comparison_.sets(set).title(); }
  const v1::ComparedValue& ValueOf(const v1::ComparedFigure& figure) const {
    return figure.values(set_);
  }

  // The first phase in which a figure of the whole fleet differs, else the first one.
  void Choose() {
    std::map<std::string, int> told;
    for (const v1::ComparedFigure& figure : comparison_.figures()) {
      // Figures of single workloads are parts of the phase's figures, and would be counted twice.
      if (!figure.judged() || !figure.workload().empty()) continue;
      if (std::find(phases_.begin(), phases_.end(), figure.phase()) == phases_.end()) {
        phases_.push_back(figure.phase());
      }
      told[figure.phase()] += IsTold(ValueOf(figure));
    }
    for (const std::string& phase : phases_) {
      if (told[phase] == 0) continue;
      if (told_ == 0) {
        phase_ = phase;
        told_ = told[phase];
      } else {
        ++told_elsewhere_;
      }
    }
    if (told_ == 0 && !phases_.empty()) phase_ = phases_.front();
    for (const v1::ComparedFigure& figure : comparison_.figures()) {
      if (figure.phase() != phase_ || !figure.workload().empty()) continue;
      const v1::ComparedValue& value = ValueOf(figure);
      by_name_.emplace(figure.figure(), &figure);
      drifting_ += value.may_be_drift();
      if (IsTold(value)) p_value_ = std::min(p_value_, value.p_value());
    }
  }

  std::string Figures() const {
    // People look at the rate, the typical latency, and the tail.
    const std::string tail = by_name_.contains("p99.9") ? "p99.9" : "p99";
    std::vector<std::string> texts;
    for (const std::string& name : {std::string(kIops), std::string("p50"), tail}) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) continue;
      const v1::ComparedValue& value = ValueOf(*found->second);
      // From 0 there is no share.
      if (const v1::ComparedValue& before = found->second->values(0);
          name == kIops && !value.has_change() && before.runs() > 0 && value.runs() > 0) {
        texts.push_back(absl::StrCat("from ", common::FormatCount(before.median()), " to ",
                                     common::FormatCount(value.median()), " IOPS"));
      }
      if (!value.has_change()) continue;
      const std::string change = SignedPercent(value.change());
      std::string text =
          name == kIops ? absl::StrCat(change, " IOPS") : absl::StrCat(name, " ", change);
      if (can_tell_ && value.has_interval()) {
        absl::StrAppend(&text, " (", SignedPercent(value.change_low()), " to ",
                        SignedPercent(value.change_high()),
                        told_ == 0 || IsTold(value) ? ")"
                        : value.may_be_drift()      ? ", may be drift)"
                                                    : ", may be chance)");
      }
      texts.push_back(std::move(text));
    }
    return absl::StrJoin(texts, ", ");
  }

  // "is faster than"; of the figure that people mean by it first.
  std::string What() const {
    const auto verdict = [&](const char* name) {
      const auto found = by_name_.find(name);
      return found == by_name_.end() ? v1::CHANGE_UNKNOWN : ValueOf(*found->second).verdict();
    };
    const v1::Change iops = verdict(kIops);
    if (iops == v1::CHANGE_BETTER) return "is faster than";
    if (iops == v1::CHANGE_WORSE) return "is slower than";
    for (const char* name : {"p50", "mean", "p99", "p99.9"}) {
      if (verdict(name) == v1::CHANGE_BETTER) return "has shorter latencies than";
      if (verdict(name) == v1::CHANGE_WORSE) return "has longer latencies than";
    }
    return "differs from";
  }

  std::string Elsewhere() const {
    if (told_elsewhere_ == 0) return "";
    return absl::StrCat("; ", told_elsewhere_,
                        told_elsewhere_ == 1 ? " more phase differs" : " more phases differ");
  }

  const v1::Comparison& comparison_;
  const int set_;
  const bool can_tell_;
  std::vector<std::string> phases_;  // with figures, in order
  std::string phase_;                // that the sentence is of
  int told_ = 0;                     // its figures that differ
  int told_elsewhere_ = 0;           // further phases that differ
  int drifting_ = 0;
  double p_value_ = 1;
  std::map<std::string, const v1::ComparedFigure*> by_name_;  // of phase_ as a whole
};

}  // namespace

std::vector<std::string> TitlesOf(const std::vector<RunSet>& sets) {
  std::vector<std::vector<std::string>> parts(sets.size());
  for (const auto& [name, values] : LabelsOf(sets)) {
    // A label tells sets apart only if all runs of a set have the same value of it.
    const bool is_shared =
        std::all_of(values.begin(), values.end(), [](const auto& of) { return of.size() == 1; });
    if (!is_shared || !Differ(values)) continue;
    for (size_t s = 0; s < sets.size(); ++s) {
      if (parts[s].size() == kMaxTitleLabels) continue;
      parts[s].push_back(absl::StrCat(name, "=", *values[s].begin()));
    }
  }
  std::vector<std::string> titles;
  std::set<std::string> distinct;
  for (size_t s = 0; s < sets.size(); ++s) {
    // A set that was chosen by a label says already what it is.
    const bool has_name = parts[s].empty() || sets[s].name.find('=') != std::string::npos;
    titles.push_back(has_name ? sets[s].name : absl::StrJoin(parts[s], " "));
    distinct.insert(titles.back());
  }
  // Two sets with the same title could not be told apart in a table.
  if (distinct.size() == sets.size()) return titles;
  for (size_t s = 0; s < sets.size(); ++s) titles[s] = sets[s].name;
  return titles;
}

void AddDifferences(const std::vector<RunSet>& sets, v1::Comparison* comparison) {
  AddDiffering(measure::DifferenceKind::kLabel, LabelsOf(sets), comparison);
  AddJobs(sets, comparison);
  ValuesBySet facts;
  for (size_t s = 0; s < sets.size(); ++s) {
    for (const v1::RunFigures& run : sets[s].runs) {
      if (IsCompared(run)) AddValues(run.environment(), s, sets.size(), &facts);
    }
  }
  // These facts are of the moment, and no setting.
  std::erase_if(facts, [](const auto& fact) { return fact.first.starts_with("wall_clock."); });
  AddDiffering(measure::DifferenceKind::kFact, facts, comparison);
}

std::string SignedPercent(double share) {
  const double percent = 100 * std::abs(share);
  // "−0.0 %" would say that something became less.
  if (percent < 0.05) return "0.0 %";
  return absl::StrCat(
      share < 0 ? "−" : "+",
      percent < 9.95 ? absl::StrFormat("%.1f", percent) : absl::StrFormat("%.0f", percent), " %");
}

std::string TooFewRuns(const std::string& figures, const RunIds& before, const RunIds& after,
                       uint32_t fewest) {
  return absl::StrCat(
      figures, ": ",
      before.size() == 1 && after.size() == 1
          ? "one run each proves nothing"
          : absl::StrCat("with ", before.size(), " and ", after.size(), " runs that may be chance"),
      "; run each ", fewest, " times or more: lockstep rerun ", before[0].substr(0, 8),
      ", lockstep rerun ", after[0].substr(0, 8));
}

std::string DriftWarning(size_t count, const std::string& what, const std::string& first,
                         const std::string& other) {
  return absl::StrCat(count, " ", what, count == 1 ? "figure differs" : "figures differ",
                      " by no more than a drift of the machine could, because the runs of ", other,
                      " were not made among those of ", first,
                      ": more runs, or interleaved ones (lockstep run --ab), can tell");
}

bool IsCompared(const v1::RunFigures& run) {
  return WhyLeftOut(run).empty() || WhyNotObserved(run).empty();
}

void AddConclusions(v1::Comparison* comparison) {
  for (int s = 1; s < comparison->sets_size(); ++s) {
    comparison->add_conclusions(SetSentence(*comparison, s).Text());
  }
}

}  // namespace lockstep::controller
