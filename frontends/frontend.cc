#include "frontends/frontend.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/text.h"

namespace lockstep::frontends {
namespace {

// Filled before main() begins, and not changed after.
std::vector<FrontEnd>* Registered() {
  // Front ends register before main(), in an order that C++ does not define: the first one makes
  // the list.
  static auto* const registered = new std::vector<FrontEnd>();
  return registered;
}

// The number of names that the inside of brackets stands for: `1-8,12` for nine. 0 if it is wrong.
uint64_t RangeCount(absl::string_view ranges) {
  uint64_t count = 0;
  for (const absl::string_view range : absl::StrSplit(ranges, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(range, '-');
    uint64_t first = 0;
    uint64_t last = 0;
    if (ends.size() != 2) {
      ++count;
      continue;
    }
    // Ranges come from job files: the limit keeps `0-99999999` from being counted on.
    if (!absl::SimpleAtoi(ends[0], &first) || !absl::SimpleAtoi(ends[1], &last) || last < first ||
        last - first >= static_cast<uint64_t>(limits::kHostNames)) {
      return 0;
    }
    count += last - first + 1;
  }
  return count;
}

// 0 if the name is wrong.
uint64_t NameCount(absl::string_view name) {
  uint64_t count = 1;
  while (true) {
    const size_t open = name.find('[');
    if (open == absl::string_view::npos) break;
    const size_t close = name.find(']', open);
    if (close == absl::string_view::npos) return 0;
    count *= RangeCount(name.substr(open + 1, close - open - 1));
    if (count == 0 || count > static_cast<uint64_t>(limits::kHostNames)) return 0;
    name.remove_prefix(close + 1);
  }
  return count;
}

}  // namespace

RegisterFrontEnd::RegisterFrontEnd(const FrontEnd& front_end) {
  Registered()->push_back(front_end);
}

Translation Translate(const FrontEnd& front_end, const Request& request) {
  Translation out = front_end.translate(request);
  const Takes& takes = front_end.takes;
  std::vector<Message> unused;
  const auto refuse = [&](const std::string& flag, const std::string& text) {
    unused.push_back({{"", 0, flag}, text});
  };
  const std::string disks_instead =
      takes.disks ? "; --disk NAME=PATH puts something in the place of a disk that it names" : "";
  if (!request.directory.empty() && !takes.directory) {
    refuse(absl::StrCat("--directory ", request.directory),
           absl::StrCat("a file of ", front_end.name, " has no use for it", disks_instead));
  }
  if (!request.target.empty() && !takes.target) {
    refuse(absl::StrCat("--target ", request.target),
           absl::StrCat("a file of ", front_end.name, " has no use for it", disks_instead));
  }
  for (const auto& [name, path] : request.disks) {
    const std::string flag = absl::StrCat("--disk ", name, "=", path);
    if (!takes.disks) {
      refuse(flag, absl::StrCat("a file of ", front_end.name, " names no disks to replace"));
      // A translation with errors may not have come to all disks.
    } else if (out.errors.empty() && !out.disks.contains(name)) {
      refuse(flag, absl::StrCat("the file has no disk of this name; it has ",
                                absl::StrJoin(out.disks, ", ")));
    }
  }
  // A flag without effect is an error: the person who wrote it expects other targets than the job
  // has.
  out.errors.insert(out.errors.begin(), unused.begin(), unused.end());
  return out;
}

std::vector<FrontEnd> FrontEnds() {
  std::vector<FrontEnd> found = *Registered();
  std::sort(found.begin(), found.end(), [](const FrontEnd& a, const FrontEnd& b) {
    // The linker chooses the order of registration.
    return absl::string_view(a.name) < absl::string_view(b.name);
  });
  return found;
}

std::optional<FrontEnd> FindFrontEnd(const SourceFile& file) {
  // These languages are Lockstep's own: a front end that recognizes files by their content must not
  // take them.
  for (const char* own : {".yaml", ".yml", ".json"}) {
    if (absl::EndsWithIgnoreCase(file.name, own)) return std::nullopt;
  }
  for (const FrontEnd& front_end : FrontEnds()) {
    if (front_end.recognizes(file)) return front_end;
  }
  return std::nullopt;
}

std::optional<Hosts> ParseHosts(absl::string_view text) {
  Hosts hosts;
  uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) {
    if (number < 1 || number > static_cast<uint64_t>(limits::kHostNames)) return std::nullopt;
    hosts.count = static_cast<uint32_t>(number);
    hosts.selector.set_count(hosts.count);
    return hosts;
  }
  uint64_t count = 0;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    // Commas within brackets separate ranges, not names.
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string name(text.substr(begin, i - begin));
    begin = i + 1;
    std::string plain = name;
    std::erase_if(plain, [](char each) { return each == '[' || each == ']' || each == ','; });
    const uint64_t names = NameCount(name);
    if (names == 0 || !common::IsHostName(plain)) return std::nullopt;
    count += names;
    hosts.selector.add_names(name);
    if (count > static_cast<uint64_t>(limits::kHostNames)) return std::nullopt;
    if (hosts.selector.names_size() > 1000) return std::nullopt;
  }
  hosts.count = static_cast<uint32_t>(count);
  return hosts;
}

std::string MessageText(const Message& message) {
  const Origin& where = message.where;
  std::string text;
  if (where.line > 0) absl::StrAppend(&text, where.file, ":", where.line, ": ");
  if (!where.option.empty()) absl::StrAppend(&text, common::Printable(where.option, 200), ": ");
  // Texts of a file may hold control characters, which must not reach a terminal.
  return common::Printable(text + message.text);
}

}  // namespace lockstep::frontends
