#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "proto/worker.pb.h"
#include "worker/engine/report_event.h"
#include "worker/host/guard.h"
#include "worker/load/io_thread.h"
#include "worker/load/phase_executor.h"
#include "worker/targets/targets.h"
#include "worker/verify/block_ledger.h"

namespace lockstep::worker {

// The services of the worker that a load needs. All that is pointed to outlives the load.
struct LoadEnvironment {
  const Guard* guard = nullptr;
  const common::Clock* clock = nullptr;
  LedgerBook* ledgers = nullptr;
  Fences* fences = nullptr;
  std::string mismatch_directory;  // where blocks that do not match are saved; empty for nowhere
  // The write log of the blocks that a request names, part by part; null where there is no
  // controller to request it from.
  FetchWriteLog write_log;
  // Receives this worker's writes to blocks with headers, periodically and at the end.
  std::function<void(const v1::BlockWrites&)> block_writes = [](const v1::BlockWrites&) {};
  // While the load runs.
  ReportEvent report = kReportNothing;
};

// One workload of a load: its targets and its threads.
struct LoadPart {
  uint32_t index = 0;
  int64_t stuck_after_ns = 0;
  OpenTargets targets;
  bool writes = false;
  std::atomic<uint64_t> shared_position{0};
  std::atomic<uint64_t> shared_mix{0};
  std::unique_ptr<SharedSyncs> shared_syncs;  // null where threads sync by themselves
  std::vector<std::unique_ptr<IoThread>> threads;
  // by thread: age of the stuck I/O when it was last reported; 0 when none is
  std::vector<int64_t> reported_ns;
};
using LoadParts = std::vector<std::unique_ptr<LoadPart>>;

}  // namespace lockstep::worker
