// An exact mix against the rule of sysbench's rndrw, which it stands for.

#include "worker/workload/exact_mix.h"

#include <atomic>
#include <string>

#include "gtest/gtest.h"
#include "worker/workload/access.h"

namespace lockstep::worker {
namespace {

// R and W, by sysbench's own rule: `reads` to `writes` is the ratio, in whole numbers so that the
// rule is exact.
std::string BySysbench(uint64_t reads, uint64_t writes, int count) {
  std::string order;
  uint64_t read = 0;
  uint64_t written = 0;
  while (static_cast<int>(order.size()) < count) {
    const bool reads_next = (read + 1) * writes < (written + 1) * reads;
    order += reads_next ? 'R' : 'W';
    ++(reads_next ? read : written);
  }
  return order;
}

std::string ByMix(double read_ratio, int count) {
  std::atomic<uint64_t> number{0};
  ExactMix mix(read_ratio, &number);
  std::string order;
  while (static_cast<int>(order.size()) < count) {
    order += mix.Take() == IoKind::kRead ? 'R' : 'W';
  }
  return order;
}

TEST(ExactMixTest, ItIsTheOrderOfSysbench) {
  EXPECT_EQ(ByMix(0.6, 10), "RWRWRRWRWR") << "as strace shows sysbench 1.0.20";
  for (uint64_t reads = 0; reads <= 12; ++reads) {
    for (uint64_t writes = 1; writes <= 12; ++writes) {
      const double share = static_cast<double>(reads) / static_cast<double>(reads + writes);
      EXPECT_EQ(ByMix(share, 1000), BySysbench(reads, writes, 1000)) << reads << ":" << writes;
    }
  }
  EXPECT_EQ(ByMix(0.99999, 300000), BySysbench(99999, 1, 300000));
}

// A job file has ten digits of a percentage.
TEST(ExactMixTest, ARoundedShareIsTheFractionThatWasMeant) {
  EXPECT_EQ(ByMix(0.6666666667, 300000), BySysbench(2, 1, 300000));
  EXPECT_EQ(ByMix(0.1428571429, 300000), BySysbench(1, 6, 300000));
}

TEST(ExactMixTest, AllOfOneKind) {
  EXPECT_EQ(ByMix(1, 5), "RRRRR");
  EXPECT_EQ(ByMix(0, 5), "WWWWW");
}

TEST(ExactMixTest, ThreadsKeepTheOrderTogether) {
  std::atomic<uint64_t> number{0};
  AccessOptions options;
  options.lines = {{}};
  options.lines[0].read_ratio = 0.6;
  options.shared_mix = &number;
  options.threads = 2;
  Access first = *Access::Make({{0, 0, 1 << 20}}, options);
  options.thread = 1;
  Access second = *Access::Make({{0, 0, 1 << 20}}, options);
  std::string order;
  for (int i = 0; i < 5; ++i) {
    for (Access* access : {&first, &second}) {
      order += access->Take().kind == IoKind::kRead ? 'R' : 'W';
    }
  }
  EXPECT_EQ(order, "RWRWRRWRWR");
}

}  // namespace
}  // namespace lockstep::worker
