#pragma once

#include <cstdint>

namespace lockstep::worker {

// The kind of an I/O, in the order of OperationKind in proto/result.proto, from 0.
enum class IoKind : uint8_t { kRead = 0, kWrite = 1, kTrim = 2, kSync = 3 };
inline constexpr int kIoKinds = 4;

// How written data is made durable.
enum class SyncMode : uint8_t { kFsync, kFdatasync, kSyncFileRange };

}  // namespace lockstep::worker
