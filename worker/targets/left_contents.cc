#include "worker/targets/left_contents.h"

#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/files.h"
#include "common/limits.h"
#include "common/side_by_side.h"
#include "worker/host/device_content.h"
#include "worker/host/reopen.h"
#include "worker/host/time_limit.h"
#include "worker/iscsi/luns.h"
#include "worker/targets/foreign_files.h"

namespace lockstep::worker {
namespace {

using Samples = std::shared_ptr<std::string>;

absl::Status SampleLun(const LunSpec& lun, const Samples& samples) {
  const auto content = Luns::WhatIsOn(lun, ContentDepth::kSamples, limits::kProbeNs, 0);
  if (content.ok()) *samples = content->samples;
  return content.status();
}

absl::Status SampleDevice(int fd, const std::string& path, const Samples& samples) {
  // Buffered writes that are still in this host's page cache must get to the device, where other
  // hosts see them. Unlike fsync(2), sync_file_range(2) does not flush the device's own cache,
  // which the job did not ask for.
  constexpr unsigned kAll =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (sync_file_range(fd, 0, 0, kAll) != 0) return common::ErrnoStatus(errno, path);
  auto content = ContentOf(fd, path, ContentDepth::kSamples, 0);
  if (content.ok()) *samples = std::move(content->samples);
  return content.status();
}

absl::Status SampleFile(uint32_t number, const common::FileDescriptor& fd, const std::string& path,
                        const Samples& samples) {
  const auto now = DescribeForeign(number, fd, path, FileDepth::kSamples);
  if (now.ok()) *samples = now->fingerprint();
  return now.status();
}

std::optional<v1::LeftContent> Sample(const OpenedFile& file) {
  // The thread may outlive this call: it shares the samples and the descriptor.
  const auto samples = std::make_shared<std::string>();
  absl::Status status;
  if (file.is_foreign) {
    const auto fd = std::make_shared<common::FileDescriptor>(Reopen(file.descriptor, O_RDONLY));
    status = WithinLimit(file.path, limits::kProbeNs,
                         [fd, number = file.number, path = file.path, samples] {
                           return SampleFile(number, *fd, path, samples);
                         });
  } else if (file.lun != nullptr) {
    status = WithinLimit(file.path, limits::kProbeNs,
                         [lun = file.lun, samples] { return SampleLun(*lun, samples); });
  } else {
    // The device is read through a descriptor of its own, since the load's may be O_DIRECT.
    const auto fd =
        std::make_shared<common::FileDescriptor>(Reopen(file.descriptor, O_RDONLY | O_NONBLOCK));
    status = WithinLimit(file.path, limits::kProbeNs, [fd, path = file.path, samples] {
      return SampleDevice(fd->get(), path, samples);
    });
  }
  // Without samples the next phase looks only for signatures on a device (Guard::DepthOf()).
  if (!status.ok() || samples->empty()) return std::nullopt;
  v1::LeftContent left;
  left.set_target(file.target);
  left.set_file(file.number);
  left.set_fingerprint(*samples);
  return left;
}

}  // namespace

std::vector<v1::LeftContent> LeftContentsOf(const std::vector<OpenedFile>& files) {
  std::vector<const OpenedFile*> written;
  for (const OpenedFile& file : files) {
    const bool is_device = file.lun != nullptr || file.engine_file.is_block_device();
    const bool is_stamped = file.stamp_bytes != 0;
    // A stamp, or the mark beside a file that Lockstep made, already permits the next phase to
    // write. Only for the rest must it know what the run left.
    if (file.written && ((is_device && !is_stamped) || file.is_foreign)) written.push_back(&file);
  }
  std::vector<std::optional<v1::LeftContent>> found(written.size());
  common::SideBySide(written.size(), limits::kMaxInspections,
                     [&](size_t i) { found[i] = Sample(*written[i]); });
  std::vector<v1::LeftContent> left;
  for (auto& one : found) {
    if (one) left.push_back(*std::move(one));
  }
  return left;
}

}  // namespace lockstep::worker
