#include "controller/report/conclusion.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/report/finding_groups.h"
#include "controller/report/headline.h"
#include "controller/report/report_writer.h"
#include "controller/report/verdict.h"
#include "measure/report_states.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using common::FormatCount;
using common::FormatDuration;
using measure::Limit;

// "5 s", "4.9 s", "250 ms".
std::string SpanText(double seconds) {
  if (seconds < 1) return FormatDuration(seconds * 1e9);
  return seconds < 100 ? absl::StrFormat("%.2g s", seconds) : absl::StrFormat("%.0f s", seconds);
}

// With what `limited_by` says, as part of a sentence. Empty where it is no limit of the storage's
// side that a reader could name.
std::string LimitPhrase(const std::string& text) {
  if (text.empty()) return "";
  const std::optional<Limit> limit = measure::Parse<measure::Limit>(text);
  if (!limit) return absl::StrCat("the ", text);  // of a newer controller
  switch (*limit) {
    case Limit::kNotClear:
    case Limit::kNoStorage:
      return "";
    case Limit::kGeneratorCpu:
      return "the load generator's CPU";
    case Limit::kAboveDevice:
      return "a layer above the device";
    case Limit::kCpuQuota:
      return absl::StrCat("a ", text);
    case Limit::kIoThrottle:
      return absl::StrCat("an ", text);
    case Limit::kFsync:
    case Limit::kThinkTime:
      return text;
    default:
      return absl::StrCat("the ", text);
  }
}

// Beside figures of the whole phase: what limited only some of its workloads is said with their
// names, or not at all.
std::string LimitPart(const v1::PhaseReport& phase) {
  std::vector<std::string> limits;
  std::vector<std::string> limited;  // workloads
  bool is_all = true;
  for (const v1::WorkloadReport& w : phase.workloads()) {
    const std::string text = LimitPhrase(w.limited_by());
    if (text.empty()) {
      is_all = false;
      continue;
    }
    limited.push_back(w.name());
    if (std::find(limits.begin(), limits.end(), text) == limits.end()) limits.push_back(text);
  }
  if (limits.empty() || limits.size() > (is_all ? 2 : 1)) return "";
  return absl::StrCat(is_all ? "" : absl::StrCat(absl::StrJoin(limited, " and "), " "),
                      "limited by ", absl::StrJoin(limits, " and "));
}

std::string PercentOf(double share) {
  const double percent = 100 * share;
  // 99.96 % would be written as 100 %, which is met.
  if (percent >= 99.5 && percent < 100) return "just below";
  return absl::StrCat(
      percent < 1 ? absl::StrFormat("%.1g", percent) : absl::StrFormat("%.0f", percent), " % of");
}

// "3.0 times the 2.00 ms allowed", "18 % above the 2.00 ms allowed".
std::string AboveText(double value, double required, const std::string& bound) {
  const double ratio = required > 0 ? value / required : 0;
  if (ratio >= 2) {
    return absl::StrCat(common::FormatDigits(ratio, 2), " times the ", bound, " allowed");
  }
  if (ratio >= 1.01) {
    return absl::StrFormat("%.0f %% above the %s allowed", 100 * (ratio - 1), bound);
  }
  return absl::StrCat("above the ", bound, " allowed");
}

// How far an expectation was missed: "4,461 IOPS, 9 % of the 50,000 required".
std::string MissText(const v1::Expectation& e) {
  if (!e.has_value() || !e.has_required()) return absl::StrCat(e.text(), " not met: ", e.found());
  const std::optional<measure::Figure> figure = measure::Parse<measure::Figure>(e.figure());
  if (figure == measure::Figure::kIops) {
    return absl::StrCat(FormatCount(e.value()), " IOPS, ", PercentOf(e.value() / e.required()),
                        " the ", FormatCount(e.required()), " required");
  }
  if (figure == measure::Figure::kBytesPerSecond) {
    return absl::StrCat(common::FormatRate(e.value()), ", ", PercentOf(e.value() / e.required()),
                        " the ", common::FormatRate(e.required()), " required");
  }
  if (figure == measure::Figure::kErrors) {
    return absl::StrCat(Plural(e.value(), "error"), ", at most ", FormatCount(e.required()),
                        " allowed");
  }
  if (figure == measure::Figure::kUncopiedBlocks) return "";
  if (figure == measure::Figure::kFairness) {
    return absl::StrFormat("fairness over hosts %.3f, %.3f required", e.value(), e.required());
  }
  const std::string name =
      figure == measure::Figure::kP999 ? "p99.9" : e.figure().substr(0, e.figure().find('_'));
  return absl::StrCat(name, " ", FormatDuration(e.value()), ", ",
                      AboveText(e.value(), e.required(), FormatDuration(e.required())));
}

