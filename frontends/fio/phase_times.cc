// The begins and ends of the jobs that run in one phase.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {
namespace {

constexpr int64_t kMaxPhaseNs = 32000000000000000;

}  // namespace

void PhaseTimes::Add(const SectionReader& section, const Job& job, v1::RunPhase* run,
                     Origins* origins) {
  if (job.runtime.value > 0 && job.runtime.value < kSecond / 10) {
    section.Fail(*job.runtime.from, "is shorter than 100 ms");
  }
  if (!jobs_.empty() && ramp_.value != job.ramp.value) {
    const Option* from = job.ramp.from != nullptr ? job.ramp.from : ramp_.from;
    section.Refuse(*from, "a ramp of each workload; all jobs of a phase need the same");
  }
  ramp_ = job.ramp;
  Entry entry;
  entry.name = job.name;
  entry.first = run->workloads_size();
  entry.delay = job.delay;
  entry.runtime = job.runtime;
  entry.exit = job.exit;
  entry.exits = job.exits;
  // A new group begins with its first job.
  const Value<bool> begins =
      section.Flag("new_group", Otherwise::kOff, SectionReader::Bare::kMeansTrue);
  if (!jobs_.empty()) entry.group = jobs_.back().group + (begins.value ? 1 : 0);
  if (entry.group > 0 && begins_group_ == nullptr) begins_group_ = begins.from;
  jobs_.push_back(entry);
  if (job.ramp.value == 0) return;
  if (job.ramp.value % (kSecond / 10) != 0) {
    section.Fail(*job.ramp.from, "must be a multiple of 100 ms");
  } else if (job.runtime.value == 0) {
    section.Refuse(*job.ramp.from, "a ramp of a load that ends by its size; give a runtime");
  } else if (job.delay.value > 0) {
    section.Refuse(*job.ramp.from, "a ramp of each workload; this one begins later than others");
  }
  run->set_ramp_ns(job.ramp.value);
  (*origins)["ramp"] = job.ramp.from->where;
}

void PhaseTimes::SetEnds(Findings* findings, v1::RunPhase* run, Origins* origins) const {
  // A job without a runtime ends by its size, at a time that nobody knows: the phase has no
  // duration then.
  const bool is_timed = std::all_of(jobs_.begin(), jobs_.end(),
                                    [](const Entry& job) { return job.runtime.value > 0; });
  int64_t end = 0;
  for (const Entry& job : jobs_) {
    if (!is_timed || job.delay.value + job.runtime.value <= end) continue;
    end = job.delay.value + job.runtime.value;
    if (end > kMaxPhaseNs) findings->Fail(job.delay.from->where, "ends beyond 370 days of a phase");
    run->set_duration_ns(end);
    (*origins)["duration"] = job.runtime.from->where;
  }
  for (const Entry& job : jobs_) {
    for (int w = job.first; w < job.end; ++w) {
      v1::Workload* workload = run->mutable_workloads(w);
      const std::string field = absl::StrCat("workloads[", w, "].");
      if (job.delay.value > 0) {
        workload->set_start_delay_ns(job.delay.value);
        (*origins)[field + "start_delay"] = job.delay.from->where;
      }
      // A runtime that ends with the phase needs no field.
      if (job.runtime.value > 0 && job.delay.value + job.runtime.value != end) {
        workload->set_runtime_ns(job.runtime.value);
        (*origins)[field + "runtime"] = job.runtime.from->where;
      }
    }
  }
}

void PhaseTimes::SetExits(Position position, Findings* findings, v1::RunPhase* run,
                          Origins* origins) const {
  const bool one_group = !jobs_.empty() && jobs_.back().group == 0;
  for (const Entry& job : jobs_) {
    if (job.exit == Exit::kAlone) continue;
    if (job.exit == Exit::kAll && position != Position::kLast) {
      findings->Fail(job.exits->where,
                     "cannot be translated; a job would need workloads that end the whole run");
      continue;
    }
    if (job.exit == Exit::kGroup && !one_group) {
      const auto members = std::count_if(
          jobs_.begin(), jobs_.end(), [&](const Entry& other) { return other.group == job.group; });
      // Nobody else ends with it.
      if (members == 1) continue;
      findings->Fail(
          job.exits->where,
          "cannot be translated; a job would need groups of workloads that end together; "
          "all workloads of a phase can (exit_what=stonewall)");
      continue;
    }
    for (int w = job.first; w < job.end; ++w) {
      v1::Workload* workload = run->mutable_workloads(w);
      // A workload without an end of its own ends with the phase.
      if (workload->operations() == 0 && workload->io_size_bytes() == 0 &&
          workload->passes() == 0 && workload->runtime_ns() == 0) {
        continue;
      }
      workload->set_ends_phase(true);
      (*origins)[absl::StrCat("workloads[", w, "].ends_phase")] = job.exits->where;
    }
    findings->Remark(job.exits->where,
                     "ends the phase for all hosts at the end of an interval, not at once");
  }
}

std::vector<int> PhaseTimes::GroupSizes() const {
  std::vector<int> sizes;
  for (const Entry& job : jobs_) {
    if (static_cast<size_t>(job.group) == sizes.size()) sizes.push_back(0);
    sizes.back() += job.end - job.first;
  }
  return sizes;
}

void PhaseTimes::Finish(Position position, Findings* findings, v1::RunPhase* run,
                        Origins* origins) const {
  SetEnds(findings, run, origins);
  SetExits(position, findings, run, origins);
}

}  // namespace lockstep::frontends::fio
