#pragma once

#include <string>

#include "controller/plan/selection.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {

// A LUN's identity.
inline constexpr char kLun[] = "naa.600";

inline PlanWorker Worker(const std::string& host, const std::string& boot = "boot") {
  PlanWorker worker;
  worker.hello.set_worker_id("id-" + host);
  worker.hello.mutable_host()->set_name(host);
  worker.hello.mutable_host()->set_boot_id(boot);
  return worker;
}

// Fills, loads and removes a file of 64 MiB on each host.
inline v1::JobSpec Job() {
  v1::JobSpec job;
  job.set_name("j");
  v1::Target* target = job.add_targets();
  target->set_name("t");
  target->mutable_file()->set_path("/data/{host}");
  target->mutable_file()->set_size_bytes(64 << 20);
  job.add_phases()->mutable_prepare();
  v1::RunPhase* run = job.add_phases()->mutable_run();
  run->set_duration_ns(10000000000);
  run->add_workloads()->set_read_ratio(0.5);
  job.add_phases()->mutable_cleanup();
  FillJob(&job);
  return job;
}

}  // namespace lockstep::controller
