// An analysis is added as docs/contributing.md says: in a file of its own, which registers it.

#include "absl/strings/str_cat.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/report.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

void AddSlowestHost(const PhaseView& view, v1::PhaseReport* report) {
  const v1::HostReport* slowest = nullptr;
  for (const v1::HostReport& host : report->hosts()) {
    if (slowest == nullptr || host.iops() < slowest->iops()) slowest = &host;
  }
  if (slowest == nullptr) return;
  report->add_remarks(absl::StrCat("slowest of ", view.phase().workers.size(), ": ",
                                   slowest->host(), ", ", slowest->iops(), " IOPS"));
}

const RegisterAnalysis kRegistered(order::kHosts + 1, "slowest host", &AddSlowestHost);

TEST(AddedAnalysisTest, ItIsAskedAfterThoseThatItReads) {
  measure::RunData data;
  data.run.job.add_phases()->mutable_run()->add_workloads()->set_name("w");
  measure::PhaseData phase;
  phase.phase.spec = data.run.job.phases(0);
  for (uint32_t i = 0; i < 2; ++i) {
    measure::RunWorker worker;
    worker.worker_index = i;
    worker.host = absl::StrCat("node", i);
    data.workers.push_back(worker);
    measure::WorkerPhaseData part;
    part.worker_index = i;
    part.has_result = true;
    part.result.set_last_io_ns(1000000000);
    phase.workers.push_back(part);
  }
  data.phases.push_back(phase);
  const auto report =
      BuildReport(data, [](const measure::PhaseRecord&, WithIntervals, const TakeInterval& take) {
        for (uint32_t worker : {0, 1}) {
          v1::IntervalSample sample;
          sample.set_interval_class(v1::INTERVAL_CLASS_MEASURED);
          sample.set_end_ns(1000000000);
          v1::OperationCounters* c = sample.add_workloads()->add_operations();
          c->set_kind(v1::OPERATION_KIND_READ);
          c->set_operations(worker == 0 ? 700 : 300);
          if (absl::Status status = take(worker, sample); !status.ok()) return status;
        }
        return absl::OkStatus();
      });
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_GE(report->phases(0).remarks_size(), 1);
  EXPECT_EQ(report->phases(0).remarks(0), "slowest of 2: node1, 300 IOPS");
}

TEST(AddedAnalysisTest, EveryAnalysisHasANameAndAPlace) {
  int before = 0;
  for (const Analysis& analysis : Analyses()) {
    EXPECT_STRNE(analysis.name, "");
    EXPECT_GE(analysis.order, before);
    before = analysis.order;
  }
  EXPECT_GE(Analyses().size(), 14u);
}

}  // namespace
}  // namespace lockstep::controller
