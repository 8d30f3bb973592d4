#include "worker/host/observed_devices.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/limits.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {
namespace {

// Stacks of devices and of file systems have few levels. The limit ends the walk in any case.
constexpr int kMaxObservedDepth = 8;

bool IsLoopName(const std::string& name) { return absl::StartsWith(name, "loop"); }

}  // namespace

ObservableDevices::ObservableDevices(const std::vector<Guard::Named>& allowed, ObserveScope scope,
                                     const std::string& root)
    : root_(root), scope_(scope), kernel_(root), mounts_(root) {
  for (const Guard::Named& named : allowed) {
    allowed_.push_back(named.text);
    if (named.kind != Guard::Named::Kind::kPath) continue;
    const auto location = mounts_.Find(named.text);
    if (location.ok() && IsSamePath(named, *location)) allowed_paths_.push_back(location->path);
  }
  if (scope == ObserveScope::kAll) {
    for (const std::string& name : AllNames()) {
      // A loop device without a file and a drive without a medium have no size.
      const bool has_size = kernel_.PartsOf(name).size_bytes > 0;
      if (has_size) visible_.insert(kernel_.WholeDiskOf(name));
    }
    return;
  }
  for (const Guard::Named& named : allowed) AddNamed(named);
}

std::vector<std::string> ObservableDevices::AllNames() const {
  std::vector<std::string> names;
  for (const std::string& name : EntriesOf(root_ + "/sys/class/block")) {
    // A path of a multipath device that the kernel hides has no number, and no counters of its own.
    const std::string number = root_ + "/sys/class/block/" + name + "/dev";
    if (!common::ReadTrimmed(number).empty()) names.push_back(name);
  }
  return names;
}

void ObservableDevices::LeaveOut(const std::string& text, const std::string& reason) {
  constexpr size_t kMax = 64;
  if (left_out_.size() < kMax) left_out_.push_back(absl::StrCat("--allow ", text, ": ", reason));
}

void ObservableDevices::AddNamed(const Guard::Named& named) {
  if (named.kind == Guard::Named::Kind::kLun) {
    return LeaveOut(named.text, "a LUN without a kernel initiator has no block device here");
  }
  if (named.kind == Guard::Named::Kind::kPath) return AddPath(named);
  if (named.kind == Guard::Named::Kind::kIdentity) {
    const size_t before = visible_.size();
    for (const std::string& name : AllNames()) {
      if (IdentityOf(name) == named.text) visible_.insert(kernel_.WholeDiskOf(name));
    }
    if (visible_.size() == before) LeaveOut(named.text, "no block device has this identity now");
    return;
  }
  const auto location = mounts_.Find(named.text);
  const auto name = location.ok() ? NodeAt(*location) : location.status();
  if (!name.ok()) return LeaveOut(named.text, std::string(name.status().message()));
  if (!IsSame(named, *name)) {
    return LeaveOut(named.text,
                    "another device than when this worker started has that name; restart the "
                    "worker if that is meant");
  }
  visible_.insert(kernel_.WholeDiskOf(*name));
}

// Where a user other than root owns a directory on the way, that user could put a link to any other
// directory in its location. Links on a server's file system are not read, and no device is
// beneath.
bool ObservableDevices::IsSamePath(const Guard::Named& named, const MountTree::Location& location) {
  return named.real_path.empty() || named.real_path == location.path || !location.is_local;
}

