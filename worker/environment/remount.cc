// Mount options that can be changed by a remount and restored: those of every mount, as flags of
// mount(2), and ext4's that have a counterpart (ext4(5)).

#include "worker/environment/remount.h"

#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/text.h"
#include "worker/environment/settings.h"

namespace lockstep::worker {
namespace {

using Words = std::vector<std::string>;

Words WordsOf(const std::string& options) {
  return absl::StrSplit(options, ',', absl::SkipEmpty());
}

bool Has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Flag {
  const char* name;
  unsigned long bits;  // as mount(2) has it
};
// A remount must repeat these flags of a mount, or it takes them away. 1 << 8 is MS_NOSYMFOLLOW
// (Linux 5.10), which older headers lack.
constexpr Flag kKept[] = {
    {"ro", MS_RDONLY},         {"nosuid", MS_NOSUID},     {"nodev", MS_NODEV},
    {"noexec", MS_NOEXEC},     {"sync", MS_SYNCHRONOUS},  {"dirsync", MS_DIRSYNC},
    {"mand", MS_MANDLOCK},     {"noatime", MS_NOATIME},   {"nodiratime", MS_NODIRATIME},
    {"relatime", MS_RELATIME}, {"lazytime", MS_LAZYTIME}, {"strictatime", MS_STRICTATIME},
    {"nosymfollow", 1UL << 8},
};

// How access times are kept: one of three.
constexpr const char* kAtime[] = {"noatime", "relatime", "strictatime"};

// Flags that are on or off, by both of their names.
struct Switch {
  const char* on;
  const char* off;
};
constexpr Switch kSwitches[] = {
    {"nodiratime", "diratime"}, {"lazytime", "nolazytime"}, {"sync", "async"}, {"dirsync", ""}};

// ext4's, which are on or off by default.
struct Option {
  const char* on;
  const char* off;
  bool is_default;
};
constexpr Option kExt4[] = {{"barrier", "nobarrier", true},
                            {"discard", "nodiscard", false},
                            {"auto_da_alloc", "noauto_da_alloc", true}};
constexpr char kCommit[] = "commit=";
constexpr int kDefaultCommit = 5;  // seconds

// The flags of a mount as words: with one that says how access times are kept.
Words FlagsOf(const MountEntry& mount) {
  Words all = WordsOf(mount.options);
  // sync, dirsync and lazytime are flags of the file system, which mountinfo shows among its
  // options. A remount sets them together with those of the mount.
  for (const std::string& word : WordsOf(mount.filesystem_options)) {
    if (!Has(all, word)) all.push_back(word);
  }
  Words flags;
  for (const Flag& flag : kKept) {
    if (Has(all, flag.name)) flags.emplace_back(flag.name);
  }
  // mountinfo names no kind where access times are kept strictly.
  if (!Has(flags, "noatime") && !Has(flags, "relatime") && !Has(flags, "strictatime")) {
    flags.emplace_back("strictatime");
  }
  return flags;
}

bool IsOn(const Option& option, const MountEntry& now) {
  const Words words = WordsOf(now.filesystem_options);
  if (Has(words, option.on)) return true;
  return !Has(words, option.off) && option.is_default;
}

std::string CommitOf(const MountEntry& now) {
  for (const std::string& word : WordsOf(now.filesystem_options)) {
    if (word.rfind(kCommit, 0) == 0) return word;
  }
  // ext4 shows the option only where it is not the default.
  return absl::StrCat(kCommit, kDefaultCommit);
}

// Why the file system cannot have the option, and what has the same effect; empty if that is not
// known.
std::string WithoutOption(const std::string& type, const std::string& word) {
  if (type != "xfs" || (word != "barrier" && word != "nobarrier")) return "";
  return absl::StrCat(
      "xfs has no ", word,
      " since Linux 4.19: it flushes the device's cache for every sync. ext4 has nobarrier, and "
      "the "
      "environment's write_cache: write_through leaves out the flushes of any file system");
}

// Changes flags by a word; false when it is not one of those.
bool ChangeFlags(const std::string& word, Words* flags) {
  const std::string atime = word == "atime" ? "strictatime" : word;
  for (const char* kind : kAtime) {
    if (atime != kind) continue;
    for (const char* other : kAtime) std::erase(*flags, other);
    flags->push_back(atime);
    return true;
  }
  for (const Switch& change : kSwitches) {
    if (word != change.on && (word != change.off || word.empty())) continue;
    std::erase(*flags, change.on);
    if (word == change.on) flags->push_back(word);
    return true;
  }
  return false;
}

// Returns the option that takes back what a word changes of ext4; nothing for other words.
std::optional<std::string> Ext4Restore(const std::string& word, const MountEntry& now) {
  for (const Option& option : kExt4) {
    if (word == option.on || word == option.off) return IsOn(option, now) ? option.on : option.off;
  }
  int seconds = 0;
  if (word.rfind(kCommit, 0) == 0 && absl::SimpleAtoi(word.substr(strlen(kCommit)), &seconds) &&
      seconds >= 0 && seconds <= 3600) {
    return CommitOf(now);
  }
  return std::nullopt;
}

std::string Join(const Words& flags, const Words& options) {
  return absl::StrCat(absl::StrJoin(flags, ","), ";", absl::StrJoin(options, ","));
}

}  // namespace

absl::StatusOr<WantedSetting> PlanRemount(const v1::Remount& remount, const MountEntry& now) {
  // MS_REMOUNT without MS_BIND gives the flags to the file system as well (mount(2)): a bind mount
  // that is read-only would make all other mounts of it read-only.
  if (Has(WordsOf(now.options), "ro") && !Has(WordsOf(now.filesystem_options), "ro")) {
    return absl::InvalidArgumentError(
        absl::StrCat(remount.path(),
                     ": is mounted read-only, and its file system is writable: a "
                     "remount would make the file system read-only everywhere; "
                     "name a mount point that is writable"));
  }
  Words flags = FlagsOf(now);
  const Words flags_before = flags;
  Words options, options_before;
  for (const std::string& word : WordsOf(remount.options())) {
    if (ChangeFlags(word, &flags)) continue;
    const auto restore_to = now.type == "ext4" ? Ext4Restore(word, now) : std::nullopt;
    if (!restore_to) {
      const std::string without = WithoutOption(now.type, word);
      if (!without.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(remount.path(), ": ", without));
      }
      return absl::InvalidArgumentError(absl::StrCat(
          remount.path(), ": the mount option '", common::Printable(word, 60), "' of ", now.type,
          " cannot be restored with certainty; docs/reference/job.md lists those that can"));
    }
    options.push_back(word);
    options_before.push_back(*restore_to);
  }
  WantedSetting wanted;
  wanted.thing = remount.path();
  wanted.name = kMountOptions;
  wanted.options = remount.options();
  wanted.value = Join(flags, options);
  wanted.restore_to = Join(flags_before, options_before);
  wanted.before = OptionsOf(now);
  wanted.filesystem = now.number;
  return wanted;
}

