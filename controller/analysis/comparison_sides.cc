#include "controller/analysis/comparison_sides.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep::controller {

bool ComparedSide::HasRow(const FigureKey& key) const {
  const auto is_row = [&](const v1::FigureRow* row) {
    return row->workload() == key.workload && row->operation().kind() == key.kind;
  };
  const auto is_phase = [&](const v1::PhaseOfRun& phase) {
    if (phase.name() != key.phase) return false;
    const std::vector<const v1::FigureRow*> rows = ComparedRowsOf(phase);
    return std::any_of(rows.begin(), rows.end(), is_row);
  };
  return std::any_of(runs.begin(), runs.end(), [&](const v1::RunFigures* run) {
    return std::any_of(run->phases().begin(), run->phases().end(), is_phase);
  });
}

namespace {

constexpr char kWhyNoPercentile[] =
    "too few I/Os (p99 needs 1,000, p99.9 needs 10,000), or none took longer";

bool IsPercentile(const FigureKey& key) { return kFigures[key.figure].id == FigureId::kPercentile; }

std::string FigureNameOf(const FigureKey& key) {
  return absl::StrCat(key.phase, " ", kFigures[key.figure].name);
}

// Whether a gate needs to know it. A run may lack a percentile for a few I/Os. A figure that the
// request names is always required.
bool IsRequiredFigure(const FigureKey& key, const std::set<std::string>& requested) {
  const FigureKind& kind = kFigures[key.figure];
  return kind.id == FigureId::kIops || kind.id == FigureId::kMean || requested.contains(kind.name);
}

// In all its runs, or in some.
bool HasFigure(const ComparedSide& side, const FigureKey& key) {
  return side.table.contains(key) || side.partial.contains(key);
}

class MissingFinder {
 public:
  MissingFinder(const std::vector<ComparedSide>& sides, const std::vector<std::string>& titles,
                const std::set<std::string>& requested)
      : sides_(sides), titles_(titles), requested_(requested) {}

  MissingFigures Find() {
    for (size_t s = 0; s < sides_.size(); ++s) TellPartial(s);
    for (size_t s = 1; s < sides_.size(); ++s) {
      CountUnknown(s);
      TellGone(s);
      TellNew(s);
      TellUnstated(s);
    }
    FindUnknown();
    return std::move(found_);
  }

 private:
  bool IsRequired(const FigureKey& key) const { return IsRequiredFigure(key, requested_); }

  bool IsUnknown(const FigureKey& key, size_t s) const {
    return JudgementOf(key, sides_[0], sides_[s], requested_) == v1::JUDGEMENT_UNKNOWN;
  }

  void Say(const std::string& sentence) { found_.sentences.push_back(sentence); }

  // Figures of only some runs of a set. A median of these would not be the set's: the runs without
  // a p99.9 are the shorter or the slower ones.
  void TellPartial(size_t s) {
    const ComparedSide& side = sides_[s];
    std::set<std::string> partial;
    for (const auto& [key, runs] : side.partial) {
      // Where a run has no I/O, it lacks all the figures of them. Two say so.
      if (!IsRequired(key) && side.partial.contains(MeanBeside(key))) continue;
      partial.insert(absl::StrCat(FigureNameOf(key), " (missing in ", side.runs.size() - runs,
                                  " of ", side.runs.size(), ")"));
    }
    if (partial.empty()) return;
    Say(absl::StrCat("not judged, because only some runs of ", titles_[s],
                     " have it: ", absl::StrJoin(partial, ", ")));
  }

  void CountUnknown(size_t s) {
    std::set<FigureKey> keys;
    for (const ComparedSide* side : {&sides_[0], &sides_[s]}) {
      for (const auto& [key, values] : side->table) keys.insert(key);
      for (const auto& [key, runs] : side->partial) keys.insert(key);
    }
    for (const FigureKey& key : keys) found_.count += IsUnknown(key, s) ? 1 : 0;
  }

  // Figures of which one set has all and the other none. Nothing is known of their change,
  // whichever has them: a phase that is gone, one without a single I/O, or a percentile that none
  // of the runs gives.
  void TellGone(size_t s) {
    for (const auto& [with, without] : {std::pair<size_t, size_t>(0, s), {s, 0}}) {
      std::set<std::string> gone;
      for (const auto& [key, values] : sides_[with].table) {
        // TellPartial() has told the figures of some runs.
        if (HasFigure(sides_[without], key) || !IsUnknown(key, s)) continue;
        gone.insert(FigureNameOf(key));
      }
      if (gone.empty()) continue;
      Say(absl::StrCat(titles_[without], " has not, and ", titles_[with],
                       " has: ", absl::StrJoin(gone, ", ")));
    }
  }

