#include "worker/targets/inspect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/iscsi_url.h"
#include "common/limits.h"
#include "common/mutex.h"
#include "common/side_by_side.h"
#include "common/units.h"
#include "worker/host/block_devices.h"
#include "worker/host/byte_ranges.h"
#include "worker/host/device_stamp.h"
#include "worker/host/facts.h"
#include "worker/host/layers.h"
#include "worker/host/observed_devices.h"
#include "worker/host/storage_servers.h"
#include "worker/host/time_limit.h"
#include "worker/targets/direct_io.h"
#include "worker/targets/foreign_files.h"
#include "worker/targets/inspect_layers.h"
#include "worker/targets/marks.h"

namespace lockstep::worker {
namespace {

// The kernel's facts about devices, asked once for all targets of a request: hundreds of files lie
// on few devices. Thread-safe.
class KernelFacts {
 public:
  struct Device {
    std::string disk;  // empty for tmpfs, overlay, NFS: no block device underneath
    std::string identity;
    std::string network_source;
    std::string filesystem_key;
    uint32_t logical_block_bytes = 0;
    bool journals_data = false;
  };
  const Device& Of(dev_t number, const struct statfs* space) {
    // The lock is held while the kernel is asked. Targets are inspected side by side, and each
    // thread would otherwise describe the same device once more.
    const common::MutexLock lock(&mutex_);
    // A reference into a std::map stays valid while other threads insert.
    const auto [known, is_new] = devices_.try_emplace(number);
    if (!is_new) return known->second;
    Device& device = known->second;
    if (const auto disk = WholeDiskOf(number); disk.ok()) {
      device.disk = *disk;
      if (const auto facts = DescribeBlockDevice(number); facts.ok()) {
        device.identity = facts->identity();
        device.logical_block_bytes = facts->logical_block_bytes();
      }
      device.journals_data = JournalsData(number);
    }
    device.network_source = NetworkSource(number);
    device.filesystem_key = FilesystemKey(number, space);
    return device;
  }
  const FilesUnderDevices& under() const { return under_; }

