// When did all hosts run? Figures compare hosts over that time alone.

#include <algorithm>

#include "controller/analysis/analysis.h"

namespace lockstep::controller {
namespace {

void AddWindow(const PhaseView& view, v1::PhaseReport* report) {
  const measure::PhaseData& phase = view.phase();
  size_t lost = view.Absent().size();
  report->set_workers(static_cast<uint32_t>(phase.workers.size() + lost));
  for (const measure::WorkerPhaseData& worker : phase.workers) lost += worker.has_result ? 0 : 1;
  report->set_workers_lost(static_cast<uint32_t>(lost));
  report->set_interval_seconds(static_cast<double>(phase.phase.interval_ns) / 1e9);
  const Done done = DoneOf(phase);
  if (done.any) {
    report->set_first_done_seconds(done.first_seconds);
    report->set_last_done_seconds(done.last_seconds);
  }
  report->set_duration_seconds(done.last_seconds);
  const measure::CommonWindow& window = view.series().window();
  int64_t begin = window.begin_ns();
  int64_t end = window.end_ns();
  report->set_window_seconds(view.window_seconds());
  if (window.empty()) {  // nobody ran at the same time, or intervals are missing
    end = static_cast<int64_t>(done.last_seconds * 1e9);
    begin = std::min(phase.phase.ramp_ns, end);  // it may have ended in its ramp
  }
  report->set_window_begin_seconds(static_cast<double>(begin) / 1e9);
  report->set_window_end_seconds(static_cast<double>(end) / 1e9);
}

const RegisterAnalysis kWindowRegistered(order::kWindow, "window", &AddWindow, About::kDevices);

}  // namespace
}  // namespace lockstep::controller
