// What the screen says of the storage that the load worked on.

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

}  // namespace
}  // namespace lockstep::controller
