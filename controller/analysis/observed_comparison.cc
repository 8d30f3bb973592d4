#include "controller/analysis/observed_comparison.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/compared_values.h"
#include "controller/analysis/comparison_words.h"
#include "controller/analysis/observed_figures.h"
#include "controller/analysis/observed_sentence.h"
#include "controller/analysis/observed_subjects.h"

namespace lockstep::controller {
namespace {

// A fleet's devices are many, and each has up to 15 figures.
constexpr int kMaxObservedFigures = 4000;
constexpr size_t kMaxNamed = 8;

using Kind = ObservedSubject::Kind;

std::string Listed(std::vector<std::string> names) {
  const size_t more = names.size() > kMaxNamed ? names.size() - kMaxNamed : 0;
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

class ObservedComparer {
 public:
  ObservedComparer(const std::vector<RunSet>& sets, v1::Comparison* result)
      : result_(*result), runs_(sets.size()) {
    for (size_t s = 0; s < sets.size(); ++s) {
      for (const v1::RunFigures& run : sets[s].runs) {
        if (!WhyNotObserved(run).empty()) continue;
        result_.mutable_sets(static_cast<int>(s))->add_observed_runs(run.run().run_id());
        runs_[s].push_back(&run);
        all_.push_back(&run);
        set_of_.push_back(s);
      }
    }
  }

  std::vector<std::string> Compare() {
    if (all_.empty()) return {};
    found_ = ObservedSubjectsOf(all_);
    for (const ObservedSubject& subject : found_.subjects) AddSubject(subject);
    for (size_t s = 1; s < runs_.size(); ++s) {
      const bool can_tell = CanTell(runs_[0].size(), runs_[s].size(), runs_.size());
      result_.add_observed_can_tell(can_tell);
      if (can_tell) Test(s);
      TellOneSided(0, s);
      TellOneSided(s, 0);
    }
    if (left_out_ > 0) {
      warnings_.push_back(absl::StrCat(left_out_,
                                       " more figures of observed devices are left out: ",
                                       "name fewer devices in the job's observe phases"));
    }
    if (!found_.ambiguous.empty()) {
      warnings_.push_back(
          absl::StrCat("not compared, because several hosts of a run have the name: ",
                       Listed(found_.ambiguous)));
    }
    AddObservedConclusions(&result_);
    return std::move(warnings_);
  }

 private:
  double Others() const { return static_cast<double>(runs_.size()) - 1; }
  const std::string& Title(size_t s) const { return result_.sets(static_cast<int>(s)).title(); }

  // The figure's values in each set, of the runs that know it.
  std::vector<std::vector<double>> ValuesBySetOf(const ObservedSubject& subject, int figure) const {
    std::vector<std::vector<double>> values(runs_.size());
    for (size_t r = 0; r < subject.samples.size(); ++r) {
      if (!subject.samples[r]) continue;
      const auto found = subject.samples[r]->values.find(figure);
      if (found != subject.samples[r]->values.end()) values[set_of_[r]].push_back(found->second);
    }
    return values;
  }

  static bool IsNothingAnywhere(const std::vector<std::vector<double>>& values) {
    return std::all_of(values.begin(), values.end(), [](const std::vector<double>& of) {
      return std::all_of(of.begin(), of.end(), [](double v) { return v == 0; });
    });
  }

  void AddSubject(const ObservedSubject& subject) {
    for (int f = 0; f < kObservedFigureCount; ++f) {
      std::vector<std::vector<double>> values = ValuesBySetOf(subject, f);
      // An idle device would fill the table with rows that say nothing.
      if (IsNothingAnywhere(values)) continue;
      if (result_.observed_size() == kMaxObservedFigures) {
        ++left_out_;
        continue;
      }
      AddObservedFigure(subject, f, values);
      values_.push_back(std::move(values));
    }
  }

  void AddObservedFigure(const ObservedSubject& subject, int f,
                         const std::vector<std::vector<double>>& values) {
    const ObservedFigureKind& kind = kObservedFigures[f];
    v1::ComparedFigure* figure = result_.add_observed();
    figure->set_phase(subject.phase);
    figure->set_host(subject.host);
    figure->set_identity(subject.identity);
    if (subject.kind == Kind::kDevice) {
      for (size_t s = 0; s < runs_.size(); ++s) figure->add_devices(NamesIn(subject, s));
    }
    figure->set_kind(kind.kind);
    figure->set_figure(kind.name);
    figure->set_unit(Text(kind.unit));
    // The load is that of other programs. Whether they ask for more is neither better nor worse.
    figure->set_direction(v1::DIRECTION_NEITHER);
    for (size_t s = 0; s < values.size(); ++s) {
      v1::ComparedValue* value = figure->add_values();
      if (values[s].empty()) continue;
      SetValues(values[s], value);
      if (s == 0) continue;
      value->set_verdict(v1::CHANGE_UNKNOWN);
      if (!values[0].empty()) SetChange(values[0], values[s], value);
    }
  }

  std::string NamesIn(const ObservedSubject& subject, size_t s) const {
    std::set<std::string> names;
    for (size_t r = 0; r < subject.samples.size(); ++r) {
      if (set_of_[r] == s && subject.samples[r]) names.insert(subject.samples[r]->name);
    }
    return names.empty() ? "-" : absl::StrJoin(names, " or ");
  }

  // All figures that all runs of both sets know, together.
  void Test(size_t s) {
    std::vector<ValuesOfTwo> rows;
    std::vector<int> which;
    for (size_t k = 0; k < values_.size(); ++k) {
      const std::vector<double>& before = values_[k][0];
      const std::vector<double>& after = values_[k][s];
      if (before.size() != runs_[0].size() || after.size() != runs_[s].size()) continue;
      if (IsNothingAnywhere({before, after})) continue;
      rows.push_back({before, after});
      which.push_back(static_cast<int>(k));
    }
    const std::vector<DifferenceTest> tests = TestDifferences(rows, OrderOf(runs_[0], runs_[s]));
    size_t drifting = 0;
    for (size_t i = 0; i < which.size(); ++i) {
      v1::ComparedValue* value =
          result_.mutable_observed(which[i])->mutable_values(static_cast<int>(s));
      value->set_p_value(std::min(1.0, tests[i].p_value * Others()));
      const bool differs = value->p_value() < kComparedAlpha;
      const bool may_be_drift = differs && tests[i].drift_p * Others() >= kComparedAlpha;
      value->set_may_be_drift(may_be_drift);
      value->set_verdict(may_be_drift ? v1::CHANGE_UNKNOWN
                         : differs    ? v1::CHANGE_DIFFERS
                                      : v1::CHANGE_NONE);
      drifting += may_be_drift;
    }
    if (drifting > 0) warnings_.push_back(DriftWarning(drifting, "observed ", Title(0), Title(s)));
  }

  bool IsSeen(const ObservedSubject& subject, size_t s) const {
    for (size_t r = 0; r < subject.samples.size(); ++r) {
      if (set_of_[r] == s && subject.samples[r]) return true;
    }
    return false;
  }

  // What the one set observed and the other did not: whole phases, whole hosts, or devices.
  void TellOneSided(size_t with, size_t without) {
    // Nothing would be there to compare with: the conclusion says so.
    if (runs_[without].empty()) return;
    std::set<std::string> phases;
    std::set<std::pair<std::string, std::string>> hosts;
    for (const ObservedSubject& subject : found_.subjects) {
      if (!IsSeen(subject, without)) continue;
      phases.insert(subject.phase);
      hosts.emplace(subject.phase, subject.host);
    }
    std::vector<std::string> names;
    std::set<std::string> told;
    for (const ObservedSubject& subject : found_.subjects) {
      if (!IsSeen(subject, with) || IsSeen(subject, without)) continue;
      if (subject.kind == Kind::kAllDevices) continue;  // its hosts say so
      const std::string host = absl::StrCat(subject.phase, " ", subject.host);
      const std::string name =
          !phases.contains(subject.phase)                  ? absl::StrCat("phase ", subject.phase)
          : !hosts.contains({subject.phase, subject.host}) ? absl::StrCat("host ", host)
          : subject.kind == Kind::kHost
              ? absl::StrCat(host, " (CPU)")
              : absl::StrCat(
                    host, "/", NamesIn(subject, with),
                    subject.identity.empty() ? "" : absl::StrCat(" (", subject.identity, ")"));
      if (told.insert(name).second) names.push_back(name);
    }
    if (names.empty()) return;
    warnings_.push_back(absl::StrCat("observed in ", Title(with), " and not in ", Title(without),
                                     ": ", Listed(std::move(names))));
  }

  v1::Comparison& result_;
  std::vector<std::vector<const v1::RunFigures*>> runs_;  // by set
  std::vector<const v1::RunFigures*> all_;
  std::vector<size_t> set_of_;  // of all_
  ObservedSubjects found_;
  // Of result_.observed(), by set.
  std::vector<std::vector<std::vector<double>>> values_;
  size_t left_out_ = 0;  // figures
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> CompareObserved(const std::vector<RunSet>& sets,
                                         v1::Comparison* comparison) {
  return ObservedComparer(sets, comparison).Compare();
}

}  // namespace lockstep::controller
