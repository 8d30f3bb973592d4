#include "controller/analysis/comparison.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/compared_values.h"
#include "controller/analysis/comparison_sides.h"
#include "controller/analysis/comparison_words.h"
#include "controller/analysis/figure_table.h"
#include "controller/analysis/limit_names.h"
#include "controller/analysis/observed_comparison.h"
#include "google/protobuf/util/json_util.h"
#include "proto/field_differences.h"
#include "proto/job.pb.h"

namespace lockstep::controller {
namespace {

// Facts of the environment are kept by host: one new kernel on a thousand hosts would otherwise be
// a thousand warnings.
constexpr size_t kMaxWarnings = 50;

// Errors are a figure where there are any, and so is time that went somewhere.
bool IsLeftOutAtZero(const FigureKind& kind) {
  return kind.role == FigureRole::kExplains || kind.id == FigureId::kErrors;
}

class Comparer {
 public:
  Comparer(const std::vector<RunSet>& sets, std::optional<double> max_regression,
           const std::vector<std::string>& judged)
      : judged_(judged.begin(), judged.end()), titles_(TitlesOf(sets)) {
    result_.set_fewest_runs(static_cast<uint32_t>(FewestThatTell(sets.size())));
    if (max_regression) result_.set_max_regression(*max_regression);
    for (const RunSet& set : sets) {
      for (const v1::RunFigures& run : set.runs) {
        has_load_ |= run.has_load() || !run.phases().empty();
      }
    }
    result_.set_has_load(has_load_);
    for (const RunSet& set : sets) {
      for (const std::string& warning : set.warnings) Warn(warning);
    }
    for (const RunSet& set : sets) sides_.push_back(Prepare(set));
    std::set<FigureKey> keys;
    for (const ComparedSide& side : sides_) {
      for (const auto& [key, values] : side.table) {
        if (!IsNothing(values) || !IsLeftOutAtZero(kFigures[key.figure])) keys.insert(key);
      }
    }
    for (const FigureKey& key : keys) AddFigure(key);
    for (size_t s = 1; s < sides_.size(); ++s) {
      // A test that cannot reach the threshold would find no change whatever the runs hold. It is
      // not made, so that "no change" always says something.
      const bool can_tell = CanTell(sides_[0].runs.size(), sides_[s].runs.size(), sides_.size());
      result_.add_can_tell(can_tell);
      // The conclusion says that there are too few, once.
      if (can_tell) Test(s);
    }
    TellMissing();
    for (const std::string& warning : CompareObserved(sets, &result_)) Warn(warning);
    CompareLimits();
    CompareJobs();
    CompareEnvironments();
    AddDifferences(sets, &result_);
    AddConclusions(&result_);
    ConcludeWithoutLoad();
  }

  v1::Comparison Take() { return std::move(result_); }

 private:
  double Others() const { return static_cast<double>(sides_.size()) - 1; }

  bool IsJudged(const FigureKey& key) const {
    const FigureKind& kind = kFigures[key.figure];
    return kind.role == FigureRole::kResult || judged_.contains(kind.name);
  }

  void Warn(const std::string& text) {
    if (static_cast<size_t>(result_.warnings_size()) < kMaxWarnings) result_.add_warnings(text);
  }

  ComparedSide Prepare(const RunSet& set) {
    ComparedSide side;
    compared_.emplace_back();
    v1::ComparedSet* out = result_.add_sets();
    out->set_name(set.name);
    const std::string& title = titles_[static_cast<size_t>(result_.sets_size()) - 1];
    out->set_title(title);
    for (const v1::RunFigures& run : set.runs) {
      if (IsCompared(run)) compared_.back().push_back(&run);
      if (const std::string why = WhyLeftOut(run); !why.empty()) {
        // Runs that all observe and have no load lack nothing.
        if (!has_load_ && IsCompared(run)) continue;
        Warn(absl::StrCat("run ", run.run().run_id().substr(0, 8), " of ", title,
                          " is left out: ", why));
        continue;
      }
      out->add_runs(run.run().run_id());
      side.runs.push_back(&run);
      for (const auto& [key, value] : FiguresOf(run)) {
        side.table[order_.Of(key)].push_back(value);
      }
    }
    // The permutation test needs a value of every run. Other rows have the runs that know it.
    std::erase_if(side.table, [&](const auto& entry) {
      if (!IsJudged(entry.first) || entry.second.size() == side.runs.size()) return false;
      side.partial[entry.first] = entry.second.size();
      return true;
    });
    return side;
  }

