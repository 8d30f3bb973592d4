#include "controller/plan/target_rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/iscsi_url.h"
#include "common/units.h"

namespace lockstep::controller {
namespace {

// Direct I/O must be aligned to the logical block of the device, which is usually at most 4 KiB.
// I/Os at the start of a stripe that is not aligned would fail.
constexpr int64_t kStripeUnit = 4096;
// The least bytes of each file that a total_size gives its bytes.
constexpr int64_t kMinBytesOfTotal = 4096;

void CheckSharing(const v1::Target& target, const Complain& complain) {
  if ((target.has_device() || target.has_iscsi()) && target.sharing() == v1::SHARING_PRIVATE) {
    complain("", "a device cannot be private: that is for files");
  }
  if (target.stripe_bytes() % kStripeUnit != 0) {
    complain(".stripe", "must be a multiple of 4 KiB");
  }
  if (target.fence() == v1::FENCE_RESERVATION && !target.has_device() && !target.has_iscsi()) {
    complain(".fence", "is for devices and LUNs: files and null targets have no reservations");
  }
  if (target.stripe_bytes() != 0 && target.sharing() != v1::SHARING_INTERLEAVED) {
    complain(".stripe", "belongs to sharing: interleaved");
  }
}

void CheckFile(const v1::FileTarget& file, const Complain& complain) {
  // Each worker would resolve a relative path against its own working directory.
  if (file.path().empty() || file.path()[0] != '/') {
    complain(".file.path", absl::StrCat("'", file.path(), "' is not an absolute path"));
  }
  const int64_t total = file.total_size_bytes();
  if (total == 0 && file.size_bytes() == 0) {
    complain(".file.size",
             "is missing; say how large each file is, or all of them together by total_size");
  } else if (total != 0 && file.size_bytes() < kMinBytesOfTotal) {
    complain(".file.total_size", absl::StrCat("gives each of ", file.count(), " files ",
                                              common::FormatSize(static_cast<double>(total) /
                                                                 std::max(1U, file.count())),
                                              ", which is less than a block of the I/O on it"));
  }
}

void CheckDevice(const v1::DeviceTarget& device, const Complain& complain) {
  const bool is_described = !device.identity().empty() || !device.serial().empty() ||
                            !device.model().empty() || !device.transport().empty() ||
                            device.capacity_bytes() != 0;
  // An identity is not a rule here. Beside a path it is what the device at the path must have.
  const bool is_ruled = !device.serial().empty() || !device.model().empty() ||
                        !device.transport().empty() || device.capacity_bytes() != 0;
  if (device.path().empty() && !is_described) {
    complain(".device",
             "names no device: give its path, or what it is (identity, serial, model, transport, "
             "capacity)");
  }
  if (!device.path().empty() && is_ruled) {
    complain(".device.path",
             "stands beside serial, model, transport or capacity: name the device by its path, or "
             "by what it is");
  }
  if (!device.path().empty() && device.path().rfind("/dev/", 0) != 0) {
    complain(".device.path", absl::StrCat("'", device.path(), "' does not lie under /dev"));
  }
}

}  // namespace

void CheckTarget(const v1::Target& target, const Complain& complain) {
  if (target.name().empty()) complain(".name", "is missing");
  CheckSharing(target, complain);
  switch (target.kind_case()) {
    case v1::Target::kFile:
      return CheckFile(target.file(), complain);
    case v1::Target::kDevice:
      return CheckDevice(target.device(), complain);
    case v1::Target::kIscsi: {
      const auto url = common::ParseIscsiUrl(target.iscsi().url());
      if (!url.ok()) complain(".iscsi.url", std::string(url.status().message()));
      return;
    }
    case v1::Target::kNull:
      // With a stall as long as its period, every I/O would wait for the end of a stall.
      if (target.null().stall_ns() == 0 ||
          target.null().stall_ns() < target.null().stall_every_ns())
        return;
      return complain(".null.stall", "must be shorter than stall_every");
    case v1::Target::KIND_NOT_SET:
      return complain("", "is neither a `file` nor a `device`, `iscsi` or `null`");
  }
}

int64_t KnownSizeOf(const v1::Target& target) {
  if (target.has_null()) return target.null().size_bytes();
  if (!target.has_file()) return INT64_MAX;
  // CheckFile() complains of it. INT64_MAX keeps the rules for workloads from saying it again.
  const bool is_refused =
      target.file().total_size_bytes() != 0 && target.file().size_bytes() < kMinBytesOfTotal;
  return is_refused ? INT64_MAX : target.file().size_bytes();
}

}  // namespace lockstep::controller
