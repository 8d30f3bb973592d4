#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/host.pb.h"
#include "worker/host/device_content.h"
#include "worker/host/device_stamp.h"
#include "worker/host/mark_keys.h"
#include "worker/iscsi/luns.h"

namespace lockstep::worker {

// Parts of the guard; only for its own files.

// A LUN in the words for block devices.
v1::BlockDevice DescribeLun(const LunSpec& lun);
// The stamp on it. Errors are those of Luns::InSession().
absl::StatusOr<DeviceStamp> StampOnLun(const LunSpec& lun, const MarkKeys& keys, int64_t limit_ns);
// FAILED_PRECONDITION where this kernel has the same LUN, through an initiator of its own, and uses
// it. `path` is for the message.
absl::Status CheckNotInKernel(const std::string& path, const std::string& identity);

}  // namespace lockstep::worker
