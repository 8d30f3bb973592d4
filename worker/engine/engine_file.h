#pragma once

#include <cstdint>
#include <variant>

namespace lockstep::worker {

// How an engine reaches what its I/O goes to. Another way is another alternative here; which ones
// an engine can go says its EngineEntry (registry.h).
struct NoStorage {};  // there is nothing to reach
struct OpenFile {
  int descriptor = -1;
};
struct OpenBlockDevice {
  int descriptor = -1;
};

// One file, device or stand-in that a thread's I/O goes to. It belongs to the engine's caller.
struct EngineFile {
  std::variant<NoStorage, OpenFile, OpenBlockDevice> way;
  uint64_t size_bytes = 0;  // how far I/O may reach

  bool has_storage() const { return !std::holds_alternative<NoStorage>(way); }
  bool is_block_device() const { return std::holds_alternative<OpenBlockDevice>(way); }
  // -1 where the way is none through a descriptor.
  int descriptor() const {
    if (const auto* file = std::get_if<OpenFile>(&way)) return file->descriptor;
    if (const auto* device = std::get_if<OpenBlockDevice>(&way)) return device->descriptor;
    return -1;
  }
};

}  // namespace lockstep::worker
