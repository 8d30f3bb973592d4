#include "worker/load/placement.h"

#include <linux/ioprio.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
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

// Whether the kernel grants them is tried, and the thread keeps its own.
TEST(PlacementTest, PrioritiesOfSingleIosAreTried) {
  if (PriorityOfThisThread() < 0 && errno == ENOSYS) GTEST_SKIP() << "no ioprio_get(2) here";
  std::thread([] {
    const long before = PriorityOfThisThread();
    const int low = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7);
    absl::Status status = BindThisThread({.line_priorities = {low}});
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(PriorityOfThisThread(), before);
    status = BindThisThread({.line_priorities = {low, IOPRIO_PRIO_VALUE(7, 0)}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  }).join();
}

TEST(PlacementTest, AThreadRunsAndHasItsMemoryOnNodes) {
  if (access("/sys/devices/system/node/node0/cpulist", R_OK) != 0) GTEST_SKIP() << "no nodes here";
  std::thread([] {
    absl::Status status = BindThisThread({.cpu_nodes = {0}});
    EXPECT_TRUE(status.ok()) << status;
    cpu_set_t cpus;
    ASSERT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    EXPECT_GE(CPU_COUNT(&cpus), 1);
    status = BindThisThread({.cpu_nodes = {0, 1000}});
    EXPECT_NE(status.message().find("no NUMA node 1000"), std::string::npos) << status;
    status = BindThisThread({.interleave_nodes = {0}});
    // Containers may refuse it.
    EXPECT_TRUE(status.ok() || status.message().find("not permitted") != std::string::npos)
        << status;
    status = BindThisThread({.interleave_nodes = {1000}});
    EXPECT_NE(status.message().find("interleave_nodes"), std::string::npos) << status;
  }).join();
}

TEST(PlacementTest, AProcessorAndANodeThatTheHostLacksAreNamed) {
  std::thread([] {
    // The highest numbers that a job may have (proto/load.proto).
    const absl::Status cpu = BindThisThread({.cpu = 8191});
    EXPECT_EQ(cpu.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(cpu.message().find("processor 8191"), std::string::npos) << cpu;
    const absl::Status node = BindThisThread({.numa_node = 1023});
    EXPECT_EQ(node.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(node.message().find("memory of node 1023"), std::string::npos) << node;
  }).join();
}

TEST(PlacementTest, AThreadRunsOnTheProcessorThatItIsGiven) {
  std::thread([] {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &allowed)) --last;
    const absl::Status status = BindThisThread({.cpu = last});
    EXPECT_TRUE(status.ok()) << status;
    cpu_set_t cpus;
    ASSERT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    EXPECT_EQ(CPU_COUNT(&cpus), 1);
    EXPECT_TRUE(CPU_ISSET(last, &cpus));
  }).join();
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
