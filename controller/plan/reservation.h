#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "controller/plan/assign.h"

namespace lockstep::controller {

// The key under which a run's worker registers with storage: "LS", 32 bits of the run, 16 of the
// worker. Never 0.
uint64_t ReservationKey(const std::string& run_id, uint32_t worker);

// Says in a phase's assignments who registers with which key, who reserves, and whose registrations
// are to end: those of the run's workers that are not `members`. Only targets that are fenced and
// written.
void AddReservations(const SettledRun& run, std::vector<v1::Assignment>* assignments);

// Whether a phase of the job writes a target that is fenced.
bool HasFences(const v1::JobSpec& job);

// Why the fleet cannot fence the job's targets; empty when it can.
std::vector<std::string> FenceProblems(const v1::JobSpec& job,
                                       const std::vector<PlanWorker>& workers);

}  // namespace lockstep::controller