// Collects the parts of the sentence as long as they fit.
class Parts {
 public:
  void Add(const std::string& part) {
    if (part.empty()) return;
    const std::string more = absl::StrCat(text_.empty() ? "" : "; ", part);
    // Something shorter and less important may still fit.
    if (!text_.empty() &&
        common::DisplayWidth(text_) + common::DisplayWidth(more) > kConclusionColumns) {
      return;
    }
    text_ += text_.empty() ? common::Printable(more, kConclusionColumns) : more;
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// The outages of all phases together: "no I/O for 5 s in 4 gaps".
std::string OutageText(const v1::Report& report) {
  v1::OutageSummary all;
  for (const v1::PhaseReport& phase : report.phases()) {
    const v1::OutageSummary& s = phase.outage_summary();
    if (s.count() == 0) continue;
    all.set_count(all.count() + s.count());
    all.set_all_hosts_seconds(all.all_hosts_seconds() + s.all_hosts_seconds());
    // The phases have the same hosts, so their numbers cannot be added.
    all.set_hosts(std::max(all.hosts(), s.hosts()));
    all.set_of_hosts(std::max(all.of_hosts(), s.of_hosts()));
    all.set_total_seconds(all.total_seconds() + s.total_seconds());
    all.set_longest_seconds(std::max(all.longest_seconds(), s.longest_seconds()));
  }
  if (all.count() == 0) return "";
  // Only hosts that were silent at the same time make it no I/O at all.
  constexpr double kAll = 0.99;
  const std::string where =
      all.all_hosts_seconds() >= kAll * all.total_seconds()
          ? ""
          : absl::StrCat(" on ", FormatCount(all.hosts()), " of ", FormatCount(all.of_hosts()),
                         all.of_hosts() == 1 ? " host" : " hosts");
  if (all.count() == 1) return absl::StrCat("no I/O for ", SpanText(all.total_seconds()), where);
  return absl::StrCat("no I/O for ", SpanText(all.total_seconds()), " in ", all.count(), " gaps",
                      where, ", the longest ", SpanText(all.longest_seconds()));
}

struct LostHosts {
  google::protobuf::RepeatedPtrField<std::string> names;
  uint32_t count = 0;
};

LostHosts LostHostsOf(const v1::Report& report) {
  LostHosts lost;
  std::set<std::string> seen;
  for (const v1::PhaseReport& phase : report.phases()) {
    // A host that is lost is missing in later phases as well: the numbers overlap.
    lost.count = std::max(lost.count, phase.workers_lost());
    for (const v1::HostReport& host : phase.hosts()) {
      if (host.lost() && seen.insert(host.host()).second) *lost.names.Add() = host.host();
    }
  }
  lost.count = std::max(lost.count, static_cast<uint32_t>(lost.names.size()));
  return lost;
}

// "vm-9 and 1 more". A report that does not have all the names says how many hosts there are.
std::string LostNames(const LostHosts& lost, size_t max_names) {
  if (lost.count == 0) return "";
  if (static_cast<uint32_t>(lost.names.size()) == lost.count) {
    return NamesText(lost.names, max_names);
  }
  return absl::StrCat(FormatCount(lost.count), lost.count == 1 ? " host" : " hosts");
}

// The text for the first copy that left something out.
std::string IncompleteCopyText(const v1::Report& report) {
  std::string text;
  int more = 0;
  for (const v1::PhaseReport& phase : report.phases()) {
    for (const v1::WorkloadReport& w : phase.workloads()) {
      if (w.copy().sentence().empty()) continue;
      if (text.empty()) {
        text = w.copy().sentence();
      } else {
        ++more;
      }
    }
  }
  return more == 0 ? text : absl::StrCat(text, ", and ", more, more == 1 ? " more copy" : " more");
}

class Sentence {
 public:
  explicit Sentence(const v1::Report& report) : report_(report), headline_(HeadlineOf(report)) {
    if (headline_) phase_ = PhaseOf(*headline_, report);
    for (const v1::PhaseReport& phase : report.phases())
      expecting_ += !phase.expectations().empty();
  }

  std::string Text() {
    const v1::RunSummary& run = report_.run();
    if (measure::IsInProgress(run)) return "";
    const std::string corruption = CorruptionText(report_);
    if (!corruption.empty()) parts_.Add(absl::StrCat("DATA CORRUPTED: ", corruption));
    if (!measure::Is(run, measure::RunState::kDone)) {
      parts_.Add(absl::StrCat(run.state(), run.outcome().empty() ? "" : ": ", run.outcome()));
    }
    for (const v1::PhaseReport& phase : report_.phases()) {
      if (!phase.invalid()) continue;
      parts_.Add(absl::StrCat("invalid: ", phase.invalid_reason()));
      break;
    }
    parts_.Add(IncompleteCopyText(report_));
    parts_.Add(OutageText(report_));
    Misses();
    parts_.Add(LostText(report_));
    Figures();
    return parts_.Take();
  }

 private:
  // Expectations that were not met. The verification's result stands in front already.
  void Misses() {
    constexpr size_t kSaid = 2;
    size_t missed = 0;
    bool any = false;
    for (const v1::PhaseReport& phase : report_.phases()) {
      double mismatches = 0;
      for (const v1::WorkloadReport& w : phase.workloads()) {
        mismatches += w.verification().mismatches();
      }
      for (const v1::Expectation& e : phase.expectations()) {
        if (e.met()) continue;
        any = true;
        // The start skew's limit makes the phase invalid, and that is said.
        if (e.figure().empty() && (mismatches > 0 || phase.invalid())) continue;
        // So is an incomplete copy.
        if (measure::Is(e, measure::Figure::kUncopiedBlocks) && e.has_value()) continue;
        if (++missed > kSaid) continue;
        is_rate_said_ =
            is_rate_said_ || (&phase == phase_ && measure::Is(e, measure::Figure::kIops));
        is_p99_said_ = is_p99_said_ || (&phase == phase_ && measure::Is(e, measure::Figure::kP99));
        parts_.Add(absl::StrCat(expecting_ > 1 ? phase.name() + ": " : "", MissText(e)));
      }
    }
    if (missed > kSaid) {
      parts_.Add(absl::StrCat(missed - kSaid,
                              missed - kSaid == 1 ? " more expectation" : " more expectations",
                              " not met"));
    }
    // Those of phases that never came.
    if (!any && !report_.expectations_met() && !report_.run().expectations().empty()) {
      parts_.Add(absl::StrCat("expectations: ", report_.run().expectations()));
    }
  }

  void Figures() {
    const std::string simulated = report_.run().synthetic() ? "of simulated workers: " : "";
    if (!headline_) {
      const bool tried = std::any_of(
          report_.phases().begin(), report_.phases().end(), [](const v1::PhaseReport& phase) {
            return measure::Is(phase, measure::PhaseKind::kRun) && !phase.workloads().empty() &&
                   measure::Is(phase, measure::PhaseState::kDone);
          });
      if (tried) parts_.Add("no I/O was measured");
      return;
    }
    std::string text = headline_->text();
    const std::string p99 = absl::StrCat(", ", P99Text(*headline_));
    // The requirement on the p99 is said with it.
    if (is_p99_said_ && absl::EndsWith(text, p99)) text.resize(text.size() - p99.size());
    if (is_rate_said_) {
      // 4,461 IOPS are said with what was required; the latency is left.
      text = is_p99_said_ || !headline_->has_p99_ns() ? "" : P99Text(*headline_);
    }
    const std::string limit = phase_ == nullptr ? "" : LimitPart(*phase_);
    if (!limit.empty()) absl::StrAppend(&text, text.empty() ? "" : ", ", limit);
    if (!text.empty()) parts_.Add(absl::StrCat(simulated, text));
    Checked();
    if (phase_ != nullptr && phase_->total().errors() > 0) {
      parts_.Add(absl::StrCat(FormatCount(phase_->total().errors()), " I/Os failed"));
    }
  }

  // Says that verified blocks were right, or that none could be checked.
  void Checked() {
    if (!headline_->has_checked_blocks() || !CorruptionText(report_).empty()) return;
    const double checked = headline_->checked_blocks();
    if (checked == 0) return parts_.Add("no block could be verified");
    parts_.Add(measure::Is(*headline_, measure::HeadlineKind::kVerify)
                   ? "all as written"
                   : absl::StrCat(Plural(checked, "block"), " checked, all as written"));
  }

  const v1::Report& report_;
  const std::optional<v1::Headline> headline_;
  const v1::PhaseReport* phase_ = nullptr;  // of the headline, where it is one
  int expecting_ = 0;                       // phases with expectations
  bool is_rate_said_ = false;
  bool is_p99_said_ = false;
  Parts parts_;
};

}  // namespace

std::string LostText(const v1::Report& report) {
  constexpr size_t kNamed = 3;
  const LostHosts lost = LostHostsOf(report);
  const uint32_t count = lost.count;
  if (count == 0) return report.run().degraded() ? "a host was lost" : "";
  const uint32_t all = report.run().hosts();
  return absl::StrCat("lost ", LostNames(lost, kNamed),
                      all > count ? absl::StrCat(", ", FormatCount(all - count), " of ",
                                                 FormatCount(all), " hosts went on")
                                  : "");
}

std::string ConclusionOf(const v1::Report& report) { return Sentence(report).Text(); }

void Conclude(v1::Report* report) {
  v1::RunSummary* run = report->mutable_run();
  const Verdict verdict = VerdictOf(*report);
  run->set_verdict(verdict.over ? verdict.text : "");
  // A kept report has the conclusion of the version that made it.
  run->clear_headline();
  run->clear_iops();
  run->clear_bytes_per_second();
  if (const auto headline = HeadlineOf(*report)) {
    *run->mutable_headline() = *headline;
    if (headline->has_iops()) run->set_iops(headline->iops());
    if (headline->has_bytes_per_second()) run->set_bytes_per_second(headline->bytes_per_second());
  }
  run->set_conclusion(ConclusionOf(*report));
  // A list has room for one name.
  run->set_lost_hosts(measure::IsInProgress(*run) ? "" : LostNames(LostHostsOf(*report), 1));
  for (v1::PhaseReport& phase : *report->mutable_phases()) {
    phase.clear_finding_groups();
    for (v1::FindingGroup& group : FindingGroupsOf(phase)) {
      *phase.add_finding_groups() = std::move(group);
    }
  }
}

}  // namespace lockstep::controller
