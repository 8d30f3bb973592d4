// The guard's part about LUNs without a kernel initiator.

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/limits.h"
#include "worker/host/block_devices.h"
#include "worker/host/guard.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {
namespace {

v1::BlockDevice Describe(const LunSpec& lun) {
  v1::BlockDevice device;
  device.set_name(lun.url.text());
  device.set_path(lun.url.text());
  device.set_size_bytes(lun.facts.size_bytes);
  device.set_logical_block_bytes(lun.facts.block_bytes);
  device.set_identity(lun.facts.identity);
  device.set_model(absl::StrCat(lun.facts.vendor, " ", lun.facts.model));
  device.set_serial(lun.facts.serial);
  device.set_transport("iscsi");
  v1::DevicePath* path = device.add_paths();
  path->set_name(lun.numeric.portal);
  path->set_state("running");
  device.set_allowed(true);
  return device;
}

// A LUN, and what it carries if that was asked.
struct Found {
  LunSpec lun;
  std::string content;
};

// A name server or a portal may not answer: `found` is for whoever still waits, and is not to be
// read after DEADLINE_EXCEEDED.
absl::Status LookWithin(int64_t limit_ns, const std::shared_ptr<Luns>& luns,
                        const common::IscsiUrl& url, bool look, bool signature_only,
                        const std::shared_ptr<Found>& found) {
  return WithinLimit(url.text(), limit_ns, [=] {
    auto lun = luns->Look(url, limit_ns);
    if (!lun.ok()) return lun.status();
    found->lun = *std::move(lun);
    if (!look) return absl::OkStatus();
    auto content = Luns::WhatIsOn(found->lun, signature_only, limit_ns);
    if (!content.ok()) return content.status();
    found->content = *std::move(content);
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<LunSpec> Guard::CheckLun(const common::IscsiUrl& url, const DeviceUse& use,
                                        v1::BlockDevice* device) const {
  const std::string path = url.text();
  const bool allowed = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.is_lun && (entry.text == path || entry.text == url.target_text());
  });
  if (!allowed) return NotAllowed(path);
  if (luns_ == nullptr) return absl::UnimplementedError(path + ": this worker reaches no LUNs");
  const auto found = std::make_shared<Found>();
  const absl::Status status =
      LookWithin(limits::kProbeNs, luns_, url, use.write, use.own_data, found);
  if (absl::IsDeadlineExceeded(status)) return status;
  v1::BlockDevice described = Describe(found->lun);
  if (device != nullptr) *device = described;
  if (!status.ok()) return status;
  if (absl::Status facts = CheckDeviceFacts(path, described, use); !facts.ok()) return facts;
  if (use.write) {
    // The kernel may have the same LUN, through an initiator of its own.
    for (const v1::BlockDevice& other : ThisKernel().List()) {
      if (other.in_use().empty()) continue;
      if (other.identity() != described.identity() &&
          other.identity().rfind(described.identity() + "-part", 0) != 0) {
        continue;
      }
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": is ", other.path(), " here, which is ", other.in_use(), "; never written"));
    }
    const absl::Status blank = CheckContent(path, found->content, use, &described);
    if (device != nullptr) *device = described;
    if (!blank.ok()) return blank;
  }
  return found->lun;
}

std::vector<v1::BlockDevice> Guard::ListLuns(int64_t limit_ns) const {
  std::vector<v1::BlockDevice> devices;
  const int64_t until = common::SystemClock().MonotonicNs() + limit_ns;
  for (const Entry& entry : entries_) {
    const auto url = entry.is_lun ? common::ParseIscsiUrl(entry.text)
                                  : absl::StatusOr<common::IscsiUrl>(absl::NotFoundError(""));
    // All of a target: its LUNs are shown when jobs name them.
    if (!url.ok() || luns_ == nullptr) continue;
    const int64_t left = until - common::SystemClock().MonotonicNs();
    const auto found = std::make_shared<Found>();
    const absl::Status status = left > 0 ? LookWithin(left, luns_, *url, true, false, found)
                                         : absl::DeadlineExceededError("other LUNs took too long");
    v1::BlockDevice device;
    device.set_name(entry.text);
    device.set_path(entry.text);
    device.set_allowed(true);
    if (!absl::IsDeadlineExceeded(status) && !found->lun.facts.identity.empty()) {
      device = Describe(found->lun);
    }
    if (!status.ok()) {
      device.set_in_use(absl::StrCat("cannot be used: ", std::string(status.message())));
    } else if (!found->content.empty()) {
      device.set_in_use(absl::StrCat("carries ", found->content));
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace lockstep::worker
