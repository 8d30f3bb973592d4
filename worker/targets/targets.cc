#include "worker/targets/targets.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/limits.h"
#include "measure/target_key.h"
#include "worker/targets/openers.h"

namespace lockstep::worker {
namespace {

using Opener = absl::Status (*)(const OpenContext& context, const v1::TargetAssignment& target,
                                OpenTargets* open);

Opener OpenerOf(v1::Target::KindCase kind) {
  static const std::map<v1::Target::KindCase, Opener> kOpeners = {
      {v1::Target::kFile, OpenFileTarget},
      {v1::Target::kDevice, OpenDeviceTarget},
      {v1::Target::kIscsi, OpenIscsiTarget},
      {v1::Target::kNull, OpenNullTarget},
  };
  const auto found = kOpeners.find(kind);
  return found == kOpeners.end() ? nullptr : found->second;
}

}  // namespace

std::string FilePath(const v1::FileTarget& target, uint32_t file, const RunIdentity& who) {
  return measure::FilePath(target, file, who.host, who.worker_index);
}

std::string DevicePath(const v1::DeviceTarget& target, const RunIdentity& who) {
  const auto found = target.path_on_host().find(who.host);
  return found == target.path_on_host().end() ? target.path() : found->second;
}

std::vector<EngineFile> OpenTargets::engine_files() const {
  std::vector<EngineFile> list;
  for (const OpenedFile& file : files) list.push_back(file.engine_file);
  return list;
}

std::vector<std::string> OpenTargets::paths() const {
  std::vector<std::string> list;
  for (const OpenedFile& file : files) list.push_back(file.path);
  return list;
}

DeviceUse UseOf(const v1::TargetAssignment& target, const std::string& identity,
                const OpenOptions& options) {
  DeviceUse use;
  use.identity = identity;
  use.write = options.write;
  use.expendable = options.expendable;
  use.inspected_identity = target.device_identity();
  use.own_data = target.written_before();
  for (const v1::LeftContent& left : target.left_contents()) {
    use.left_contents.push_back(left.fingerprint());
  }
  use.inspected_content = target.content_fingerprint();
  use.inspected_stamp = target.stamp_number();
  use.read_until_ns = common::SystemClock().MonotonicNs() + limits::kEmptinessArmedNs;
  return use;
}

absl::Status AddOpened(const v1::TargetAssignment& target, uint64_t base, OpenedFile file,
                       OpenTargets* open) {
  const uint64_t stamp = target.stamp_bytes();
  const uint64_t size = file.engine_file.size_bytes;
  const auto index = static_cast<uint16_t>(open->files.size());
  if (file.thing.empty()) file.thing = file.path;
  file.target = target.index();
  file.stamp_bytes = stamp;
  file.written = target.written();
  file.written_since = target.written_since();
  open->files.push_back(std::move(file));
  // Bytes [from, to), counted as the file's, as far as they are in this file and behind its stamp.
  const auto add = [&](uint64_t from, uint64_t to) {
    from = std::max(from, base + stamp);
    to = std::min(to, base + size);
    if (from < to) open->extents.push_back({index, from - base, to - base});
  };
  if (target.stripe_bytes() == 0) {
    const uint64_t begin = stamp + target.slice_begin_bytes();
    const uint64_t length = target.slice_length_bytes();
    length == 0 ? add(base, base + size) : add(begin, begin + length);
    return absl::OkStatus();
  }
  const uint64_t stripe = target.stripe_bytes();
  const uint64_t step = std::max(1U, target.stripe_step());
  // Each stripe becomes an extent in the worker's memory.
  if (size / stripe / step > static_cast<uint64_t>(limits::kStripes)) {
    return absl::InvalidArgumentError(absl::StrCat(open->files.back().path, ": has more than ",
                                                   limits::kStripes, " stripes for a worker"));
  }
  // From the first of this worker's stripes that reaches into the file.
  const uint64_t at = base / stripe;
  // The numbers of this worker's stripes are first_stripe, first_stripe + step and so on, so that
  // the first one in this file is found by rounding up.
  const uint64_t behind = at > target.first_stripe() ? at - target.first_stripe() : 0;
  uint64_t number = target.first_stripe() + (behind + step - 1) / step * step;
  for (; number * stripe < base + size; number += step) add(number * stripe, (number + 1) * stripe);
  return absl::OkStatus();
}

absl::StatusOr<OpenTargets> OpenAll(const Guard& guard,
                                    const std::vector<v1::TargetAssignment>& targets,
                                    const RunIdentity& who, const OpenOptions& options) {
  OpenTargets open;
  for (const v1::TargetAssignment& target : targets) {
    const Opener opener = OpenerOf(target.target().kind_case());
    if (opener == nullptr) {
      return absl::UnimplementedError(absl::StrCat("target ", target.target().name(),
                                                   ": this worker opens no targets of its kind"));
    }
    const absl::Status status = opener({guard, who, options}, target, &open);
    if (!status.ok()) return status;
  }
  for (OpenedFile& file : open.files) file.is_writable = options.write;
  return open;
}

}  // namespace lockstep::worker
