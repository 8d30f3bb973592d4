#include "frontends/presets/presets.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "frontends/frontend.h"
#include "frontends/preset_files.h"

namespace lockstep::frontends {
namespace {

// A preset is a whole job with these names in it, which can be read and checked as it is.
// FillPreset() replaces them.
constexpr char kDevice[] = "/dev/sdx";
constexpr char kDirectory[] = "/mnt/test";
constexpr char kWithDevice[] = "  # with --device";
constexpr char kWithDirectory[] = "  # with --directory";
constexpr char kWithPurge[] = "  # with --purge";
constexpr char kTimesHosts[] = "  # times hosts";
constexpr size_t kMaxPath = 4000;

// The first sentence of the comment that the file begins with.
std::string SummaryOf(absl::string_view text) {
  std::string comment;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "# ")) break;
    absl::StrAppend(&comment, comment.empty() ? "" : " ", line);
  }
  const size_t end = comment.find(". ");
  return comment.substr(0, end == std::string::npos ? end : end + 1);
}

std::vector<Preset> MakePresets() {
  std::vector<Preset> presets;
  for (const common::EmbeddedFile& file : PresetFiles()) {
    Preset preset;
    const std::string base = file.name.substr(file.name.rfind('/') + 1);
    preset.name = std::string(absl::StripSuffix(base, ".yaml"));
    preset.text = file.content;
    preset.summary = SummaryOf(file.content);
    preset.takes_device = absl::StrContains(file.content, kDevice);
    preset.takes_directory = absl::StrContains(file.content, kDirectory);
    preset.takes_purge = absl::StrContains(file.content, kWithPurge);
    presets.push_back(std::move(preset));
  }
  // The build embeds files in any order. Lists and completions print the presets in this one.
  std::sort(presets.begin(), presets.end(),
            [](const Preset& a, const Preset& b) { return a.name < b.name; });
  return presets;
}

// Whether a path can stand between quotes in YAML as it is.
bool IsPlainPath(const std::string& path) {
  // The path stands between double quotes, in which YAML takes a backslash for an escape.
  return path.size() <= kMaxPath && common::IsUtf8(path) && common::IsPlainLine(path) &&
         path.find_first_of("\"\\") == std::string::npos;
}

absl::Status CheckPath(const std::string& flag, const std::string& path,
                       const std::string& prefix) {
  if (absl::StartsWith(path, prefix) && IsPlainPath(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, " ", common::Printable(path, 200), ": ",
                   absl::StartsWith(path, prefix) ? "has a quote, a backslash or control characters"
                   : prefix == "/"                ? "is no absolute path"
                                                  : "does not lie under /dev"));
}

absl::Status Check(const Preset& preset, const PresetUse& use) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("preset ", preset.name, " ", why));
  };
  if (!use.device.empty() && !use.directory.empty()) {
    return refuse("works on a device or in a directory: give --device or --directory, not both");
  }
  if (use.device.empty() && use.directory.empty()) {
    return refuse(absl::StrCat("needs ", preset.takes_device ? "--device PATH" : "",
                               preset.takes_device && preset.takes_directory ? " or " : "",
                               preset.takes_directory ? "--directory DIR" : ""));
  }
  if (!use.device.empty() && !preset.takes_device)
    return refuse("works on files: give --directory");
  if (!use.directory.empty() && !preset.takes_directory) {
    return refuse("works on a device: give --device");
  }
  if (use.purge && use.device.empty()) return refuse("purges devices only: --purge needs --device");
  if (use.purge && !preset.takes_purge) return refuse("purges nothing: leave --purge out");
  return use.device.empty() ? CheckPath("--directory", use.directory, "/")
                            : CheckPath("--device", use.device, "/dev/");
}

// The line with its number times `hosts`. Presets have whole numbers there.
std::string TimesHosts(absl::string_view line, uint64_t hosts) {
  // Such numbers of a job are for all hosts together, and those of a preset for one.
  const size_t begin = line.rfind(' ') + 1;
  uint64_t number = 0;
  if (!absl::SimpleAtoi(line.substr(begin), &number)) return std::string(line);
  return absl::StrCat(line.substr(0, begin), number * hosts);
}

// Nothing if the line does not belong to the job.
std::optional<std::string> FillLine(absl::string_view line, const PresetUse& use, uint64_t hosts) {
  if (absl::ConsumeSuffix(&line, kWithDevice) && use.device.empty()) return std::nullopt;
  if (absl::ConsumeSuffix(&line, kWithDirectory) && use.directory.empty()) return std::nullopt;
  if (absl::ConsumeSuffix(&line, kWithPurge) && !use.purge) return std::nullopt;
  const bool is_for_each = absl::ConsumeSuffix(&line, kTimesHosts);
  std::string filled = is_for_each ? TimesHosts(line, hosts) : std::string(line);
  // One after the other, a path that holds the other name would be replaced, too.
  return absl::StrReplaceAll(filled, {{kDevice, use.device}, {kDirectory, use.directory}});
}

std::string HostsLine(const Hosts& hosts) {
  if (hosts.selector.names().empty()) return absl::StrCat("hosts: {count: ", hosts.count, "}");
  // Without quotes YAML would take some names for numbers or for true and false.
  return absl::StrCat("hosts: {names: [\"", absl::StrJoin(hosts.selector.names(), "\", \""),
                      "\"]}");
}

}  // namespace

const std::vector<Preset>& Presets() {
  static const auto* const presets = new std::vector<Preset>(MakePresets());
  return *presets;
}

const Preset* FindPreset(absl::string_view name) {
  for (const Preset& preset : Presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

absl::StatusOr<std::string> FillPreset(const Preset& preset, const PresetUse& use) {
  if (absl::Status status = Check(preset, use); !status.ok()) return status;
  const std::optional<Hosts> hosts = ParseHosts(use.hosts.empty() ? "1" : use.hosts);
  if (!hosts) {
    return absl::InvalidArgumentError(
        absl::StrCat("--hosts ", common::Printable(use.hosts, 200),
                     ": is neither a number of hosts nor names: write 4, or node[1-8],db1"));
  }
  std::string job;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(preset.text, "\n"), '\n')) {
    const std::optional<std::string> filled = FillLine(line, use, hosts->count);
    if (!filled) continue;
    absl::StrAppend(&job, *filled, "\n");
    // A preset's file names no hosts: each use gives its own.
    if (absl::StartsWith(line, "name: ")) absl::StrAppend(&job, HostsLine(*hosts), "\n");
  }
  return job;
}

}  // namespace lockstep::frontends
