#include "worker/doctor/allow_checks.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/units.h"
#include "worker/host/device_use.h"
#include "worker/host/inventory.h"
#include "worker/host/mount_table.h"

namespace lockstep::worker {
namespace {

using doctor::Findings;

constexpr uint64_t kLittleSpace = 1 << 30;
constexpr uint64_t kFewInodes = 1000;

std::string SizeText(uint64_t bytes) { return common::FormatSize(static_cast<double>(bytes)); }

// One entry, tried alone: a bad one must not hide what the others find.
absl::StatusOr<Guard> TryEntry(const std::string& entry, const AllowFlags& flags) {
  auto made = std::make_shared<std::optional<Guard>>();
  // Guard::Make() resolves the path, which does not come back from a file server that is away.
  const absl::Status status = WithinLimit(
      "--allow " + entry, limits::kProbeNs,
      [entry, made, luns = flags.luns, keys = flags.keys, expendable = flags.allow_expendable] {
        auto guard = Guard::Make({entry}, expendable, luns, keys);
        if (!guard.ok()) return guard.status();
        *made = *std::move(guard);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return **made;
}

// The type of the file system that holds `path`, by the mount table, which asks no file system.
std::string FileSystemOf(const std::string& path) {
  std::string type;
  size_t longest = 0;
  for (const MountLine& line : ParseMountInfo(common::ReadTrimmed("/proc/self/mountinfo"))) {
    const bool holds =
        line.target == "/" || path == line.target || path.rfind(line.target + "/", 0) == 0;
    // Later mounts cover earlier ones.
    if (!holds || line.target.size() < longest) continue;
    longest = line.target.size();
    type = line.type;
  }
  return type;
}

void CheckPathEntry(const Guard::Named& named, Findings* findings) {
  auto facts = std::make_shared<PathFacts>();
  facts->path = named.text;
  facts->filesystem = FileSystemOf(named.real_path);
  const absl::Status status = WithinLimit(
      named.real_path, limits::kProbeNs, [path = named.real_path, facts]() -> absl::Status {
        struct statvfs space;
        if (statvfs(path.c_str(), &space) != 0) return common::ErrnoStatus(errno, path);
        facts->free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
        facts->free_inodes = space.f_favail;
        facts->inodes = space.f_files;
        facts->read_only = (space.f_flag & ST_RDONLY) != 0;
        // access(2) goes by the real user, as the worker will.
        facts->writable = access(path.c_str(), W_OK) == 0;
        return absl::OkStatus();
      });
  if (status.ok()) {
    CheckAllowedPath(*facts, findings);
    return;
  }
  findings->Problem(named.text, std::string(status.message()),
                    {"jobs that name it fail, and may hang until their hard stop",
                     absl::StrCat("findmnt -T ", named.text, "; is its server up?")});
}

bool Covers(const Guard::Named& named, const v1::BlockDevice& device) {
  if (named.kind == Guard::Named::Kind::kIdentity) return named.text == device.identity();
  return device.path() == named.real_path || device.path().rfind(named.real_path + "/", 0) == 0;
}

}  // namespace

void CheckAllowedPath(const PathFacts& facts, Findings* findings) {
  const std::string found =
      absl::StrCat(facts.filesystem.empty() ? "a file system" : facts.filesystem, ", ",
                   SizeText(facts.free_bytes), " free; jobs may make and overwrite files there");
  // The gravest finding of a path stands alone: the others follow from it, or matter only without
  // it.
  if (facts.read_only || !facts.writable) {
    findings->Warn(
        facts.path,
        absl::StrCat(facts.filesystem, facts.read_only ? ", mounted read-only"
                                                       : ", and this user may not write there"),
        {"jobs can read files there, and lay out none",
         facts.read_only ? absl::StrCat("findmnt -T ", facts.path, "; mount -o remount,rw")
                         : "start the worker as the directory's owner, or chown the directory"});
  } else if (facts.inodes > 0 && facts.free_inodes < kFewInodes) {
    findings->Warn(facts.path, absl::StrCat(found, "; ", facts.free_inodes, " inodes free"),
                   {"jobs of many small files run out of them", "df -i"});
  } else if (facts.free_bytes < kLittleSpace) {
    findings->Warn(facts.path, found,
                   {"prepare fails when the targets do not fit", "remove files: df -h"});
  } else if (facts.filesystem == "tmpfs" || facts.filesystem == "ramfs") {
    findings->Warn(facts.path, found,
                   {"it is memory: a job measures no storage there",
                    "name a directory on the storage that is under test"});
  } else {
    findings->Ok(facts.path, found);
  }
}

void CheckAllowedDevice(const v1::BlockDevice& device,
                        const std::vector<std::string>& allow_expendable, Findings* findings) {
  const std::string& path = device.path();
  const std::string about = absl::StrCat(
      SizeText(device.size_bytes()), device.model().empty() ? "" : ", " + device.model(),
      device.identity().empty() ? ", without an identity" : ", " + device.identity());
  DeviceUse writing;
  // The guard is asked as for a load that writes. Reading needs less.
  writing.write = true;
  const absl::Status guard = CheckDeviceFacts(path, device, writing);
  const bool enrolled = !device.enrolled().empty();
  const bool has_content = !device.busy() && device.in_use().rfind("carries ", 0) == 0;
  if (enrolled && (guard.ok() || has_content)) {
    findings->Ok(path, absl::StrCat(about, "; enrolled ", device.enrolled(),
                                    ": jobs overwrite it without asking"));
  } else if (guard.ok()) {
    findings->Ok(path, absl::StrCat(about,
                                    "; samples find nothing on it: jobs may write it if "
                                    "all of it is blank, or with a plan's token"));
  } else if (has_content) {
    const bool listed = std::find(allow_expendable.begin(), allow_expendable.end(),
                                  device.identity()) != allow_expendable.end();
    findings->Warn(
        path, absl::StrCat(about, "; ", device.in_use()),
        {"the guard lets jobs read it; it lets them write it only where the job's `expendable` and "
         "this worker's --allow-expendable both name it",
         device.identity().empty() ? "it has no identity to name: empty it yourself, if nobody "
                                     "needs it (wipefs, blkdiscard)"
         : listed                  ? "--allow-expendable names it; name it in the job, too"
                  : absl::StrCat("if nobody needs it: --allow-expendable ", device.identity(),
                                 ", and in the job; or lockstep devices enroll ", path)});
  } else {
    findings->Warn(
        path,
        absl::StrCat(about, "; the guard refuses to write it: ", std::string(guard.message())),
        {"jobs may read it; nothing overrides this while it lasts",
         absl::StrCat("lsblk ", path, "; lockstep devices")});
  }
  if (!device.rotational() && (device.scheduler() == "bfq" || device.scheduler() == "cfq")) {
    findings->Warn(absl::StrCat(path, " scheduler"), device.scheduler(),
                   {"it costs processor time and holds I/Os back, which fast devices show as "
                    "latency",
                    absl::StrCat("echo none > /sys/class/block/", device.name(),
                                 "/queue/scheduler, or a job's `environment`")});
  } else if (!device.scheduler().empty()) {
    findings->Ok(absl::StrCat(path, " scheduler"), device.scheduler());
  }
}

void CheckAllowed(const AllowFlags& flags, Findings* findings) {
  if (flags.allow.empty()) {
    findings->Warn("allow", "--allow names nothing",
                   {"the worker refuses every job that does more than observe",
                    "--allow with the directory, file or device that jobs may use"});
    return;
  }
  std::vector<std::string> good;
  std::vector<Guard::Named> devices;
  for (const std::string& entry : flags.allow) {
    const auto guard = TryEntry(entry, flags);
    if (!guard.ok()) {
      findings->Problem(entry, std::string(guard.status().message()),
                        {"a worker with it does not start",
                         absl::IsDeadlineExceeded(guard.status())
                             ? absl::StrCat("findmnt -T ", entry, "; is its server up?")
                             : "ls -ld shows a path; lsblk and lockstep devices show devices"});
      continue;
    }
    good.push_back(entry);
    for (const Guard::Named& named : guard->Names()) {
      if (named.kind == Guard::Named::Kind::kPath) {
        CheckPathEntry(named, findings);
      } else if (named.kind != Guard::Named::Kind::kLun) {
        devices.push_back(named);
      }
    }
  }
  // One guard of all good entries: the inventory shows each device once, however many entries name
  // it.
  const auto whole = Guard::Make(good, flags.allow_expendable, flags.luns, flags.keys);
  if (!whole.ok()) return;
  std::vector<v1::BlockDevice> found = TakeInventory(*whole);
  std::erase_if(found, [](const v1::BlockDevice& device) { return !device.allowed(); });
  for (const v1::BlockDevice& device : found) {
    CheckAllowedDevice(device, flags.allow_expendable, findings);
  }
  for (const Guard::Named& named : devices) {
    if (std::any_of(found.begin(), found.end(), [&](const auto& d) { return Covers(named, d); })) {
      continue;
    }
    findings->Problem(
        named.text, "no block device of this host is it",
        {"jobs that name it fail", "lsblk -o NAME,SIZE,SERIAL,WWN; lockstep devices"});
  }
}

}  // namespace lockstep::worker
