// A job as a message, as any client could send it, through checking, planning, and the worker's own
// checks of what it is assigned.

#include <string>

#include "controller/plan/assign.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/selection.h"
#include "controller/plan/validate.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "proto/fields.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  controller::SettledRun run;
  // Text is what a fuzzer can work on: its corpus is readable, too.
  google::protobuf::TextFormat::Parser parser;
  class Silent : public google::protobuf::io::ErrorCollector {
    void AddError(int, int, const std::string&) override {}
  } silent;
  parser.RecordErrorsTo(&silent);
  if (!parser.ParseFromString(std::string(reinterpret_cast<const char*>(data), size), &run.job) &&
      !run.job.ParseFromArray(data, static_cast<int>(size))) {
    return 0;
  }
  v1::JobSpec shown = run.job;
  v1::CleanTexts(&shown);
  if (!controller::CheckLimits(run.job).empty()) return 0;
  controller::FillJob(&run.job);
  if (!controller::Validate(run.job).empty()) return 0;
  (void)controller::Warnings(run.job);
  run.job = controller::Unrolled(run.job);
  run.run_id = "00000000-0000-4000-8000-000000000000";
  run.seed = 1;
  for (int i = 0; i < 2; ++i) {
    controller::PlanWorker worker;
    worker.hello.set_worker_id("w" + std::to_string(i));
    worker.hello.mutable_host()->set_name("node" + std::to_string(i));
    for (int t = 0; t < run.job.targets_size(); ++t) {
      v1::TargetInspection* found = worker.inspection.add_targets();
      found->set_target(t);
      found->set_size_bytes(1 << 30);
      found->set_free_bytes(1 << 30);
    }
    run.workers.push_back(worker);
  }
  (void)controller::Select(run.job.hosts(), run.workers);
  (void)controller::CheckFleet(run.job, run.workers, {});
  for (int p = 0; p < run.job.phases_size() && p < 20; ++p) {
    const auto assignments = controller::MakeAssignments(run, run.job.phases(p), p, 1, {0, 1});
    if (!assignments.ok()) continue;
    for (const v1::Assignment& assignment : *assignments) {
      // The controller's own workers take each message that it lets pass.
      if (!v1::FirstProblem(assignment).empty()) __builtin_trap();
    }
    (void)controller::HardStopNs(run.job, run.job.phases(p));
    (void)controller::PhaseDeadlineNs(run.job, run.job.phases(p));
  }
  return 0;
}
