#include "controller/analysis/observed_sentence.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/comparison_words.h"

namespace lockstep::controller {
namespace {

constexpr std::string_view kRequestsFigure = "requests_per_second";
constexpr std::string_view kAwaitFigure = "await";
// In a sentence. The table has all.
constexpr size_t kMaxToldFigures = 4;

bool Differs(const v1::ComparedValue& value) { return value.verdict() == v1::CHANGE_DIFFERS; }

bool IsCommon(const v1::ComparedFigure& figure, int set) {
  return figure.values(0).runs() > 0 && figure.values(set).runs() > 0;
}

bool IsOfHost(const v1::ComparedFigure& figure) {
  return !figure.host().empty() && figure.devices().empty();
}

// People look at the rates and the waits of reads and writes.
bool IsMain(const v1::ComparedFigure& figure) {
  return (figure.kind() == "read" || figure.kind() == "write") &&
         (figure.figure() == kRequestsFigure || figure.figure() == kAwaitFigure);
}

// "reads/s +12 %", "write await −3.0 %"; empty where there is no change as a share.
std::string ChangeText(const v1::ComparedFigure& figure, int set) {
  const v1::ComparedValue& value = figure.values(set);
  const bool is_rate = figure.figure() == kRequestsFigure;
  const std::string rate = figure.kind() == "flush" ? "flushes/s" : figure.kind() + "s/s";
  if (!value.has_change()) {
    // From 0 there is no share.
    if (!is_rate) return "";
    return absl::StrCat("from ", common::FormatCount(figure.values(0).median()), " to ",
                        common::FormatCount(value.median()), " ", rate);
  }
  std::string change = SignedPercent(value.change());
  if (value.has_interval() && value.has_p_value()) {
    absl::StrAppend(&change, " (", SignedPercent(value.change_low()), " to ",
                    SignedPercent(value.change_high()), ")");
  }
  if (is_rate) return absl::StrCat(rate, " ", change);
  return absl::StrCat(figure.kind(), figure.kind().empty() ? "" : " ", figure.figure(), " ",
                      change);
}

// The first figure of devices, or where none has been offered, the first of a host.
class FirstFigure {
 public:
  void Offer(const v1::ComparedFigure& figure) {
    const v1::ComparedFigure*& first = IsOfHost(figure) ? of_host_ : of_devices_;
    if (first == nullptr) first = &figure;
  }
  const v1::ComparedFigure* Get() const { return of_devices_ != nullptr ? of_devices_ : of_host_; }

 private:
  const v1::ComparedFigure* of_devices_ = nullptr;
  const v1::ComparedFigure* of_host_ = nullptr;
};

// The sentence on the observe phases of one set beside the first.
class ObservedSentenceOf {
 public:
  // The tests must be there: whether the sets can tell is known.
  ObservedSentenceOf(const v1::Comparison& comparison, int set)
      : comparison_(comparison), set_(set), can_tell_(comparison.observed_can_tell(set - 1)) {
    Choose();
  }

  std::string Text() const {
    const auto& before = comparison_.sets(0);
    const auto& after = comparison_.sets(set_);
    for (const v1::ComparedSet* side : {&before, &after}) {
      if (!side->observed_runs().empty()) continue;
      return absl::StrCat("no run of ", side->title(), " has an observe phase to compare");
    }
    const std::string pair = absl::StrCat(before.title(), " and ", after.title());
    if (first_ == nullptr && untested_ != nullptr) {
      return absl::StrCat("not all runs of ", pair, " know the figures of ", untested_->phase(),
                          ", ", ObservedNameOf(*untested_, set_), ", so nothing was tested");
    }
    if (first_ == nullptr && is_idle_) {
      return absl::StrCat("all figures that ", pair, " have in common are 0");
    }
    if (first_ == nullptr) return "the sets observed nothing in common";
    const std::string found = absl::StrCat(first_->phase(), ", ", ObservedNameOf(*first_, set_),
                                           texts_.empty() ? "" : ": ", absl::StrJoin(texts_, ", "));
    if (!can_tell_) {
      return TooFewRuns(found, before.observed_runs(), after.observed_runs(),
                        comparison_.fewest_runs());
    }
    if (told_ > 0) {
      return absl::StrCat(after.title(), " differs from ", before.title(), " in ", found,
                          absl::StrFormat("; by chance with p = %.2g", p_value_), More());
    }
    if (is_drifting_) {
      return absl::StrCat("the difference between ", pair, " may be drift of the machine: ", found);
    }
    return absl::StrCat("no difference found between ", pair, " in ", found);
  }

