// Jobs whose I/Os are kept in proportion.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {
namespace {

// The limit of a job (proto/load.proto).
constexpr int64_t kMaxFlow = 1000000;

}  // namespace

void ReadFlow(const SectionReader& section, Job* job) {
  job->flow = section.Count("flow", 0, kMaxFlow);
  job->flow_id = section.Count("flow_id", 0, INT32_MAX);
}

void SetFlow(const Job& job, uint32_t clones, v1::Workload* workload, const std::string& field,
             Origins* origins) {
  if (job.flow.value == 0) return;
  // In fio each clone has the flow. A workload has it for all its threads.
  workload->set_flow(static_cast<uint32_t>(std::min(kMaxFlow, job.flow.value * clones)));
  (*origins)[field + "flow"] = job.flow.from->where;
  // Group 0 is that of all jobs without a flow_id.
  if (job.flow_id.value == 0) return;
  workload->set_flow_group(static_cast<uint32_t>(job.flow_id.value));
  (*origins)[field + "flow_group"] = job.flow_id.from->where;
}

void DropLoneFlows(Findings* findings, v1::RunPhase* run, Origins* origins) {
  for (int i = 0; i < run->workloads_size(); ++i) {
    v1::Workload* workload = run->mutable_workloads(i);
    const auto members = std::count_if(
        run->workloads().begin(), run->workloads().end(), [&](const v1::Workload& other) {
          return other.flow() != 0 && other.flow_group() == workload->flow_group();
        });
    if (workload->flow() == 0 || members > 1) continue;
    const std::string field = absl::StrCat("workloads[", i, "].flow");
    findings->Remark((*origins)[field], "has no effect: no other job of its group runs beside it");
    workload->clear_flow();
    workload->clear_flow_group();
    origins->erase(field);
    origins->erase(field + "_group");
  }
}

}  // namespace lockstep::frontends::fio
