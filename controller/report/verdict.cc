#include "controller/report/verdict.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/report/conclusion.h"
#include "controller/report/finding_groups.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using measure::FindingKind;
using measure::Limit;
using measure::VerdictWord;

// A reader with one minute reads no more, and the head of a report stays short.
constexpr int kMaxSentences = 20;

// The sentence without its figures and their units: two that differ in these alone are alike.
// Numbers in names (node1, w0) stay.
std::string WithoutFigures(const std::string& sentence) {
  static const std::set<std::string> kUnits = {"ns",  "µs",  "ms",  "s",   "min", "h", "B",
                                               "KiB", "MiB", "GiB", "TiB", "k",   "M"};
  std::vector<std::string> words = absl::StrSplit(sentence, ' ');
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t first = words[i].starts_with('(') ? 1 : 0;
    if (words[i].find_first_of("0123456789") != first) continue;
    words[i] = "#";
    // "536 MiB" in one phase is "4.73 GiB," in another.
    if (i + 1 == words.size()) continue;
    std::string& next = words[i + 1];
    const size_t end = std::min(next.size(), next.find_first_of(",;:)"));
    if (kUnits.contains(next.substr(0, end))) next = next.substr(end);
  }
  return absl::StrJoin(words, " ");
}

// Sentences in order of their gravity, and of whom each is said.
class Collected {
 public:
  // `kind`: of findings that differ from phase to phase in their figures alone. `max_alike`: of a
  // kind so many are said.
  void Add(int gravity, const std::string& sentence, const std::string& phase,
           const std::string& kind = "", size_t max_alike = 3) {
    // All points of a sweep may say the same. The sentence stands once, with its phases.
    const auto [at, added] = places_.try_emplace(sentence, entries_.size());
    if (added) entries_.push_back({gravity, sentence, {}, kind, max_alike});
    std::vector<std::string>& phases = entries_[at->second].phases;
    // The phases come in order, so the last entry shows whether this one is noted.
    if (phases.empty() || phases.back() != phase) phases.push_back(phase);
  }
  std::vector<std::string> Take(size_t phases) {
    // Stable, so that sentences of one gravity stay in the order of the phases.
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.gravity < b.gravity; });
    // A few sentences about a kind that nearly every phase has tell as much as all.
    std::map<std::string, size_t> alike;
    for (const Entry& entry : entries_) {
      if (!entry.kind.empty()) ++alike[entry.kind];
    }
    std::map<std::string, size_t> said;
    std::vector<std::string> out;
    for (const Entry& entry : entries_) {
      const size_t place = entry.kind.empty() ? 0 : ++said[entry.kind];
      if (place > entry.max_alike) continue;
      // In a report of one phase, the name would add nothing.
      const std::string of =
          phases < 2 ? ""
          : entry.phases.size() == 1
              ? absl::StrCat(entry.phases[0], ": ")
              : absl::StrCat(entry.phases[0], " and ", entry.phases.size() - 1, " more: ");
      out.push_back(of + entry.sentence);
      if (place == entry.max_alike && alike[entry.kind] > entry.max_alike) {
        absl::StrAppend(&out.back(), "; ", alike[entry.kind] - entry.max_alike, " more like it");
      }
    }
    return out;
  }

 private:
  struct Entry {
    int gravity;
    std::string sentence;
    std::vector<std::string> phases;
    std::string kind;
    size_t max_alike;
  };
  std::vector<Entry> entries_;
  std::map<std::string, size_t> places_;  // by sentence
};

std::string Seconds(double seconds) { return common::FormatDigits(seconds, 3); }

enum class Expectations { kToo, kLeftOut };

// A host that was slower than the others comes before what devices saw beside the load, and the
// cross-check of a device before its other findings.
int RankOf(const v1::FindingGroup& group) {
  const auto kind = measure::Parse<measure::FindingKind>(group.kind());
  if (!kind) return 2;
  if (IsOfHosts(*kind)) return 0;
  return *kind == FindingKind::kCoalesced || *kind == FindingKind::kAmplified ? 1 : 2;
}

