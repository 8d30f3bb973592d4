#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontends/vdbench/statements.h"

namespace lockstep::frontends::vdbench {

// The translation of a key.
enum class Fate {
  kTranslated,  // into fields of the job, or refused by the translation of its subject
  kRemarked,    // nothing is lost without it
  kRefused,     // jobs cannot express it
};

struct KeyRule {
  const char* key;
  Fate fate = Fate::kTranslated;
  // kRemarked: what there is instead. kRefused: what a job would need.
  const char* text = "";
  const char* idle = "";  // a value that asks for nothing
};

// The keys of one kind of statement, in full.
struct KindRule {
  Kind kind;
  const char* word;  // of the statement: sd; empty for general parameters
  absl::Span<const KeyRule> keys;
};

// All of them. Statements of fsd and fwd have no keys here: they are refused as a whole.
absl::Span<const KindRule> KindRules();
// The rule of a kind.
const KindRule& RuleOf(Kind kind);

}  // namespace lockstep::frontends::vdbench
