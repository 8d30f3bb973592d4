// Processor quotas that hold hosts back: for a part of a phase, all the time, or never.

#include <functional>
#include <string>
#include <utility>

#include "controller/report/host_figures.h"
#include "tests/controller/analysis/stored_phases.h"

namespace lockstep::controller {
namespace {

// In each second of a host, so many of the ten periods of its quota were throttled, for so long.
void SetQuota(Stored* data, uint32_t host, const std::function<uint64_t(uint32_t k)>& throttled,
              uint64_t ms_each = 80) {
  for (uint32_t k = 0; k < 10; ++k) {
    v1::QuotaSample* quota = data->intervals[host][k].mutable_quota();
    quota->set_periods(10);
    quota->set_throttled_periods(throttled(k));
    quota->set_period_ns(100000000);
    quota->set_throttled_time_ns(throttled(k) * ms_each * 1000000);
  }
}

// The only straggler's cause and reason.
std::pair<std::string, std::string> CauseIn(const Stored& data) {
  const v1::PhaseReport phase = ReportOf(data).phases(0);
  EXPECT_EQ(phase.stragglers_size(), 1);
  if (phase.stragglers_size() != 1) return {};
  return {phase.stragglers(0).cause(), phase.stragglers(0).reason()};
}

TEST(StragglerTest, AQuotaIsTheCauseOfTheStretchInWhichItWasUsedUp) {
  Stored data = FourHosts([](uint32_t h, uint32_t k) { return h == 2 && k >= 5 ? 50 : 200; });
  SetQuota(&data, 2, [](uint32_t k) { return k >= 5 ? 9 : 0; });
  EXPECT_EQ(CauseIn(data),
            std::pair(std::string("CPU quota"),
                      std::string("its control group had used up its processor quota for 90 % of "
                                  "this time, and for 0 % of the rest of the phase")));
  const v1::HostReport host = ReportOf(data).phases(0).hosts(2);
  EXPECT_DOUBLE_EQ(host.throttled_ratio(), 0.45);
  EXPECT_DOUBLE_EQ(host.throttled_ratio_max(), 0.9);
  EXPECT_EQ(RenderQuotas(ReportOf(data).phases(0)),
            "node2 for 45 % of the time (90 % of its worst interval)");
  // As much of the phase, and none of it in the stretch.
  SetQuota(&data, 2, [](uint32_t k) { return k >= 5 ? 0 : 9; });
  EXPECT_EQ(CauseIn(data).first, "not known");
  EXPECT_DOUBLE_EQ(ReportOf(data).phases(0).hosts(2).throttled_ratio(), 0.45);
  // The count over the load, which the worker also sends, says nothing of the stretch.
  data.phases[0].workers[2].result.set_throttled_ratio(0.45);
  EXPECT_EQ(CauseIn(data).first, "not known");
}

TEST(StragglerTest, AQuotaThatHoldsAllTheTimeIsTheCauseOfAllOfIt) {
  Stored data = FourHosts([](uint32_t h, uint32_t) { return h == 2 ? 100 : 200; });
  SetQuota(&data, 2, [](uint32_t) { return 3; });
  EXPECT_EQ(CauseIn(data),
            std::pair(std::string("CPU quota"),
                      std::string("its control group had used up its processor quota for 30 % of "
                                  "the phase's time")));
  // Others that are throttled alike have no other quota than this host.
  for (const uint32_t other : {0, 1, 3}) SetQuota(&data, other, [](uint32_t) { return 3; });
  EXPECT_EQ(CauseIn(data).first, "not known");
}

TEST(StragglerTest, AQuotaThatHoldsAllTheTimeIsNotTheCauseOfAStretch) {
  Stored data = FourHosts([](uint32_t h, uint32_t k) { return h == 2 && k >= 5 ? 50 : 200; });
  SetQuota(&data, 2, [](uint32_t) { return 3; });
  EXPECT_EQ(CauseIn(data).first, "not known");
  for (uint32_t k = 5; k < 10; ++k) {
    v1::DeviceSample* d = data.intervals[2][k].mutable_devices(0);
    d->set_read_time_ms(d->reads() * 8);
  }
  EXPECT_EQ(CauseIn(data).first, "device");
  // A quota that is used up in each period may become smaller. The time for which its threads
  // waited tells.
  SetQuota(
      &data, 2, [](uint32_t) { return 10; }, 20);
  EXPECT_EQ(CauseIn(data).first, "device");
  for (uint32_t k = 5; k < 10; ++k) {
    data.intervals[2][k].mutable_quota()->set_throttled_time_ns(900000000);
  }
  EXPECT_EQ(CauseIn(data).first, "CPU quota");
}

TEST(StragglerTest, AQuotaThatIsNeverReachedIsNoCause) {
  for (const uint32_t begin : {0, 5}) {
    Stored data =
        FourHosts([&](uint32_t h, uint32_t k) { return h == 2 && k >= begin ? 50 : 200; });
    SetQuota(&data, 2, [](uint32_t) { return 0; });
    EXPECT_EQ(CauseIn(data).first, "not known");
    const v1::HostReport host = ReportOf(data).phases(0).hosts(2);
    EXPECT_EQ(host.throttled_ratio(), 0);
    EXPECT_TRUE(host.has_throttled_ratio_max());
  }
}

// The limit of the whole phase is made of the same intervals.
TEST(LimitTest, TheIntervalsOfAQuotaComeBeforeTheCountOverTheLoad) {
  Stored data = FourHosts([](uint32_t, uint32_t) { return 200; });
  for (measure::WorkerPhaseData& worker : data.phases[0].workers) {
    AddWaitingThread(2000, &worker);
    worker.result.set_throttled_ratio(0.94);
  }
  const auto limit = [&](uint64_t throttled) {
    for (uint32_t h = 0; h < 4; ++h) SetQuota(&data, h, [&](uint32_t) { return throttled; });
    return ReportOf(data).phases(0).workloads(0);
  };
  EXPECT_EQ(limit(9).limited_by(), "CPU quota");
  EXPECT_EQ(limit(9).limited_because(),
            "control groups of the workers had used up their processor quota for 90 % of the time");
  EXPECT_EQ(limit(1).limited_by(), "device");
}

}  // namespace
}  // namespace lockstep::controller
