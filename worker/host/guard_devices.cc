// The guard's part about block devices: which may be opened, which may be written, and what holds
// them while they are.

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "worker/host/block_devices.h"
#include "worker/host/byte_ranges.h"
#include "worker/host/change_mark.h"
#include "worker/host/device_content.h"
#include "worker/host/device_use.h"
#include "worker/host/guard.h"
#include "worker/host/reopen.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {

using common::FileDescriptor;

namespace {

std::string ShownAt(dev_t number) {
  const auto name = ThisKernel().NameOf(number);
  return name.ok() ? ThisKernel().ShownBy(*name) : "";
}

bool Contains(const std::vector<std::string>& list, const std::string& item) {
  return !item.empty() && std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

absl::Status DeviceClaims::Claim(const FileDescriptor& probe, dev_t number,
                                 const std::string& path) {
  common::MutexLock lock(&mutex_);
  const auto found = held_.find(number);
  // Several workloads may use one device; O_EXCL refuses a second claim, also by the same process.
  if (found != held_.end() && found->second.hold.valid()) return absl::OkStatus();
  FileDescriptor hold = ClaimDevice(probe);
  if (!hold.valid()) return NotClaimed(path);
  Held& held = held_[number];
  held.path = path;
  held.probe = Reopen(probe, O_PATH);
  held.hold = std::move(hold);
  held.shown = ShownAt(number);
  return absl::OkStatus();
}

void DeviceClaims::Watch(const FileDescriptor& probe, dev_t number, const std::string& path) {
  common::MutexLock lock(&mutex_);
  Held& held = held_[number];
  if (held.probe.valid()) return;
  held.path = path;
  held.probe = Reopen(probe, O_PATH);
  held.shown = ShownAt(number);
}

absl::Status DeviceClaims::ClaimReleased() {
  common::MutexLock lock(&mutex_);
  for (auto& [number, held] : held_) {
    // An exclusive hold keeps nobody from moving a loop device's offset (LOOP_SET_STATUS64).
    if (ShownAt(number) != held.shown) {
      return absl::FailedPreconditionError(
          absl::StrCat(held.path,
                       ": shows other bytes than when the phase was armed (its file, "
                       "offset or size limit has changed); nothing more is written to it"));
    }
    if (held.hold.valid()) continue;
    FileDescriptor hold = Reopen(held.probe, O_RDONLY | O_EXCL | O_NONBLOCK);
    // EBUSY is no error here: a peer that has not released the device yet protects it with a claim
    // of its own.
    if (hold.valid()) held.hold = std::move(hold);
    // Between a peer's end and this moment somebody else may have come.
    const auto name = ThisKernel().NameOf(number);
    const std::string use = name.ok() ? ThisKernel().UseOf(*name) : "gone";
    if (!use.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          held.path, ": ", use, " since the phase was armed; nothing more is written to it"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Guard::Probe> Guard::ProbePath(const std::string& path) {
  Probe probe;
  // O_PATH opens nothing: opening some devices has effects (a tape is rewound when it is closed),
  // and can block.
  probe.fd = FileDescriptor(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!probe.fd.valid()) return common::ErrnoStatus(errno, path);
  struct stat facts;
  if (fstat(probe.fd.get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  if (!S_ISBLK(facts.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": not a block device; files are `file` targets"));
  }
  probe.number = facts.st_rdev;
  char real[PATH_MAX] = {};
  // The path is that of the descriptor: resolving the name once more could end at another device.
  if (readlink(absl::StrCat("/proc/self/fd/", probe.fd.get()).c_str(), real, sizeof real - 1) > 0) {
    probe.real_path = real;
  }
  return probe;
}

std::string Guard::PathOfEntry(const Entry& entry) {
  if (entry.is_device) return RealPath(entry.text);
  return entry.directory != nullptr && entry.file.empty() ? entry.directory->RealPath() : "";
}

bool Guard::IsNamed(const std::string& real_path, const std::string& identity) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    if (entry.by_identity) return entry.text == identity;
    const std::string real = PathOfEntry(entry);
    return !real.empty() && real != "/" &&
           (real_path == real || real_path.rfind(real + "/", 0) == 0);
  });
}

absl::Status Guard::CheckAllowed(const std::string& path, const Probe& probe,
                                 const v1::BlockDevice& device) const {
  std::string was;  // another device had the allowed name
  for (const Entry& entry : entries_) {
    if (entry.by_identity) {
      if (entry.text == device.identity()) return absl::OkStatus();
      continue;
    }
    const std::string real = PathOfEntry(entry);
    if (real.empty() || real == "/") continue;
    const bool beneath = probe.real_path.rfind(real + "/", 0) == 0;
    if (!beneath && probe.real_path != real) continue;
    // A directory permits the devices that have a node in it now. They may be others than at the
    // start, so that neither identity nor attachment is compared.
    if (!entry.is_device) {
      if (beneath) return absl::OkStatus();
      continue;
    }
    // A loop device's identity is the inode of its image, and inodes are used again: it must be the
    // same attachment, too.
    const bool by_sequence = entry.identity.empty() || entry.identity.rfind("loop-file:", 0) == 0;
    const bool same = entry.identity == device.identity() &&
                      (!by_sequence || entry.disk_sequence == device.disk_sequence());
    if (same) return absl::OkStatus();
    was = absl::StrCat(
        "--allow ", entry.text, " meant ", entry.identity.empty() ? "a device" : entry.identity,
        " (attachment ", entry.disk_sequence, ") when this worker started; now ",
        device.identity().empty() ? "another one" : device.identity(), " (attachment ",
        device.disk_sequence(), ") has that name. Start the worker again if that is meant");
  }
  if (!was.empty()) return absl::PermissionDeniedError(absl::StrCat(path, ": ", was));
  return NotAllowed(path);
}

ContentDepth Guard::DepthOf(const DeviceUse& use) {
  // Samples cannot prove that a device is blank, which is the question before the run's first
  // write. After it, they are compared with those that the run left. Where nobody knows what it
  // left, only a signature tells somebody else's data from the run's own.
  if (!use.own_data) return ContentDepth::kEmptiness;
  return use.left_contents.empty() ? ContentDepth::kSignature : ContentDepth::kSamples;
}

absl::Status Guard::CheckStamp(const std::string& path, const DeviceStamp& stamp,
                               const DeviceUse& use, v1::BlockDevice* device) const {
  const bool counts = stamp.state == DeviceStamp::State::kCounts;
  if (counts) {
    device->set_enrolled(stamp.enrolled);
    device->set_stamp_number(stamp.number);
  }
  // Both numbers are empty where no stamp counts. A device that was enrolled since the admission is
  // refused as well: nobody has confirmed the run for an enrolled device.
  if (!use.inspected_stamp || *use.inspected_stamp == stamp.number) return absl::OkStatus();
  if (counts) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, use.inspected_stamp->empty() ? ": was enrolled" : ": has another stamp",
                     " since the run was admitted; nothing was written. Submit the job again"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": was enrolled when the run was admitted, and its stamp ",
                   stamp.message.empty() ? "is gone" : stamp.message, "; nothing was written"));
}

absl::Status Guard::CheckContentOf(const std::string& path, int fd, const DeviceUse& use,
                                   v1::BlockDevice* device) const {
  if (ThisKernel().IsHostManaged(device->name())) {
    if (!use.write) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": a host-managed zoned device, which takes writes only at each zone's write pointer; "
        "Lockstep writes at any offset. Read it, or write it through dm-zoned"));
  }
  // O_EXCL knows a device's own users. It does not know that the file under this loop device is
  // also mounted through another loop device.
  if (const std::string beside = use.write ? UsedLoopBeside(fd) : ""; !beside.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": also ", beside, "; a device in use is never written"));
  }
  // Data that was written by another name of these bytes may still be in that name's page cache,
  // where a read of this device does not find it.
  struct stat facts;
  if (use.write && fstat(fd, &facts) == 0) FlushAllNames(facts.st_rdev, fd);
  const auto stamp = StampOn(fd, path, *device, *keys_);
  if (!stamp.ok()) return stamp.status();
  if (absl::Status status = CheckStamp(path, *stamp, use, device); !status.ok()) return status;
  // An admin has given an enrolled device to Lockstep for good, whatever it carries between its
  // stamps.
  if (!use.write || stamp->state == DeviceStamp::State::kCounts) return absl::OkStatus();
  auto content = ContentOf(fd, path, DepthOf(use), use.read_until_ns);
  if (!content.ok()) return content.status();
  AddStampText(*stamp, &*content);
  return CheckContent(path, *content, use, device);
}

