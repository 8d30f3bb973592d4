#include "worker/host/observed_devices.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
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
#include "common/text.h"
#include "worker/host/mount_table.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {
namespace {

// The limit for all devices and file systems that are looked at, before the observed ones are
// chosen among them. A host with many containers has thousands of mounts.
constexpr size_t kMaxLayersKnown = 16384;

bool IsLoopName(const std::string& name) { return absl::StartsWith(name, "loop"); }

}  // namespace

ObservableDevices::ObservableDevices(const std::vector<Guard::Named>& allowed, ObserveScope scope,
                                     const std::string& root)
    : root_(root),
      scope_(scope),
      kernel_(root),
      mountinfo_(common::ReadTrimmed(root + "/proc/self/mountinfo")),
      mounts_(root, mountinfo_),
      known_(root, mountinfo_, kMaxLayersKnown),
      shown_(root, mountinfo_) {
  for (const Guard::Named& named : allowed) {
    allowed_.push_back(named.text);
    if (named.kind != Guard::Named::Kind::kPath) continue;
    const auto location = mounts_.Find(named.text);
    if (location.ok() && IsSamePath(named, *location)) allowed_paths_.push_back(location->path);
  }
  if (scope == ObserveScope::kAll) {
    AddAll();
  } else {
    for (const Guard::Named& named : allowed) AddNamed(named);
  }
  // A load on one of them samples what is underneath it, too.
  named_ = visible_.devices;
  for (const std::string& name : Names(visible_.devices)) visible_.devices.merge(Beneath(name));
}

void ObservableDevices::AddAll() {
  for (const std::string& name : AllNames()) {
    // A loop device without a file and a drive without a medium have no size.
    const bool has_size = kernel_.PartsOf(name).size_bytes > 0;
    if (has_size) visible_.devices.insert(kernel_.WholeDiskOf(name));
  }
  std::vector<const MountTree::Mount*> mounts = mounts_.Beneath("/");
  if (const auto top = mounts_.Find("/"); top.ok()) mounts.push_back(top->mount);
  for (const MountTree::Mount* mount : mounts) {
    // The overlays of containers are many. The file systems underneath them are among the others.
    if (mount->type == "overlay") continue;
    if (const auto found = UnderMount(*mount); found.ok()) Add(*found);
  }
}

void ObservableDevices::Add(const Found& found) {
  visible_.devices.insert(found.devices.begin(), found.devices.end());
  visible_.mounts.insert(found.mounts.begin(), found.mounts.end());
  visible_.of_server.insert(found.of_server.begin(), found.of_server.end());
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
    const size_t before = visible_.devices.size();
    for (const std::string& name : AllNames()) {
      if (IdentityOf(name) == named.text) visible_.devices.insert(kernel_.WholeDiskOf(name));
    }
    if (visible_.devices.size() == before)
      LeaveOut(named.text, "no block device has this identity now");
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
  visible_.devices.insert(kernel_.WholeDiskOf(*name));
}

// A user other than root who owns a directory on the way could put a link to any other directory in
// its location. Links on a server's file system are not read, and no device is beneath.
bool ObservableDevices::IsSamePath(const Guard::Named& named, const MountTree::Location& location) {
  return named.real_path.empty() || named.real_path == location.path || !location.is_local;
}

