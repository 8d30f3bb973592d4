#include "worker/environment/keeper.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace lockstep::worker {
namespace {

// fsync(2) of a file says nothing about its name: after a renaming or a removal the folder is
// synced, too.
absl::Status SyncFolder(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  const common::FileDescriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return common::ErrnoStatus(errno, folder);
  return absl::OkStatus();
}

// A setting that the kernel sets anew when another one is changed: another scheduler has a queue of
// another length, and other limits come with another read-ahead (blk_apply_bdi_limits()).
struct Implied {
  const char* by;
  const char* name;
};
constexpr Implied kImplied[] = {{"scheduler", "nr_requests"},
                                {"max_sectors_kb", "read_ahead_kb"},
                                {"write_cache", "read_ahead_kb"}};

// The order of changes and of their restoration: an implied setting comes after the one that
// implies it.
constexpr const char* kOrder[] = {"scheduler", "nr_requests", "max_sectors_kb", "write_cache",
                                  "read_ahead_kb"};
int RankOf(const std::string& name) {
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), name) -
                          std::begin(kOrder));
}

bool IsQueue(const std::string& name) { return name != kMountOptions; }

// The name of the lock of a setting that no two workers change at once. A file system has one set
// of options, under however many mount points, so that its number counts and not a path.
std::string LockKey(const std::string& thing, const std::string& filesystem) {
  return filesystem.empty() ? absl::StrReplaceAll(thing, {{"/", "_"}})
                            : absl::StrCat("filesystem-", filesystem);
}

std::string NumberWords(const WantedSetting& wanted) {
  if (IsQueue(wanted.name)) return "";
  return absl::StrCat(major(wanted.filesystem), ":", minor(wanted.filesystem));
}

bool IsAbout(const v1::SettingsJournal::Entry& entry, const WantedSetting& wanted,
             const std::string& name) {
  return entry.thing() == wanted.thing && entry.name() == name &&
         entry.filesystem() == NumberWords(wanted);
}

}  // namespace

EnvironmentKeeper::EnvironmentKeeper(const std::string& directory, const std::string& root)
    : path_(directory + "/settings.json"),
      root_(root),
      kernel_(root),
      boot_id_(common::ReadTrimmed(root + "/proc/sys/kernel/random/boot_id")) {}

absl::Status EnvironmentKeeper::Lock(const std::string& key, const std::string& thing) {
  if (locks_.contains(key)) return absl::OkStatus();
  // The locks are not in the state directory: workers of one host have different ones, and must see
  // each other's locks.
  const std::string folder = root_ + "/run/lockstep";
  if (absl::Status made = common::MakeDirectories(folder, 0755); !made.ok()) return made;
  const std::string path = absl::StrCat(folder, "/settings-", key, ".lock");
  common::FileDescriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return common::ErrnoStatus(errno, path);
  // The kernel releases the lock however the worker ends, so that a killed one blocks nobody.
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        thing, ": another worker of this host has changed its settings for a phase of its own"));
  }
  locks_[key] = std::move(lock);
  return absl::OkStatus();
}

absl::Status EnvironmentKeeper::WriteJournal() {
  if (journal_.entries().empty()) {
    if (unlink(path_.c_str()) != 0 && errno != ENOENT) return common::ErrnoStatus(errno, path_);
    return SyncFolder(path_);
  }
  journal_.set_boot_id(boot_id_);
  std::string text;
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(journal_, &text, options).ok()) {
    return absl::InternalError(path_ + ": the journal cannot be written");
  }
  // The rename replaces the journal as a whole: a crash leaves the old one or the new one.
  if (absl::Status status = common::WriteFileAtomically(path_, text); !status.ok()) return status;
  return SyncFolder(path_);
}

std::vector<std::string> EnvironmentKeeper::Recover() {
  const auto text = common::ReadFile(path_);
  has_recovered_all_ = true;
  if (absl::IsNotFound(text.status())) return {};
  v1::SettingsJournal kept;
  // The file stays for the operator to read, until a later phase replaces or removes it.
  if (!text.ok() || !google::protobuf::util::JsonStringToMessage(*text, &kept).ok()) {
    has_recovered_all_ = false;
    return {path_ + ": cannot be read; settings that a phase has changed are not restored"};
  }
  if (kept.boot_id() != boot_id_) {
    (void)WriteJournal();
    return {"this host was started anew since settings were changed: they are gone by themselves"};
  }
  std::vector<std::string> words;
  v1::SettingsJournal locked_by_others;
  journal_.Clear();
  for (const auto& entry : kept.entries()) {
    const absl::Status locked = Lock(LockKey(entry.thing(), entry.filesystem()), entry.thing());
    if (locked.ok()) {
      *journal_.add_entries() = entry;
    } else {
      has_recovered_all_ = false;
      words.emplace_back(locked.message());
      *locked_by_others.add_entries() = entry;
    }
  }
  const std::vector<std::string> problems = PutAllBack();
  for (int i = 0; i < static_cast<int>(problems.size()); ++i) {
    const auto& entry = journal_.entries(i);
    if (!problems[static_cast<size_t>(i)].empty()) has_recovered_all_ = false;
    words.push_back(problems[static_cast<size_t>(i)].empty()
                        ? absl::StrCat(entry.thing(), ": ", entry.name(), " is ", entry.before(),
                                       " again, as before the phase in which this worker ended")
                        : problems[static_cast<size_t>(i)]);
  }
  // Settings that another worker has locked are restored the next time.
  journal_ = locked_by_others;
  locks_.clear();
  if (absl::Status cleared = WriteJournal(); !cleared.ok()) words.emplace_back(cleared.message());
  return words;
}

