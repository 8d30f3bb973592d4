#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "worker/iscsi/luns.h"

namespace lockstep::worker {

// This host's side of persistent reservations on one device or LUN, of type write exclusive,
// registrants only (SPC-5 5.13): who is registered may write, all may read. Errors name the device;
// FAILED_PRECONDITION is a reservation conflict, UNIMPLEMENTED a device without reservations. Not
// thread-safe.
class Reserver {
 public:
  virtual ~Reserver() = default;
  // Whatever was registered before. 0 ends the registration, and with it the reservation if this
  // registrant has it.
  virtual absl::Status Register(uint64_t key) = 0;
  // Registers again where the key is still registered. A conflict where it is not: this worker was
  // fenced off.
  virtual absl::Status Rejoin(uint64_t key) = 0;
  // By the registered key. Nothing is changed where this host has reserved already.
  virtual absl::Status Reserve(uint64_t key) = 0;
  // Ends the registrations under `lost`, and takes its reservation over. A conflict where there are
  // none.
  virtual absl::Status Preempt(uint64_t key, uint64_t lost) = 0;
  // UNIMPLEMENTED where the kernel gives no way to ask.
  virtual absl::StatusOr<ReservationFacts> Read() = 0;
};

// Reserves a block device through the kernel (linux/pr.h): SCSI, NVMe and multipath devices. All of
// the kernel's writers are one registrant. `device` is open for writing.
std::unique_ptr<Reserver> NewDeviceReserver(common::FileDescriptor device, std::string path);

// Reserves a LUN through a session of its own. UNAVAILABLE, DEADLINE_EXCEEDED.
absl::StatusOr<std::unique_ptr<Reserver>> NewLunReserver(const LunSpec& lun, int64_t limit_ns);

}  // namespace lockstep::worker
