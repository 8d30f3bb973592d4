#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontends/rules.h"
#include "frontends/vdbench/statements.h"

namespace lockstep::frontends::vdbench {

// What is said of a hit area that no workload has hits in.
inline constexpr char kNoHits[] = "without rhpct and whpct no I/O hits the area";

// The keys of one kind of statement, in full. `idle` is one value.
struct KindRule {
  Kind kind;
  const char* word;  // of the statement: sd; empty for general parameters
  absl::Span<const Rule> keys;
};

// All of them. Statements of fsd and fwd have no keys here: they are refused as a whole.
absl::Span<const KindRule> KindRules();
// The rule of a kind.
const KindRule& RuleOf(Kind kind);

}  // namespace lockstep::frontends::vdbench
