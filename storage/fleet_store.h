#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/stamp_record.h"
#include "proto/controller.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::storage {

// The owner of a worker's ids.
struct WorkerOwner {
  std::string worker_id, host_id, host, certificate;
};

// The members of the fleet, the consent that they gave, and the log of who did what. A part of
// Store, whose contract holds: thread-safety, errors, retries.
class FleetStore {
 public:
  virtual ~FleetStore() = default;

  // UUID of the store, made with it.
  virtual absl::StatusOr<std::string> StoreId() = 0;

  // 32 bytes that only controllers of this store know: `fresh` when it had none. They sign what
  // must not be forged (plans' tokens, endorsements of workers' keys).
  virtual absl::StatusOr<std::string> Secret(const std::string& fresh) = 0;

  // Appends to the audit log, in this order, and removes entries older than limits::kAuditDays.
  virtual absl::Status AddAudit(const std::vector<v1::AuditEntry>& entries) = 0;
  // Newest first.
  virtual absl::StatusOr<v1::AuditReply> Audit(const v1::AuditRequest& request) = 0;

  // --- Workers. ---
  // Records what a worker says of itself, and binds its host's name and ids to its certificate, if
  // it has one. New ids of a name and certificate that are known take the old ones' place.
  // FAILED_PRECONDITION, and nothing is recorded, when the name or an id is another's.
  virtual absl::Status RegisterWorker(const v1::Hello& hello) = 0;
  // Which certificate each host's name, and the ids that it has now, belong to: that with which the
  // name was first seen. Hosts without one are left out.
  virtual absl::StatusOr<std::vector<WorkerOwner>> WorkerOwners() = 0;
  // Unbinds the host's name and ids from their certificate.
  virtual absl::Status ForgetHost(const std::string& host) = 0;

  // --- Devices' stamps. ---
  // All, ended ones too, oldest first.
  virtual absl::StatusOr<std::vector<measure::StampRecord>> Stamps() = 0;
  // Before they are written. Live ones of the same devices are ended by them, and those that ended
  // long ago are removed.
  virtual absl::Status AddStamps(const std::vector<measure::StampRecord>& stamps) = 0;
  // Those of these numbers count no more; nothing is said of numbers that are not there or have
  // ended.
  virtual absl::Status EndStamps(const std::vector<std::string>& numbers, const std::string& by,
                                 int64_t at_wall_ns) = 0;

  // The location of the store, in words; and how psql reaches it with the reading role.
  virtual std::string Describe() const = 0;
  virtual std::string ReaderConninfo() const = 0;
};

}  // namespace lockstep::storage
