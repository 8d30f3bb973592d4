#pragma once

#include <string>
#include <vector>

#include "proto/load.pb.h"
#include "worker/engine/registry.h"
#include "worker/load/io_thread.h"
#include "worker/targets/targets.h"

namespace lockstep::worker {

// How a workload's threads use their engine. Pure functions of the job and of the opened targets.

// As the registry has it: ENGINE_IO_URING is io_uring.
std::string NameOf(v1::Engine engine);

// The files, the queue and the options of an engine. The buffers are left to the thread.
EngineSetup EngineSetupOf(const v1::Workload& w, const OpenTargets& targets);

// As ioprio_set(2) takes it.
int PriorityOf(const v1::IoPriority& priority);

// Engines that do the load where the kernel refuses io_uring, best first.
std::vector<const EngineEntry*> FallbacksOf(const v1::Workload& w, const OpenTargets& targets);

enum class Completion {
  kByDevice,      // later, one by one
  kMostlyInCall,  // in the submitting call, but a read that misses the page cache by itself
  kInCall,        // all in the submitting call
};

// Sets how many I/Os are handed over and awaited at once (docs/performance.md, "How many I/Os per
// system call").
void ChooseBatch(const v1::Workload& w, const EngineEntry& engine, Completion completion,
                 IoThreadSetup* setup);

}  // namespace lockstep::worker
