// The guard's part about LUNs without a kernel initiator.

#include "worker/host/guard_luns.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/side_by_side.h"
#include "worker/host/block_devices.h"
#include "worker/host/guard.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {

v1::BlockDevice DescribeLun(const LunSpec& lun) {
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

absl::StatusOr<DeviceStamp> StampOnLun(const LunSpec& lun, const MarkKeys& keys, int64_t limit_ns) {
  absl::StatusOr<DeviceStamp> stamp = DeviceStamp();
  const absl::Status status =
      Luns::InSession(lun, limit_ns, [&](IscsiSession* session, int64_t deadline_ns) {
        stamp = ReadStamp(
            [&](uint64_t offset, uint32_t length) {
              return ReadPieces(session, offset, length, deadline_ns);
            },
            lun.facts.identity, lun.facts.size_bytes, keys);
        return stamp.status();
      });
  if (!status.ok()) return status;
  return stamp;
}

absl::Status CheckNotInKernel(const std::string& path, const std::string& identity) {
  // The LUN may also be a disk of this kernel, through its own initiator. The session that asks the
  // target sees nothing of a mount of that disk.
  for (const v1::BlockDevice& other : ThisKernel().List()) {
    if (other.in_use().empty()) continue;
    if (other.identity() != identity && other.identity().rfind(identity + "-part", 0) != 0) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": is ", other.path(), " here, which is ", other.in_use(), "; never written"));
  }
  return absl::OkStatus();
}

namespace {

// A LUN, and what it carries if that was asked.
struct SeenLun {
  LunSpec lun;
  DeviceStamp stamp;
  DeviceContent content;
};

// A question to a LUN, and how closely it is looked at.
struct Request {
  std::shared_ptr<Luns> luns;
  std::shared_ptr<const MarkKeys> keys;
  common::IscsiUrl url;
  std::optional<ContentDepth> depth;  // unset: only its stamp
  int64_t read_until_ns = 0;
  bool is_listing = false;  // what is below a stamp is wanted, too
};

// A name server or a portal may not answer: `seen` is for whoever still waits, and is not to be
// read after DEADLINE_EXCEEDED.
absl::Status ProbeWithin(int64_t limit_ns, const Request& question,
                         const std::shared_ptr<SeenLun>& seen) {
  return WithinLimit(question.url.text(), limit_ns, [=] {
    auto lun = question.luns->Probe(question.url, limit_ns);
    if (!lun.ok()) return lun.status();
    seen->lun = *std::move(lun);
    auto stamp = StampOnLun(seen->lun, *question.keys, limit_ns);
    if (!stamp.ok()) return stamp.status();
    seen->stamp = *std::move(stamp);
    const bool counts = seen->stamp.state == DeviceStamp::State::kCounts;
    if (!question.depth || (counts && !question.is_listing)) return absl::OkStatus();
    auto content = Luns::WhatIsOn(seen->lun, *question.depth, limit_ns, question.read_until_ns);
    if (!content.ok()) return content.status();
    seen->content = *std::move(content);
    // A stamp is no data of anybody's.
    if (counts) seen->content.what.clear();
    if (question.is_listing) seen->content.fingerprint = seen->content.samples;
    AddStampText(seen->stamp, &seen->content);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status Guard::CheckLunAllowed(const common::IscsiUrl& url) const {
  const bool allowed = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.is_lun && (entry.text == url.text() || entry.text == url.target_text());
  });
  if (!allowed) return NotAllowed(url.text());
  if (luns_ == nullptr)
    return absl::UnimplementedError(url.text() + ": this worker reaches no LUNs");
  return absl::OkStatus();
}

absl::StatusOr<LunSpec> Guard::CheckLun(const common::IscsiUrl& url, const DeviceUse& use,
                                        v1::BlockDevice* device) const {
  const std::string path = url.text();
  if (absl::Status allowed = CheckLunAllowed(url); !allowed.ok()) return allowed;
  const auto seen = std::make_shared<SeenLun>();
  Request question{luns_, keys_, url, std::nullopt, use.read_until_ns};
  if (use.write) question.depth = DepthOf(use);
  const absl::Status status =
      ProbeWithin(ProbeLimitNs(use, common::SystemClock().MonotonicNs()), question, seen);
  if (absl::IsDeadlineExceeded(status)) return status;
  // This is done after a failure, too: the identity may be known by then, and a LUN that is refused
  // still has its byte ranges.
  v1::BlockDevice described = DescribeLun(seen->lun);
  const absl::Status stamped = CheckStamp(path, seen->stamp, use, &described);
  if (device != nullptr) *device = described;
  if (!status.ok()) return status;
  if (absl::Status facts = CheckDeviceFacts(path, described, use); !facts.ok()) return facts;
  if (!stamped.ok()) return stamped;
  if (use.write) {
    if (absl::Status used = CheckNotInKernel(path, described.identity()); !used.ok()) return used;
    // ProbeWithin() has not read the content of an enrolled LUN.
    if (seen->stamp.state == DeviceStamp::State::kCounts) return seen->lun;
    const absl::Status content = CheckContent(path, seen->content, use, &described);
    if (device != nullptr) *device = described;
    if (!content.ok()) return content;
  }
  return seen->lun;
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
  common::SideBySide(urls.size(), limits::kMaxInspections, [&](size_t i) {
    // The whole list has one limit: a LUN that waited for a free thread has only what is left.
    const int64_t left = until - common::SystemClock().MonotonicNs();
    const auto seen = std::make_shared<SeenLun>();
    const Request question{luns_, keys_, urls[i], ContentDepth::kSamples, 0, true};
    const absl::Status status =
        left > 0 ? ProbeWithin(left, question, seen)
                 : absl::DeadlineExceededError("was not probed: others did not answer");
    v1::BlockDevice& device = devices[i];
    device.set_name(urls[i].text());
    device.set_path(urls[i].text());
    device.set_allowed(true);
    if (!absl::IsDeadlineExceeded(status) && !seen->lun.facts.identity.empty()) {
      device = DescribeLun(seen->lun);
    }
    if (!status.ok()) {
      device.set_in_use(absl::StrCat("cannot be used: ", std::string(status.message())));
    } else {
      SetContent(seen->content, seen->stamp, &device);
    }
  });
  return devices;
}

}  // namespace lockstep::worker
