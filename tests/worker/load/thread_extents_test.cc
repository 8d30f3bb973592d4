// The bytes that a thread may touch.

#include "worker/load/thread_extents.h"

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

OpenTargets Targets(uint64_t begin, uint64_t end, int files) {
  OpenTargets targets;
  for (int i = 0; i < files; ++i) {
    targets.files.emplace_back().path = "/f";
    targets.extents.push_back({static_cast<uint16_t>(i), begin, end});
  }
  return targets;
}

v1::Workload Load() {
  v1::Workload w;
  w.set_threads(2);
  w.set_block_size_bytes(4096);
  return w;
}

TEST(ThreadExtentsTest, WithoutARegionTheyAreTheTargets) {
  const auto extents = ThreadExtents(Load(), Targets(4096, 65536, 2), 1);
  ASSERT_TRUE(extents.ok());
  ASSERT_EQ(extents->size(), 2u);
  EXPECT_EQ((*extents)[1].begin, 4096u);
  EXPECT_FALSE(HasOwnExtents(Load()));
}

TEST(ThreadExtentsTest, ARegionCountsFromTheStartOfTheHostsPart) {
  v1::Workload w = Load();
  w.mutable_region()->set_offset_bytes(8192);
  w.mutable_region()->set_size_bytes(16384);
  w.mutable_region()->set_increment_bytes(16384);
  EXPECT_TRUE(HasOwnExtents(w));
  for (const uint32_t thread : {0U, 1U}) {
    const auto extents = ThreadExtents(w, Targets(1 << 20, 2 << 20, 2), thread);
    ASSERT_TRUE(extents.ok());
    for (const BlockSpace::Extent& extent : *extents) {
      EXPECT_EQ(extent.begin, (1U << 20) + 8192 + thread * 16384);
      EXPECT_EQ(extent.end, extent.begin + 16384);
    }
  }
}

TEST(ThreadExtentsTest, FilesOfItsOwnHaveTheRegion) {
  v1::Workload w = Load();
  w.set_files_per_thread(true);
  w.mutable_region()->set_offset_bytes(8192);
  const auto extents = ThreadExtents(w, Targets(0, 65536, 4), 1);
  ASSERT_TRUE(extents.ok());
  ASSERT_EQ(extents->size(), 2u);
  EXPECT_EQ((*extents)[0].file, 1u);
  EXPECT_EQ((*extents)[0].begin, 8192u);
  EXPECT_EQ((*extents)[0].end, 65536u);
}

// A controller that checked nothing cannot make a worker write elsewhere.
TEST(ThreadExtentsTest, ARegionOutsideThePartIsRefused) {
  constexpr int64_t kValues[] = {-1, -4096, 65536, INT64_MAX, INT64_MIN};
  for (const int64_t value : kValues) {
    for (int field = 0; field < 3; ++field) {
      v1::Workload w = Load();
      if (field == 0) w.mutable_region()->set_offset_bytes(value);
      if (field == 1) w.mutable_region()->set_size_bytes(value == 65536 ? 65537 : value);
      if (field == 2) w.mutable_region()->set_increment_bytes(value);
      const auto extents = ThreadExtents(w, Targets(4096, 4096 + 65536, 1), 1);
      EXPECT_FALSE(extents.ok()) << value << " " << field;
    }
  }
}

}  // namespace
}  // namespace lockstep::worker
