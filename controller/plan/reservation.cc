#include "controller/plan/reservation.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "controller/plan/validate.h"
#include "xxhash.h"

namespace lockstep::controller {
namespace {

constexpr uint64_t kOurs = uint64_t{0x4c53} << 48;  // "LS"
// A reservation key has 8 bytes (SPC, NVMe). 16 bits of them are left for the worker's number.
constexpr uint32_t kMaxWorkers = 1 << 16;

}  // namespace

uint64_t ReservationKey(const std::string& run_id, uint32_t worker) {
  // A run id has 128 bits and must be hashed to 32. The worker compares these bits to tell the keys
  // of its own run from those of others.
  const uint64_t run = XXH3_64bits(run_id.data(), run_id.size()) & 0xffffffff;
  return kOurs | run << 16 | (worker & 0xffff);
}

void AddReservations(const SettledRun& run, std::vector<v1::Assignment>* assignments) {
  std::set<uint32_t> members;
  for (const v1::Assignment& assignment : *assignments) members.insert(assignment.worker_index());
  std::set<uint32_t> reserved;  // targets that a worker before this one reserves
  for (v1::Assignment& assignment : *assignments) {
    for (v1::TargetAssignment& target : *assignment.mutable_targets()) {
      if (target.target().fence() != v1::FENCE_RESERVATION || !target.written()) continue;
      v1::ReservationUse* use = target.mutable_reservation();
      use->set_key(ReservationKey(run.run_id, assignment.worker_index()));
      // One initiator holds a reservation of the type "write exclusive, registrants only"; all
      // registered ones may write. A second RESERVE would end in a reservation conflict.
      use->set_holds(reserved.insert(target.index()).second);
      for (uint32_t worker = 0; worker < run.workers.size(); ++worker) {
        // Each writer gets the keys of all lost workers, since the one that was told first may be
        // lost itself. The worker skips keys that are not registered.
        if (!members.contains(worker)) use->add_lost(ReservationKey(run.run_id, worker));
      }
    }
  }
}

bool HasFences(const v1::JobSpec& job) {
  return std::any_of(job.targets().begin(), job.targets().end(), [](const v1::Target& target) {
    return target.fence() == v1::FENCE_RESERVATION;
  });
}

std::vector<std::string> FenceProblems(const v1::JobSpec& job,
                                       const std::vector<PlanWorker>& workers) {
  std::vector<std::string> problems;
  if (!HasFences(job)) return problems;
  if (workers.size() > kMaxWorkers) {
    problems.push_back(absl::StrCat("fence: reservation has keys for ", kMaxWorkers, " workers"));
  }
  const std::vector<TargetUse> use = UseOfTargets(job);
  std::map<std::string, std::string> first;  // device of a kernel → host
  for (const PlanWorker& worker : workers) {
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.target() >= use.size() || !use[found.target()].written) continue;
      const v1::Target& target = job.targets(static_cast<int>(found.target()));
      // iSCSI targets are exempt: each worker logs in with sessions of its own there, and each
      // session is a registrant of its own.
      if (target.fence() != v1::FENCE_RESERVATION || !target.has_device()) continue;
      const std::string& host = worker.hello.host().name();
      const auto [other, is_first] =
          first.emplace(absl::StrCat(found.target(), "/", worker.hello.host().boot_id()), host);
      if (is_first) continue;
      problems.push_back(absl::StrCat(
          "target ", target.name(), ": ", host, " and ", other->second,
          " write it under one kernel, which is one registrant to the storage: nothing could keep "
          "one of them from writing. Let one of them do it, or leave out fence"));
    }
  }
  return problems;
}

}  // namespace lockstep::controller