 private:
  const FilesUnderDevices under_;
  common::Mutex mutex_;
  std::map<dev_t, Device> devices_ ABSL_GUARDED_BY(mutex_);  // never removed
};

// A request, and what all its targets are inspected with. Copies share it, so that it lives on
// while a file system that does not answer still uses it.
struct Request {
  const Guard& guard;
  const HostPolicy& policy;
  std::shared_ptr<const v1::Inspect> request;
  RunIdentity who;
  std::shared_ptr<KernelFacts> kernel = std::make_shared<KernelFacts>();
};

void DescribeDevice(const KernelFacts::Device& device, dev_t number, v1::TargetInspection* found) {
  if (device.disk.empty()) return;
  found->set_device_name(device.disk);
  found->set_device_major(major(number));
  found->set_device_minor(minor(number));
  found->set_device_identity(device.identity);
}

bool Has(const google::protobuf::RepeatedField<uint32_t>& list, uint32_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Records the content that both the job and the worker declare expendable.
void SetOverwrites(const HostPolicy& policy, const v1::Inspect& request, const std::string& what,
                   v1::TargetInspection* found) {
  if (what.empty()) return;
  found->set_overwrites(what);
  found->set_is_approved(policy.Approves(request.labels()));
}

// With more files than this, only their own directory and the outermost one are remembered.
// limits::kFilesOfAJob files beneath 32 directories would have 16 MiB of names, which is more than
// limits::kInspectionBytes.
constexpr uint32_t kManyFiles = 1024;
// Paths that are shown.
constexpr int kPathsShown = 3;

// So many bytes of a target's expendable files are read; beyond them, samples are. To hash 1 GiB
// within limits::kInspectNs takes a disk that reads 54 MB/s.
constexpr uint64_t kForeignBytesRead = 1 << 30;

struct FileTotals {
  uint64_t foreign_bytes = 0;  // in files that Lockstep did not make
  FileRanges ranges;
  uint64_t missing_bytes = 0;
  uint32_t overwritten = 0;
  uint32_t made = 0;
  // Direct I/O on one of the files reaches the device, unless the file system journals all data.
  bool has_direct_io = false;
};

// The logical block that direct I/O on the target's files requires; 0 where none is known.
uint32_t DirectBlockOf(const std::string& filesystem, const FileTotals& totals,
                       const KernelFacts::Device& device) {
  // These two hand direct I/O to the device as it is. FUSE, for one, leaves its alignment to the
  // server.
  if (filesystem != "ext4" && filesystem != "xfs") return 0;
  return totals.has_direct_io && !device.journals_data ? device.logical_block_bytes : 0;
}

// The target's file with this number.
absl::Status InspectFile(const Request& question, uint32_t index, uint32_t number,
                         FileTotals* totals, v1::TargetInspection* found) {
  const Guard& guard = question.guard;
  const v1::Inspect& request = *question.request;
  const v1::FileTarget& file = request.targets(index).file();
  const std::string path = FilePath(file, number, question.who);
  const auto allowed = guard.Locate(path);
  if (!allowed.ok()) return allowed.status();
  if (found->paths_size() < kPathsShown) found->add_paths(allowed->path());
  found->set_path_count(found->path_count() + 1);
  const bool written = Has(request.written_targets(), index);
  const bool prepared = Has(request.prepared_targets(), index);
  auto fd = guard.Open(*allowed, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  std::string rest;
  // The name is a range of its own beside the inode: a file that another run is about to make has
  // no inode yet.
  auto nearest = guard.OpenNearest(*allowed, &rest);
  if (nearest.ok()) totals->ranges.AddName(*nearest, rest, file.count() > kManyFiles);
  if (fd.ok()) totals->ranges.AddFile(*fd);
  if (absl::IsNotFound(fd.status())) {
    if (!prepared) {
      return absl::NotFoundError(
          absl::StrCat(path, ": does not exist, and the job does not prepare it"));
    }
    if (!nearest.ok()) return nearest.status();
    totals->missing_bytes += file.size_bytes();
    totals->has_direct_io = true;
    ++totals->made;
    return absl::OkStatus();
  }
  if (!fd.ok()) return fd.status();
  struct stat facts;
  if (fstat(fd->get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  // A file that is to grow may lie in its inode, which has no direct I/O, and leave it.
  if (facts.st_size < file.size_bytes() || !HasBufferedDirectIo(*fd)) totals->has_direct_io = true;
  if (!prepared && facts.st_size < file.size_bytes()) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": has ", facts.st_size,
                                                      " bytes, the job says ", file.size_bytes(),
                                                      " and does not prepare it"));
  }
  if (!written && !prepared) return absl::OkStatus();
  if (absl::Status status = CheckMadeByLockstep(guard, *allowed, *fd); !status.ok()) {
    if (!guard.IsExpendableFile(*fd, {request.expendable().begin(), request.expendable().end()})) {
      return status;
    }
    if (found->foreign_files_size() >= limits::kForeignFiles) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": the target has more than ", limits::kForeignFiles,
                       " files that Lockstep did not make; remove them, or use another directory"));
    }
    totals->foreign_bytes += static_cast<uint64_t>(facts.st_size);
    auto foreign = DescribeForeign(
        number, *fd, path,
        totals->foreign_bytes <= kForeignBytesRead ? FileDepth::kWhole : FileDepth::kSamples);
    if (!foreign.ok()) return foreign.status();
    *found->add_foreign_files() = *std::move(foreign);
  }
  if (absl::Status used = question.kernel->under().Check(path, fd->get()); !used.ok()) return used;
  ++totals->overwritten;
  // Only allocated blocks count: a sparse file has still to be filled.
  const int64_t allocated = std::min<int64_t>(file.size_bytes(), facts.st_blocks * int64_t{512});
  totals->missing_bytes += static_cast<uint64_t>(file.size_bytes() - allocated);
  return absl::OkStatus();
}