int GravityOf(const v1::FindingGroup& group) {
  // Flushes are a fact.
  if (measure::Is(group, FindingKind::kFlushes)) return 4;
  // Machines that others use have such a finding in each phase. The cross-check of a later phase is
  // not to be cut off the screen for it.
  if (measure::Is(group, FindingKind::kInterference)) return 3;
  // The others say that the device saw other I/O than the load is of.
  return 2;
}

void AddPhase(const v1::PhaseReport& phase, Expectations expectations, Collected* found) {
  // The gravity follows what a reader has to do: with 0 the figures must not be used, with 1 a
  // demand of the job was not met, 2 says what the figures are really of, 3 and 4 name what went
  // wrong and where, and with 5 something else than the storage may have been measured. Wrong data
  // comes before all.
  const auto add = [&](int gravity, const std::string& sentence) {
    found->Add(gravity, sentence, phase.name());
  };
  for (const v1::WorkloadReport& w : phase.workloads()) {
    const v1::VerificationReport& v = w.verification();
    if (v.mismatches() == 0) continue;
    add(-1, absl::StrCat("DATA CORRUPTED: ", v.by_verdict(),
                         v.details().empty() ? "" : absl::StrCat("; the first: ", v.details(0))));
  }
  if (phase.invalid()) add(0, absl::StrCat("INVALID: ", phase.invalid_reason()));
  for (const v1::WorkloadReport& w : phase.workloads()) {
    if (!w.copy().sentence().empty()) add(1, CopyText(w));
  }
  if (phase.outage_summary().count() > 0) add(1, phase.outage_summary().sentence());
  // Each point of a sweep has figures of its own. The first stands for the points that are alike:
  // all of them would push other warnings off the screen.
  const auto add_alike = [&](int gravity, const std::string& sentence) {
    found->Add(gravity, sentence, phase.name(), WithoutFigures(sentence), 1);
  };
  for (const v1::Omission& omission : phase.omissions()) add_alike(3, omission.sentence());
  for (const v1::Expectation& e : phase.expectations()) {
    if (e.met() || expectations == Expectations::kLeftOut) continue;
    add(1, absl::StrCat("FAILED: ", e.text(), "; found ", e.found()));
  }
  for (const v1::PromiseReport& promise : phase.promised()) {
    if (promise.exceeded()) add(2, promise.text());
  }
  for (const std::string& remark : phase.remarks()) add_alike(2, remark);
  std::vector<v1::FindingGroup> groups = FindingGroupsOf(phase);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return RankOf(a) < RankOf(b); });
  for (const v1::FindingGroup& group : groups) {
    found->Add(GravityOf(group), group.sentence(), phase.name(), group.kind());
  }
  for (const v1::WorkloadReport& w : phase.workloads()) {
    for (const std::string& error : w.errors()) add(2, absl::StrCat("first error on ", error));
    // With these two limits the storage was not seen at its own. All other limits are results.
    const std::optional<Limit> limit = measure::Parse<measure::Limit>(w.limited_by());
    if (limit == Limit::kGeneratorCpu || limit == Limit::kPageCache) {
      add(5, absl::StrCat(w.name(), " is limited by: ", w.limited_by(), " (", w.limited_because(),
                          ")"));
    }
  }
  // A remark says when it ceased to be.
  if (phase.has_steady() && !phase.steady().steady() && !phase.steady().has_changed_at_seconds()) {
    add(5, "the load was not steady");
  }
}

}  // namespace

std::string StragglerText(const v1::Straggler& s) {
  return absl::StrCat(
      s.host(), " is a straggler: ",
      s.has_latency_ratio()
          ? absl::StrCat("its I/Os took ", common::FormatDigits(s.latency_ratio(), 3),
                         " times as long as the others'")
          : absl::StrFormat("%.0f %% of the others' IOPS", 100 * s.share()),
      ", slow for ", Seconds(s.slow_seconds()), " s of the time from ", Seconds(s.begin_seconds()),
      " to ", Seconds(s.end_seconds()), " s; likely cause: ", s.cause(), " (", s.reason(), ")");
}

std::string StarvationText(const v1::Starvation& s) {
  return absl::StrFormat("%s got almost nothing from %s to %s s: %.0f IOPS, the others %.0f",
                         s.host(), Seconds(s.begin_seconds()), Seconds(s.end_seconds()), s.iops(),
                         s.others_iops());
}