absl::Status Guard::CheckContent(const std::string& path, const DeviceContent& found,
                                 const DeviceUse& use, v1::BlockDevice* device) const {
  const std::string& content = found.what;
  if (use.own_data && !use.left_contents.empty()) {
    // Random data may probe like a signature: what the run left is its own, whatever it looks like.
    if (Contains(use.left_contents, found.samples)) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": no longer holds what this run's last phase left there (it carries ",
        content.empty() ? "nothing that samples find" : content,
        " now), so that somebody else may have written to it; nothing was written. Find out who "
        "uses the device before you submit the job again"));
  }
  if (content.empty()) return absl::OkStatus();
  device->set_in_use("carries " + content);
  device->set_content_fingerprint(found.fingerprint);
  // The content is compared only before the run's first write: its own may look like anything.
  if (!use.own_data && use.inspected_content && *use.inspected_content != found.fingerprint) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": its contents (", content, ") have changed since the run was ",
                     use.inspected_content->empty() ? "admitted, when it was blank" : "confirmed",
                     "; nothing was written. Look at `lockstep plan` again"));
  }
  const std::string& id = device->identity();
  if (id.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": carries ", content, " and has no identity by which to declare it expendable"));
  }
  if (IsExpendable(id, use.expendable)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, ": carries ", content, "; to overwrite it, name '", id,
      "' under the job's `expendable`", Contains(use.expendable, id) ? " (done)" : "",
      " and in the worker's --allow-expendable", Contains(allow_expendable_, id) ? " (done)" : "",
      "; or, if it is there to be overwritten, enrol it, with a worker that was started with "
      "--allow-enroll: lockstep devices enroll ",
      path));
}

