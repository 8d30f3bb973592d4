// The first screen's text about the storage that the load worked on.

#include <string>

#include "controller/report/markdown.h"
#include "controller/report/text.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

v1::DeviceReport* AddDevice(const std::string& name, double bytes, v1::Report* report) {
  v1::PhaseReport* phase = report->add_phases();
  phase->set_name(name);
  v1::DeviceReport* device = phase->add_devices();
  device->set_name(name);
  device->set_engine_read_bytes(bytes);
  return device;
}

TEST(FirstScreenTest, TheDevicesUnderTheLoadAreNamed) {
  v1::Report report;
  EXPECT_EQ(RenderText(report, {}).find("devices under"), std::string::npos);
  AddDevice("sda", 0, &report)->add_hosts("node1");
  EXPECT_EQ(RenderText(report, {}).find("devices under"), std::string::npos) << "no engine used it";
  v1::DeviceReport* shared = AddDevice("sdb", 4096, &report);
  shared->add_hosts("node1");
  shared->add_hosts("node2");
  AddDevice("sdc", 4096, &report);
  // The same device in another phase.
  AddDevice("sdb", 4096, &report)->add_hosts("node2");
  EXPECT_NE(RenderText(report, {}).find("  devices under the load: sdb of node1 and 1 more, sdc\n"),
            std::string::npos)
      << RenderText(report, {});
  for (const char* name : {"sdd", "sde", "sdf"}) AddDevice(name, 4096, &report);
  EXPECT_NE(RenderText(report, {}).find("sde, 1 more\n"), std::string::npos);
}

// A phase on one host, with two workloads.
v1::Report WithLimits(const std::string& first, const std::string& second) {
  v1::Report report;
  v1::PhaseReport* phase = report.add_phases();
  phase->set_name("mix");
  phase->set_kind("run");
  phase->set_workers(1);
  for (const std::string& limit : {first, second}) {
    v1::WorkloadReport* w = phase->add_workloads();
    w->set_name(phase->workloads_size() == 1 ? "scanner" : "reader");
    w->set_limited_by(limit);
    v1::OperationReport* o = w->add_operations();
    o->set_kind("read");
    o->set_iops(1);
  }
  return report;
}

std::string LineWith(const std::string& what, const std::string& text) {
  const size_t at = text.find(what);
  if (at == std::string::npos) return "";
  return text.substr(at, text.find('\n', at) - at);
}

TEST(FirstScreenTest, EachWorkloadHasItsOwnLimitIfTheyDiffer) {
  const std::string differ = RenderText(WithLimits("above the device", "queue depth"), {});
  EXPECT_TRUE(LineWith("scanner read", differ).ends_with("  above the device")) << differ;
  EXPECT_TRUE(LineWith("reader read", differ).ends_with("  queue depth")) << differ;
  EXPECT_FALSE(LineWith("  all ", differ).ends_with("depth")) << differ;
  const std::string same = RenderText(WithLimits("rate", "rate"), {});
  EXPECT_FALSE(LineWith("scanner read", same).ends_with("rate")) << same;
  EXPECT_TRUE(LineWith("  all ", same).ends_with("  rate")) << same;
}

TEST(FirstScreenTest, OneHostHasNoFairness) {
  EXPECT_EQ(RenderText(WithLimits("rate", "rate"), {}).find("Jain"), std::string::npos);
}

// Of two hosts one did all I/Os: a host is as fair as itself.
TEST(FirstScreenTest, OneHostThatWorkedHasNoFairness) {
  v1::Report report = WithLimits("rate", "rate");
  v1::PhaseReport* phase = report.mutable_phases(0);
  for (int i = 0; i < 2; ++i) phase->add_hosts();
  phase->mutable_total()->set_kind("total");
  v1::Fairness* hosts = phase->add_fairness();
  hosts->set_jain(1);
  hosts->set_count(1);
  for (const std::string& text : {RenderText(report, {}), RenderMarkdown(report)}) {
    EXPECT_EQ(text.find("1.0000"), std::string::npos) << text;
  }
  hosts->set_count(2);
  for (const std::string& text : {RenderText(report, {}), RenderMarkdown(report)}) {
    EXPECT_NE(text.find("1.0000"), std::string::npos) << text;
  }
}

TEST(FirstScreenTest, AControllerThatEndsIsStartedAgainForDetails) {
  v1::Report report = WithLimits("rate", "rate");
  report.mutable_run()->set_run_id("0123456789");
  TextOptions options;
  EXPECT_NE(RenderText(report, options)
                .find("lockstep report 01234567 --detail has the workloads, "
                      "hosts, threads, devices and kernels.\n"),
            std::string::npos);
  options.up_command = "lockstep up --state-dir /x";
  EXPECT_NE(RenderText(report, options)
                .find("devices and kernels;\nstart `lockstep up --state-dir /x` before it.\n"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::controller