// `mount_id`: gets the mount that the target's files are reached through.
absl::Status InspectFiles(const Request& question, uint32_t index, v1::TargetInspection* found,
                          uint64_t* mount_id) {
  const Guard& guard = question.guard;
  const HostPolicy& policy = question.policy;
  const v1::Inspect& request = *question.request;
  const RunIdentity& who = question.who;
  const v1::FileTarget& file = request.targets(index).file();
  FileTotals totals;
  totals.ranges = FileRanges([&question](dev_t device, const struct statfs* space) {
    return question.kernel->Of(device, space).filesystem_key;
  });
  absl::Status status;
  for (uint32_t i = 0; i < file.count() && status.ok(); ++i) {
    status = InspectFile(question, index, i, &totals, found);
  }
  found->set_file_ranges(totals.ranges.bytes());
  if (!status.ok()) return status;
  const auto allowed = guard.Locate(FilePath(file, 0, who));
  if (!allowed.ok()) return allowed.status();
  auto nearest = guard.OpenNearest(*allowed);
  if (!nearest.ok()) return nearest.status();
  struct stat facts;
  struct statfs space;
  if (fstat(nearest->get(), &facts) != 0 || fstatfs(nearest->get(), &space) != 0) {
    return common::ErrnoStatus(errno, allowed->path());
  }
  const KernelFacts::Device& device = question.kernel->Of(facts.st_dev, &space);
  DescribeDevice(device, facts.st_dev, found);
  *mount_id = MountIdOf(nearest->get());
  found->set_filesystem(FileSystemName(space.f_type));
  found->set_direct_block_bytes(DirectBlockOf(found->filesystem(), totals, device));
  found->set_size_bytes(uint64_t{file.count()} * file.size_bytes());
  // f_bavail leaves out the blocks that are reserved for root (statfs(2)). A job must not use these
  // up.
  found->set_free_bytes(static_cast<uint64_t>(space.f_bavail) *
                        static_cast<uint64_t>(space.f_frsize));
  found->set_filesystem_bytes(static_cast<uint64_t>(space.f_blocks) *
                              static_cast<uint64_t>(space.f_frsize));
  const std::string& source = device.network_source;
  // The controller adds up what all targets on one file system need: they must have the same id.
  found->set_filesystem_id(
      !source.empty() ? "net:" + source
                      : absl::StrCat(common::ReadTrimmed("/proc/sys/kernel/random/boot_id"), ":",
                                     major(facts.st_dev), ":", minor(facts.st_dev)));
  found->set_missing_bytes(totals.missing_bytes);
  if (totals.made != 0) {
    found->set_would_write(absl::StrCat("makes ", totals.made,
                                        totals.made == 1 ? " file" : " files", " of ",
                                        common::FormatSize(file.size_bytes())));
  }
  if (const int foreign = found->foreign_files_size(); foreign != 0) {
    SetOverwrites(
        policy, request,
        absl::StrCat(foreign, foreign == 1 ? " file" : " files", " that Lockstep did not make"),
        found);
  }
  if (totals.overwritten != 0) {
    found->set_would_write(absl::StrCat(found->would_write(),
                                        found->would_write().empty() ? "" : ", ", "overwrites ",
                                        totals.overwritten, " made by Lockstep or expendable"));
  }
  return absl::OkStatus();
}