// What --allow permits beneath a directory: files on it and on what is mounted beneath, and the
// devices that have their nodes there.
void ObservableDevices::AddPath(const Guard::Named& named) {
  const std::string& path = named.text;
  const auto location = mounts_.Find(path);
  if (!location.ok()) return LeaveOut(path, std::string(location.status().message()));
  if (!IsSamePath(named, *location)) {
    return LeaveOut(path,
                    "leads to another place than when this worker started; restart the worker if "
                    "that is meant");
  }
  const size_t before = visible_.size();
  std::string reason;
  const auto add = [&](const absl::StatusOr<Names>& found) {
    if (found.ok()) {
      visible_.insert(found->begin(), found->end());
    } else {
      reason = std::string(found.status().message());
    }
  };
  add(Under(path));
  for (const MountTree::Mount* mount : mounts_.Beneath(location->path)) add(UnderMount(*mount, 0));
  if (absl::StartsWith(location->path + "/", "/dev/")) {
    for (const std::string& name : AllNames()) {
      // The kernel writes ! where a name has a slash.
      const std::string path_of_node = "/dev/" + absl::StrReplaceAll(name, {{"!", "/"}});
      if (!absl::StartsWith(path_of_node, location->path + "/")) continue;
      // The /dev of a container has the nodes of some devices. sysfs lists all of the host.
      const auto node = mounts_.Find(path_of_node);
      if (node.ok() && NodeAt(*node).ok()) add(Names{kernel_.WholeDiskOf(name)});
    }
  }
  if (visible_.size() == before && !reason.empty()) LeaveOut(path, reason);
}

bool ObservableDevices::IsSame(const Guard::Named& named, const std::string& name) const {
  const std::string disk = kernel_.WholeDiskOf(name);
  const std::string identity = IsLoopName(disk) ? "" : kernel_.IdentityOf(name);
  if (!identity.empty()) return identity == named.identity;
  // Which file a loop device is over only its file system can say. Its attachment is the same as
  // long as the kernel's number of it is.
  const std::string sequence = common::ReadTrimmed(root_ + "/sys/class/block/" + disk + "/diskseq");
  return NumberIn(sequence) == named.disk_sequence;
}

std::string ObservableDevices::IdentityOf(const std::string& name) const {
  const std::string disk = kernel_.WholeDiskOf(name);
  if (!IsLoopName(disk)) return kernel_.IdentityOf(name);
  // The identity of a loop device is its file's, which is looked at for it.
  const std::string backing =
      common::ReadTrimmed(root_ + "/sys/class/block/" + disk + "/loop/backing_file");
  const auto location = mounts_.Find(backing);
  return location.ok() && location->is_local ? kernel_.IdentityOf(name) : "";
}

absl::StatusOr<std::string> ObservableDevices::NodeAt(const MountTree::Location& location) const {
  // As udev names it. In a container /dev may lack the links of sysfs' names, hence the number.
  struct stat facts;
  if (!location.is_local) {
    return absl::FailedPreconditionError(absl::StrCat(
        "lies on ", MountTree::Describe(*location.mount), ", not in this host's /dev"));
  }
  if (lstat((root_ + location.path).c_str(), &facts) != 0) {
    return absl::NotFoundError(common::ErrnoText(errno));
  }
  if (!S_ISBLK(facts.st_mode)) return absl::NotFoundError("no block device");
  return kernel_.NameOf(facts.st_rdev);
}

absl::StatusOr<ObservableDevices::Names> ObservableDevices::Under(const std::string& path,
                                                                  int depth) const {
  const auto location = mounts_.Find(path);
  if (!location.ok()) return location.status();
  if (const auto node = NodeAt(*location); node.ok()) return Names{kernel_.WholeDiskOf(*node)};
  struct stat facts;
  if (location->is_local && lstat((root_ + location->path).c_str(), &facts) != 0) {
    return absl::NotFoundError(common::ErrnoText(errno));
  }
  return UnderMount(*location->mount, depth);
}

absl::StatusOr<ObservableDevices::Names> ObservableDevices::UnderMount(
    const MountTree::Mount& mount, int depth) const {
  if (major(mount.number) != 0) {
    const auto name = kernel_.NameOf(mount.number);
    if (!name.ok()) return name.status();
    return Names{kernel_.WholeDiskOf(*name)};
  }
  // btrfs and overlays have numbers of their own: what they are mounted from leads on.
  if (mount.type == "btrfs" && depth < kMaxObservedDepth) {
    const auto source = mounts_.Find(mount.source);
    const auto name = source.ok() ? NodeAt(*source) : source.status();
    if (name.ok()) return PoolOf(*name);
    // A container's /dev may lack the node, which sysfs knows by its name.
    const std::string last = mount.source.substr(mount.source.rfind('/') + 1);
    const std::vector<std::string> names = AllNames();
    if (std::find(names.begin(), names.end(), last) != names.end()) return PoolOf(last);
  }
  if (mount.type == "overlay" && depth < kMaxObservedDepth) {
    const std::string upper = MountOption(mount.filesystem_options, "upperdir");
    // One that is relative was so to where somebody was when it was mounted.
    if (absl::StartsWith(upper, "/")) return Under(upper, depth + 1);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("lies on ", MountTree::Describe(mount),
                   ", under which no block device of this host is known"));
}

