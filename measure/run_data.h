#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/latency_blocks.h"
#include "measure/states.h"
#include "proto/controller.pb.h"
#include "proto/job.pb.h"
#include "proto/report.pb.h"
#include "proto/result.pb.h"
#include "proto/worker.pb.h"

namespace lockstep::measure {

// A job in the queue, or one being run.
struct RunRecord {
  std::string run_id;
  v1::JobSpec job;
  std::string source;
  std::string owner;
  RunState state = RunState::kQueued;
  std::string outcome;
  bool degraded = false;
  uint64_t seed = 0;
  std::string confirm;                             // a plan's token, as submitted
  std::string submitted_at, started_at, ended_at;  // RFC 3339, UTC; empty where it has not happened
};

struct RunWorker {
  uint32_t worker_index = 0;
  std::string worker_id, host_id, host, boot_id;
  v1::Inspection inspection;  // its facts become RunData::environment, and do not come back here
  v1::Hello hello;            // without devices
  bool lost = false;
};

// One attempt of a phase.
struct PhaseRecord {
  uint32_t phase = 0;  // number in the run
  uint32_t attempt = 1;
  std::string name, kind, reason;
  PhaseState state = PhaseState::kNone;
  int64_t interval_ns = 0;
  int64_t ramp_ns = 0;
  int64_t go_ns = 0;                         // controller's monotonic clock; 0 until go
  int64_t go_wall_ns = 0;                    // the same by its wall clock; read back, not written
  v1::PhaseSpec spec;                        // as it is run
  uint32_t job_phase = 0;                    // the phase of the job that it comes of
  uint32_t step = 0;                         // the point of that phase's curve or sweep
  std::map<std::string, std::string> point;  // of a sweep: field to value; written, not read back
  v1::PhaseFigures figures;                  // once it has ended
  // The interval at whose end the load was ended on all hosts, if it was before its time.
  std::optional<uint32_t> end_of_load;
};

// A worker's clock as it was known at go.
struct WorkerClock {
  uint32_t worker_index = 0;
  int64_t offset_ns = 0;  // worker's minus the controller's
  int64_t bound_ns = 0;
};

// One worker's part of a phase, as the store holds it, without its intervals: those are streamed.
struct WorkerPhaseData {
  uint32_t worker_index = 0;
  WorkerClock clock;
  bool has_result = false;
  v1::PhaseResult result;  // complete, with histograms and threads
};

struct PhaseData {
  PhaseRecord phase;
  std::vector<WorkerPhaseData> workers;  // by worker index
  std::vector<EncodedLatencies> blocks;  // of its measured time; none while it runs
};

// Settings of the hosts' kernels that a phase of another run had changed while it ran.
struct OtherSettings {
  std::string run_id;
  v1::Environment environment;
  int64_t from_wall_ns = 0;
  int64_t until_wall_ns = 0;  // 0: it goes on
};

// The data that the store holds of a run, but for its intervals.
struct RunData {
  RunRecord run;
  std::vector<RunWorker> workers;
  std::vector<PhaseData> phases;  // the last attempt of each, in order
  std::vector<v1::EventReport> events;
  // By the worker's number, fact to value: several hosts may have one name.
  std::map<uint32_t, std::map<std::string, std::string>> environment;
  // "boot_id/device" → other runs that used it while this one was in progress
  std::map<std::string, std::vector<std::string>> concurrent;
  std::vector<OtherSettings> concurrent_settings;  // of those runs
};

}  // namespace lockstep::measure
