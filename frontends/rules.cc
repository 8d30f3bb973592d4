#include "frontends/rules.h"

#include "absl/strings/str_cat.h"

namespace lockstep::frontends {

void ApplyRule(const Rule& rule, const Origin& where, Findings* findings) {
  if (rule.fate == Fate::kRefused) findings->Refuse(where, rule.text);
  if (rule.fate == Fate::kRemarked) findings->Remark(where, absl::StrCat("left out; ", rule.text));
}

}  // namespace lockstep::frontends