ObservableDevices::Names ObservableDevices::PoolOf(const std::string& name) const {
  const std::string pools = root_ + "/sys/fs/btrfs";
  for (const std::string& pool : EntriesOf(pools)) {
    const std::vector<std::string> devices = EntriesOf(absl::StrCat(pools, "/", pool, "/devices"));
    if (std::find(devices.begin(), devices.end(), name) == devices.end()) continue;
    Names all;
    for (const std::string& device : devices) all.insert(kernel_.WholeDiskOf(device));
    return all;
  }
  return {kernel_.WholeDiskOf(name)};
}

ObservableDevices::Names ObservableDevices::Beneath(const std::string& name, int depth) const {
  Names found;
  if (depth >= kMaxObservedDepth) return found;
  std::vector<std::string> parts = kernel_.PartsOf(name).underneath;
  if (IsLoopName(name)) {
    const std::string backing =
        common::ReadTrimmed(root_ + "/sys/class/block/" + name + "/loop/backing_file");
    if (const auto under = Under(PathOfBackingFile(backing)); under.ok()) {
      parts.insert(parts.end(), under->begin(), under->end());
    }
  }
  for (const std::string& part : parts) {
    const std::string disk = kernel_.WholeDiskOf(part);
    if (disk == name || !found.insert(disk).second) continue;
    found.merge(Beneath(disk, depth + 1));
  }
  return found;
}

std::string ObservableDevices::Refusal() const {
  const std::string remedy =
      "; start the worker with --allow for a device, or for a directory on one, or with "
      "--observe all";
  if (scope_ == ObserveScope::kAll) return "this host has no block device to observe";
  if (allowed_.empty()) return "this worker's --allow names nothing to observe" + remedy;
  return absl::StrCat(
      "no block device lies under what this worker's --allow names (",
      left_out_.empty() ? absl::StrJoin(allowed_, ", ") : absl::StrJoin(left_out_, "; "), ")",
      remedy);
}

std::string ObservableDevices::Hidden(const Names& names) const {
  for (const std::string& name : names) {
    if (visible_.contains(name)) continue;
    return absl::StrCat("is on ", name, ", which this worker does not let jobs observe (it shows ",
                        visible_.empty() ? "nothing" : absl::StrJoin(visible_, ", "),
                        "); start it with --allow for that device, or with --observe all");
  }
  return "";
}

absl::Status ObservableDevices::CheckThere(const MountTree::Location& location) const {
  if (location.path == location.mount->target || !location.is_local) return absl::OkStatus();
  const bool is_allowed =
      std::any_of(allowed_paths_.begin(), allowed_paths_.end(), [&](const std::string& allowed) {
        return allowed == "/" || location.path == allowed ||
               absl::StartsWith(location.path, allowed + "/");
      });
  if (!is_allowed) {
    return absl::PermissionDeniedError(
        absl::StrCat("is neither a block device nor a mount point, and files are looked for only "
                     "beneath what this worker's --allow names; name the mount point ",
                     location.mount->target));
  }
  struct stat facts;
  if (lstat((root_ + location.path).c_str(), &facts) != 0) {
    return absl::NotFoundError(common::ErrnoText(errno));
  }
  return absl::OkStatus();
}

absl::StatusOr<ObservableDevices::Names> ObservableDevices::Asked(const std::string& path) const {
  const auto location = mounts_.Find(path);
  if (!location.ok()) return location.status();
  if (const auto node = NodeAt(*location); node.ok()) {
    const Names names = {kernel_.WholeDiskOf(*node)};
    if (const std::string hidden = Hidden(names); !hidden.empty()) {
      return absl::PermissionDeniedError(hidden);
    }
    return names;
  }
  const auto names = UnderMount(*location->mount, 0);
  if (!names.ok() && absl::StartsWith(location->path, "/dev/")) {
    return absl::NotFoundError("there is no such block device on this host");
  }
  if (!names.ok()) return names.status();
  // The device decides first: the answer is then the same whether the file is there or not.
  if (const std::string hidden = Hidden(*names); !hidden.empty()) {
    return absl::PermissionDeniedError(hidden);
  }
  if (absl::Status status = CheckThere(*location); !status.ok()) return status;
  return names;
}

