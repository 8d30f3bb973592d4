#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontends/rules.h"

namespace lockstep::frontends::fio {

// All options, by fio's first names for them.
absl::Span<const Rule> AllRules();

// The rule for an option, by fio's first name for it; null if fio and the engines that Lockstep has
// know no such option.
const Rule* FindRule(absl::string_view name);

// The name of the option that is most like `name`, which is none; empty if none is like it.
std::string NearestOption(absl::string_view name);

// fio's first name for an option that is written as `name`: `bs` for `blocksize`.
std::string CanonicalName(absl::string_view name);

// Whether the value asks for nothing: it stands in the list `idle`, which is separated by commas.
bool IsIdle(const Rule& rule, absl::string_view value);

}  // namespace lockstep::frontends::fio
