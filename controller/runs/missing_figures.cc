#include "controller/runs/missing_figures.h"

#include "common/log.h"
#include "controller/runs/reports.h"

namespace lockstep::controller {
namespace {

using Runs = std::shared_ptr<std::vector<std::string>>;  // still to be done; the next one is last

// More are left to the next start.
constexpr uint32_t kMaxRuns = 100000;

void MakeNext(Loop* loop, storage::Store* store, const Runs& runs) {
  if (runs->empty()) return;
  // One run at a time is queued. With all of them in the queue, the summary of a run that ends now
  // would wait behind thousands of old ones.
  const std::string run_id = runs->back();
  runs->pop_back();
  loop->RunInBackground(
      [store, run_id]() -> absl::Status {
        const auto report = ReportOf(store, run_id);
        if (!report.ok()) return report.status();
        if (absl::Status kept = SaveTimelines(store, run_id); !kept.ok()) return kept;
        return store->SaveReport(run_id, *report);
      },
      [loop, store, runs, run_id](const absl::Status& status) {
        if (!status.ok()) {
          log::Warn("no figures of run {}: {}", run_id, std::string(status.message()));
        }
        MakeNext(loop, store, runs);
      });
}

}  // namespace

void MakeMissingFigures(Loop* loop, storage::Store* store) {
  const auto runs = std::make_shared<std::vector<std::string>>();
  loop->RunInBackground(
      [store, runs]() -> absl::Status {
        auto found = store->WithoutFigures(kMaxRuns);
        if (!found.ok()) return found.status();
        runs->assign(found->rbegin(), found->rend());
        return absl::OkStatus();
      },
      [loop, store, runs](const absl::Status& status) {
        if (!status.ok()) {
          log::Warn("runs without figures: {}", std::string(status.message()));
          return;
        }
        if (!runs->empty()) log::Info("making the figures of {} earlier runs", runs->size());
        MakeNext(loop, store, runs);
      });
}

}  // namespace lockstep::controller
