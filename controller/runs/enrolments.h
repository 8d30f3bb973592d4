#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/fleet/fleet_link.h"
#include "controller/plan/confirm_tokens.h"
#include "controller/plan/enrolment.h"
#include "controller/runs/device_queries.h"
#include "controller/runs/loop.h"
#include "storage/store.h"

namespace lockstep::controller {

// Lists devices to enrol or to release, and has workers write or remove their stamps. Used only on
// the loop's deciding thread. While stamps are written no run may be admitted: what it would
// inspect changes under it.
class Enrolments {
 public:
  struct Ports {
    // Runs in progress, by the keys (DeviceKey) of the devices that they use.
    std::function<std::map<std::string, std::string>()> used;
    // A run's targets are being inspected.
    std::function<bool()> is_admitting;
    // Runs may be admitted again.
    std::function<void()> over;
  };
  // `secret`: the store's. The pointers outlive this; `stamps` is kept as the store is.
  Enrolments(Loop* loop, const common::Clock* clock, storage::FleetStore* store,
             StampRegistry* stamps, const std::string& secret, Ports ports);
  void Start(FleetLink* fleet);

  using Done = std::function<void(absl::StatusOr<v1::EnrollReply>)>;
  // `by`: who asks. UNAVAILABLE while another one is being carried out, or a run is being admitted;
  // FAILED_PRECONDITION for a token of another listing, or one that is too old; else as
  // ListEnrolment().
  void Enroll(const v1::EnrollRequest& request, const std::string& by, const Done& done);
  bool is_writing() const { return writing_; }

  void OnDevices(const std::string& worker_id, const v1::DeviceList& list);
  void OnStamps(const std::string& worker_id, const v1::StampResults& results);
  void OnLost(const std::string& worker_id);
  // Answers what is asked with what there is.
  void Drop();

 private:
  void List(const v1::EnrollRequest& request, const std::string& by, const Done& done,
            v1::DevicesReply fleet);
  absl::Status CheckConfirmed(const v1::EnrollRequest& request, const EnrolListing& listing) const;
  // Has the store record what is to be written, or removed, and then sends the orders.
  void Execute(EnrolListing listing, const std::string& by, Done done);
  // The numbers of stamps that count no more once the listing is carried out.
  std::vector<std::string> ToEnd(const EnrolListing& listing) const;
  void SendOrders(const std::string& by, int64_t wall_ns);
  // The worker has not said what became of its part.
  void Miss(const std::string& worker_id, const std::string& why);
  void MissAll(const std::string& why);
  // The worker has said it: `refused`, or empty.
  void Answer(size_t number, const std::string& refused);
  void Finish();

  Loop* const loop_;
  const common::Clock* const clock_;
  storage::FleetStore* const store_;
  StampRegistry* const stamps_;
  const ConfirmTokens tokens_;
  const Ports ports_;
  FleetLink* fleet_ = nullptr;
  DeviceQueries devices_;
  // The enrolment that is being carried out.
  bool writing_ = false;
  bool sent_ = false;  // the orders; before that the store records what they are
  uint64_t id_ = 0;
  EnrolListing listing_;
  std::map<std::string, std::vector<size_t>> waiting_;  // worker → entries, in its orders' order
  std::vector<std::string> unwritten_;                  // numbers of stamps that were refused
  Done done_;
};

}  // namespace lockstep::controller
