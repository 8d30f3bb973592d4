// fio's json+ leaves out what is not known: 0 is a figure.

#include "controller/report/fio_json.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// Two workloads of one second: "data" with three threads and reads, "log" with one and writes.
v1::Report SideBySide() {
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  phase->set_name("load");
  phase->set_window_seconds(1);
  phase->set_worker_cpu_user_ns_per_io(100000);
  phase->set_worker_cpu_system_ns_per_io(300000);
  phase->mutable_total()->set_operations(2000);
  phase->mutable_total()->set_iops(2000);
  for (const char* name : {"data", "log"}) {
    v1::WorkloadReport* workload = phase->add_workloads();
    workload->set_name(name);
    workload->mutable_settings()->set_threads(phase->workloads_size() == 1 ? 3 : 1);
    v1::OperationReport* operation = workload->add_operations();
    operation->set_kind(phase->workloads_size() == 1 ? "read" : "write");
    operation->set_operations(1000);
    operation->set_iops(1000);
    workload->mutable_total()->set_iops(1000);
  }
  return report;
}

void AddJsonThread(const std::string& workload, double cpu_ratio, v1::Report* report) {
  v1::ThreadReport* thread = report->mutable_phases(0)->add_threads();
  thread->set_workload(workload);
  thread->set_execution_time_seconds(1);
  thread->set_cpu_ratio(cpu_ratio);
  thread->set_context_switches(50);
}

// How often the text has it.
int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The numbers that the key has, in order.
std::vector<double> NumbersAt(const std::string& key, const std::string& text) {
  std::vector<double> numbers;
  const std::string before = "\"" + key + "\": ";
  for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
    numbers.push_back(std::stod(text.substr(at + before.size())));
  }
  return numbers;
}

TEST(FioJsonTest, WorkloadsShareTheProcessorTimeOfThePhase) {
  v1::Report report = SideBySide();
  for (int i = 0; i < 3; ++i) AddJsonThread("data", 0.125, &report);
  AddJsonThread("log", 0.125, &report);
  const std::string text = RenderFioJson(report, {});
  // The phase used 20 % of a processor in user mode, and 60 % in the kernel: a quarter for each
  // thread.
  const std::vector<double> user = NumbersAt("usr_cpu", text);
  const std::vector<double> system = NumbersAt("sys_cpu", text);
  ASSERT_EQ(user.size(), 2u) << text;
  ASSERT_EQ(system.size(), 2u) << text;
  for (int job = 0; job < 2; ++job) {
    EXPECT_NEAR(user[job], 5, 1e-9);
    EXPECT_NEAR(system[job], 15, 1e-9);
  }
  EXPECT_EQ(NumbersAt("ctx", text), (std::vector<double>{150, 50}));
}

// Both workloads run for the first half second only, so that the phase's rate is of that time.
TEST(FioJsonTest, AShortWorkloadLeavesTheOthersTheirProcessorTime) {
  v1::Report report = SideBySide();
  v1::PhaseReport* phase = report.mutable_phases(0);
  phase->set_window_seconds(0.5);
  phase->mutable_total()->set_operations(36500);
  phase->mutable_workloads(0)->set_window_seconds(18);
  phase->mutable_workloads(1)->set_window_seconds(0.5);
  for (int i = 0; i < 3; ++i) AddJsonThread("data", 0.125, &report);
  AddJsonThread("log", 0.125, &report);
  // 36,500 I/Os of 100 us are 3.65 s. Three quarters of them are of three threads for 18 s.
  const std::string text = RenderFioJson(report, {});
  const std::vector<double> user = NumbersAt("usr_cpu", text);
  ASSERT_EQ(user.size(), 2u) << text;
  EXPECT_NEAR(user[0], 100 * 3.65 * 0.75 / (3 * 18), 1e-3);
}

TEST(FioJsonTest, FiguresThatAreNotKnownAreLeftOut) {
  v1::Report report = SideBySide();
  const std::string text = RenderFioJson(report, {});
  for (const char* key : {"\"usr_cpu\"", "\"sys_cpu\"", "\"ctx\""}) {
    EXPECT_EQ(Count(text, key), 0) << key << "\n" << text;
  }
  EXPECT_EQ(Count(text, "usr_cpu and sys_cpu are not known, and are left out"), 2) << text;
  EXPECT_EQ(Count(text, "ctx is not known, and is left out"), 2) << text;
  // fio's readers index these keys. Those of a direction without I/Os or without a spread that is
  // known are of no samples.
  EXPECT_EQ(Count(text, "\"iops_min\": 0,"), 6) << text;
  EXPECT_EQ(Count(text, "\"iops_samples\": 0\n"), 6) << text;
  // Alone, its spread is that of the phase, unless a host lacks every interval.
  report.mutable_phases(0)->mutable_workloads()->RemoveLast();
  report.mutable_phases(0)->add_iops_by_interval(std::nan(""));
  const std::string lacking = RenderFioJson(report, {});
  EXPECT_EQ(Count(lacking, "\"iops_samples\": 0\n"), 3) << lacking;
  report.mutable_phases(0)->add_iops_by_interval(900);
  report.mutable_phases(0)->add_iops_by_interval(1100);
  const std::string alone = RenderFioJson(report, {});
  EXPECT_EQ(Count(alone, "\"iops_min\": 900,"), 1) << alone;
  EXPECT_EQ(Count(alone, "\"iops_min\""), 3) << alone;
  EXPECT_EQ(Count(alone, "\"usr_cpu\""), 1) << alone;
}

}  // namespace
}  // namespace lockstep::controller
