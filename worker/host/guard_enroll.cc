// The guard's part about stamps: which devices get one, and lose it again.

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/iscsi_url.h"
#include "common/limits.h"
#include "worker/host/block_devices.h"
#include "worker/host/change_mark.h"
#include "worker/host/device_stamp.h"
#include "worker/host/guard.h"
#include "worker/host/guard_luns.h"
#include "worker/host/reopen.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {

using common::FileDescriptor;

namespace {

// The device that the order means, written to as jobs write.
DeviceUse UseOf(const v1::StampOrder& order) {
  DeviceUse use;
  use.write = true;
  use.identity = order.identity();
  use.inspected_identity = order.identity();
  use.inspected_sequence = order.disk_sequence();
  return use;
}

absl::Status CheckSize(const v1::StampOrder& order, uint64_t size_bytes) {
  if (order.size_bytes() == size_bytes) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(order.path(), ": has ", size_bytes,
                                                    " bytes now; the listing that was confirmed "
                                                    "says ",
                                                    order.size_bytes()));
}

// Checks that the stamp to release is the one that is there.
absl::Status CheckStampToRelease(const v1::StampOrder& order, const DeviceStamp& stamp) {
  if (!order.release()) return absl::OkStatus();
  const bool counts = stamp.state == DeviceStamp::State::kCounts;
  if (counts && stamp.number == order.stamp_number()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      order.path(), counts ? ": has another stamp by now" : ": is not enrolled",
      stamp.message.empty() ? "" : absl::StrCat(" any more, since its stamp ", stamp.message),
      "; nothing was written"));
}

// `mark`: ChangeMark(), empty of a LUN.
absl::Status CheckSameContent(const v1::StampOrder& order, const DeviceContent& content,
                              const std::string& mark) {
  if (content.samples + mark == order.content_fingerprint()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(order.path(), ": its contents (",
                   content.what.empty() ? "nothing that samples find" : content.what,
                   ") have changed since the listing that was confirmed; nothing was written"));
}

absl::StatusOr<StampBytes> BytesFor(const v1::StampOrder& order, const v1::BlockDevice& device,
                                    const std::string& by, const std::string& at,
                                    const MarkKeys& keys) {
  // Zeros take all of both ends. Samples would find what is left of a stamp, and the next job would
  // have to confirm it as somebody's data.
  if (order.release())
    return StampBytes{std::string(kStampBytes, '\0'), std::string(kStampBytes, '\0')};
  auto bytes =
      ComposeStamp({StampIdentity(device), order.size_bytes(), order.stamp_number(), by, at}, keys);
  if (bytes.ok()) return bytes;
  return absl::Status(bytes.status().code(),
                      absl::StrCat(order.path(), ": ", std::string(bytes.status().message())));
}

absl::Status TooLate(const v1::StampOrder& order) {
  return absl::CancelledError(order.path() + ": the order was given up; nothing was written");
}

// The first end makes a stamp count: it is written last and removed first. An order that a crash
// cuts short leaves a device that is not enrolled.
using WriteBytes = std::function<absl::Status(uint64_t offset, const std::string& bytes)>;
absl::Status WriteEnds(const v1::StampOrder& order, const StampBytes& bytes,
                       const WriteBytes& write) {
  const uint64_t tail = order.size_bytes() - kStampBytes;
  const bool first_first = order.release();
  absl::Status status = first_first ? write(0, bytes.first) : write(tail, bytes.last);
  if (status.ok()) status = first_first ? write(tail, bytes.last) : write(0, bytes.first);
  return status;
}

absl::Status CheckWritten(const v1::StampOrder& order, const absl::StatusOr<DeviceStamp>& stamp) {
  if (!stamp.ok()) return stamp.status();
  const bool is_there = stamp->state != DeviceStamp::State::kNone;
  const bool as_meant = order.release() ? !is_there : stamp->state == DeviceStamp::State::kCounts;
  if (as_meant) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(order.path(), ": the written stamp cannot be read back",
                   stamp->message.empty() ? "" : absl::StrCat(": the stamp ", stamp->message)));
}

absl::Status WriteAt(int fd, const std::string& path, uint64_t offset, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written =
        pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return common::ErrnoStatus(written < 0 ? errno : ENOSPC, path);
    done += static_cast<size_t>(written);
  }
  // Each end is durable before the next one is written, so that their order holds on the medium,
  // too.
  return fsync(fd) == 0 ? absl::OkStatus() : common::ErrnoStatus(errno, path);
}

}  // namespace

