#include "worker/environment/settings.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/text.h"

namespace lockstep::worker {
namespace {

constexpr char kScheduler[] = "scheduler";

// The kernel loads the module of a scheduler that is written to the queue and that it does not
// offer yet (block/elevator.c). These are all that Linux has.
constexpr const char* kSchedulers[] = {"none", "mq-deadline", "kyber", "bfq"};

// "none [mq-deadline] kyber": all of them, and the one in brackets.
std::vector<std::string> ChoicesIn(const std::string& text, std::string* chosen) {
  std::vector<std::string> choices;
  for (const auto& word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const bool is_chosen = word.size() > 2 && word.front() == '[' && word.back() == ']';
    choices.emplace_back(is_chosen ? word.substr(1, word.size() - 2) : word);
    // A device without a choice says "none", without brackets.
    if (is_chosen || choices.size() == 1) *chosen = choices.back();
  }
  return choices;
}

}  // namespace

std::string OptionsOf(const MountEntry& mount) {
  return absl::StrCat(mount.options, ";", mount.filesystem_options);
}

std::string KernelSettings::FileOf(const std::string& device, const std::string& name) const {
  // sysfs shows a slash in a device's name as an exclamation mark (cciss!c0d0).
  return absl::StrCat(root_, "/sys/class/block/", absl::StrReplaceAll(device, {{"/", "!"}}),
                      "/queue/", name);
}

uint64_t KernelSettings::SequenceOf(const std::string& device) const {
  uint64_t sequence = 0;
  const std::string text =
      common::ReadTrimmed(absl::StrCat(root_, "/sys/class/block/", device, "/diskseq"));
  // A device before Linux 5.15 has no sequence: 0 then equals 0 when the setting is restored.
  return absl::SimpleAtoi(text, &sequence) ? sequence : 0;
}

uint64_t KernelSettings::SequenceOf(dev_t number) const {
  const std::string node =
      absl::StrCat(root_, "/sys/dev/block/", major(number), ":", minor(number));
  uint64_t sequence = 0;
  for (const char* file : {"/diskseq", "/../diskseq"}) {
    if (absl::SimpleAtoi(common::ReadTrimmed(node + file), &sequence)) return sequence;
  }
  return 0;
}

absl::StatusOr<std::string> KernelSettings::Read(const std::string& thing,
                                                 const std::string& name) const {
  if (name == kMountOptions) {
    const KernelUses uses(root_);
    const MountEntry* now = uses.MountAt(thing);
    if (now == nullptr) return absl::NotFoundError(thing + ": nothing is mounted there");
    return OptionsOf(*now);
  }
  const auto text = common::ReadFile(FileOf(thing, name));
  if (!text.ok()) return absl::NotFoundError(absl::StrCat(thing, " has no setting ", name));
  const std::string value(absl::StripAsciiWhitespace(*text));
  if (name != kScheduler) return value;
  std::string chosen;
  ChoicesIn(value, &chosen);
  return chosen;
}

absl::Status KernelSettings::Write(const std::string& thing, const std::string& name,
                                   const std::string& value) const {
  const std::string file = FileOf(thing, name);
  const common::FileDescriptor fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  // sysfs takes a value by one write(2), and refuses it by the errno of that.
  const bool written = fd.valid() && write(fd.get(), value.data(), value.size()) ==
                                         static_cast<ssize_t>(value.size());
  if (written) return absl::OkStatus();
  return common::ErrnoStatus(
      errno, absl::StrCat(thing, ": ", name, " cannot be set to '", value, "' (", file, ")"));
}

absl::Status KernelSettings::Holds(const WantedSetting& wanted) const {
  const auto value = Read(wanted.thing, wanted.name);
  if (!value.ok()) return value.status();
  if (*value == wanted.value) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(wanted.thing, ": ", wanted.name, " was set to ",
                                          wanted.value, ", and the kernel made it ", *value));
}

absl::StatusOr<std::vector<WantedSetting>> KernelSettings::OfDevice(
    const v1::Environment& environment, const std::string& device) const {
  std::vector<WantedSetting> wanted;
  const auto want = [&](const char* name, const std::string& value) {
    wanted.push_back({device, name, value, ""});
  };
  // In the order of kOrder in keeper.cc: a setting comes after those that imply it.
  if (!environment.scheduler().empty()) want(kScheduler, environment.scheduler());
  if (environment.nr_requests() != 0) want("nr_requests", absl::StrCat(environment.nr_requests()));
  if (environment.max_sectors_bytes() != 0) {
    want("max_sectors_kb", absl::StrCat(environment.max_sectors_bytes() >> 10));
  }
  if (environment.write_cache() != v1::WRITE_CACHE_UNSPECIFIED) {
    want("write_cache",
         environment.write_cache() == v1::WRITE_CACHE_WRITE_BACK ? "write back" : "write through");
  }
  // 0 is a value of its own: it turns read-ahead off.
  if (environment.has_read_ahead_bytes()) {
    want("read_ahead_kb", absl::StrCat(environment.read_ahead_bytes() >> 10));
  }
  for (const WantedSetting& setting : wanted) {
    const std::string text = common::ReadTrimmed(FileOf(device, setting.name));
    if (text.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(device, " has no setting ", setting.name,
                                                        " (", FileOf(device, setting.name), ")"));
    }
    std::string chosen;
    const std::vector<std::string> choices = ChoicesIn(text, &chosen);
    if (setting.name == kScheduler && choices == std::vector<std::string>{"none"} &&
        setting.value != "none") {
      return absl::FailedPreconditionError(
          absl::StrCat(device, " has no scheduler: the kernel offers only none"));
    }
    const auto is = [&](const std::string& name) { return name == setting.value; };
    if (setting.name == kScheduler && std::none_of(choices.begin(), choices.end(), is) &&
        std::none_of(std::begin(kSchedulers), std::end(kSchedulers), is)) {
      return absl::FailedPreconditionError(
          absl::StrCat(device, " has no scheduler ", setting.value, ": it offers ",
                       absl::StrJoin(choices, ", "), "; if a module has it, load that first"));
    }
    // The kernel would refuse the value with a mere EINVAL.
    uint64_t most = 0;
    uint64_t asked = 0;
    if (setting.name == "max_sectors_kb" &&
        absl::SimpleAtoi(common::ReadTrimmed(FileOf(device, "max_hw_sectors_kb")), &most) &&
        absl::SimpleAtoi(setting.value, &asked) && asked > most) {
      return absl::FailedPreconditionError(absl::StrCat(device, ": max_sectors of ", asked,
                                                        " KiB is more than the device takes (",
                                                        most, " KiB)"));
    }
  }
  return wanted;
}

}  // namespace lockstep::worker
