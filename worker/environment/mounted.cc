// Which mount it was whose options a phase has changed: a path, and the number of a mount, may be
// another one's by the time they are restored.

#include "worker/environment/mounted.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "worker/environment/remount.h"
#include "worker/host/device_number.h"
#include "worker/host/mount_tree.h"

namespace lockstep::worker {
namespace {

using Entry = v1::SettingsJournal::Entry;

constexpr size_t kMaxReached = 64;
constexpr char kRoot[] = "";  // descriptors lead only into the real file systems

std::string NumberText(dev_t number) { return absl::StrCat(major(number), ":", minor(number)); }

// The mount's number, of the kind that `mask` asks for; 0 where the kernel does not have it.
uint64_t MountNumber(const common::FileDescriptor& fd, unsigned mask) {
  struct statx facts = {};
  // No server is asked for what only this kernel knows.
  if (statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, &facts) != 0) return 0;
  return (facts.stx_mask & mask) != 0 ? facts.stx_mnt_id : 0;
}

std::optional<ReachedMount> Reach(const MountEntry& entry) {
  constexpr unsigned kUniqueId = 0x4000;  // STATX_MNT_ID_UNIQUE, which these headers lack
  ReachedMount reached;
  reached.root = common::FileDescriptor(open(entry.target.c_str(), O_PATH | O_CLOEXEC));
  if (!reached.root.valid()) return std::nullopt;
  const uint64_t id = MountNumber(reached.root, STATX_MNT_ID);
  // Another mount lies over it, or its path leads elsewhere by now.
  if (id != static_cast<uint64_t>(entry.id)) return std::nullopt;
  const uint64_t unique = MountNumber(reached.root, kUniqueId);
  reached.id = unique != 0 ? unique : id;
  reached.entry = entry;
  return reached;
}

// The entry of mountinfo with this number; null where it is not mounted (any more).
const MountEntry* EntryOf(const KernelUses& uses, const MountEntry& mount) {
  for (const MountEntry* entry : uses.MountsOf(mount.number)) {
    if (entry->number == mount.number && entry->id == mount.id) return entry;
  }
  return nullptr;
}

bool IsReadOnlyMount(const MountEntry& mount) {
  const auto has = [](const std::string& options) {
    const std::vector<std::string> words = absl::StrSplit(options, ',');
    return std::find(words.begin(), words.end(), "ro") != words.end();
  };
  // A remount would make the file system read-only everywhere (PlanRemount()).
  return has(mount.options) && !has(mount.filesystem_options);
}

v1::Remount RequestOf(const WantedSetting& wanted) {
  v1::Remount remount;
  remount.set_path(wanted.thing);
  remount.set_options(wanted.options);
  return remount;
}

std::string FilesystemPart(const std::string& options) {
  return options.substr(std::min(options.find(';'), options.size()));
}

std::string NotRestored(const Entry& entry, const std::string& why) {
  return absl::StrCat(entry.thing(), ": ", entry.name(), " is not restored to ", entry.before(),
                      ": ", why);
}

}  // namespace

std::vector<ReachedMount> ReachMounts(dev_t filesystem, const std::string& own) {
  const KernelUses uses(kRoot);
  const MountTree tree(kRoot);
  std::vector<ReachedMount> reached;
  size_t others = 0;
  for (const MountEntry* entry : uses.MountsOf(filesystem)) {
    if (entry->number != filesystem) continue;
    if (entry->target != own) {
      // A bind mount may lie below a directory of a server that does not answer.
      const auto where = tree.Find(entry->target);
      if (!where.ok() || !where->is_local || others == kMaxReached) continue;
      ++others;
    }
    if (auto mount = Reach(*entry)) reached.push_back(*std::move(mount));
  }
  return reached;
}

absl::StatusOr<WantedSetting> MountOptions::Hold(const WantedSetting& wanted) {
  const KernelUses uses(kRoot);
  const MountEntry* now = uses.MountAt(wanted.thing);
  auto mount = now == nullptr ? std::nullopt : Reach(*now);
  if (!mount || mount->entry.number != wanted.filesystem) {
    return absl::FailedPreconditionError(
        absl::StrCat(wanted.thing,
                     ": another file system was mounted there, or this one was "
                     "unmounted, since the phase began"));
  }
  auto planned = PlanRemount(RequestOf(wanted), mount->entry);
  if (planned.ok()) held_[wanted.thing] = std::make_shared<ReachedMount>(*std::move(mount));
  return planned;
}

void MountOptions::Identify(const WantedSetting& wanted, Entry* entry) const {
  entry->set_filesystem(NumberText(wanted.filesystem));
  entry->set_disk_sequence(KernelSettings(kRoot).SequenceOf(wanted.filesystem));
  const auto held = held_.find(wanted.thing);
  if (held != held_.end()) entry->set_mount_id(held->second->id);
  for (const ReachedMount& mount : ReachMounts(wanted.filesystem, wanted.thing)) {
    entry->add_mount_ids(mount.id);
  }
}

absl::Status MountOptions::Write(const WantedSetting& wanted) const {
  const auto held = held_.find(wanted.thing);
  if (held == held_.end()) {
    return absl::InternalError(wanted.thing + ": the mount is not held");
  }
  // The phase may have changed the file system through another mount point just now. A remount
  // without these flags would take them away.
  const auto now = Read(wanted.thing);
  if (!now.ok()) return now.status();
  const auto planned = PlanRemount(RequestOf(wanted), *now);
  if (!planned.ok()) return planned.status();
  return Remount(held->second->root, wanted.thing, planned->value);
}

