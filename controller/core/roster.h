#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/limits.h"

namespace lockstep::controller {

// Keeps track of attached workers. A worker whose connection has ended, or that is silent, is lost
// when the lease has passed, unless the same process is back by then. Pure; times are of the
// controller's monotonic clock, nanoseconds. Not thread-safe.
class Roster {
 public:
  explicit Roster(int64_t lease_ns) : lease_ns_(lease_ns) {}

  // The identity that a worker claims. `instance_id` is new with each start of its process.
  struct Identity {
    std::string worker_id, instance_id, host_id, host_name, boot_id;
    std::string certificate;  // the name in it; empty without TLS
  };
  // The owner of a worker's id, its host's id and its host's name: the name in the certificate with
  // which they were first seen. A renewed certificate has the same name.
  struct Owner {
    std::string worker_id, host_id, host_name, certificate;
  };
  // As an earlier controller recorded it.
  void Bind(const Owner& owner);
  // Removes the binding of a host's name and its ids. Returns how many there were.
  uint32_t Forget(const std::string& host_name);
  struct Admission {
    // The worker id was known from another process, which is therefore lost.
    bool replaced_process = false;
    // The same process is back; with `was_connected`, before its old connection was known to have
    // ended.
    bool resumed = false;
    bool was_connected = false;
    // The host's name and certificate are known with other ids, whose place these take: its state
    // directory was lost, or it was set up anew.
    bool succeeded = false;
  };
  // UNAVAILABLE when it is refused for now, FAILED_PRECONDITION when for good, PERMISSION_DENIED
  // when one of its ids or its name belongs to another certificate, or its ids to another name.
  absl::StatusOr<Admission> Attach(const Identity& worker, int64_t now_ns);
  // Its connection has ended.
  void Disconnected(const std::string& worker_id);
  void Heard(const std::string& worker_id, int64_t now_ns);
  // Extends every lease by so long: this controller itself could not hear anybody.
  void Excuse(int64_t nanoseconds);
  // Removes the workers whose lease has passed and returns them, each with the reason.
  struct Expired {
    std::string worker_id, reason;
  };
  std::vector<Expired> Expire(int64_t now_ns);
  // Whether Expire() would find somebody.
  bool IsDue(int64_t now_ns) const;

  bool Has(const std::string& worker_id) const { return members_.contains(worker_id); }
  int64_t lease_ns() const { return lease_ns_; }
  size_t size() const { return members_.size(); }

 private:
  struct Member {
    Identity identity;
    bool connected = false;
    int64_t heard_ns = 0;
  };
  const int64_t lease_ns_;
  std::map<std::string, Member> members_;     // by worker id
  std::map<std::string, std::string> names_;  // host name → worker id
  absl::Status CheckOwner(const Identity& worker) const;
  struct Binding {
    std::string certificate, worker_id, host_id;
  };
  std::map<std::string, Binding> bindings_;       // by host name
  std::map<std::string, std::string> bound_ids_;  // a worker's or a host's id → host name
};

}  // namespace lockstep::controller
