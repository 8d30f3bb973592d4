#pragma once

#include "frontends/findings.h"

namespace lockstep::frontends {

// How a translation treats an option or a key of another tool.
enum class Fate {
  kTranslated,  // into fields of the job, or refused by the translation of its subject
  kRemarked,    // left out: nothing is lost without it; a remark says so
  kRefused,     // jobs cannot express it: an error, unless its value asks for nothing
};

// The rule for one option or key.
struct Rule {
  const char* name;
  Fate fate = Fate::kTranslated;
  // kRemarked: what there is instead. kRefused: what a job would need.
  const char* text = "";
  // Values that ask for nothing, as the tool's front end reads them: there is nothing to say then.
  const char* idle = "";
};

// Says what the rule says of an option that is given at `where` and asks for something.
void ApplyRule(const Rule& rule, const Origin& where, Findings* findings);

}  // namespace lockstep::frontends