// Adds the objects that --allow permits beneath a directory: files on it and on mounts beneath, and
// the devices that have their nodes there.
void ObservableDevices::AddPath(const Guard::Named& named) {
  const std::string& path = named.text;
  const auto location = mounts_.Find(path);
  if (!location.ok()) return LeaveOut(path, std::string(location.status().message()));
  if (!IsSamePath(named, *location)) {
    return LeaveOut(path,
                    "leads to another place than when this worker started; restart the worker if "
                    "that is meant");
  }
  const size_t before = visible_.devices.size() + visible_.of_server.size();
  std::string reason;
  const auto add = [&](const absl::StatusOr<Found>& found) {
    if (found.ok()) {
      Add(*found);
    } else {
      reason = std::string(found.status().message());
    }
  };
  add(Under(path));
  for (const MountTree::Mount* mount : mounts_.Beneath(location->path)) add(UnderMount(*mount));
  if (absl::StartsWith(location->path + "/", "/dev/")) {
    for (const std::string& name : AllNames()) {
      // The kernel writes ! where a name has a slash.
      const std::string path_of_node = "/dev/" + absl::StrReplaceAll(name, {{"!", "/"}});
      if (!absl::StartsWith(path_of_node, location->path + "/")) continue;
      // The /dev of a container has the nodes of some devices. sysfs lists all of the host.
      const auto node = mounts_.Find(path_of_node);
      if (node.ok() && NodeAt(*node).ok()) add(Found{{kernel_.WholeDiskOf(name)}, {}, {}});
    }
  }
  const size_t after = visible_.devices.size() + visible_.of_server.size();
  if (after == before && !reason.empty()) LeaveOut(path, reason);
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

absl::StatusOr<ObservableDevices::Found> ObservableDevices::Under(const std::string& path) {
  const auto location = mounts_.Find(path);
  if (!location.ok()) return location.status();
  if (const auto node = NodeAt(*location); node.ok()) {
    return Found{{kernel_.WholeDiskOf(*node)}, {}, {}};
  }
  struct stat facts;
  if (location->is_local && lstat((root_ + location->path).c_str(), &facts) != 0) {
    return absl::NotFoundError(common::ErrnoText(errno));
  }
  return UnderMount(*location->mount);
}

absl::StatusOr<ObservableDevices::Found> ObservableDevices::UnderMount(
    const MountTree::Mount& mount) {
  Found found;
  if (!ServedProtocolOf(mount.type).empty()) {
    found.of_server.emplace(common::Printable(mount.target, PATH_MAX), mount.type);
    return found;
  }
  const uint32_t top = known_.AddMount(static_cast<uint64_t>(mount.id));
  for (std::string& name : TopDevicesUnder(known_.layers(), top)) {
    found.devices.insert(std::move(name));
  }
  if (found.devices.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("lies on ", MountTree::Describe(mount),
                     ", under which no block device of this host is known"));
  }
  found.mounts.insert(static_cast<uint64_t>(mount.id));
  return found;
}

ObservableDevices::Names ObservableDevices::Beneath(const std::string& name) {
  return DevicesBelow(known_.layers(), known_.AddDevice(name));
}

ObservableDevices::Names ObservableDevices::InUse() {
  Names in_use;
  std::set<dev_t> seen;
  for (const MountLine& line : ParseMountInfo(mountinfo_)) {
    if (!seen.insert(line.number).second) continue;
    // An overlay passes everything on to the file systems of its directories.
    if (line.type == "overlay") continue;
    const uint32_t top = known_.AddMount(static_cast<uint64_t>(line.id));
    for (std::string& name : TopDevicesUnder(known_.layers(), top)) in_use.insert(std::move(name));
  }
  // proc_swaps(5). Swap files lie on a file system, which is among the mounts.
  for (const auto& line : absl::StrSplit(common::ReadTrimmed(root_ + "/proc/swaps"), '\n')) {
    const std::string path(line.substr(0, line.find_first_of(" \t")));
    if (const std::string name = known_.DeviceNamed(path); !name.empty()) {
      in_use.insert(kernel_.WholeDiskOf(name));
    }
  }
  return in_use;
}

std::string ObservableDevices::Refusal() const {
  const std::string remedy =
      "; start the worker with --allow for a device, or for a directory on one, or with "
      "--observe all";
  if (scope_ == ObserveScope::kAll) {
    return "this host has no block device and no mount of a server to observe";
  }
  if (allowed_.empty()) return "this worker's --allow names nothing to observe" + remedy;
  return absl::StrCat(
      "no block device and no mount of a server lies under what this worker's --allow names (",
      left_out_.empty() ? absl::StrJoin(allowed_, ", ") : absl::StrJoin(left_out_, "; "), ")",
      remedy);
}