// How much of the device, or LUN, the job may have, and what writing it overwrites. `wanted`: bytes
// that the job says; 0 for all.
absl::Status DescribeUse(const HostPolicy& policy, const v1::Inspect& request,
                         const v1::BlockDevice& device, int64_t wanted, bool written,
                         v1::TargetInspection* found) {
  const uint64_t stamp = device.enrolled().empty() ? 0 : kStampBytes;
  found->set_stamp_bytes(stamp);
  found->set_stamp_number(device.stamp_number());
  found->set_page_cached(device.page_cached());
  found->set_direct_block_bytes(device.logical_block_bytes());
  found->set_size_bytes(device.size_bytes() - 2 * stamp);
  const auto bytes = UsableBytes(device, wanted, stamp);
  if (!bytes.ok()) return bytes.status();
  if (!written) return absl::OkStatus();
  SetOverwrites(policy, request, device.in_use(), found);
  found->set_content_fingerprint(device.content_fingerprint());
  const std::string identity = device.identity().empty() ? "no identity" : device.identity();
  found->set_would_write(stamp == 0
                             ? absl::StrCat("overwrites the first ", common::FormatSize(*bytes),
                                            " of ", device.path(), " (", identity, ")")
                             : absl::StrCat("overwrites ", common::FormatSize(*bytes),
                                            " between the stamps of ", device.path(), " (",
                                            identity, ", enrolled ", device.enrolled(), ")"));
  return absl::OkStatus();
}

absl::Status InspectDevice(const Request& question, uint32_t index, int64_t read_until_ns,
                           v1::TargetInspection* found) {
  const Guard& guard = question.guard;
  const v1::Inspect& request = *question.request;
  const v1::DeviceTarget& target = request.targets(index).device();
  std::string path = DevicePath(target, question.who);
  if (path.empty()) {
    const auto matching = guard.FindDevice(target);
    if (!matching.ok()) return matching.status();
    path = *matching;
    found->set_path(path);
  }
  const bool written = Has(request.written_targets(), index);
  DeviceUse use;
  use.identity = target.identity();
  use.write = written;
  use.expendable.assign(request.expendable().begin(), request.expendable().end());
  use.read_until_ns = read_until_ns;
  std::vector<v1::ByteRange> ranges;
  const auto device = guard.CheckDevice(path, use, &ranges);
  for (const v1::ByteRange& allowed : ranges) *found->add_ranges() = allowed;
  found->set_path_count(1);
  if (!device.ok()) return device.status();
  found->add_paths(device->path());
  const dev_t number = makedev(device->major_number(), device->minor_number());
  DescribeDevice(question.kernel->Of(number, nullptr), number, found);
  // CheckDevice() has asked the device itself. The identity set above comes from sysfs, where the
  // path of a loop device may lead to another file.
  found->set_device_identity(device->identity());
  found->set_disk_sequence(device->disk_sequence());
  return DescribeUse(question.policy, request, *device, target.size_bytes(), written, found);
}

absl::Status InspectLun(const Request& question, uint32_t index, int64_t read_until_ns,
                        v1::TargetInspection* found) {
  const v1::Inspect& request = *question.request;
  const v1::IscsiTarget& target = request.targets(index).iscsi();
  const auto url = common::ParseIscsiUrl(target.url());
  if (!url.ok()) return url.status();
  DeviceUse use;
  use.identity = target.identity();
  use.write = Has(request.written_targets(), index);
  use.expendable.assign(request.expendable().begin(), request.expendable().end());
  use.read_until_ns = read_until_ns;
  found->set_path_count(1);
  v1::BlockDevice device;
  const auto lun = question.guard.CheckLun(*url, use, &device);
  if (!device.identity().empty()) *found->add_ranges() = DiskRange(device.identity());
  if (!lun.ok()) return lun.status();
  found->add_paths(url->text());
  found->set_device_identity(device.identity());
  return DescribeUse(question.policy, request, device, target.size_bytes(), use.write, found);
}

absl::Status InspectNull(const v1::NullTarget& target, v1::TargetInspection* found) {
  found->add_paths(target.device() == v1::NULL_DEVICE_ZERO ? "/dev/zero" : "nothing");
  found->set_size_bytes(target.size_bytes());
  return absl::OkStatus();
}

