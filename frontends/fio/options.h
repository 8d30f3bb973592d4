#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lockstep::frontends::fio {

// How the translation treats an option.
enum class Fate {
  kTranslated,  // into fields of the job, or refused by the translation of its subject
  kRemarked,    // nothing is lost without it
  kRefused,     // jobs cannot express it
};

struct OptionRule {
  const char* name;
  Fate fate;
  // kRemarked: what there is instead. kRefused: what a job would need.
  const char* text;
  // Values that ask for nothing, separated by commas: an option with one of them is left out.
  const char* idle = "";
};

// All options, by fio's first names for them.
absl::Span<const OptionRule> AllRules();

// The rule for an option, by fio's first name for it; null if fio and the engines that Lockstep has
// know no such option.
const OptionRule* FindRule(absl::string_view name);

// The name of the option that is most like `name`, which is none; empty if none is like it.
std::string NearestOption(absl::string_view name);

// fio's first name for an option that is written as `name`: `bs` for `blocksize`.
std::string CanonicalName(absl::string_view name);

// Whether the value stands in the list, which is separated by commas.
bool IsIdle(const OptionRule& rule, absl::string_view value);

}  // namespace lockstep::frontends::fio