 private:
  static bool IsSameSubject(const v1::ComparedFigure& a, const v1::ComparedFigure& b) {
    return a.phase() == b.phase() && a.host() == b.host() && a.identity() == b.identity() &&
           std::equal(a.devices().begin(), a.devices().end(), b.devices().begin(),
                      b.devices().end());
  }

  // Where the sets can tell, a figure without a p was not tested: a run does not know it, or all
  // have 0. Its change would look like a finding.
  bool CanShow(const v1::ComparedFigure& figure) const {
    return !can_tell_ || figure.values(set_).has_p_value();
  }

  void NoteUntested(const v1::ComparedFigure& figure) {
    if (figure.values(0).most() == 0 && figure.values(set_).most() == 0) {
      is_idle_ = true;
    } else if (untested_ == nullptr) {
      untested_ = &figure;
    }
  }

  // The first devices with a figure that differs, else the first such host; else the same of one
  // that may be drift; else the first devices whose requests both sets know, else the first with
  // any figure of both sets.
  void Choose() {
    FirstFigure differing;
    FirstFigure drifting;
    const v1::ComparedFigure* any = nullptr;
    const v1::ComparedFigure* main = nullptr;
    for (const v1::ComparedFigure& figure : comparison_.observed()) {
      if (!IsCommon(figure, set_)) continue;
      const v1::ComparedValue& value = figure.values(set_);
      if (Differs(value)) {
        ++told_;
        differing.Offer(figure);
      }
      if (value.may_be_drift()) drifting.Offer(figure);
      if (!CanShow(figure)) {
        NoteUntested(figure);
        continue;
      }
      if (any == nullptr) any = &figure;
      if (main == nullptr && IsMain(figure)) main = &figure;
    }
    is_drifting_ = drifting.Get() != nullptr;
    first_ = told_ > 0 ? differing.Get() : drifting.Get();
    if (first_ == nullptr) first_ = main != nullptr ? main : any;
    if (first_ == nullptr) return;
    // Where figures differ, the others would only hide them.
    for (const bool wants_main : {true, false}) {
      for (const v1::ComparedFigure& figure : comparison_.observed()) {
        if (!IsCommon(figure, set_) || !IsSameSubject(figure, *first_)) continue;
        const v1::ComparedValue& value = figure.values(set_);
        const bool is_wanted = told_ > 0      ? Differs(value)
                               : is_drifting_ ? value.may_be_drift()
                                              : main == nullptr || wants_main;
        if (is_wanted && IsMain(figure) == wants_main) Add(figure);
      }
    }
    // Without a text, the p is that of the subject.
    if (texts_.empty()) p_value_ = subject_p_value_;
  }

  void Add(const v1::ComparedFigure& figure) {
    if (!CanShow(figure)) return;
    const v1::ComparedValue& value = figure.values(set_);
    if (value.has_p_value()) subject_p_value_ = std::min(subject_p_value_, value.p_value());
    const std::string text = ChangeText(figure, set_);
    if (text.empty() || texts_.size() == kMaxToldFigures) return;
    texts_.push_back(text);
    if (value.has_p_value()) p_value_ = std::min(p_value_, value.p_value());
    shown_ += Differs(value);
  }

  std::string More() const {
    const int more = told_ - shown_;
    if (more <= 0) return "";
    return absl::StrCat("; ", more, more == 1 ? " more figure differs" : " more figures differ");
  }

  const v1::Comparison& comparison_;
  const int set_;
  const bool can_tell_;
  const v1::ComparedFigure* first_ = nullptr;     // of the subject that the sentence is of
  const v1::ComparedFigure* untested_ = nullptr;  // the first that both sets know only in part
  bool is_idle_ = false;                          // a figure is 0 in all runs of both sets
  std::vector<std::string> texts_;
  int told_ = 0;                // figures that differ
  int shown_ = 0;               // of these in the sentence
  bool is_drifting_ = false;    // a figure may be drift
  double p_value_ = 1;          // the least of the figures in the sentence
  double subject_p_value_ = 1;  // the least of the figures that could be in it
};

}  // namespace

std::string ObservedNameOf(const v1::ComparedFigure& figure, int set) {
  if (figure.host().empty() && figure.devices().empty()) return "all devices";
  if (IsOfHost(figure)) return figure.host();
  std::string name = figure.devices(0);
  const std::string& other = figure.devices(set);
  if (name == "-") {
    name = other;
  } else if (other != "-" && other != name) {
    absl::StrAppend(&name, " → ", other);
  }
  return absl::StrCat(name, " of ", figure.host());
}

void AddObservedConclusions(v1::Comparison* comparison) {
  for (int s = 1; s < comparison->sets_size(); ++s) {
    comparison->add_observed_conclusions(ObservedSentenceOf(*comparison, s).Text());
  }
}

}  // namespace lockstep::controller
