#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "worker/engine/io_engine.h"
#include "worker/engine/report_event.h"

namespace lockstep::worker {

// How long I/Os of no storage take. All durations in nanoseconds.
struct NullScript {
  int64_t latency_ns = 0;
  // From the first I/O on, a stall of `stall_ns` begins every `stall_every_ns` (0: never): what
  // would complete during it completes at its end.
  int64_t stall_every_ns = 0;
  int64_t stall_ns = 0;
};

// The clock, the script and the receiver of reports that an engine is made with.
struct EngineContext {
  const common::Clock* clock = nullptr;  // outlives the engine
  NullScript script;                     // of a target without storage
  // From the engine's thread.
  ReportEvent report = kReportNothing;
};

struct EngineEntry {
  const char* name = "";  // as jobs write it
  // Does one I/O after the other, whatever the queue depth.
  bool one_at_a_time = false;
  // Which files it can do I/O on: by default those behind a descriptor.
  bool (*reaches)(const EngineFile& file) = [](const EngineFile& file) {
    return file.descriptor() >= 0;
  };
  std::unique_ptr<IoEngine> (*make)(const EngineContext& context) = nullptr;
};

// Registers an engine. A file with an engine defines a constant of this type; linking it is enough.
class RegisterEngine {
 public:
  explicit RegisterEngine(const EngineEntry& entry);
};

// All that are linked, by name.
std::vector<EngineEntry> Engines();
// Null when there is none of this name.
const EngineEntry* FindEngine(std::string_view name);

}  // namespace lockstep::worker
