#include "controller/analysis/limit_names.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::controller {

std::string LimitNames(const std::vector<std::string>& limits) {
  std::map<std::string, int> counts;
  for (const std::string& limit : limits) {
    if (!limit.empty()) ++counts[limit];
  }
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  // Stable: equally frequent ones stay in the order of their names, so that two reports of one run
  // do not differ.
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string names;
  for (const auto& [limit, count] : sorted) {
    if (!names.empty()) names += " or ";
    names += limit;
  }
  return names;
}

}  // namespace lockstep::controller