  void AddFigure(const FigureKey& key) {
    v1::ComparedFigure* figure = result_.add_figures();
    keys_.push_back(key);
    const FigureKind& kind = kFigures[key.figure];
    figure->set_phase(key.phase);
    figure->set_workload(key.workload);
    figure->set_kind(key.kind);
    figure->set_figure(kind.name);
    if (kind.unit) figure->set_unit(Text(*kind.unit));
    figure->set_direction(kind.direction);
    figure->set_judged(IsJudged(key));
    for (const ComparedSide& side : sides_) {
      v1::ComparedValue* value = figure->add_values();
      if (figure->judged() && figure->values_size() > 1) {
        value->set_judgement(JudgementOf(key, sides_[0], side, judged_));
      }
      const auto partial = side.partial.find(key);
      if (partial != side.partial.end()) {
        value->set_partial_runs(static_cast<uint32_t>(partial->second));
      }
      const auto found = side.table.find(key);
      if (found == side.table.end()) continue;
      const std::vector<double>& values = found->second;
      SetValues(values, value);
      if (figure->values_size() > 1) Relate(key, values, value);
    }
  }

  void Relate(const FigureKey& key, const std::vector<double>& values, v1::ComparedValue* value) {
    if (IsJudged(key)) value->set_verdict(v1::CHANGE_UNKNOWN);
    const auto first = sides_[0].table.find(key);
    if (first == sides_[0].table.end()) return;
    SetChange(first->second, values, value);
  }

  // All figures that both sides have, together.
  void Test(size_t s) {
    std::vector<ValuesOfTwo> rows;
    std::vector<int> which;
    for (size_t k = 0; k < keys_.size(); ++k) {
      // Each further row of the test makes it harder to tell for all the others.
      if (!IsJudged(keys_[k])) continue;
      const auto a = sides_[0].table.find(keys_[k]);
      const auto b = sides_[s].table.find(keys_[k]);
      if (a == sides_[0].table.end() || b == sides_[s].table.end()) continue;
      rows.push_back({a->second, b->second});
      which.push_back(static_cast<int>(k));
    }
    const std::vector<DifferenceTest> tests =
        TestDifferences(rows, OrderOf(sides_[0].runs, sides_[s].runs));
    size_t drifting = 0;
    for (size_t i = 0; i < which.size(); ++i) {
      v1::ComparedFigure* figure = result_.mutable_figures(which[i]);
      v1::ComparedValue* value = figure->mutable_values(static_cast<int>(s));
      const bool is_better =
          tests[i].is_more == (figure->direction() == v1::DIRECTION_HIGHER_IS_BETTER);
      // The permutation test holds the error over the figures of one pair. Each further set is
      // another pair with the first, which Bonferroni's factor covers.
      value->set_p_value(std::min(1.0, tests[i].p_value * Others()));
      value->set_verdict(value->p_value() >= kComparedAlpha ? v1::CHANGE_NONE
                         : is_better                        ? v1::CHANGE_BETTER
                                                            : v1::CHANGE_WORSE);
      if (value->verdict() != v1::CHANGE_NONE && tests[i].drift_p * Others() >= kComparedAlpha) {
        value->set_verdict(v1::CHANGE_UNKNOWN);
        value->set_may_be_drift(true);
        ++drifting;
        if (!is_better && IsTooMuch(*value, tests[i].is_more)) {
          result_.set_drifting(result_.drifting() + 1);
        }
      }
      // A figure that was 0 before, such as errors, has no change as a share: any significant rise
      // is a regression. The same holds where the median shift and the means, which the test
      // judges, point in different directions, since the share then says nothing.
      if (value->verdict() == v1::CHANGE_WORSE && IsTooMuch(*value, tests[i].is_more)) {
        value->set_regression(true);
        result_.set_regressions(result_.regressions() + 1);
      }
    }
    if (drifting > 0) {
      Warn(DriftWarning(drifting, "", titles_[0], titles_[s]));
    }
  }

  bool IsTooMuch(const v1::ComparedValue& value, bool more) const {
    return result_.has_max_regression() && (!value.has_change() || (value.change() > 0) != more ||
                                            std::abs(value.change()) > result_.max_regression());
  }

  void TellMissing() {
    const MissingFigures missing = MissingFiguresOf(sides_, titles_, judged_);
    result_.set_missing(missing.count);
    for (const std::string& sentence : missing.sentences) Warn(sentence);
  }

