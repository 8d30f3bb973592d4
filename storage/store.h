#pragma once

#include "absl/status/status.h"
#include "storage/fleet_store.h"
#include "storage/history_store.h"
#include "storage/run_store.h"
#include "storage/sample_store.h"

namespace lockstep::storage {

// Whether the same call may succeed later by itself: the store is out of reach, has no space, or is
// read-only for now.
inline bool IsTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsPermissionDenied(status);
}

// Whether what was asked for is there, but cannot be read: a document, number or time that no
// controller wrote. The rows of other runs can.
inline bool IsBroken(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsInvalidArgument(status);
}

// The owner of all durable state. Thread-safe. Every failure is a status: UNAVAILABLE when the
// store is out of reach, NOT_FOUND, FAILED_PRECONDITION with the reason, ABORTED when this
// controller was replaced. After UNAVAILABLE the change may not have been made, may have been made,
// or may still be made, but before any change that is asked for later. A retry is safe: a change
// made twice is as one made once, but for events, which are stored twice.
class Store : public FleetStore, public RunStore, public SampleStore, public HistoryStore {};

}  // namespace lockstep::storage
