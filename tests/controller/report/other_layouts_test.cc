#include "controller/report/other_layouts.h"

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

// A sweep over block_size with two threads.
v1::Report Sizes() {
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  phase->set_index(3);
  phase->add_threads();
  phase->add_threads();
  v1::SweepReport* sweep = report.add_sweeps();
  sweep->set_phase("sizes");
  v1::SweepAxisReport* axis = sweep->add_axes();
  axis->set_field("block_size");
  const struct {
    const char* size;
    double iops, bytes_per_second;
  } kPoints[] = {{"512", 76.6, 39219.2}, {"1MiB", 9.8, 10276044.8}};
  for (uint32_t i = 0; i < 2; ++i) {
    axis->add_values(kPoints[i].size);
    v1::SweepPointReport* point = sweep->add_points();
    point->add_indices(i);
    point->add_phases(3);
    point->set_runs(1);
    point->set_iops(kPoints[i].iops);
    point->set_bytes_per_second(kPoints[i].bytes_per_second);
  }
  sweep->add_targets()->set_name("data");
  return report;
}

std::string HeadOf(const v1::Report& report) {
  const std::string text = RenderIops(report);
  return text.substr(0, text.find('\n'));
}

TEST(IopsTest, TheHeadNamesTheDeviceAndItsCapacity) {
  v1::Report report = Sizes();
  v1::SweptTarget* target = report.mutable_sweeps(0)->mutable_targets(0);
  target->set_identity("wwn-0x5000c500a1b2c3d4");
  EXPECT_EQ(HeadOf(report), "wwn-0x5000c500a1b2c3d4, 2 threads:");
  target->set_path("/dev/sdb");
  target->set_size_bytes(100.0 * (1 << 30));
  EXPECT_EQ(HeadOf(report), "/dev/sdb, 100 GiB, 2 threads:");
  target->set_host("node1");
  target->set_other_hosts(1);
  EXPECT_EQ(HeadOf(report), "/dev/sdb on node1 (1 host has another one), 100 GiB, 2 threads:");
}

TEST(IopsTest, WhatIsNotKnownIsLeftOut) {
  v1::Report report = Sizes();
  EXPECT_EQ(HeadOf(report), "data, 2 threads:");
  report.mutable_phases(0)->clear_threads();
  EXPECT_EQ(HeadOf(report), "data:");
}

TEST(IopsTest, TwoTablesOfOneDeviceAreToldApart) {
  v1::Report report = Sizes();
  *report.add_sweeps() = report.sweeps(0);
  report.mutable_sweeps(1)->set_phase("again");
  const std::string text = RenderIops(report);
  EXPECT_NE(text.find("data, 2 threads, phase sizes:\n"), std::string::npos) << text;
  EXPECT_NE(text.find("data, 2 threads, phase again:\n"), std::string::npos) << text;
}

TEST(IopsTest, ASmallThroughputIsNotNothing) {
  const std::string text = RenderIops(Sizes());
  EXPECT_NE(text.find(" 38.3 KiB/s"), std::string::npos) << text;
  EXPECT_NE(text.find(" 9.8 MiB/s"), std::string::npos) << text;
  EXPECT_EQ(text.find(" 0.0 MiB/s"), std::string::npos) << text;
}

// A sweep over file sizes and record sizes that moved one kind of operation.
void AddMatrix(const std::string& name, const std::string& kind, double kib_per_second,
               v1::Report* report) {
  v1::SweepReport* sweep = report->add_sweeps();
  sweep->set_phase(name);
  v1::SweepAxisReport* files = sweep->add_axes();
  files->set_field("targets.f.file.size");
  for (const char* size : {"64MiB", "1048576"}) files->add_values(size);
  v1::SweepAxisReport* records = sweep->add_axes();
  records->set_field("block_size");
  for (const char* size : {"4KiB", "1MiB"}) records->add_values(size);
  for (uint32_t i = 0; i < 4; ++i) {
    const auto index = static_cast<uint32_t>(report->phases_size());
    v1::PhaseReport* phase = report->add_phases();
    phase->set_index(index);
    v1::OperationReport* operation = phase->add_workloads()->add_operations();
    operation->set_kind(kind);
    operation->set_operations(1);
    for (v1::OperationReport* total :
         {operation, phase->mutable_total(), phase->mutable_workloads(0)->mutable_total()}) {
      total->set_iops(1);
      total->set_bytes_per_second(1024 * (kib_per_second + i));
    }
    v1::SweepPointReport* point = sweep->add_points();
    point->add_indices(i / 2);
    point->add_indices(i % 2);
    point->add_phases(index);
    point->set_runs(1);
    point->set_bytes_per_second(1024 * (kib_per_second + i));
  }
}

TEST(IozoneTest, ColumnsOfSeveralSweepsHaveIozonesTitlesAndOrder) {
  v1::Report report;
  AddMatrix("other", "write", 700, &report);
  AddMatrix("random write", "write", 600, &report);
  AddMatrix("random read", "read", 500, &report);
  AddMatrix("reread", "read", 400, &report);
  AddMatrix("read", "read", 300, &report);
  AddMatrix("rewrite", "write", 200, &report);
  AddMatrix("write", "write", 100, &report);
  const auto matrix = [](const char* title, int first) {
    const auto cell = [&](int i) { return std::to_string(first + i); };
    return std::string("\"") + title + " report\"\n        \"4\" \"1024\"\n\"65536\"  " + cell(0) +
           "  " + cell(1) + "\n\"1024\"  " + cell(2) + "  " + cell(3) + "\n\n";
  };
  EXPECT_EQ(RenderIozone(report), matrix("Writer", 100) + matrix("Re-writer", 200) +
                                      matrix("Reader", 300) + matrix("Re-Reader", 400) +
                                      matrix("Random read", 500) + matrix("Random write", 600) +
                                      matrix("other: Writer", 700));
}

TEST(IozoneTest, APointThatDidNotRunHasAnEmptyCell) {
  v1::Report report;
  AddMatrix("write", "write", 100, &report);
  report.mutable_sweeps(0)->mutable_points(2)->set_runs(0);
  EXPECT_EQ(RenderIozone(report),
            "\"Writer report\"\n        \"4\" \"1024\"\n\"65536\"  100  101\n"
            "\"1024\"  \"\"  103\n\n");
}

TEST(IozoneTest, AColumnThatAlsoMovesTheOtherKindSaysSo) {
  v1::Report report;
  AddMatrix("read", "write", 100, &report);
  EXPECT_EQ(RenderIozone(report).substr(0, 22), "\"read: Writer report\"\n");
}

}  // namespace
}  // namespace lockstep::controller