absl::StatusOr<std::vector<WantedSetting>> EnvironmentKeeper::Take(
    const std::vector<WantedSetting>& wanted) {
  std::vector<WantedSetting> taken = wanted;
  for (WantedSetting& setting : taken) {
    absl::Status locked = Lock(LockKey(setting.thing, NumberWords(setting)), setting.thing);
    if (!locked.ok()) return locked;
    if (IsQueue(setting.name)) continue;
    // The options before may have been another worker's, until the lock was free.
    auto planned = mounts_.Hold(setting);
    if (!planned.ok()) return planned.status();
    setting = *std::move(planned);
  }
  return taken;
}

absl::StatusOr<std::string> EnvironmentKeeper::Read(const std::string& thing,
                                                    const std::string& name) const {
  if (IsQueue(name)) return kernel_.Read(thing, name);
  const auto mount = mounts_.Read(thing);
  if (!mount.ok()) return mount.status();
  return OptionsOf(*mount);
}

absl::Status EnvironmentKeeper::Holds(const WantedSetting& wanted) const {
  if (IsQueue(wanted.name)) return kernel_.Holds(wanted);
  const auto mount = mounts_.Read(wanted.thing);
  if (!mount.ok()) return mount.status();
  // mountinfo shows options in another form than they are written in, so that texts cannot be
  // compared.
  if (HasOptions(wanted.options, *mount)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(wanted.thing, ": ", wanted.name, " was set to ",
                                          wanted.options, ", and the kernel made it ",
                                          OptionsOf(*mount)));
}

absl::Status EnvironmentKeeper::ReadBack() {
  values_.clear();
  bool has_mounts = false;
  for (auto& entry : *journal_.mutable_entries()) {
    const auto value = Read(entry.thing(), entry.name());
    values_[{entry.thing(), entry.name()}] = value.ok() ? *value : "";
    if (IsQueue(entry.name())) continue;
    has_mounts = true;
    entry.set_shown(value.ok() ? *value : "");
  }
  // By what is shown the next start knows whether somebody has changed it since.
  return has_mounts ? WriteJournal() : absl::OkStatus();
}

absl::Status EnvironmentKeeper::Apply(const std::vector<WantedSetting>& wanted) {
  const auto taken = Take(wanted);
  absl::Status status = taken.status();
  for (size_t i = 0; status.ok() && i < taken->size(); ++i) status = Change((*taken)[i]);
  // The values are read back after the last change, since one setting may change another.
  for (size_t i = 0; status.ok() && i < taken->size(); ++i) status = Holds((*taken)[i]);
  if (status.ok()) status = ReadBack();
  if (status.ok()) return status;
  std::string words(status.message());
  for (const v1::SettingChange& change : Restore()) {
    if (!change.not_restored().empty()) absl::StrAppend(&words, "; ", change.not_restored());
  }
  return absl::Status(status.code(), words);
}