// One of the request's targets. `mount_id` as InspectFiles().
absl::Status InspectTarget(const Request& question, uint32_t index, int64_t read_until_ns,
                           v1::TargetInspection* found, uint64_t* mount_id) {
  const v1::Target& target = question.request->targets(static_cast<int>(index));
  if (target.has_null()) return InspectNull(target.null(), found);
  if (target.has_iscsi()) return InspectLun(question, index, read_until_ns, found);
  if (target.has_device()) return InspectDevice(question, index, read_until_ns, found);
  // A file system that does not answer holds up only its own target.
  // After the limit the thread may go on writing to `inspected`. `found` belongs to the caller, and
  // is written only after the thread has ended.
  struct Inspected {
    v1::TargetInspection found;
    uint64_t mount_id = 0;
  };
  auto inspected = std::make_shared<Inspected>();
  inspected->found = *found;
  const absl::Status status =
      WithinLimit("file system of " + FilePath(target.file(), 0, question.who), limits::kInspectNs,
                  [question, index, inspected] {
                    return InspectFiles(question, index, &inspected->found, &inspected->mount_id);
                  });
  if (absl::IsDeadlineExceeded(status)) return status;
  *found = inspected->found;
  *mount_id = inspected->mount_id;
  return status;
}

}  // namespace

v1::Inspection InspectTargets(const Guard& guard, const HostPolicy& policy,
                              const v1::Inspect& request, const RunIdentity& who) {
  v1::Inspection inspection;
  inspection.set_run_id(request.run_id());
  for (int i = 0; i < request.targets_size(); ++i) inspection.add_targets()->set_target(i);
  const Request question{guard, policy, std::make_shared<const v1::Inspect>(request), who};
  std::vector<absl::Status> statuses(static_cast<size_t>(request.targets_size()));
  std::vector<uint64_t> mount_ids(statuses.size());
  common::SideBySide(statuses.size(), limits::kMaxInspections, [&](size_t i) {
    // The time counts from here, not from the request's arrival: a target that has waited for a
    // thread gets its full time.
    const int64_t read_until_ns = common::SystemClock().MonotonicNs() + limits::kEmptinessNs;
    statuses[i] = InspectTarget(question, static_cast<uint32_t>(i), read_until_ns,
                                inspection.mutable_targets(static_cast<int>(i)), &mount_ids[i]);
  });
  AddLayers(mount_ids, &inspection);
  const std::vector<v1::StorageLayer> layers(inspection.layers().begin(),
                                             inspection.layers().end());
  int64_t range_bytes = 0;
  for (int i = 0; i < request.targets_size(); ++i) {
    v1::TargetInspection* found = inspection.mutable_targets(i);
    absl::Status status = statuses[static_cast<size_t>(i)];
    // A v1::ByteRange, with three numbers, takes some 32 bytes of the message.
    range_bytes +=
        static_cast<int64_t>(found->file_ranges().size()) + int64_t{32} * found->ranges_size();
    if (status.ok() && range_bytes > limits::kInspectionBytes) {
      found->clear_file_ranges();
      status = absl::ResourceExhaustedError(absl::StrCat(
          "the files of the job, with the names of all directories above them, are more than ",
          limits::kInspectionBytes,
          " bytes of ranges; use fewer files, or lay them out nearer to the root"));
    }
    if (status.ok()) status = CheckSettings(policy, request, layers, found);
    range_bytes += int64_t{32} * found->settings_ranges_size();
    if (!status.ok()) found->set_refused(std::string(status.message()));
  }
  AnswerObserves(guard, policy.observes(), request.observes(), &inspection);
  for (const auto& [key, value] : ReadEnvironment()) (*inspection.mutable_facts())[key] = value;
  for (const auto& [key, value] : ReadTargetFacts(inspection)) {
    (*inspection.mutable_facts())[key] = value;
  }
  return inspection;
}

}  // namespace lockstep::worker