bool HasOptions(const std::string& options, const MountEntry& now) {
  for (const std::string& word : WordsOf(options)) {
    Words flags = FlagsOf(now);
    const Words before = flags;
    // A word that would change nothing is in effect.
    if (ChangeFlags(word, &flags)) {
      std::sort(flags.begin(), flags.end());
      Words sorted = before;
      std::sort(sorted.begin(), sorted.end());
      if (flags != sorted) return false;
      continue;
    }
    if (Ext4Restore(word, now) != word) return false;
  }
  return true;
}

absl::StatusOr<WantedSetting> KernelSettings::OfMount(const v1::Remount& remount) const {
  const KernelUses uses(root_);
  const MountEntry* now = uses.MountAt(remount.path());
  if (now == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(remount.path(), ": nothing is mounted exactly there; name the mount point"));
  }
  return PlanRemount(remount, *now);
}

std::string RestoreThrough(const MountEntry& mount, const std::string& before,
                           const std::string& restore_to) {
  MountEntry restored = mount;
  restored.filesystem_options = before.substr(before.find(';') + 1);
  return absl::StrCat(absl::StrJoin(FlagsOf(restored), ","),
                      restore_to.substr(std::min(restore_to.find(';'), restore_to.size())));
}

absl::Status Remount(const common::FileDescriptor& mount_root, const std::string& target,
                     const std::string& value) {
  const std::vector<std::string> parts = absl::StrSplit(value, absl::MaxSplits(';', 1));
  unsigned long bits = MS_REMOUNT;
  const Words words = WordsOf(parts[0]);
  for (const Flag& flag : kKept) {
    if (Has(words, flag.name)) bits |= flag.bits;
  }
  const std::string data = parts.size() > 1 ? parts[1] : "";
  // With MS_REMOUNT the kernel ignores source and type (mount(2)).
  // The link of a descriptor leads to the mount that is held, not to what covers it by now.
  const std::string path = absl::StrCat("/proc/self/fd/", mount_root.get());
  if (mount("none", path.c_str(), nullptr, bits, data.c_str()) == 0) return absl::OkStatus();
  return common::ErrnoStatus(errno, absl::StrCat(target, ": remount with '", value, "'"));
}

}  // namespace lockstep::worker
