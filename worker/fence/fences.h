#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "proto/worker.pb.h"
#include "worker/engine/report_event.h"
#include "worker/fence/reserver.h"

namespace lockstep::worker {

// A key of a run's worker: "LS", 32 bits of the run, 16 of the worker (controller/plan). Whether
// two keys are of the same run.
inline bool IsSameRun(uint64_t a, uint64_t b) { return a >> 16 == b >> 16; }

// The reservations of this worker for a run, from the first phase that asks for one to the run's
// end, so that writes of a lost worker between two phases are refused, too. Thread-safe. Slow calls
// run on a thread of their own, except for Take().
class Fences {
 public:
  // How a device or LUN is reached; each call opens it anew.
  using Open = std::function<absl::StatusOr<std::unique_ptr<Reserver>>()>;
  // Reports a step that failed, or that was taken against a lost worker: severity and text.

  explicit Fences(ReportEvent report) : report_(std::move(report)) {}
  // Gives everything up that is held.
  ~Fences();

  // Registers this worker, ends what lost workers of the run have registered, and reserves where
  // the worker is told to. FAILED_PRECONDITION where others than the run's workers are registered.
  // `name` is for messages, and tells one device from another.
  absl::Status Take(const std::string& run_id, const std::string& name,
                    const v1::ReservationUse& use, const Open& open);
  // Ends the registration of a lost worker of the run wherever this one has reserved.
  void Preempt(const v1::Preempt& preempt);
  // Reports the keys of others than the run's workers that are registered where this worker was
  // told to reserve: the storage lets everybody register who knows how, and then write. Blocks
  // while it asks; begins with no further target after 3 s, and says so. Says nothing of devices
  // whose kernel tells no keys.
  void ReportForeignKeys(const std::string& run_id);
  // Gives up what is held for the run.
  void Release(const std::string& run_id);
  // Gives up what is held for every run but this one.
  void ReleaseOthers(const std::string& run_id);

 private:
  struct Held {
    std::string run_id;
    uint64_t key = 0;
    Open open;
    bool holds = false;  // the reservation, for all workers of the run
  };
  void Main();
  void ReleaseWhere(const std::function<bool(const Held&)>& matches);
  void PreemptAt(const std::string& name, const Held& held, const v1::Preempt& preempt);
  void ReleaseAt(const std::string& name, const Held& held);

  const ReportEvent report_;
  common::Mutex mutex_;
  common::Condition changed_;
  std::map<std::string, Held> held_ ABSL_GUARDED_BY(mutex_);  // by name
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // from the first use on
};

// The steps of Take(), on a device that is open.
absl::Status TakeReservation(Reserver* reserver, const std::string& name,
                             const v1::ReservationUse& use);

}  // namespace lockstep::worker