std::string ObservableDevices::Hidden(const Found& found) const {
  const Names& devices = visible_.devices;
  for (const std::string& name : found.devices) {
    if (devices.contains(name)) continue;
    return absl::StrCat("is on ", name, ", which this worker does not let jobs observe (it shows ",
                        devices.empty() ? "nothing" : absl::StrJoin(devices, ", "),
                        "); start it with --allow for that device, or with --observe all");
  }
  for (const auto& [mount_point, type] : found.of_server) {
    if (visible_.of_server.contains(mount_point)) continue;
    return absl::StrCat("is on the mount ", mount_point,
                        ", which this worker does not let jobs observe; start it with --allow for "
                        "a directory on that mount, or with --observe all");
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

absl::StatusOr<ObservableDevices::Found> ObservableDevices::Asked(const std::string& path) {
  const auto location = mounts_.Find(path);
  if (!location.ok()) return location.status();
  if (const auto node = NodeAt(*location); node.ok()) {
    const Found found = {{kernel_.WholeDiskOf(*node)}, {}, {}};
    if (const std::string hidden = Hidden(found); !hidden.empty()) {
      return absl::PermissionDeniedError(hidden);
    }
    return found;
  }
  const auto found = UnderMount(*location->mount);
  if (!found.ok() && absl::StartsWith(location->path, "/dev/")) {
    return absl::NotFoundError("there is no such block device on this host");
  }
  if (!found.ok()) return found.status();
  // The device decides first: the answer is then the same whether the file is there or not.
  if (const std::string hidden = Hidden(*found); !hidden.empty()) {
    return absl::PermissionDeniedError(hidden);
  }
  if (absl::Status status = CheckThere(*location); !status.ok()) return status;
  return found;
}

absl::Status ObservableDevices::MaySample(const std::vector<std::string>& names,
                                          const std::vector<std::string>& mount_points) const {
  for (const std::string& name : names) {
    if (visible_.devices.contains(name)) continue;
    return absl::PermissionDeniedError(absl::StrCat(
        name,
        " is no device that this worker lets jobs observe now (--allow, --observe); another "
        "device may have got its name since the run was admitted"));
  }
  for (const std::string& mount_point : mount_points) {
    if (visible_.of_server.contains(mount_point)) continue;
    return absl::PermissionDeniedError(absl::StrCat(
        mount_point,
        " is no mount of a server that this worker lets jobs observe now (--allow, --observe); it "
        "may have been unmounted since the run was admitted"));
  }
  return absl::OkStatus();
}

void ObservableDevices::Show(const Found& chosen, v1::ObservedDevices* answer) {
  std::set<uint32_t, std::greater<>> tops;
  for (const uint64_t id : chosen.mounts) tops.insert(shown_.AddMount(id));
  for (const v1::ObservedDevice& device : answer->devices()) {
    tops.insert(shown_.AddDevice(device.name()));
  }
  tops.erase(0);
  // A layer underneath another one of them is shown in that one's stack.
  std::set<uint32_t> below;
  for (const uint32_t top : tops) {
    if (below.contains(top)) continue;
    answer->add_top_layers(top);
    below.merge(LayersBelow(shown_.layers(), top));
  }
}

v1::ObservedDevices ObservableDevices::Answer(const v1::ObserveRequest& request) {
  v1::ObservedDevices answer;
  Found chosen;
  for (const std::string& path : request.devices()) {
    auto found = Asked(path);
    if (!found.ok()) {
      answer.set_refused(absl::StrCat(path, ": ", std::string(found.status().message())));
      return answer;
    }
    chosen.devices.merge(found->devices);
    chosen.mounts.merge(found->mounts);
    chosen.of_server.merge(found->of_server);
  }
  if (request.devices().empty()) {
    chosen = visible_;
    chosen.devices = named_;
    for (const std::string& reason : left_out_) answer.add_left_out(reason);
  }
  const Names asked = chosen.devices;
  for (const std::string& name : asked) chosen.devices.merge(Beneath(name));
  if (chosen.devices.empty() && chosen.of_server.empty()) {
    answer.set_refused(Refusal());
  } else if (chosen.devices.size() > static_cast<size_t>(limits::kObservedDevices)) {
    answer.set_refused(absl::StrCat("there are ", chosen.devices.size(), " block devices, those ",
                                    "underneath others included; at most ",
                                    limits::kObservedDevices,
                                    " are observed at once: name them under `devices`"));
  } else if (chosen.of_server.size() > static_cast<size_t>(limits::kSampledMounts)) {
    answer.set_refused(absl::StrCat("there are ", chosen.of_server.size(),
                                    " mounts of servers; at most ", limits::kSampledMounts,
                                    " are observed at once: name them under `devices`"));
  }
  if (!answer.refused().empty()) return answer;
  const Names in_use = InUse();
  for (const std::string& name : chosen.devices) {
    v1::ObservedDevice* device = answer.add_devices();
    device->set_name(name);
    device->set_identity(IdentityOf(name));
    const bool is_asked = asked.contains(name);
    device->set_only_underneath(!is_asked);
    device->set_in_use(is_asked && in_use.contains(name));
    for (const std::string& part : Beneath(name)) device->add_on(part);
  }
  for (const auto& [mount_point, type] : chosen.of_server) {
    v1::ObservedMount* mount = answer.add_mounts();
    mount->set_mount_point(mount_point);
    mount->set_kind(type);
  }
  Show(chosen, &answer);
  return answer;
}

namespace {

// How WithinLimit() names the work. Paths that a job names may lead to a file system that hangs. A
// name of its own for them keeps that from other runs, which name none.
constexpr char kNoPaths[] = "observed devices";
constexpr char kPaths[] = "observed devices, by the paths of jobs";

}  // namespace

void AnswerObserves(const Guard& guard, ObserveScope scope,
                    const google::protobuf::RepeatedPtrField<v1::ObserveRequest>& requests,
                    v1::Inspection* inspection) {
  for (int i = 0; i < requests.size(); ++i) inspection->add_observed();
  for (const bool has_paths : {false, true}) {
    const char* what = has_paths ? kPaths : kNoPaths;
    std::map<int, v1::ObserveRequest> asked;
    for (int i = 0; i < requests.size(); ++i) {
      if (requests[i].devices().empty() != has_paths) asked[i] = requests[i];
    }
    if (asked.empty()) continue;
    // After the limit the thread may go on, so that it owns all that it uses.
    struct Found {
      std::map<int, v1::ObservedDevices> answers;
      std::vector<v1::StorageLayer> layers;
    };
    const auto found = std::make_shared<Found>();
    const absl::Status status =
        WithinLimit(what, limits::kInspectNs, [names = guard.Names(), scope, asked, found] {
          ObservableDevices devices(names, scope);
          for (const auto& [i, request] : asked) found->answers[i] = devices.Answer(request);
          found->layers = devices.layers();
          return absl::OkStatus();
        });
    std::vector<uint32_t> numbers;
    if (status.ok()) numbers = MergeLayers(found->layers, inspection);
    for (const auto& [i, request] : asked) {
      v1::ObservedDevices* answer = inspection->mutable_observed(i);
      if (!status.ok()) {
        answer->set_refused(absl::StrCat("the devices that can be observed are not known: ",
                                         std::string(status.message())));
        continue;
      }
      *answer = std::move(found->answers[i]);
      const std::vector<uint32_t> tops(answer->top_layers().begin(), answer->top_layers().end());
      answer->clear_top_layers();
      for (const uint32_t top : tops) {
        if (numbers[top - 1] != 0) answer->add_top_layers(numbers[top - 1]);
      }
    }
  }
}

absl::Status CheckSampled(const Guard& guard, ObserveScope scope,
                          const std::vector<std::string>& names,
                          const std::vector<std::string>& mount_points) {
  if (names.empty() && mount_points.empty()) return absl::OkStatus();
  return WithinLimit(kNoPaths, limits::kInspectNs,
                     [allowed = guard.Names(), scope, names, mount_points] {
                       return ObservableDevices(allowed, scope).MaySample(names, mount_points);
                     });
}

}  // namespace lockstep::worker