std::string CopyText(const v1::WorkloadReport& w) {
  return absl::StrCat(w.name(), ": ", w.copy().sentence(), w.copy().cause().empty() ? "" : ": ",
                      w.copy().cause());
}

std::string CrossCheckText(const v1::CrossCheck& check) {
  switch (check.verdict()) {
    case v1::CrossCheck::VERDICT_AGREE:
      return "agree";
    case v1::CrossCheck::VERDICT_PAGE_CACHE:
      return "page cache";
    case v1::CrossCheck::VERDICT_COALESCED:
      return "coalesced";
    case v1::CrossCheck::VERDICT_AMPLIFIED:
      return absl::StrFormat("amplified ×%.2f", check.factor());
    default:
      return "not attributable";
  }
}

std::string CorruptionText(const v1::Report& report) {
  constexpr size_t kNamed = 8;
  double bad = 0;
  double checked = 0;
  std::set<std::string> hosts;
  for (const v1::PhaseReport& phase : report.phases()) {
    for (const v1::WorkloadReport& workload : phase.workloads()) {
      const v1::VerificationReport& v = workload.verification();
      if (v.mismatches() == 0) continue;
      bad += v.mismatches();
      checked += v.checked();
      hosts.insert(v.hosts().begin(), v.hosts().end());
    }
  }
  if (bad == 0) return "";
  std::vector<std::string> names(hosts.begin(), hosts.end());
  const size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
  names.resize(names.size() - more);
  return absl::StrCat(common::FormatCount(bad), " of ", common::FormatCount(checked),
                      " checked blocks ", bad == 1 ? "is" : "are", " not as written",
                      names.empty() ? "" : ", on ", absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

namespace {

// "curve, share=110 % and 2 more": the phases for which `is_one` holds; empty if there are none.
template <typename Predicate>
std::string NamesOfPhases(const v1::Report& report, Predicate is_one) {
  std::vector<std::string> names;
  for (const v1::PhaseReport& phase : report.phases()) {
    if (is_one(phase)) names.push_back(phase.name());
  }
  if (names.size() < 2) return names.empty() ? "" : names[0];
  return absl::StrCat(names[0], " and ", names.size() - 1, " more");
}

// Whether a load of the phase stayed behind its rate.
bool HasBacklog(const v1::PhaseReport& phase) {
  return std::any_of(phase.workloads().begin(), phase.workloads().end(),
                     [](const auto& workload) { return workload.has_backlog(); });
}

// Failed I/Os are a verdict of their own.
bool HasMeasured(const v1::PhaseReport& phase) {
  return phase.total().operations() + phase.total().errors() > 0;
}

bool IsUnmeasured(const v1::PhaseReport& phase) {
  return measure::Is(phase, measure::PhaseKind::kRun) &&
         measure::Is(phase, measure::PhaseState::kDone) && !phase.workloads().empty() &&
         !HasMeasured(phase);
}

bool HasMeasuredLoad(const v1::Report& report) {
  return std::any_of(report.phases().begin(), report.phases().end(), [](const auto& phase) {
    return measure::Is(phase, measure::PhaseKind::kRun) && HasMeasured(phase);
  });
}

VerdictSeverity SeverityOf(const Verdict& verdict) {
  if (!verdict.over || verdict.word == VerdictWord::kCancelled) return VerdictSeverity::kUnknown;
  if (verdict.good) return VerdictSeverity::kGood;
  const bool is_usable = verdict.word == VerdictWord::kDegraded ||
                         verdict.word == VerdictWord::kErrors ||
                         verdict.word == VerdictWord::kBacklog;
  return is_usable ? VerdictSeverity::kWarning : VerdictSeverity::kBad;
}

Verdict WordOf(const v1::Report& report) {
  const v1::RunSummary& run = report.run();
  Verdict verdict;
  if (!run.outcome().empty()) verdict.reasons.push_back(run.outcome());
  bool invalid = false;
  double errors = 0;
  int expected = 0;
  for (const v1::PhaseReport& phase : report.phases()) {
    invalid = invalid || phase.invalid();
    errors += phase.total().errors();
    expected += phase.expectations_size();
    if (phase.invalid()) {
      verdict.reasons.push_back(absl::StrCat(phase.name(), ": ", phase.invalid_reason()));
    }
  }
  // The order matters. Wrong data is wrong however the run ended. A run that did not end says
  // nothing about expectations, and invalid figures can meet them by accident.
  const std::string corruption = CorruptionText(report);
  if (!corruption.empty()) verdict.reasons.insert(verdict.reasons.begin(), corruption);
  if (!corruption.empty() && !measure::IsInProgress(run)) {
    verdict.word = VerdictWord::kDataCorrupted;
  } else if (!measure::Is(run, measure::RunState::kDone)) {
    verdict.word = measure::Parse<measure::VerdictWord>(run.state());
    verdict.over = !measure::IsInProgress(run);
  } else if (invalid) {
    verdict.word = VerdictWord::kInvalid;
  } else if (!report.expectations_met()) {
    verdict.word = VerdictWord::kExpectationsFailed;
    if (!run.expectations().empty()) verdict.reasons.push_back(run.expectations());
  } else if (const std::string unmeasured = UnmeasuredText(report); !unmeasured.empty()) {
    verdict.word = VerdictWord::kNothingMeasured;
    // The word says it of all loads.
    if (HasMeasuredLoad(report)) verdict.reasons.push_back(unmeasured);
  } else if (run.degraded()) {
    verdict.word = VerdictWord::kDegraded;
    verdict.reasons.push_back(LostText(report));
  } else if (errors > 0) {
    verdict.word = VerdictWord::kErrors;
    verdict.reasons.push_back(absl::StrFormat("%.0f I/Os failed", errors));
  } else if (const std::string behind = NamesOfPhases(report, &HasBacklog);
             expected == 0 && !behind.empty()) {
    // A job that expects something says itself which rate it needs.
    verdict.word = VerdictWord::kBacklog;
    verdict.reasons.push_back(
        absl::StrCat("the load stayed behind the rate that was due: ", behind));
  } else {
    verdict.word = expected > 0 ? VerdictWord::kPassed : VerdictWord::kDone;
    verdict.good = true;
    if (!run.expectations().empty()) verdict.reasons.push_back(run.expectations());
  }
  return verdict;
}

}  // namespace

std::string UnmeasuredText(const v1::Report& report) {
  const std::string phases = NamesOfPhases(report, &IsUnmeasured);
  return phases.empty() ? "" : absl::StrCat("no I/O was measured in ", phases);
}

Verdict VerdictOf(const v1::Report& report) {
  Verdict verdict = WordOf(report);
  verdict.text = verdict.word ? Text(*verdict.word) : report.run().state();
  verdict.severity = SeverityOf(verdict);
  return verdict;
}

std::vector<std::string> Warnings(const v1::Report& report) {
  Collected found;
  size_t loads = 0;
  for (const v1::PhaseReport& phase : report.phases()) {
    AddPhase(phase, Expectations::kToo, &found);
    ++loads;
  }
  return found.Take(loads);
}

std::vector<std::string> WarningsOf(const v1::Report& report, const std::set<uint32_t>& phases) {
  Collected found;
  for (const v1::PhaseReport& phase : report.phases()) {
    if (phases.contains(phase.index())) AddPhase(phase, Expectations::kLeftOut, &found);
  }
  return found.Take(phases.size());
}

void AddVerdict(v1::Report* report) {
  report->clear_verdict();
  const Verdict verdict = VerdictOf(*report);
  v1::VerdictReport* out = report->mutable_verdict();
  out->set_word(verdict.text);
  out->set_good(verdict.good);
  out->set_over(verdict.over);
  for (const std::string& reason : verdict.reasons) {
    if (out->reasons_size() < kMaxSentences) out->add_reasons(reason);
  }
  for (const std::string& thing : Warnings(*report)) {
    if (out->warnings_size() < kMaxSentences) {
      out->add_warnings(thing);
    } else {
      out->set_more_warnings(out->more_warnings() + 1);
    }
  }
}

}  // namespace lockstep::controller
