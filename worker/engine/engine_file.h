#pragma once

#include <cstdint>
#include <variant>

namespace lockstep::worker {

// The ways in which an engine reaches the storage behind a file. To add a way, add an alternative
// to EngineFile::way. EngineEntry::reaches (registry.h) says which ways an engine supports.
struct NoStorage {};  // there is nothing to reach
struct OpenFile {
  int descriptor = -1;
};
struct OpenBlockDevice {
  int descriptor = -1;
};
struct LunSpec;  // worker/iscsi/luns.h
struct RemoteLun {
  const LunSpec* lun = nullptr;
};

// One file, device or stand-in that a thread's I/O goes to. It belongs to the engine's caller.
struct EngineFile {
  std::variant<NoStorage, OpenFile, OpenBlockDevice, RemoteLun> way;
  uint64_t size_bytes = 0;  // how far I/O may reach

  bool has_storage() const { return !std::holds_alternative<NoStorage>(way); }
  bool is_block_device() const { return std::holds_alternative<OpenBlockDevice>(way); }
  // -1 if the storage has no descriptor.
  int descriptor() const {
    if (const auto* file = std::get_if<OpenFile>(&way)) return file->descriptor;
    if (const auto* device = std::get_if<OpenBlockDevice>(&way)) return device->descriptor;
    return -1;
  }
};

}  // namespace lockstep::worker
