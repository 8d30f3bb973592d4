#include "worker/load/placement.h"

#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

long PriorityOfThisThread() { return syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0); }

TEST(PlacementTest, AThreadHasTheIoPriorityThatItsWorkloadWants) {
  if (PriorityOfThisThread() < 0 && errno == ENOSYS) GTEST_SKIP() << "no ioprio_get(2) here";
  const long before = PriorityOfThisThread();
  std::thread([] {
    const int idle = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0);
    const absl::Status status = BindThisThread({.io_priority = idle});
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(PriorityOfThisThread(), idle);
  }).join();
  // It is one thread's, not the process's.
  EXPECT_EQ(PriorityOfThisThread(), before);
}

TEST(PlacementTest, APriorityThatTheKernelRefusesIsNamed) {
  if (PriorityOfThisThread() < 0 && errno == ENOSYS) GTEST_SKIP() << "no ioprio_get(2) here";
  std::thread([] {
    // There is no class 7.
    const absl::Status status = BindThisThread({.io_priority = IOPRIO_PRIO_VALUE(7, 0)});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("io_priority"), std::string::npos) << status;
  }).join();
}

}  // namespace
}  // namespace lockstep::worker