absl::Status EnvironmentKeeper::Change(const WantedSetting& wanted) {
  enum class Origin { kWanted, kImplied };
  const auto add = [&](const std::string& name, const std::string& restore_to,
                       Origin origin) -> absl::Status {
    const bool is_implied = origin == Origin::kImplied;
    const auto known =
        std::find_if(journal_.mutable_entries()->begin(), journal_.mutable_entries()->end(),
                     [&](const auto& entry) { return IsAbout(entry, wanted, name); });
    // The first entry has the host's own value. A later one would restore what the phase has set.
    if (known != journal_.mutable_entries()->end()) {
      if (!is_implied) known->set_value(wanted.value);
      return absl::OkStatus();
    }
    // Another mount point of the same file system may have been changed just now: what was planned
    // for a mount is what it was before.
    const absl::StatusOr<std::string> before =
        IsQueue(name) ? kernel_.Read(wanted.thing, name) : wanted.before;
    if (!before.ok()) return before.status();
    auto* entry = journal_.add_entries();
    entry->set_thing(wanted.thing);
    entry->set_name(name);
    entry->set_before(*before);
    entry->set_restore_to(restore_to.empty() ? *before : restore_to);
    entry->set_is_implied(is_implied);
    if (IsQueue(name)) {
      entry->set_disk_sequence(kernel_.SequenceOf(wanted.thing));
    } else {
      mounts_.Identify(wanted, entry);
    }
    if (!is_implied) entry->set_value(wanted.value);
    return absl::OkStatus();
  };
  absl::Status status = add(wanted.name, wanted.restore_to, Origin::kWanted);
  for (const Implied& implied : kImplied) {
    if (status.ok() && wanted.name == implied.by) status = add(implied.name, "", Origin::kImplied);
  }
  // The journal is on disk before the kernel has the value. Whenever the worker dies, the next one
  // knows what to restore.
  if (status.ok()) status = WriteJournal();
  if (!status.ok()) return status;
  return IsQueue(wanted.name) ? kernel_.Write(wanted.thing, wanted.name, wanted.value)
                              : mounts_.Write(wanted);
}

std::string EnvironmentKeeper::Restore(const v1::SettingsJournal::Entry& entry) const {
  const std::string what = absl::StrCat(entry.thing(), ": ", entry.name());
  if (kernel_.SequenceOf(entry.thing()) != entry.disk_sequence()) {
    return absl::StrCat(what, " is not restored: another device has that name by now");
  }
  const auto now = kernel_.Read(entry.thing(), entry.name());
  if (!now.ok())
    return absl::StrCat(what, " is not restored: ", std::string(now.status().message()));
  if (*now == entry.before()) return "";
  // A value that is neither the old one nor the phase's is somebody else's, and stays.
  if (!entry.is_implied() && *now != entry.value()) {
    return absl::StrCat(what, " is not restored to ", entry.before(), ": somebody has made it ",
                        *now, " during that time");
  }
  if (absl::Status put = kernel_.Write(entry.thing(), entry.name(), entry.restore_to());
      !put.ok()) {
    return absl::StrCat(what, " is not restored: ", std::string(put.message()));
  }
  // The kernel may accept a value and make another one of it, so that only what it shows afterwards
  // counts.
  const auto after = kernel_.Read(entry.thing(), entry.name());
  if (after.ok() && *after == entry.before()) return "";
  return absl::StrCat(what, " is ", after.ok() ? *after : "unknown", " and not ", entry.before(),
                      " as before");
}

std::vector<std::string> EnvironmentKeeper::PutAllBack() {
  std::stable_sort(
      journal_.mutable_entries()->begin(), journal_.mutable_entries()->end(),
      [](const auto& a, const auto& b) { return RankOf(a.name()) < RankOf(b.name()); });
  std::vector<std::string> problems;
  std::vector<v1::SettingsJournal::Entry> mounts;  // last, as kOrder has them
  for (const auto& entry : journal_.entries()) {
    if (IsQueue(entry.name())) {
      problems.push_back(Restore(entry));
    } else {
      mounts.push_back(entry);
    }
  }
  for (std::string& problem : mounts_.Restore(mounts)) problems.push_back(std::move(problem));
  mounts_.Release();
  return problems;
}

std::vector<v1::SettingChange> EnvironmentKeeper::Changes(
    const std::vector<std::string>& problems) const {
  std::vector<v1::SettingChange> changes;
  for (const auto& entry : journal_.entries()) {
    v1::SettingChange& change = changes.emplace_back();
    change.set_thing(entry.thing());
    change.set_name(entry.name());
    change.set_before(entry.before());
    const auto value = values_.find({entry.thing(), entry.name()});
    if (value != values_.end()) change.set_value(value->second);
    change.set_not_restored(problems[changes.size() - 1]);
  }
  return changes;
}

std::vector<v1::SettingChange> EnvironmentKeeper::Leave(const std::string& why) {
  std::vector<std::string> problems;
  for (const auto& entry : journal_.entries()) {
    problems.push_back(absl::StrCat(entry.thing(), ": ", entry.name(), " is not restored: ", why));
  }
  return Changes(problems);
}

std::vector<v1::SettingChange> EnvironmentKeeper::Restore() {
  std::vector<v1::SettingChange> changes = Changes(PutAllBack());
  journal_.Clear();
  values_.clear();
  // The journal goes after the settings are restored: a worker that dies in between restores once
  // more, which changes nothing.
  const absl::Status cleared = WriteJournal();
  for (v1::SettingChange& change : changes) {
    if (!cleared.ok() && change.not_restored().empty()) {
      change.set_not_restored(std::string(cleared.message()));
    }
  }
  // The locks go last: another worker must not take our values for the host's own.
  locks_.clear();
  return changes;
}

}  // namespace lockstep::worker
