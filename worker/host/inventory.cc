#include "worker/host/inventory.h"

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/side_by_side.h"
#include "worker/host/block_devices.h"

namespace lockstep::worker {

std::vector<v1::BlockDevice> TakeInventory(const Guard& guard) {
  std::vector<v1::BlockDevice> devices = ThisKernel().List();
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limits::kProbeNs);
  if (devices.size() > static_cast<size_t>(limits::kDevicesOfAHost)) {
    devices.resize(static_cast<size_t>(limits::kDevicesOfAHost));
  }
  std::vector<v1::BlockDevice*> allowed;
  for (v1::BlockDevice& device : devices) {
    device.set_allowed(guard.Allows(device));
    if (!device.allowed()) continue;
    for (std::string& link : guard.LinksOf(device)) device.add_links(std::move(link));
    // Jobs never write a device in use, so that nobody needs to know what it carries. A read would
    // only disturb its user.
    if (device.in_use().empty()) allowed.push_back(&device);
  }
  // LUNs are asked beside the disks, with a limit of their own: a portal that does not answer must
  // not take the disks' time.
  std::vector<v1::BlockDevice> luns;
  std::thread asking([&] { luns = guard.ListLuns(limits::kProbeNs); });
  common::SideBySide(allowed.size(), limits::kMaxInspections, [&](size_t i) {
    v1::BlockDevice& device = *allowed[i];
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= std::chrono::nanoseconds(0)) {
      device.set_in_use("not inspected: other devices did not answer");
      return;
    }
    const auto found = guard.WhatIsOn(device, std::chrono::nanoseconds(left).count());
    if (!found.ok()) {
      device.set_in_use(absl::StrCat("cannot be read: ", std::string(found.status().message())));
    } else if (found->is_held) {
      device.set_in_use("held by another program, or by a load that is running");
    } else {
      SetContent(found->content, found->stamp, &device);
    }
  });
  asking.join();
  for (v1::BlockDevice& lun : luns) {
    if (devices.size() >= static_cast<size_t>(limits::kDevicesOfAHost)) break;
    devices.push_back(std::move(lun));
  }
  return devices;
}

}  // namespace lockstep::worker
