// The guard's part about LUNs without a kernel initiator.

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/side_by_side.h"
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
  DeviceContent content;
};

// A name server or a portal may not answer: `found` is for whoever still waits, and is not to be
// read after DEADLINE_EXCEEDED.
absl::Status LookWithin(int64_t limit_ns, const std::shared_ptr<Luns>& luns,
                        const common::IscsiUrl& url, std::optional<ContentDepth> depth,
                        int64_t read_until_ns, const std::shared_ptr<Found>& found) {
  return WithinLimit(url.text(), limit_ns, [=] {
    auto lun = luns->Look(url, limit_ns);
    if (!lun.ok()) return lun.status();
    found->lun = *std::move(lun);
    if (!depth) return absl::OkStatus();
    auto content = Luns::WhatIsOn(found->lun, *depth, limit_ns, read_until_ns);
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
  std::optional<ContentDepth> depth;
  if (use.write) depth = use.own_data ? ContentDepth::kSignature : ContentDepth::kEmptiness;
  const absl::Status status = LookWithin(LookLimitNs(use, common::SystemClock().MonotonicNs()),
                                         luns_, url, depth, use.read_until_ns, found);
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
  std::vector<common::IscsiUrl> urls;
  for (const Entry& entry : entries_) {
    const auto url = entry.is_lun ? common::ParseIscsiUrl(entry.text)
                                  : absl::StatusOr<common::IscsiUrl>(absl::NotFoundError(""));
    // All of a target: its LUNs are shown when jobs name them.
    if (url.ok() && luns_ != nullptr) urls.push_back(*url);
  }
  std::vector<v1::BlockDevice> devices(urls.size());
  const int64_t until = common::SystemClock().MonotonicNs() + limit_ns;
  // A target that does not answer, or answers something else for ever, takes its own time only.
  common::SideBySide(urls.size(), limits::kLooksAtOnce, [&](size_t i) {
    const int64_t left = until - common::SystemClock().MonotonicNs();
    const auto found = std::make_shared<Found>();
    const absl::Status status =
        left > 0 ? LookWithin(left, luns_, urls[i], ContentDepth::kSamples, 0, found)
                 : absl::DeadlineExceededError("was not asked: others did not answer");
    v1::BlockDevice& device = devices[i];
    device.set_name(urls[i].text());
    device.set_path(urls[i].text());
    device.set_allowed(true);
    if (!absl::IsDeadlineExceeded(status) && !found->lun.facts.identity.empty()) {
      device = Describe(found->lun);
    }
    if (!status.ok()) {
      device.set_in_use(absl::StrCat("cannot be used: ", std::string(status.message())));
    } else if (!found->content.what.empty()) {
      device.set_in_use(absl::StrCat("carries ", found->content.what));
    }
  });
  return devices;
}

}  // namespace lockstep::worker