absl::Status ObservableDevices::MaySample(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (visible_.contains(name)) continue;
    return absl::PermissionDeniedError(absl::StrCat(
        name,
        " is no device that this worker lets jobs observe now (--allow, --observe); another "
        "device may have got its name since the run was admitted"));
  }
  return absl::OkStatus();
}

v1::ObservedDevices ObservableDevices::Answer(const v1::ObserveRequest& request) const {
  v1::ObservedDevices answer;
  Names chosen;
  for (const std::string& path : request.devices()) {
    const auto found = Asked(path);
    if (!found.ok()) {
      answer.set_refused(absl::StrCat(path, ": ", std::string(found.status().message())));
      return answer;
    }
    chosen.insert(found->begin(), found->end());
  }
  if (request.devices().empty()) {
    chosen = visible_;
    for (const std::string& reason : left_out_) answer.add_left_out(reason);
  }
  if (chosen.empty()) {
    answer.set_refused(Refusal());
  } else if (chosen.size() > static_cast<size_t>(limits::kObservedDevices)) {
    answer.set_refused(absl::StrCat("there are ", chosen.size(), " block devices; at most ",
                                    limits::kObservedDevices,
                                    " are observed at once: name them under `devices`"));
  }
  if (!answer.refused().empty()) return answer;
  for (const std::string& name : chosen) {
    v1::ObservedDevice* device = answer.add_devices();
    device->set_name(name);
    device->set_identity(IdentityOf(name));
    for (const std::string& part : Beneath(name)) {
      if (chosen.contains(part)) device->add_on(part);
    }
  }
  return answer;
}

namespace {

// How WithinLimit() names the work. Paths that a job names may lead to a file system that hangs. A
// name of its own for them keeps that from other runs, which name none.
constexpr char kNoPaths[] = "observed devices";
constexpr char kPaths[] = "observed devices, by the paths of jobs";

}  // namespace

std::vector<v1::ObservedDevices> AnswerObserves(
    const Guard& guard, ObserveScope scope,
    const google::protobuf::RepeatedPtrField<v1::ObserveRequest>& requests) {
  std::vector<v1::ObservedDevices> answers(static_cast<size_t>(requests.size()));
  for (const bool has_paths : {false, true}) {
    const char* what = has_paths ? kPaths : kNoPaths;
    std::map<size_t, v1::ObserveRequest> asked;
    for (int i = 0; i < requests.size(); ++i) {
      if (requests[i].devices().empty() != has_paths) asked[i] = requests[i];
    }
    if (asked.empty()) continue;
    // After the limit the thread may go on, so that it owns all that it uses.
    const auto found = std::make_shared<std::map<size_t, v1::ObservedDevices>>();
    const absl::Status status =
        WithinLimit(what, limits::kInspectNs, [names = guard.Names(), scope, asked, found] {
          const ObservableDevices devices(names, scope);
          for (const auto& [i, request] : asked) (*found)[i] = devices.Answer(request);
          return absl::OkStatus();
        });
    for (const auto& [i, request] : asked) {
      if (status.ok()) {
        answers[i] = std::move((*found)[i]);
      } else {
        answers[i].set_refused(absl::StrCat("the devices that can be observed are not known: ",
                                            std::string(status.message())));
      }
    }
  }
  return answers;
}

absl::Status CheckSampled(const Guard& guard, ObserveScope scope,
                          const std::vector<std::string>& names) {
  if (names.empty()) return absl::OkStatus();
  return WithinLimit(kNoPaths, limits::kInspectNs, [allowed = guard.Names(), scope, names] {
    return ObservableDevices(allowed, scope).MaySample(names);
  });
}

}  // namespace lockstep::worker
