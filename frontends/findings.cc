#include "frontends/findings.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace lockstep::frontends {

void Findings::Remark(const Origin& where, const std::string& text) {
  constexpr size_t kMaxRemarks = 1000;
  if (remarks.size() >= kMaxRemarks) return;
  // A section that becomes several workloads meets the same line again.
  if (!said_.insert(absl::StrCat(where.file, ":", where.line, ":", text)).second) return;
  remarks.push_back({where, text});
}

void Findings::Fail(const Origin& where, const std::string& text) {
  if (errors.size() >= kMaxErrors) return;
  // Further errors of a line mostly follow from its first.
  for (const Message& known : errors) {
    if (known.where.line == where.line && known.where.file == where.file) return;
  }
  errors.push_back({where, text});
}

void Findings::Refuse(const Origin& where, const std::string& need) {
  Fail(where, absl::StrCat("cannot be translated; a job would need ", need));
}

void Findings::MoveTo(Translation* translation) {
  // Files keep the order of their first errors. To compare lines within one file only would be no
  // strict weak ordering, which a sort needs.
  std::map<std::string, size_t> order;
  for (const Message& error : errors) order.emplace(error.where.file, order.size());
  std::stable_sort(errors.begin(), errors.end(), [&](const Message& a, const Message& b) {
    return std::pair(order.at(a.where.file), a.where.line) <
           std::pair(order.at(b.where.file), b.where.line);
  });
  translation->errors = std::move(errors);
  translation->remarks = std::move(remarks);
}

std::string UniqueName(const std::string& name, std::set<std::string>* taken) {
  constexpr size_t kMaxBytes = 110;
  // A column has at most four bytes.
  constexpr size_t kMaxColumns = 26;
  std::string wanted = common::Printable(name, kMaxBytes);
  if (wanted.size() > kMaxBytes) wanted = common::Printable(name, kMaxColumns);
  std::string unique = wanted;
  for (int i = 2; !taken->insert(unique).second; ++i) unique = absl::StrCat(wanted, " ", i);
  return unique;
}

}  // namespace lockstep::frontends
