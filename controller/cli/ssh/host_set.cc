#include "controller/cli/ssh/host_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/text.h"

namespace lockstep::cli {
namespace {

constexpr auto kMaxHosts = static_cast<size_t>(limits::kSshHosts);

absl::Status InvalidSet(const std::string& set, const std::string& why) {
  return absl::InvalidArgumentError(
      absl::StrCat("--ssh '", common::Printable(set, 100), "': ", why));
}

absl::Status TooManyHosts() {
  return absl::InvalidArgumentError(absl::StrCat("--ssh: more than ", kMaxHosts, " hosts"));
}

// At the commas that are in no brackets.
std::vector<std::string> SplitSets(const std::string& text) {
  std::vector<std::string> parts(1);
  bool inside = false;
  for (const char c : text) {
    if (c == '[') inside = true;
    if (c == ']') inside = false;
    if (c == ',' && !inside) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
}

// The numbers of "1-64" or "01-16,20", as text.
absl::StatusOr<std::vector<std::string>> Numbers(const std::string& set,
                                                 const std::string& ranges) {
  std::vector<std::string> numbers;
  for (const std::string& range : std::vector<std::string>(absl::StrSplit(ranges, ','))) {
    const std::pair<std::string, std::string> ends = absl::StrSplit(range, '-');
    const std::string from = ends.first;
    const std::string to = absl::StrContains(range, '-') ? ends.second : from;
    uint32_t first = 0;
    uint32_t last = 0;
    if (!IsNumber(from) || !IsNumber(to) || std::count(range.begin(), range.end(), '-') > 1 ||
        !absl::SimpleAtoi(from, &first) || !absl::SimpleAtoi(to, &last) || last < first) {
      return InvalidSet(set, "write numbers and ranges in brackets: node[1-64] or node[1,3,5-9]");
    }
    // Before the names are made: those of 1-999999999 would fill the memory.
    if (last - first >= kMaxHosts || numbers.size() > kMaxHosts) return TooManyHosts();
    for (uint32_t number = first; number <= last; ++number) {
      numbers.push_back(absl::StrFormat("%0*u", static_cast<int>(from.size()), number));
    }
  }
  return numbers;
}

absl::StatusOr<std::vector<std::string>> Expand(const std::string& set) {
  std::vector<std::string> made = {""};
  std::string rest = set;
  while (!rest.empty()) {
    const size_t open = rest.find('[');
    for (std::string& name : made) absl::StrAppend(&name, rest.substr(0, open));
    if (open == std::string::npos) break;
    const size_t close = rest.find(']', open);
    if (close == std::string::npos) return InvalidSet(set, "a bracket is not closed");
    const auto numbers = Numbers(set, rest.substr(open + 1, close - open - 1));
    if (!numbers.ok()) return numbers.status();
    if (made.size() * numbers->size() > kMaxHosts) return TooManyHosts();
    std::vector<std::string> longer;
    for (const std::string& name : made) {
      for (const std::string& number : *numbers) longer.push_back(name + number);
    }
    made = std::move(longer);
    rest.erase(0, close + 1);
  }
  return made;
}

bool IsIpv6(const std::string& text) {
  return std::count(text.begin(), text.end(), ':') >= 2 && text.size() <= 45 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isxdigit(c) || c == ':' || c == '.'; });
}

// ssh(1) takes a destination that begins with '-' for an option, one with "://" for a URI, and its
// configuration may hand the name to a shell (ProxyCommand, Match exec). Letters, digits and few
// signs mean nothing to any of them.
absl::StatusOr<SshHost> ToHost(const std::string& text) {
  const size_t at = text.rfind('@');
  const std::string user = at == std::string::npos ? "" : text.substr(0, at);
  const std::string host = at == std::string::npos ? text : text.substr(at + 1);
  if (at != std::string::npos && !common::IsHostName(user)) {
    return InvalidSet(text, "the user may have letters, digits, '.', '_' and '-'");
  }
  SshHost made{text, host};
  if (IsIpv6(host)) std::replace(made.name.begin(), made.name.end(), ':', '-');
  // "::1" has become "--1", which is no name of a host.
  if (made.name.starts_with('-')) made.name.insert(0, "0");
  if (!IsIpv6(host) && !common::IsHostName(host)) {
    return InvalidSet(text,
                      "a host may have letters, digits, '.', '_' and '-', and begins with a "
                      "letter or digit; put a port or other options into ~/.ssh/config");
  }
  return made;
}

}  // namespace

absl::StatusOr<std::vector<SshHost>> ParseHosts(const std::vector<std::string>& sets) {
  std::vector<SshHost> hosts;
  std::set<std::string> names;
  for (const std::string& given : sets) {
    for (const std::string& set : SplitSets(given)) {
      const auto expanded = Expand(set);
      if (!expanded.ok()) return expanded.status();
      for (const std::string& text : *expanded) {
        const auto host = ToHost(text);
        if (!host.ok()) return host.status();
        if (!names.insert(host->name).second) {
          return InvalidSet(text, "this host is given twice");
        }
        if (hosts.size() >= kMaxHosts) return TooManyHosts();
        hosts.push_back(*host);
      }
    }
  }
  return hosts;
}

std::vector<std::string> HostFileSets(const std::string& content) {
  std::vector<std::string> sets;
  for (std::string line : std::vector<std::string>(absl::StrSplit(content, '\n'))) {
    line = line.substr(0, line.find('#'));
    for (const std::string& set :
         std::vector<std::string>(absl::StrSplit(line, absl::ByAnyChar(" \t\r")))) {
      if (!set.empty()) sets.emplace_back(set);
    }
  }
  return sets;
}

}  // namespace lockstep::cli
