#include "controller/cli/refusals.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace lockstep::cli {

std::vector<std::string> Collapsed(
    const google::protobuf::RepeatedPtrField<v1::Problem>& problems) {
  struct Group {
    std::string first, rest;
    size_t count = 0;
  };
  std::vector<Group> groups;
  for (const v1::Problem& problem : problems) {
    const std::string text = common::Printable(problem.message());
    // Host names have no blanks (common::IsHostName).
    const size_t colon = text.find(": ");
    const bool names_host = colon != std::string::npos && common::IsHostName(text.substr(0, colon));
    // The same refusal by several hosts differs in its beginning alone.
    const std::string rest = names_host ? text.substr(colon) : text;
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const Group& group) { return group.rest == rest; });
    if (known == groups.end()) {
      groups.push_back({names_host ? text.substr(0, colon) : "", rest, 1});
    } else {
      ++known->count;
    }
  }
  std::vector<std::string> texts;
  for (const Group& group : groups) {
    texts.push_back(absl::StrCat(
        group.first,
        group.count > 1 ? absl::StrCat(group.first.empty() ? "" : " and ",
                                       group.first.empty() ? group.count : group.count - 1,
                                       group.first.empty() ? " times: " : " more")
                        : "",
        group.rest));
  }
  return texts;
}

}  // namespace lockstep::cli