absl::StatusOr<v1::BlockDevice> Guard::CheckDevice(const std::string& path, const DeviceUse& use,
                                                   std::vector<v1::ByteRange>* ranges) const {
  struct Probed {
    v1::BlockDevice device;
    std::vector<v1::ByteRange> ranges;
  };
  auto found = std::make_shared<Probed>();
  // A copy of all that it uses: it may outlive this call, and this object.
  const int64_t limit_ns = ProbeLimitNs(use, common::SystemClock().MonotonicNs());
  const absl::Status status =
      WithinLimit(path, limit_ns, [guard = *this, path, use, found]() -> absl::Status {
        const auto probe = ProbePath(path);
        if (!probe.ok()) return probe.status();
        // Nothing is opened, not even to be looked at, before its name is known to be allowed.
        if (!guard.IsNamed(probe->real_path, IdentityOfNumber(probe->number))) {
          return guard.NotAllowed(path);
        }
        const FileDescriptor fd = Reopen(probe->fd, O_RDONLY | O_NONBLOCK);
        if (!fd.valid()) return common::ErrnoStatus(errno, path);
        auto device = DescribeBlockDevice(probe->number, fd.get());
        if (!device.ok()) return device.status();
        if (absl::Status allowed = guard.CheckAllowed(path, *probe, *device); !allowed.ok()) {
          return allowed;
        }
        found->device = *device;
        found->ranges = DeviceRanges(probe->number, fd.get());
        if (absl::Status facts = CheckDeviceFacts(path, *device, use); !facts.ok()) return facts;
        if (!use.write) return guard.CheckContentOf(path, fd.get(), use, &found->device);
        // The claim shows in a moment that nobody holds the device, and is dropped at once. The
        // reads, which may take seconds, go without it: other workers of this kernel inspect the
        // device, too. OpenDevice() reads everything again under its claim.
        if (!ClaimDevice(probe->fd).valid()) return NotClaimed(path);
        return guard.CheckContentOf(path, fd.get(), use, &found->device);
      });
  // The thread that still hangs may write to `found` at any time.
  if (absl::IsDeadlineExceeded(status)) return status;
  if (ranges != nullptr) *ranges = found->ranges;
  if (!status.ok()) return status;
  return found->device;
}

absl::StatusOr<Guard::OpenedDevice> Guard::OpenDevice(const std::string& path, const DeviceUse& use,
                                                      int flags, DeviceClaims* holds) const {
  const auto probe = ProbePath(path);
  if (!probe.ok()) return probe.status();
  if (!IsNamed(probe->real_path, IdentityOfNumber(probe->number))) return NotAllowed(path);
  OpenedDevice opened;
  // The device is opened for reading first: the claim and the checks are of the very device that
  // the load gets afterwards.
  const FileDescriptor reading = Reopen(probe->fd, O_RDONLY | O_NONBLOCK);
  if (!reading.valid()) return common::ErrnoStatus(errno, path);
  // The claim comes before the checks: mount, mkfs and LVM cannot change anything after them.
  if (use.write && use.held_by_peer) holds->Watch(probe->fd, probe->number, path);
  if (use.write && !use.held_by_peer) {
    if (absl::Status held = holds->Claim(probe->fd, probe->number, path); !held.ok()) return held;
  }
  auto device = DescribeBlockDevice(probe->number, reading.get());
  if (!device.ok()) return device.status();
  if (absl::Status allowed = CheckAllowed(path, *probe, *device); !allowed.ok()) return allowed;
  if (absl::Status facts = CheckDeviceFacts(path, *device, use); !facts.ok()) return facts;
  if (absl::Status content = CheckContentOf(path, reading.get(), use, &*device); !content.ok()) {
    return content;
  }
  // The load opens the device without O_EXCL: the claim is another descriptor, and the kernel
  // refuses a second exclusive one, also to the same process.
  opened.fd = Reopen(probe->fd, flags);
  if (!opened.fd.valid()) return common::ErrnoStatus(errno, path);
  // The node stays the same while a loop device under it is detached and attached to another file,
  // or while another disk gets the number.
  const auto again = DescribeBlockDevice(probe->number, opened.fd.get());
  if (!again.ok() || again->identity() != device->identity() ||
      again->disk_sequence() != device->disk_sequence()) {
    return absl::AbortedError(
        absl::StrCat(path, ": another device appeared there while it was opened"));
  }
  opened.facts = *device;
  opened.ranges = DeviceRanges(probe->number, opened.fd.get());
  return opened;
}

