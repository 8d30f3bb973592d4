#pragma once

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "controller/analysis/comparison.h"

namespace lockstep::controller {

inline void AddFigureRow(v1::PhaseOfRun* phase, const std::string& workload,
                         const std::string& kind, double iops, double latency) {
  v1::FigureRow* row = phase->add_rows();
  row->set_workload(workload);
  v1::OperationReport* o = row->mutable_operation();
  o->set_kind(kind);
  o->set_operations(1e6);
  o->set_iops(iops);
  o->set_bytes_per_second(iops * 4096);
  o->set_latency_avg_ns(latency);
  for (const double percent : {50.0, 99.0, 99.9}) {
    v1::Percentile* p = o->add_percentiles();
    p->set_percent(percent);
    p->set_latency_ns(latency * (1 + percent / 50));
  }
}

// Runs as a real array gives them: figures of one run vary together, tails more than means.
class ComparedRuns {
 public:
  explicit ComparedRuns(uint64_t seed) : random_(seed) {}

  RunSet Set(const std::string& name, int count, double slowdown = 0) {
    RunSet set{name, {}};
    for (int i = 0; i < count; ++i) set.runs.push_back(Run(slowdown));
    return set;
  }

 private:
  v1::RunFigures Run(double slowdown) {
    std::normal_distribution<double> together(1, 0.015), apart(1, 0.01);
    v1::RunFigures run;
    run.mutable_run()->set_run_id(absl::StrCat("run", ++number_));
    run.mutable_run()->set_state("done");
    run.mutable_run()->set_job_name("nightly");
    run.mutable_run()->set_submitted_at(absl::StrCat("2026-01-01T00:00:", 10 + number_, "Z"));
    run.set_job("{}");
    (*run.mutable_environment())["kernel"] = "6.1";
    const double luck = together(random_);
    for (int p = 0; p < 4; ++p) {
      v1::PhaseOfRun* phase = run.add_phases();
      phase->set_index(p);
      phase->set_name(absl::StrCat("p", p));
      phase->set_jain(0.99 + 0.001 * apart(random_));
      const double iops = 10000 * luck * apart(random_) * (1 - slowdown);
      AddFigureRow(phase, "", "total", iops, 1e6 / luck * apart(random_) * (1 + slowdown));
      AddFigureRow(phase, "w0", "total", iops, 1e6 / luck * apart(random_) * (1 + slowdown));
      AddFigureRow(phase, "w0", "read", iops * 0.7 * apart(random_), 9e5 * apart(random_));
      AddFigureRow(phase, "w0", "write", iops * 0.3 * apart(random_), 2e6 * apart(random_));
    }
    return run;
  }

  std::mt19937_64 random_;
  int number_ = 0;
};

// The same runs, made in turn.
inline std::vector<RunSet> InTurn(std::vector<RunSet> sets) {
  for (size_t s = 0; s < sets.size(); ++s) {
    for (size_t i = 0; i < sets[s].runs.size(); ++i) {
      sets[s].runs[i].mutable_run()->set_submitted_at(
          absl::StrFormat("2026-01-01T00:%02d:%02dZ", i, s));
    }
  }
  return sets;
}

}  // namespace lockstep::controller
