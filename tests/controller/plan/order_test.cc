// The order of reads, writes and syncs: what is refused.

#include <string>

#include "absl/strings/str_cat.h"
#include "controller/plan/order_rules.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

v1::Workload Mixed() {
  v1::Workload w;
  w.set_read_ratio(0.6);
  w.set_mix(v1::MIX_EXACT);
  w.mutable_fsync()->set_every_ios(100);
  w.mutable_fsync()->set_all_files(true);
  w.mutable_fsync()->set_shared(true);
  return w;
}

std::string Problems(const v1::Workload& workload) {
  std::string text;
  CheckOrder(workload, [&](const std::string& field, const std::string& problem) {
    absl::StrAppend(&text, field, ": ", problem, "\n");
  });
  return text;
}

TEST(OrderTest, TheOrderOfSysbenchIsAccepted) { EXPECT_EQ(Problems(Mixed()), ""); }

TEST(OrderTest, AnExactMixIsOfReadsAndWritesAlone) {
  v1::Workload w = Mixed();
  w.set_trim_ratio(0.1);
  EXPECT_EQ(Problems(w), ".mix: orders reads and writes; trims are drawn\n");
  w = Mixed();
  w.add_access()->set_read_ratio(0.5);
  EXPECT_EQ(Problems(w),
            ".mix: each line of access has a share of reads of its own, which is drawn\n");
  w = Mixed();
  w.clear_fsync();
  w.mutable_copy()->set_from("a");
  EXPECT_EQ(Problems(w), ".mix: a copy writes what it has read; leave mix out\n");
}

TEST(OrderTest, SharedSyncsCountIosAndSyncAllFiles) {
  v1::Workload w = Mixed();
  w.mutable_fsync()->set_all_files(false);
  EXPECT_EQ(Problems(w), ".fsync.shared: needs every_ios, and all_files: true\n");
  w = Mixed();
  w.mutable_fsync()->set_every(5);
  EXPECT_EQ(Problems(w),
            ".fsync.shared: counts I/Os of all threads; every counts writes of each\n");
  w = Mixed();
  w.set_files_per_thread(true);
  EXPECT_EQ(Problems(w),
            ".fsync.shared: the threads would sync each other's files; leave files_per_thread\n");
}

TEST(OrderTest, SyncsNeedWritesAndAnOccasion) {
  v1::Workload w = Mixed();
  w.set_read_ratio(1);
  EXPECT_EQ(Problems(w), ".fsync: this workload does not write\n");
  w = Mixed();
  *w.mutable_fsync() = {};
  EXPECT_EQ(Problems(w), ".fsync: says not when: write every, every_ios or at_end\n");
}

}  // namespace
}  // namespace lockstep::controller
