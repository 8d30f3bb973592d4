#include "worker/link/outbox.h"

#include <unistd.h>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

v1::PhaseId Phase(uint32_t index) {
  v1::PhaseId phase;
  phase.set_run_id("r");
  phase.set_phase(index);
  phase.set_attempt(1);
  return phase;
}

v1::DeliveryItem Item(uint32_t interval) {
  v1::DeliveryItem item;
  item.mutable_interval()->set_interval(interval);
  return item;
}

v1::DeliveryAck Ack(uint64_t committed, const std::string& refused = "", bool final = false) {
  v1::DeliveryAck ack;
  *ack.mutable_phase() = Phase(0);
  ack.set_committed(committed);
  ack.set_refused(refused);
  ack.set_final(final);
  return ack;
}

TEST(OutboxTest, KeepsEverythingUntilItIsCommittedAndSendsItAgainAfterABreak) {
  Outbox outbox;
  for (uint32_t i = 0; i < 5; ++i) outbox.Add(Phase(0), Item(i));
  auto batch = outbox.NextBatch();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->first_sequence(), 0u);
  EXPECT_EQ(batch->items_size(), 5);
  EXPECT_FALSE(outbox.NextBatch());
  outbox.OnAck(Ack(3));
  EXPECT_FALSE(outbox.NextBatch());  // sent, though not committed
  outbox.Rewind();
  batch = outbox.NextBatch();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->first_sequence(), 3u);
  EXPECT_EQ(batch->items(0).interval().interval(), 3u);
  outbox.OnAck(Ack(5));
  EXPECT_EQ(outbox.uncommitted(), 0u);
}

TEST(OutboxTest, ARefusalRewindsAndAFinalOneDropsThePhase) {
  Outbox outbox;
  for (uint32_t i = 0; i < 4; ++i) outbox.Add(Phase(0), Item(i));
  outbox.NextBatch();
  EXPECT_EQ(outbox.OnAck(Ack(1, "sequence 2 came before 1")), "sequence 2 came before 1");
  EXPECT_EQ(outbox.NextBatch()->first_sequence(), 1u);
  outbox.OnAck(Ack(0, "not in progress", /*final=*/true));
  EXPECT_EQ(outbox.uncommitted(), 0u);
  outbox.Add(Phase(1), Item(0));
  EXPECT_EQ(outbox.NextBatch()->phase().phase(), 1u);
}

TEST(OutboxTest, BatchesStayBelow64KiBUnlessOneItemIsLarger) {
  Outbox outbox;
  for (uint32_t i = 0; i < 40; ++i) {
    v1::DeliveryItem item = Item(i);
    item.mutable_interval()->add_workloads()->add_operations()->add_histograms()->set_buckets(
        std::string(i == 20 ? 100000 : 5000, 'x'));
    outbox.Add(Phase(0), std::move(item));
  }
  uint64_t next = 0;
  while (const auto batch = outbox.NextBatch()) {
    EXPECT_EQ(batch->first_sequence(), next);
    next += batch->items_size();
    if (batch->items_size() > 1) {
      EXPECT_LE(batch->ByteSizeLong(), 65536u);
    }
  }
  EXPECT_EQ(next, 40u);
}

// Beyond the memory it may take, what is not committed goes to a file, and comes back in order.
TEST(OutboxTest, OverflowsIntoAFileAndComesBackInOrder) {
  const std::string path = std::string(getenv("TEST_TMPDIR")) + "/outbox";
  Outbox outbox(Outbox::Limits{200, path, 1 << 20});
  for (uint32_t i = 0; i < 100; ++i) EXPECT_TRUE(outbox.Add(Phase(0), Item(i + 1000)));
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  for (int round = 0; round < 2; ++round) {
    uint64_t next = 0;
    while (const auto batch = outbox.NextBatch(0)) {
      EXPECT_EQ(batch->first_sequence(), next);
      for (const v1::DeliveryItem& item : batch->items()) {
        EXPECT_EQ(item.interval().interval(), 1000 + next++);
      }
    }
    EXPECT_EQ(next, 100u);
    outbox.Rewind();
  }
  outbox.OnAck(Ack(60));
  EXPECT_EQ(outbox.NextBatch(0)->first_sequence(), 60u);
  outbox.OnAck(Ack(100));
  EXPECT_EQ(outbox.uncommitted(), 0u);
}

TEST(OutboxTest, BeyondBothLimitsItSaysSoAndKeepsTheItemAllTheSame) {
  Outbox outbox(Outbox::Limits{50, std::string(getenv("TEST_TMPDIR")) + "/small", 50});
  bool fits = true;
  uint32_t added = 0;
  while (fits && added < 100) fits = outbox.Add(Phase(0), Item(added++ + 1000));
  EXPECT_FALSE(fits);
  EXPECT_EQ(outbox.uncommitted(), added);
  EXPECT_EQ(static_cast<uint32_t>(outbox.NextBatch(0)->items_size()), added);
}

}  // namespace
}  // namespace lockstep::worker
