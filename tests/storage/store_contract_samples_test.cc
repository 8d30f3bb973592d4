// The contract of the store: samples, and what the fleet has written.

#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "gtest/gtest.h"
#include "tests/storage/store_contract.h"

namespace lockstep::storage {
namespace {

TEST_P(StoreContract, BatchesContinueAtTheCursorOrNothingOfThemIsStored) {
  const std::string run = Start();
  const v1::PhaseId phase = Id(run, 0, 1);
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  ASSERT_TRUE(Go(run, 0, 1).ok());
  ASSERT_TRUE(store_->Ingest({Batch(phase, 0, 0, {Interval(0, {1})})}).ok());
  const auto refused = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(
      store_
          ->Ingest({Batch(phase, 0, 1, {Interval(1, {1})}), Batch(phase, 1, 4, {Interval(4, {1})})})
          .code(),
      refused);
  EXPECT_EQ(store_->Ingest({Batch(phase, 0, 0, {Interval(0, {1})})}).code(), refused);
  // no such worker
  EXPECT_EQ(store_->Ingest({Batch(phase, 7, 0, {Interval(0, {1})})}).code(), refused);
  // no such phase
  EXPECT_EQ(store_->Ingest({Batch(Id(run, 3, 1), 0, 0, {Interval(0, {1})})}).code(), refused);
  EXPECT_EQ(*store_->Cursor(phase, 0), 1u);
  EXPECT_EQ(*store_->Cursor(phase, 1), 0u);
  EXPECT_EQ(store_->Cursor(phase, 7).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->Cursor(Id(common::NewUuid(), 0, 1), 0).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_P(StoreContract, SamplesComeBackAsTheyWere) {
  const std::string run = Start();
  const v1::PhaseId phase = Id(run, 0, 1);
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  ASSERT_TRUE(Go(run, 0, 1).ok());
  const v1::DeliveryItem first = Interval(0, {100, 200}), second = Interval(1, {300, 1u << 30});
  ASSERT_TRUE(store_->Ingest({Batch(phase, 1, 0, {first})}).ok());
  ASSERT_TRUE(store_->Ingest({Batch(phase, 1, 1, {second, Result(2, "")})}).ok());
  std::vector<std::pair<uint32_t, v1::IntervalSample>> samples;
  const auto take = [&](uint32_t worker, const v1::IntervalSample& sample) {
    samples.emplace_back(worker, sample);
    return absl::OkStatus();
  };
  ASSERT_TRUE(store_->ReadIntervals(phase, IntervalDetail::kLatencies, take).ok());
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].first, 1u);
  EXPECT_EQ(samples[0].second.SerializeAsString(), first.interval().SerializeAsString());
  EXPECT_EQ(samples[1].second.SerializeAsString(), second.interval().SerializeAsString());
}

TEST_P(StoreContract, IntervalsComeInTheirOrderAndOneErrorEndsThem) {
  const std::string run = Start();
  const v1::PhaseId phase = Id(run, 0, 1);
  ASSERT_TRUE(Begin(run, 0, 1).ok());
  ASSERT_TRUE(Go(run, 0, 1).ok());
  for (uint32_t worker : {1, 0}) {
    v1::DeliveryItem first = Interval(0, {100});
    first.mutable_interval()->mutable_host()->set_context_switches(7);
    first.mutable_interval()->add_devices()->set_name("sda");
    ASSERT_TRUE(store_->Ingest({Batch(phase, worker, 0, {first, Interval(1, {1})})}).ok());
  }
  std::vector<std::pair<uint32_t, uint32_t>> places;
  ASSERT_TRUE(store_
                  ->ReadIntervals(phase, IntervalDetail::kHosts,
                                  [&](uint32_t worker, const v1::IntervalSample& sample) {
                                    places.emplace_back(sample.interval(), worker);
                                    EXPECT_EQ(sample.devices_size(), sample.interval() == 0);
                                    EXPECT_EQ(sample.has_host(), sample.interval() == 0);
                                    const auto& c = sample.workloads(0).operations(0);
                                    EXPECT_EQ(c.operations(), 1u);
                                    EXPECT_TRUE(c.histograms().empty());
                                    return absl::OkStatus();
                                  })
                  .ok());
  EXPECT_EQ(places, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  int taken = 0;
  const absl::Status stopped = store_->ReadIntervals(phase, IntervalDetail::kLatencies,
                                                     [&](uint32_t, const v1::IntervalSample&) {
                                                       ++taken;
                                                       return absl::CancelledError("enough");
                                                     });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(taken, 1);
  // The store is as usable as before.
  EXPECT_EQ(*store_->Cursor(phase, 0), 2u);
}

TEST_P(StoreContract, WhatTheFleetKnowsOfBlocksComesByAttemptWithWhoWasLostInIt) {
  const std::string run = Start();
  const auto writes = [](uint64_t place, uint32_t block, const std::string& runs) {
    v1::DeliveryItem item;
    item.mutable_block_writes()->set_target_key(place);
    item.mutable_block_writes()->set_block_size_bytes(block);
    item.mutable_block_writes()->set_runs(runs);
    item.mutable_block_writes()->set_from_wall_ns(1'700'000'000'123'456'000);
    item.mutable_block_writes()->set_until_wall_ns(1'700'000'001'123'456'000);
    return item;
  };
  constexpr uint64_t kHere = 0xfedcba9876543210;
  const std::string binary("\x00\x01\xff\n\t\\", 6);
  for (const uint32_t attempt : {1u, 2u}) {
    const v1::PhaseId phase = Id(run, 0, attempt);
    ASSERT_TRUE(Begin(run, 0, attempt).ok());
    ASSERT_TRUE(Go(run, 0, attempt).ok());
    ASSERT_TRUE(
        store_
            ->Ingest(
                {Batch(phase, 0, 0,
                       {Interval(0, {1}), writes(kHere, 4096, binary + std::to_string(attempt)),
                        writes(kHere, 512, "other size"), writes(kHere, 0, ""), Result(1, "")}),
                 Batch(phase, 1, 0, {writes(kHere + 1, 4096, "elsewhere"), Result(0, "")})})
            .ok());
    if (attempt == 1) {
      ASSERT_TRUE(store_->EndPhase(run, 0, attempt, measure::PhaseState::kVoid, "", {}, {}).ok());
    }
  }
  std::vector<std::string> seen;
  v1::WriteLogPart last;
  const auto put = [&](const v1::WriteLogPart& part) {
    last = part;
    seen.push_back(part.has_unfinished() ? "lost " + std::to_string(part.unfinished())
                                         : part.writes().runs());
    if (part.has_writes()) {
      EXPECT_EQ(part.writes().target_key(), kHere);
      EXPECT_EQ(part.writes().block_size_bytes(), part.writes().runs().empty() ? 0u : 4096u);
    }
    return absl::OkStatus();
  };
  v1::WriteLogRequest what;
  what.set_run_id(run);
  what.add_target_keys(kHere);
  what.set_block_size_bytes(4096);
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_EQ(Active(run)->block_items, (std::map<uint32_t, uint64_t>{{0, 3}, {1, 1}}));
  // Worker 2 has no result in the attempt that has ended; of the one in progress nothing is said.
  EXPECT_EQ(seen, (std::vector<std::string>{"", binary + "1", "lost 3", "", binary + "2"}));
  // Who, in which phase, and when.
  EXPECT_EQ(last.worker_index(), 0u);
  EXPECT_EQ(last.phase(), 0u);
  EXPECT_EQ(last.sequence(), 1u);
  EXPECT_EQ(last.writes().from_wall_ns(), 1'700'000'000'123'456'000);
  EXPECT_EQ(last.writes().until_wall_ns(), 1'700'000'001'123'456'000);
  // Only the new items of one attempt, and none of a lost worker or of a void attempt.
  seen.clear();
  *what.mutable_phase() = Id(run, 0, 2);
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{binary + "2"}));
  seen.clear();
  v1::ReportedBy* received = what.add_received();
  received->set_items(2);
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_TRUE(seen.empty());
  received->set_items(1);
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_EQ(seen.size(), 1u);
  what.clear_phase();
  what.clear_received();
  what.set_target_keys(0, kHere + 7);
  seen.clear();
  ASSERT_TRUE(store_->ReadBlockWrites(what, put).ok());
  EXPECT_EQ(seen, (std::vector<std::string>{"lost 3"}));
  what.set_target_keys(0, kHere);
  EXPECT_EQ(
      store_->ReadBlockWrites(what, [](const auto&) { return absl::CancelledError("enough"); })
          .code(),
      absl::StatusCode::kCancelled);
  EXPECT_TRUE(store_->EndRun(run, {.state = measure::RunState::kAborted, .degraded = true}).ok());
}

}  // namespace
}  // namespace lockstep::storage