absl::StatusOr<MountEntry> MountOptions::Read(const std::string& target) const {
  const auto held = held_.find(target);
  const KernelUses uses(kRoot);
  const MountEntry* now = held == held_.end() ? nullptr : EntryOf(uses, held->second->entry);
  if (now == nullptr) return absl::NotFoundError(target + ": has been unmounted");
  return *now;
}

absl::StatusOr<MountOptions::Way> MountOptions::WayTo(const Entry& entry) const {
  const auto held = held_.find(entry.thing());
  const KernelUses uses(kRoot);
  if (held != held_.end() && held->second->id == entry.mount_id() &&
      EntryOf(uses, held->second->entry) != nullptr) {
    return Way{held->second, true};
  }
  const dev_t number = ParseDeviceNumber(entry.filesystem()).value_or(0);
  if (number == 0) {
    return absl::NotFoundError("the journal does not say which file system it was");
  }
  if (KernelSettings(kRoot).SequenceOf(number) != entry.disk_sequence()) {
    return absl::NotFoundError(
        absl::StrCat("device ", entry.filesystem(), " is another one by now"));
  }
  Way other;
  bool is_mounted = false;
  for (ReachedMount& mount : ReachMounts(number, entry.thing())) {
    is_mounted = true;
    const auto& known = entry.mount_ids();
    // While one of these mounts is there, the file system has not been unmounted: it is the one
    // that was changed. A later mount of the device has the options that somebody gave it.
    if (std::find(known.begin(), known.end(), mount.id) == known.end()) continue;
    const bool is_own = mount.id == entry.mount_id();
    if (!is_own && (other.mount != nullptr || IsReadOnlyMount(mount.entry))) continue;
    auto kept = std::make_shared<ReachedMount>(std::move(mount));
    if (is_own) return Way{std::move(kept), true};
    other.mount = std::move(kept);
  }
  if (other.mount != nullptr) return other;
  const MountEntry* there = uses.MountAt(entry.thing());
  const bool is_hidden = !uses.MountsOf(number).empty();
  return absl::NotFoundError(absl::StrCat(
      is_mounted  ? "its file system has been mounted anew since, with options of that mount"
      : is_hidden ? "the worker reaches none of the mount points of its file system"
                  : "its file system is not mounted any more",
      there != nullptr && there->number != number ? "; another one is mounted there by now" : "",
      "; the phase had made it ", entry.value()));
}

std::string MountOptions::Judge(const Entry& entry, const Way& way) const {
  const KernelUses uses(kRoot);
  const MountEntry* now = EntryOf(uses, way.mount->entry);
  if (now == nullptr) return NotRestored(entry, "it has been unmounted during that time");
  const std::string after = OptionsOf(*now);
  const MountEntry* there = uses.MountAt(entry.thing());
  // The flags of a mount itself are not those of the file system.
  if (!way.is_own && there != nullptr && there->number != now->number &&
      !entry.shown().starts_with(entry.before().substr(0, entry.before().find(';') + 1))) {
    return NotRestored(entry, absl::StrCat("another file system is mounted over it by now; the "
                                           "options of its own file system are restored, through ",
                                           now->target));
  }
  if (way.is_own ? after == entry.before()
                 : FilesystemPart(after) == FilesystemPart(entry.before())) {
    return "";
  }
  return absl::StrCat(now->target, ": ", entry.name(), " is ", after, " and not ", entry.before(),
                      " as before");
}

std::vector<std::string> MountOptions::Restore(const std::vector<Entry>& entries) const {
  std::vector<std::string> problems(entries.size());
  std::vector<Way> ways(entries.size());
  const KernelUses uses(kRoot);
  // Several entries may be of one file system: all are looked at before the first is restored.
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    auto way = WayTo(entry);
    if (!way.ok()) {
      problems[i] = NotRestored(entry, std::string(way.status().message()));
      continue;
    }
    const MountEntry* now = EntryOf(uses, (*way).mount->entry);
    const std::string options = now == nullptr ? "" : OptionsOf(*now);
    // If the worker was killed before it had read the options back, nobody knows what they were.
    const bool is_changed = !entry.shown().empty() &&
                            FilesystemPart(options) != FilesystemPart(entry.shown()) &&
                            FilesystemPart(options) != FilesystemPart(entry.before());
    const bool own_changed = (*way).is_own && !entry.shown().empty() && options != entry.shown() &&
                             options != entry.before();
    if (is_changed || own_changed) {
      problems[i] =
          NotRestored(entry, absl::StrCat("somebody has made it ", options, " during that time"));
      continue;
    }
    ways[i] = *std::move(way);
  }
  for (size_t i = entries.size(); i-- > 0;) {
    if (ways[i].mount == nullptr || Judge(entries[i], ways[i]).empty()) continue;
    const MountEntry& mount = ways[i].mount->entry;
    const std::string value =
        ways[i].is_own ? entries[i].restore_to()
                       : RestoreThrough(mount, entries[i].before(), entries[i].restore_to());
    const absl::Status put = Remount(ways[i].mount->root, mount.target, value);
    if (!put.ok()) problems[i] = NotRestored(entries[i], std::string(put.message()));
  }
  // The kernel may accept a value and make another one of it, so that only what it shows afterwards
  // counts.
  for (size_t i = 0; i < entries.size(); ++i) {
    if (ways[i].mount != nullptr && problems[i].empty()) problems[i] = Judge(entries[i], ways[i]);
  }
  return problems;
}

}  // namespace lockstep::worker
