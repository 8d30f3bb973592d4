#include "controller/plan/layers.h"

#include <algorithm>
#include <bitset>

#include "common/limits.h"

namespace lockstep::controller {
namespace {

using Numbers = std::set<uint32_t>;

// A layer and all underneath it, each once, from the top.
std::vector<uint32_t> StackOf(const v1::Inspection& inspection, uint32_t top, Numbers* seen) {
  std::vector<uint32_t> stack;
  std::vector<uint32_t> next = {top};
  while (!next.empty()) {
    const uint32_t number = next.back();
    next.pop_back();
    if (LayerOf(inspection, number) == nullptr || !seen->insert(number).second) continue;
    stack.push_back(number);
    const std::vector<uint32_t> parts = PartsOf(inspection, number);
    next.insert(next.end(), parts.rbegin(), parts.rend());
  }
  return stack;
}

// Whether a device lies underneath one of `from`, which `below` leads to.
bool LiesUnder(const std::map<std::string, std::set<std::string>>& below, const std::string& from,
               const std::set<std::string>& devices) {
  std::set<std::string> seen;
  std::vector<std::string> next = {from};
  while (!next.empty()) {
    const auto parts = below.find(next.back());
    next.pop_back();
    if (parts == below.end()) continue;
    for (const std::string& part : parts->second) {
      if (devices.contains(part)) return true;
      if (seen.insert(part).second) next.push_back(part);
    }
  }
  return false;
}

// The numbers of layers that lie underneath each, also indirectly; by number.
using Underneath = std::vector<std::bitset<limits::kStorageLayers + 1>>;

Underneath UnderneathOf(const v1::Inspection& inspection) {
  Underneath under(limits::kStorageLayers + 1);
  for (uint32_t number = 1; LayerOf(inspection, number) != nullptr; ++number) {
    // Those of the parts are complete, because their numbers are smaller.
    for (const uint32_t part : PartsOf(inspection, number)) {
      under[number] |= under[part];
      under[number].set(part);
    }
  }
  return under;
}

// The devices, none of which lies underneath another one. An overlay can have one directory on a
// disk and another on a loop device over a file of that disk: all I/O passes the disk then, and
// only a part of it the loop device. `passed` gets those that lie over another one.
std::vector<uint32_t> Disjoint(const v1::Inspection& inspection, std::vector<uint32_t> devices,
                               std::vector<uint32_t>* passed) {
  if (devices.size() < 2) return devices;
  const Underneath under = UnderneathOf(inspection);
  std::bitset<limits::kStorageLayers + 1> all;
  for (const uint32_t number : devices) all.set(number);
  const auto lies_over_another = [&](uint32_t number) { return (under[number] & all).any(); };
  for (auto over = std::find_if(devices.begin(), devices.end(), lies_over_another);
       over != devices.end();
       over = std::find_if(devices.begin(), devices.end(), lies_over_another)) {
    // The device above gives way: the devices underneath it count the same requests, and others
    // too.
    const uint32_t number = *over;
    devices.erase(over);
    all.reset(number);
    passed->push_back(number);
    // All of its parts come in its place, or the I/O of the other parts would be counted nowhere.
    for (const uint32_t part : NearestDevices(inspection, PartsOf(inspection, number))) {
      if (all.test(part)) continue;
      all.set(part);
      devices.push_back(part);
    }
  }
  return devices;
}

}  // namespace

const v1::StorageLayer* LayerOf(const v1::Inspection& inspection, uint32_t number) {
  const auto size =
      static_cast<uint32_t>(std::min<int64_t>(inspection.layers_size(), limits::kStorageLayers));
  return number == 0 || number > size ? nullptr : &inspection.layers(static_cast<int>(number) - 1);
}

std::vector<uint32_t> PartsOf(const v1::Inspection& inspection, uint32_t number) {
  Numbers parts;
  const v1::StorageLayer* layer = LayerOf(inspection, number);
  if (layer == nullptr) return {};
  // A smaller number each time: no walk is endless.
  for (const uint32_t part : layer->underneath()) {
    if (part > 0 && part < number) parts.insert(part);
  }
  return {parts.begin(), parts.end()};
}

std::vector<uint32_t> NearestDevices(const v1::Inspection& inspection,
                                     const std::vector<uint32_t>& from) {
  std::vector<uint32_t> found;
  Numbers seen;
  std::vector<uint32_t> next(from.rbegin(), from.rend());
  while (!next.empty()) {
    const uint32_t number = next.back();
    next.pop_back();
    const v1::StorageLayer* layer = LayerOf(inspection, number);
    if (layer == nullptr || !seen.insert(number).second) continue;
    if (!layer->device_name().empty()) {
      found.push_back(number);
      continue;
    }
    const std::vector<uint32_t> parts = PartsOf(inspection, number);
    next.insert(next.end(), parts.rbegin(), parts.rend());
  }
  return found;
}

TargetDevices DevicesUnder(const v1::Inspection& inspection, const v1::TargetInspection& target) {
  TargetDevices devices;
  if (LayerOf(inspection, target.top_layer()) == nullptr) {
    if (!target.device_name().empty()) devices.top.push_back(target.device_name());
    return devices;
  }
  std::vector<uint32_t> passed;
  const std::vector<uint32_t> tops =
      Disjoint(inspection, NearestDevices(inspection, {target.top_layer()}), &passed);
  for (const uint32_t number : tops) {
    devices.top.push_back(LayerOf(inspection, number)->device_name());
  }
  std::vector<uint32_t> lower = passed;
  Numbers seen(tops.begin(), tops.end());
  seen.insert(passed.begin(), passed.end());
  for (const auto* above : {&tops, static_cast<const std::vector<uint32_t>*>(&passed)}) {
    for (const uint32_t number : *above) {
      for (const uint32_t part : PartsOf(inspection, number)) {
        const std::vector<uint32_t> stack = StackOf(inspection, part, &seen);
        lower.insert(lower.end(), stack.begin(), stack.end());
      }
    }
  }
  for (const uint32_t number : lower) {
    const std::string& name = LayerOf(inspection, number)->device_name();
    if (!name.empty()) devices.lower.push_back(name);
  }
  return devices;
}

std::string CachedDeviceAmong(const v1::Inspection& inspection, const TargetDevices& devices) {
  for (const v1::StorageLayer& layer : inspection.layers()) {
    const std::string& name = layer.device_name();
    const auto is_in = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (layer.page_cached() && (is_in(devices.top) || is_in(devices.lower))) return name;
  }
  return "";
}

void KernelDevices::Add(const v1::Inspection& inspection, const v1::TargetInspection& target) {
  const TargetDevices devices = DevicesUnder(inspection, target);
  tops.insert(devices.top.begin(), devices.top.end());
  Numbers seen;
  for (const uint32_t number : StackOf(inspection, target.top_layer(), &seen)) {
    const std::string& name = LayerOf(inspection, number)->device_name();
    if (name.empty()) continue;
    for (const uint32_t part : NearestDevices(inspection, PartsOf(inspection, number))) {
      below[name].insert(LayerOf(inspection, part)->device_name());
    }
  }
}

std::set<std::string> KernelDevices::Counted() const {
  // One target's device is a part of another's, so a request to the upper one is also in the
  // counters of the lower one. The upper one gives way to its parts, and only as far as needed: the
  // disks of a mirror would count each write twice.
  std::set<std::string> counted = tops;
  std::set<std::string> passed;
  const auto lies_over_another = [&](const std::string& device) {
    return LiesUnder(below, device, counted);
  };
  for (auto over = std::find_if(counted.begin(), counted.end(), lies_over_another);
       over != counted.end();
       over = std::find_if(counted.begin(), counted.end(), lies_over_another)) {
    const auto taken = counted.extract(over);
    const std::string& device = taken.value();
    // In a circle a device would come back.
    passed.insert(device);
    for (const std::string& part : below.at(device)) {
      if (!passed.contains(part)) counted.insert(part);
    }
  }
  return counted;
}

}  // namespace lockstep::controller
