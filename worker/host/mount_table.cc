#include "worker/host/mount_table.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "worker/host/device_number.h"

namespace lockstep::worker {
namespace {

bool IsOctal(char letter) { return letter >= '0' && letter <= '7'; }

// The kernel writes blanks, backslashes and, in options, commas as three octal digits
// (seq_escape()).
std::string Unescaped(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) &&
                           IsOctal(text[i + 2]) && IsOctal(text[i + 3]);
    if (!is_escape) {
      plain.push_back(text[i]);
      continue;
    }
    plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                      (text[i + 3] - '0')));
    i += 3;
  }
  return plain;
}

// "36 35 98:0 /root /mnt rw,noatime shared:1 master:2 - ext4 /dev/sda rw,errors=continue"
bool ReadMountLine(const std::string& text, MountLine* line) {
  // A file system may have no source: then there are two blanks in a row.
  const std::vector<std::string> fields = absl::StrSplit(text, ' ');
  constexpr size_t kFixed = 6;  // before those whose number varies
  if (fields.size() < kFixed) return false;
  const auto dash = std::find(fields.begin() + kFixed, fields.end(), "-");
  const auto number = ParseDeviceNumber(fields[2]);
  if (fields.end() - dash < 4 || !number || !absl::SimpleAtoi(fields[0], &line->id) ||
      !absl::SimpleAtoi(fields[1], &line->parent)) {
    return false;
  }
  line->number = *number;
  line->root = Unescaped(fields[3]);
  line->target = Unescaped(fields[4]);
  line->written_target = fields[4];
  line->options = fields[5];
  line->type = Unescaped(dash[1]);
  line->source = Unescaped(dash[2]);
  line->filesystem_options = dash[3];
  return true;
}

}  // namespace

std::vector<MountLine> ParseMountInfo(const std::string& text) {
  std::vector<MountLine> lines;
  for (const auto part : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    MountLine line;
    if (ReadMountLine(std::string(part), &line)) lines.push_back(std::move(line));
  }
  return lines;
}

std::string ServedProtocolOf(const std::string& type) {
  static const std::map<std::string, std::string> kProtocols = {
      {"nfs", "nfs"},  {"nfs4", "nfs"},  {"cifs", "smb"},
      {"smb3", "smb"}, {"ceph", "ceph"}, {"lustre", "lustre"}};
  const auto found = kProtocols.find(type);
  return found == kProtocols.end() ? "" : found->second;
}

std::string MountOption(const std::string& options, const std::string& name) {
  for (const auto option : absl::StrSplit(options, ',')) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    if (pair.first == name) return Unescaped(pair.second);
  }
  return "";
}

bool HasMountOption(const std::string& options, const std::string& option) {
  return absl::StrContains(absl::StrCat(",", options, ","), absl::StrCat(",", option, ","));
}

std::vector<std::string> OverlayDirectories(const std::string& options) {
  std::vector<std::string> directories;
  for (const auto option : absl::StrSplit(options, ',')) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    if (pair.first == "upperdir") directories.insert(directories.begin(), Unescaped(pair.second));
    // Since Linux 6.7 layers can be added one by one, and the kernel then shows an option for each.
    if (pair.first == "lowerdir+" || pair.first == "datadir+") {
      directories.push_back(Unescaped(pair.second));
    }
    if (pair.first != "lowerdir") continue;
    // Linux 6.5 and later escape a colon in a name like other letters. Before, it stands as it was
    // given at the mount, behind a backslash, which is escaped.
    const std::string parts = absl::StrReplaceAll(pair.second, {{"\\134:", "\\072"}});
    for (const auto part : absl::StrSplit(parts, ':', absl::SkipEmpty())) {
      directories.push_back(Unescaped(std::string(part)));
    }
  }
  return directories;
}

}  // namespace lockstep::worker