  // Phases and parts of phases that the first set does not have.
  void TellNew(size_t s) {
    std::set<std::string> added;
    for (const auto& [key, values] : sides_[s].table) {
      if (IsRequired(key) && !sides_[0].HasRow(key)) added.insert(key.phase);
    }
    if (added.empty()) return;
    Say(absl::StrCat(titles_[0], " has not all figures that ", titles_[s], " has of phase ",
                     absl::StrJoin(added, ", ")));
  }

  // Percentiles that the first set does not have, of I/Os that both sets have.
  void TellUnstated(size_t s) {
    std::set<std::string> first, both;
    for (const auto& [mean, values] : sides_[0].table) {
      if (kFigures[mean.figure].id != FigureId::kMean || !sides_[s].table.contains(mean)) continue;
      FigureKey key = mean;
      for (key.figure = 0; key.figure < kFigureCount; ++key.figure) {
        if (!IsPercentile(key) || HasFigure(sides_[0], key)) continue;
        if (!HasFigure(sides_[s], key)) {
          both.insert(FigureNameOf(key));
          // FindUnknown() counts it where no phase has it.
          if (IsUnknown(key, s) && IsInFirst(kFigures[key.figure].name)) ++found_.count;
        } else if (!IsRequired(key)) {
          first.insert(FigureNameOf(key));
        }
      }
    }
    if (!first.empty()) {
      Say(absl::StrCat("not judged, because no run of ", titles_[0],
                       " has it: ", absl::StrJoin(first, ", "), "; ", kWhyNoPercentile));
    }
    if (!both.empty()) {
      Say(absl::StrCat("not judged, because no run of ", titles_[0], " and none of ", titles_[s],
                       " has it: ", absl::StrJoin(both, ", "), "; ", kWhyNoPercentile));
    }
  }

  // In a phase of the first set, in all its runs or in some.
  bool IsInFirst(const std::string& name) const {
    const auto is_it = [&](const auto& row) { return name == kFigures[row.first.figure].name; };
    const auto& table = sides_[0].table;
    const auto& partial = sides_[0].partial;
    return std::any_of(table.begin(), table.end(), is_it) ||
           std::any_of(partial.begin(), partial.end(), is_it);
  }

  // Figures that are to be judged, and of which the first set knows nothing.
  void FindUnknown() {
    if (sides_[0].runs.empty()) return;
    for (const std::string& name : requested_) {
      if (IsInFirst(name)) continue;
      ++found_.count;
      Say(absl::StrCat("no phase has ", name, " in all runs of ", titles_[0],
                       ": it cannot be judged"));
    }
  }

  const std::vector<ComparedSide>& sides_;
  const std::vector<std::string>& titles_;
  const std::set<std::string>& requested_;
  MissingFigures found_;
};

}  // namespace

v1::Judgement JudgementOf(const FigureKey& key, const ComparedSide& first, const ComparedSide& side,
                          const std::set<std::string>& requested) {
  if (first.table.contains(key) && side.table.contains(key)) return v1::JUDGEMENT_JUDGED;
  // What the first set does not have at all is new, and cannot have become worse.
  if (!first.HasRow(key)) return v1::JUDGEMENT_LEFT_OUT;
  if (IsRequiredFigure(key, requested)) return v1::JUDGEMENT_UNKNOWN;
  // A baseline of few I/Os must not stop a gate from judging what it does have. The other way
  // round, the new runs have lost the I/Os that their tail was made of. Where they have no I/O at
  // all, they lack all figures, and IOPS and the mean say so.
  const bool is_lost_tail = IsPercentile(key) && first.table.contains(key) &&
                            !HasFigure(side, key) && side.table.contains(MeanBeside(key));
  return is_lost_tail ? v1::JUDGEMENT_UNKNOWN : v1::JUDGEMENT_LEFT_OUT;
}

MissingFigures MissingFiguresOf(const std::vector<ComparedSide>& sides,
                                const std::vector<std::string>& titles,
                                const std::set<std::string>& requested) {
  return MissingFinder(sides, titles, requested).Find();
}

}  // namespace lockstep::controller
