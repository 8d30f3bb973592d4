// Ten million I/Os, each latency recorded twice: in a histogram as always, and raw, by a build of
// the load with LOCKSTEP_RAW_LATENCIES. Every percentile that the histogram gives, in C++ and in
// SQL, is within its stated error of the raw one.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/histogram.h"
#include "gtest/gtest.h"
#include "measure/operation_stats.h"
#include "storage/pg_store.h"
#include "storage/sql_histogram.h"
#include "tests/storage/cluster.h"
#include "worker/load/load.h"
#include "worker/sampler/recorder.h"

namespace lockstep::worker {
namespace {

storage::Cluster* const cluster =
    static_cast<storage::Cluster*>(testing::AddGlobalTestEnvironment(new storage::Cluster));

constexpr uint64_t kOperations = 10000000;
constexpr double kPercents[] = {1,  5,    10,   25,    50,    75,     90,    95,
                                99, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999};
// Half of a bucket (common/histogram.h).
constexpr double kStatedError = 1.0 / 128;

v1::Assignment ReadsOfNothing() {
  v1::Assignment assignment;
  assignment.mutable_phase()->set_run_id("r");
  assignment.set_interval_ns(1000000000);
  assignment.set_drain_ns(5000000000);
  assignment.set_hard_stop_ns(300000000000);
  v1::Target* target = assignment.add_targets()->mutable_target();
  target->set_name("t");
  target->mutable_null()->set_device(v1::NULL_DEVICE_ZERO);
  target->mutable_null()->set_size_bytes(1 << 30);
  v1::WorkloadAssignment* workload = assignment.mutable_run()->add_workloads();
  assignment.mutable_run()->set_duration_ns(200000000000);
  workload->set_seed(1);
  v1::Workload* w = workload->mutable_workload();
  w->set_name("w");
  w->add_targets("t");
  w->set_threads(2);
  w->set_queue_depth(16);
  w->set_block_size_bytes(4096);
  w->mutable_pattern()->mutable_random();
  w->set_read_ratio(1);
  w->set_engine(v1::ENGINE_IO_URING);
  workload->set_operations(kOperations);  // of this worker
  return assignment;
}

// The raw latency of rank ceil(percent/100 * count).
double RawPercentile(const std::vector<uint64_t>& sorted, double percent) {
  const auto count = static_cast<double>(sorted.size());
  const auto rank = static_cast<size_t>(std::ceil(percent / 100 * count - 1e-9 * count));
  return static_cast<double>(sorted[std::max<size_t>(1, rank) - 1]);
}

TEST(RawLatencyTest, EveryPercentileIsWithinTheStatedErrorOfTheRawOne) {
  const Guard guard = *Guard::Make({}, {});
  LedgerBook ledgers;
  Load::Environment environment;
  environment.guard = &guard;
  environment.clock = &common::SystemClock();
  environment.ledgers = &ledgers;
  auto load = Load::Make(ReadsOfNothing(), {"h", 0}, std::move(environment));
  ASSERT_TRUE(load.ok()) << load.status();
  ASSERT_TRUE((*load)->Arm().ok());
  (*load)->Start(common::SystemClock().MonotonicNs() + 20000000);
  const v1::PhaseResult result = (*load)->Wait([](const v1::IntervalSample&) {});
  ASSERT_EQ(result.error(), "");

  std::vector<uint64_t> raw = Recorder::TakeRaw();
  ASSERT_EQ(raw.size(), kOperations);
  std::sort(raw.begin(), raw.end());
  const v1::OperationCounters& counters = result.workloads(0).measured(0);
  const auto delta = measure::OperationDelta::Decode(counters);
  ASSERT_TRUE(delta.ok()) << delta.status();
  measure::OperationStats stats;
  stats.Add(*delta);
  ASSERT_EQ(stats.counts().operations, kOperations);
  for (const double percent : kPercents) {
    const double exact = RawPercentile(raw, percent);
    EXPECT_NEAR(stats.Percentile(percent), exact, exact * kStatedError) << percent;
  }

  auto store = storage::PgStore::Open(
      {cluster->server->conninfo(), cluster->server->reader_conninfo(), "test"});
  ASSERT_TRUE(store.ok()) << store.status();
  auto connection = storage::PgConnection::Open(cluster->server->conninfo());
  ASSERT_TRUE(connection.ok()) << connection.status();
  const auto number = storage::HistogramNumber(counters.histograms(0).buckets());
  ASSERT_TRUE(number.ok()) << number.status();
  const auto rows = (*connection)
                        ->Query(
                            "SELECT array_to_string(hist_percentiles($1::numeric, "
                            "$2::float8[]), ' ') AS list",
                            {*number, absl::StrCat("{", absl::StrJoin(kPercents, ","), "}")});
  ASSERT_TRUE(rows.ok()) << rows.status();
  const std::vector<std::string> words = absl::StrSplit(rows->Text(0, "list"), ' ');
  ASSERT_EQ(words.size(), std::size(kPercents));
  for (size_t i = 0; i < words.size(); ++i) {
    const double exact = RawPercentile(raw, kPercents[i]);
    EXPECT_NEAR(std::stod(words[i]), exact, exact * kStatedError) << kPercents[i] << " in SQL";
  }
}

}  // namespace
}  // namespace lockstep::worker
