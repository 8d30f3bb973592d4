#include "worker/host/block_devices.h"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace lockstep::worker {

const KernelBlocks& ThisKernel() {
  static const KernelBlocks kernel;
  return kernel;
}

absl::StatusOr<v1::BlockDevice> DescribeBlockDevice(dev_t number, int fd) {
  const auto name = ThisKernel().NameOf(number);
  if (!name.ok()) return name.status();
  v1::BlockDevice device = ThisKernel().Describe(*name);
  loop_info64 loop = {};
  if (fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &loop) == 0) {
    const auto encoded = static_cast<uint32_t>(loop.lo_device);
    device.set_identity(KernelBlocks::LoopIdentity(
        makedev((encoded & 0xfff00) >> 8, (encoded & 0xff) | ((encoded >> 12) & 0xfff00)),
        loop.lo_inode));
  }
  uint64_t sequence = 0;
#ifdef BLKGETDISKSEQ
  if (fd >= 0 && ioctl(fd, BLKGETDISKSEQ, &sequence) == 0) device.set_disk_sequence(sequence);
#endif
  return device;
}

absl::Status FilesUnderDevices::Check(const std::string& path, int fd) const {
  struct stat facts;
  if (files_.empty() || fstat(fd, &facts) != 0) return absl::OkStatus();
  const auto found = files_.find({facts.st_dev, facts.st_ino});
  const std::string use = found == files_.end() ? "" : ThisKernel().UseOfFileUnder(found->second);
  if (use.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": the file is underneath ", use, "; what is in use is never written"));
}

std::string IdentityOfNumber(dev_t number) {
  const auto name = ThisKernel().NameOf(number);
  return name.ok() ? ThisKernel().IdentityOf(*name) : "";
}

absl::StatusOr<std::string> WholeDiskOf(dev_t number) {
  const auto name = ThisKernel().NameOf(number);
  if (!name.ok()) return name.status();
  return ThisKernel().WholeDiskOf(*name);
}

absl::StatusOr<std::string> SignatureOf(int fd, const std::string& path) {
  std::unique_ptr<blkid_struct_probe, void (*)(blkid_probe)> probe(blkid_new_probe(),
                                                                   blkid_free_probe);
  if (probe == nullptr || blkid_probe_set_device(probe.get(), fd, 0, 0) != 0) {
    return absl::UnavailableError(absl::StrCat(path, ": libblkid cannot read it"));
  }
  blkid_probe_enable_superblocks(probe.get(), 1);
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL);
  blkid_probe_enable_partitions(probe.get(), 1);
  // 0 found, 1 nothing, -2 ambivalent (more than one signature), -1 error.
  const int result = blkid_do_safeprobe(probe.get());
  if (result == 1) return std::string();
  if (result == -2) return std::string("signatures of more than one file system");
  if (result != 0) {
    return absl::UnavailableError(absl::StrCat(path, ": its first sectors cannot be read"));
  }
  const char* value = nullptr;
  if (blkid_probe_lookup_value(probe.get(), "TYPE", &value, nullptr) == 0) {
    const std::string type(value);
    const bool member =
        type.find("LVM") != std::string::npos || type.find("raid") != std::string::npos;
    return absl::StrCat(member ? "a signature of " : "a file system or signature of type ", type);
  }
  if (blkid_probe_lookup_value(probe.get(), "PTTYPE", &value, nullptr) == 0) {
    return absl::StrCat("a partition table of type ", value);
  }
  return std::string();
}

std::vector<Spot> SpotsOf(uint64_t size_bytes) {
  constexpr uint64_t kEnd = 1 << 20;
  constexpr uint64_t kSpot = 4096;
  constexpr uint64_t kBetween = 62;
  if (size_bytes <= 2 * kEnd) return {{0, size_bytes}};
  std::vector<Spot> spots = {{0, kEnd}};
  for (uint64_t i = 1; i <= kBetween; ++i) {
    const uint64_t at = size_bytes / (kBetween + 1) * i / kSpot * kSpot;
    if (at >= kEnd && at + kSpot <= size_bytes - kEnd) spots.push_back({at, kSpot});
  }
  spots.push_back({size_bytes - kEnd, kEnd});
  return spots;
}

absl::StatusOr<std::string> ContentOf(int fd, const std::string& path, bool signature_only) {
  auto signature = SignatureOf(fd, path);
  if (!signature.ok() || !signature->empty() || signature_only) return signature;
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0) return common::ErrnoStatus(errno, path);
  std::string data;
  for (const Spot& spot : SpotsOf(static_cast<uint64_t>(size))) {
    const auto at = static_cast<off_t>(spot.offset);
    // What another host has written is not in this one's page cache.
    posix_fadvise(fd, at, static_cast<off_t>(spot.length), POSIX_FADV_DONTNEED);
    data.resize(spot.length);
    if (pread(fd, data.data(), data.size(), at) != static_cast<ssize_t>(data.size())) {
      return absl::UnavailableError(
          absl::StrCat(path, ": offset ", spot.offset, " cannot be read"));
    }
    const size_t found = data.find_first_not_of('\0');
    if (found == std::string::npos) continue;
    return absl::StrCat("data without a known signature (not zero at offset ", spot.offset + found,
                        ")");
  }
  return std::string();
}

}  // namespace lockstep::worker