bool Guard::IsExpendable(const std::string& name, const std::vector<std::string>& by_job) const {
  // Neither list is enough: a job's author does not know what the host's disks hold, and the
  // operator does not know which job comes.
  return Contains(by_job, name) && Contains(allow_expendable_, name);
}

bool Guard::IsExpendableFile(const FileDescriptor& fd,
                             const std::vector<std::string>& by_job) const {
  char real[PATH_MAX] = {};
  // The path is that of the open file: the name in the job may lead to another one by now.
  return readlink(absl::StrCat("/proc/self/fd/", fd.get()).c_str(), real, sizeof real - 1) > 0 &&
         IsExpendable(real, by_job);
}

bool Guard::Allows(const v1::BlockDevice& device) const {
  Probe probe;
  // The path of a listed device is /dev/NAME, which has no links to resolve.
  probe.real_path = device.path();
  return CheckAllowed(device.path(), probe, device).ok();
}

std::vector<std::string> Guard::LinksOf(const v1::BlockDevice& device) const {
  std::vector<std::string> links;
  for (const Entry& entry : entries_) {
    if (!entry.is_device || entry.by_identity || entry.text == device.path()) continue;
    if (RealPath(entry.text) == device.path()) links.push_back(entry.text);
  }
  return links;
}

absl::StatusOr<Guard::Found> Guard::WhatIsOn(const v1::BlockDevice& device,
                                             int64_t limit_ns) const {
  auto found = std::make_shared<Found>();
  const absl::Status status = WithinLimit(
      device.path(), limit_ns,
      [path = device.path(), name = device.name(), keys = keys_, found]() -> absl::Status {
        const auto probe = ProbePath(path);
        if (!probe.ok()) return probe.status();
        // Somebody holds the device: a load, which our reads would disturb, or another program. A
        // hold of a moment does not count, since other workers of this kernel look in the same way.
        constexpr int kTries = 3;
        FileDescriptor claim = ClaimDevice(probe->fd, kTries);
        if (!claim.valid() && errno == EBUSY) {
          found->is_held = true;
          return absl::OkStatus();
        }
        if (!claim.valid()) return common::ErrnoStatus(errno, path);
        // The claim does not last as long as the reads: others may want to mount the device, or to
        // arm.
        claim = Reopen(probe->fd, O_RDONLY | O_NONBLOCK);
        if (!claim.valid()) return common::ErrnoStatus(errno, path);
        DeviceStamp stamp;
        if (!ThisKernel().IsHostManaged(name)) {
          const auto device = DescribeBlockDevice(probe->number, claim.get());
          if (!device.ok()) return device.status();
          auto read = StampOn(claim.get(), path, *device, *keys);
          if (!read.ok()) return read.status();
          stamp = *std::move(read);
        }
        found->stamp = stamp;
        auto content = ContentOf(claim.get(), path, ContentDepth::kSamples, 0);
        if (!content.ok()) return content.status();
        // A stamp is no data of anybody's.
        if (stamp.state == DeviceStamp::State::kCounts) content->what.clear();
        content->is_blank = content->what.empty() && IsHole(claim.get());
        AddStampText(stamp, &*content);
        // A person who confirms a listing means the device as it was listed. Without a change mark
        // the device is only shown; Stamp() gives the reason.
        const auto mark = ChangeMark(probe->number, claim.get(), path);
        content->fingerprint = mark.ok() ? content->samples + *mark : "";
        found->content = *std::move(content);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return *found;
}

}  // namespace lockstep::worker