  void CompareLimits() {
    // By the phase's number and name: the limits of each side's runs.
    std::map<FigureKey, std::vector<std::vector<std::string>>> phases;
    for (size_t s = 0; s < sides_.size(); ++s) {
      for (const v1::RunFigures* run : sides_[s].runs) {
        for (const v1::PhaseOfRun& phase : run->phases()) {
          if (phase.limited_by().empty()) continue;
          auto& limits = phases[order_.Of({phase.index(), phase.name(), "", "", 0})];
          limits.resize(sides_.size());
          limits[s].push_back(phase.limited_by());
        }
      }
    }
    for (const auto& [key, limits] : phases) {
      v1::ComparedLimit* limit = result_.add_limits();
      limit->set_phase(key.phase);
      for (const auto& of_side : limits) limit->add_values(LimitNames(of_side));
    }
  }

  // Without a load in any set, the conclusions are those about observe phases.
  void ConcludeWithoutLoad() {
    if (has_load_ || result_.observed_conclusions().empty()) return;
    *result_.mutable_conclusions() = result_.observed_conclusions();
  }

  std::set<std::string> JobsOf(size_t s) const {
    std::set<std::string> jobs;
    for (const v1::RunFigures* run : compared_[s]) jobs.insert(run->job());
    return jobs;
  }

  void CompareJobs() {
    for (size_t s = 0; s < sides_.size(); ++s) {
      const std::set<std::string> own = JobsOf(s);
      if (own.size() > 1) {
        Warn(absl::StrCat("the runs of ", titles_[s], " are of ", own.size(), " different jobs (",
                          Differences(*own.begin(), *std::next(own.begin())), ")"));
      }
      const std::set<std::string> first = JobsOf(0);
      if (s == 0 || own.empty() || first.empty() || own == first) continue;
      Warn(absl::StrCat("the jobs of ", titles_[0], " and ", titles_[s],
                        " differ: ", Differences(OneBeside(first, own), OneBeside(own, first))));
    }
  }

  // A job of the one set that the other does not have, or where it has all of them any.
  static const std::string& OneBeside(const std::set<std::string>& jobs,
                                      const std::set<std::string>& others) {
    const auto found = std::find_if(jobs.begin(), jobs.end(),
                                    [&](const std::string& job) { return !others.contains(job); });
    return found == jobs.end() ? *jobs.begin() : *found;
  }

  static std::string Differences(const std::string& before, const std::string& after) {
    constexpr size_t kShown = 8;
    const auto a = ParseJob(before);
    const auto b = ParseJob(after);
    if (!a || !b) return "one was written by another version of Lockstep";
    std::vector<std::string> all = v1::FieldDifferences(*a, *b);
    const size_t more = all.size() > kShown ? all.size() - kShown : 0;
    all.resize(all.size() - more);
    return absl::StrCat(absl::StrJoin(all, ", "),
                        more > 0 ? absl::StrCat(" and ", more, " more") : "");
  }

  static std::optional<v1::JobSpec> ParseJob(const std::string& json) {
    v1::JobSpec job;
    if (!google::protobuf::util::JsonStringToMessage(json, &job).ok()) return std::nullopt;
    return job;
  }

  void CompareEnvironments() {
    std::set<std::string> facts;
    std::vector<std::map<std::string, std::set<std::string>>> of(sides_.size());
    for (size_t s = 0; s < sides_.size(); ++s) {
      for (const v1::RunFigures* run : compared_[s]) {
        for (const auto& [fact, value] : run->environment()) {
          if (fact.rfind("wall_clock.", 0) == 0) continue;  // of the moment, and no setting
          of[s][fact].insert(value);
          facts.insert(fact);
        }
      }
    }
    for (size_t s = 1; s < sides_.size(); ++s) {
      // Against a side without runs, every fact would seem to differ.
      if (compared_[0].empty() || compared_[s].empty()) continue;
      for (const std::string& fact : facts) {
        if (of[0][fact] == of[s][fact]) continue;
        Warn(absl::StrCat(fact, " differs: ", Values(of[0][fact]), " in ", titles_[0], ", ",
                          Values(of[s][fact]), " in ", titles_[s]));
      }
    }
  }

  static std::string Values(const std::set<std::string>& values) {
    return values.empty() ? "not known" : absl::StrJoin(values, " or ");
  }

  v1::Comparison result_;
  const std::set<std::string> judged_;  // names out of JudgedOnRequest()
  const std::vector<std::string> titles_;
  PhaseOrder order_;
  bool has_load_ = false;  // a run of any set
  // By set: the runs of which loads or observe phases are compared.
  std::vector<std::vector<const v1::RunFigures*>> compared_;
  std::vector<ComparedSide> sides_;
  std::vector<FigureKey> keys_;  // of result_.figures()
};

}  // namespace

v1::Comparison Compare(const std::vector<RunSet>& sets, std::optional<double> max_regression,
                       const std::vector<std::string>& judged) {
  return Comparer(sets, max_regression, judged).Take();
}

}  // namespace lockstep::controller