absl::Status Guard::StampDevice(const v1::StampOrder& order, const std::string& by,
                                const std::string& at, const BeginChange& begin) const {
  const std::string& path = order.path();
  const auto probe = ProbePath(path);
  if (!probe.ok()) return probe.status();
  if (!IsNamed(probe->real_path, IdentityOfNumber(probe->number))) return NotAllowed(path);
  {
    const FileDescriptor claim = ClaimDevice(probe->fd);
    if (!claim.valid()) return NotClaimed(path);
    const auto device = DescribeBlockDevice(probe->number, claim.get());
    if (!device.ok()) return device.status();
    if (absl::Status allowed = CheckAllowed(path, *probe, *device); !allowed.ok()) return allowed;
    if (absl::Status facts = CheckDeviceFacts(path, *device, UseOf(order)); !facts.ok())
      return facts;
    if (absl::Status size = CheckSize(order, device->size_bytes()); !size.ok()) return size;
    if (ThisKernel().IsHostManaged(device->name())) {
      return absl::FailedPreconditionError(path + ": a zoned device keeps no stamp");
    }
    if (const std::string beside = UsedLoopBeside(claim.get()); !beside.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": also ", beside, "; a device in use is never written"));
    }
    const auto stamp = StampOn(claim.get(), path, *device, *keys_);
    if (!stamp.ok()) return stamp.status();
    if (absl::Status is_it = CheckStampToRelease(order, *stamp); !is_it.ok()) return is_it;
    if (!order.release()) {
      const auto content = ContentOf(claim.get(), path, ContentDepth::kSamples, 0);
      if (!content.ok()) return content.status();
      // Samples miss data between them. The mark shows that this kernel has written nothing to the
      // device since the listing, whatever the place.
      const auto mark = ChangeMark(probe->number, claim.get(), path);
      if (!mark.ok()) return mark.status();
      if (absl::Status same = CheckSameContent(order, *content, *mark); !same.ok()) return same;
    }
    const auto bytes = BytesFor(order, *device, by, at, *keys_);
    if (!bytes.ok()) return bytes.status();
    // The claim is open for reading only. It stays, and the stamp is read back through it.
    const FileDescriptor writing = Reopen(probe->fd, O_RDWR | O_NONBLOCK);
    if (!writing.valid()) return common::ErrnoStatus(errno, path);
    if (!begin()) return TooLate(order);
    const absl::Status written =
        WriteEnds(order, *bytes, [&](uint64_t offset, const std::string& data) {
          return WriteAt(writing.get(), path, offset, data);
        });
    if (!written.ok()) return written;
    // StampOn() reads past the page cache where the device can: it is the device that confirms the
    // stamp.
    const absl::Status found = CheckWritten(order, StampOn(claim.get(), path, *device, *keys_));
    if (!found.ok()) return found;
  }
  // The kernel shows partitions until it reads again that their table is gone. It may refuse that
  // (EBUSY) while the device is claimed.
  const FileDescriptor again = Reopen(probe->fd, O_RDONLY | O_NONBLOCK);
  if (again.valid() && !order.release()) (void)ioctl(again.get(), BLKRRPART);
  return absl::OkStatus();
}

absl::Status Guard::StampLun(const common::IscsiUrl& url, const v1::StampOrder& order,
                             const std::string& by, const std::string& at, int64_t limit_ns,
                             const BeginChange& begin) const {
  const std::string path = url.text();
  const auto lun = luns_->Probe(url, limit_ns);
  if (!lun.ok()) return lun.status();
  const v1::BlockDevice device = DescribeLun(*lun);
  if (absl::Status facts = CheckDeviceFacts(path, device, UseOf(order)); !facts.ok()) return facts;
  if (absl::Status size = CheckSize(order, device.size_bytes()); !size.ok()) return size;
  if (absl::Status used = CheckNotInKernel(path, device.identity()); !used.ok()) return used;
  const auto stamp = StampOnLun(*lun, *keys_, limit_ns);
  if (!stamp.ok()) return stamp.status();
  if (absl::Status is_it = CheckStampToRelease(order, *stamp); !is_it.ok()) return is_it;
  if (!order.release()) {
    const auto content = Luns::WhatIsOn(*lun, ContentDepth::kSamples, limit_ns, 0);
    if (!content.ok()) return content.status();
    // There is no change mark: this kernel does not count what other initiators write to a LUN.
    if (absl::Status same = CheckSameContent(order, *content, ""); !same.ok()) return same;
  }
  const auto bytes = BytesFor(order, device, by, at, *keys_);
  if (!bytes.ok()) return bytes.status();
  const absl::Status written =
      Luns::InSession(*lun, limit_ns, [&](IscsiSession* session, int64_t deadline_ns) {
        if (!begin()) return TooLate(order);
        const absl::Status ends =
            WriteEnds(order, *bytes, [&](uint64_t offset, const std::string& data) {
              return WritePieces(session, offset, data, deadline_ns);
            });
        // A target may acknowledge writes from a volatile cache.
        return ends.ok() ? session->Flush(deadline_ns) : ends;
      });
  if (!written.ok()) return written;
  return CheckWritten(order, StampOnLun(*lun, *keys_, limit_ns));
}

absl::Status Guard::Stamp(const v1::StampOrder& order, const std::string& by, const std::string& at,
                          int64_t limit_ns) const {
  if (order.size_bytes() < kMinStamped) {
    return absl::FailedPreconditionError(absl::StrCat(
        order.path(), ": too small for stamps, which take ", kStampBytes, " bytes at each end"));
  }
  // Copies of all that is used: it may outlive this call.
  const auto url = common::ParseIscsiUrl(order.path());
  if (!url.ok()) {
    return ChangeWithinLimit(order.path(), limit_ns,
                             [guard = *this, order, by, at](const BeginChange& begin) {
                               return guard.StampDevice(order, by, at, begin);
                             });
  }
  if (absl::Status allowed = CheckLunAllowed(*url); !allowed.ok()) return allowed;
  return ChangeWithinLimit(
      order.path(), limit_ns,
      [guard = *this, url = *url, order, by, at, limit_ns](const BeginChange& begin) {
        return guard.StampLun(url, order, by, at, limit_ns, begin);
      });
}

}  // namespace lockstep::worker
