#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "proto/worker.pb.h"
#include "worker/engine/report_event.h"
#include "worker/load/io_thread.h"
#include "worker/targets/targets.h"
#include "worker/verify/block_ledger.h"

namespace lockstep::worker {

// Turns one workload of an assignment into what each of its threads does. The rules that choose
// defaults are here.
struct WorkloadContext {
  const v1::Assignment* assignment = nullptr;
  const OpenTargets* targets = nullptr;  // outlive the threads
  LedgerBook* ledgers = nullptr;
  std::atomic<uint64_t>* shared_position = nullptr;
  std::atomic<uint64_t>* shared_mix = nullptr;
  SharedSyncs* shared_syncs = nullptr;
  Flow::Member* flow = nullptr;
  const Timeline* timeline = nullptr;
  const common::Clock* clock = nullptr;
  ReportEvent report;  // as Load::Environment's
};

// The ledger's name for the blocks of a file: those of this run, or of the run that is expected.
std::string LedgerNameOf(const OpenedFile& file, const v1::WorkloadAssignment& assignment);

// One for each thread. INVALID_ARGUMENT, RESOURCE_EXHAUSTED with the field's name and the remedy.
absl::StatusOr<std::vector<std::unique_ptr<IoThread>>> MakeThreads(
    const v1::WorkloadAssignment& assignment, const WorkloadContext& context);

}  // namespace lockstep::worker
