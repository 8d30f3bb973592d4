#include <cerrno>
#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/worker/host/fake_sysfs.h"
#include "worker/doctor/allow_checks.h"
#include "worker/doctor/host_checks.h"

namespace lockstep::worker {
namespace {

// A host as the kernel describes it, without anything to complain about.
class RecordedHost : public FakeSysfs {
 public:
  RecordedHost() {
    Write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    Write("proc/sys/kernel/io_uring_disabled", "0\n");
    Write("proc/sys/fs/aio-max-nr", "1048576\n");
    Write("proc/sys/fs/aio-nr", "128\n");
    Limits("67108864", "65536");
    Write("proc/self/status", "Name:\tlockstep-worker\nCapEff:\t0000000000000000\nSeccomp:\t0\n");
    Write("proc/stat", "cpu  1000 0 500 8000 100 0 10 5 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
    Write("proc/loadavg", "0.52 0.40 0.30 1/200 4242\n");
    Clock("tsc", "tsc hpet acpi_pm");
  }
  void Limits(const std::string& memlock, const std::string& files) const {
    Write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units     \n"
          "Max open files            " +
              files +
              "                1048576              files     \n"
              "Max locked memory         " +
              memlock + "             67108864             bytes     \n");
  }
  void Clock(const std::string& current, const std::string& available) const {
    const std::string folder = "sys/devices/system/clocksource/clocksource0/";
    Write(folder + "current_clocksource", current + "\n");
    Write(folder + "available_clocksource", available + "\n");
  }

  HostProbes probes = {{}, WallClock::kSynchronised, 4};

  v1::DoctorReport Check() const {
    v1::DoctorReport report;
    doctor::Findings findings(&report, "host", "node1");
    CheckHost(root().string(), probes, &findings);
    doctor::Conclude(&report);
    return report;
  }
  v1::DoctorFinding Of(const std::string& check) const {
    const v1::DoctorReport report = Check();
    for (const v1::DoctorFinding& finding : report.findings()) {
      if (finding.check() == check) return finding;
    }
    return {};
  }
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(DoctorOfAHost, AGoodHostHasNoWarning) {
  const RecordedHost host;
  const v1::DoctorReport report = host.Check();
  EXPECT_EQ(report.exit_status(), 0u) << doctor::RenderDoctor(report, doctor::Colour::kNo);
  EXPECT_GE(report.findings_size(), 8);
}

TEST(DoctorOfAHost, SaysWhatKeepsItFromIoUring) {
  RecordedHost host;
  host.probes.ring.setup_error = EPERM;
  host.Write("proc/sys/kernel/io_uring_disabled", "2\n");
  EXPECT_EQ(host.Of("io_uring").severity(), "warning");
  EXPECT_TRUE(Has(host.Of("io_uring").found(), "kernel.io_uring_disabled is 2"));
  EXPECT_TRUE(Has(host.Of("io_uring").help(), "sysctl kernel.io_uring_disabled=0"));
  host.Write("proc/sys/kernel/io_uring_disabled", "0\n");
  host.Write("proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t2\n");
  EXPECT_TRUE(Has(host.Of("io_uring").found(), "seccomp"));
  host.Write("proc/self/status", "CapEff:\t0000000000000000\nSeccomp:\t0\n");
  host.probes.ring.setup_error = ENOSYS;
  EXPECT_TRUE(Has(host.Of("io_uring").found(), "this kernel has none (6.1.0"));
  host.probes.ring.setup_error = ENOMEM;
  EXPECT_TRUE(Has(host.Of("io_uring").help(), "ulimit -l"));
}

TEST(DoctorOfAHost, WithoutLibaioAndIoUringItIsAProblem) {
  RecordedHost host;
  std::filesystem::remove(host.root() / "proc/sys/fs/aio-max-nr");
  EXPECT_EQ(host.Of("aio-max-nr").severity(), "warning");
  host.probes.ring.setup_error = ENOSYS;
  EXPECT_EQ(host.Of("aio-max-nr").severity(), "problem");
}

TEST(DoctorOfAHost, SmallLimitsAreWarnings) {
  RecordedHost host;
  host.Limits("8388608", "1024");
  EXPECT_EQ(host.Of("memlock").severity(), "warning");
  EXPECT_EQ(host.Of("nofile").severity(), "warning");
  // CAP_IPC_LOCK is bit 14.
  host.Write("proc/self/status", "CapEff:\t0000000000004000\nSeccomp:\t0\n");
  EXPECT_EQ(host.Of("memlock").severity(), "ok");
  host.Limits("unlimited", "unlimited");
  EXPECT_EQ(host.Of("nofile").severity(), "ok");
  host.Write("proc/sys/fs/aio-nr", "1048000\n");
  EXPECT_EQ(host.Of("aio-max-nr").severity(), "warning");
  host.probes.ring.register_error = ENOMEM;
  EXPECT_EQ(host.Of("io_uring_buffers").severity(), "warning");
}

TEST(DoctorOfAHost, ClocksStealAndLoadAreJudged) {
  RecordedHost host;
  host.Clock("hpet", "tsc hpet acpi_pm");
  EXPECT_EQ(host.Of("clocksource").severity(), "warning");
  EXPECT_TRUE(Has(host.Of("clocksource").help(), "echo tsc"));
  host.Clock("hpet", "hpet acpi_pm");
  EXPECT_FALSE(Has(host.Of("clocksource").help(), "echo tsc"));
  host.probes.wall_clock = WallClock::kNotSynchronised;
  EXPECT_EQ(host.Of("wall_clock").severity(), "warning");
  host.probes.wall_clock = WallClock::kUnknown;
  EXPECT_EQ(host.Of("wall_clock").severity(), "");
  host.Write("proc/stat", "cpu  1000 0 500 8000 100 0 10 390 0 0\n");
  EXPECT_EQ(host.Of("steal").severity(), "warning");
  EXPECT_TRUE(Has(host.Of("steal").found(), "3.9 %"));
  host.Write("proc/loadavg", "9.10 0.40 0.30 1/200 4242\n");
  EXPECT_EQ(host.Of("load").severity(), "warning");
}

TEST(DoctorOfAHost, AnEmptyRootIsNoCrash) {
  const FakeSysfs nothing;
  v1::DoctorReport report;
  doctor::Findings findings(&report, "host");
  CheckHost(nothing.root().string(), {}, &findings);
  EXPECT_GE(report.findings_size(), 1);
}

TEST(DoctorOfAHost, TheStateDirectoryIsNotMade) {
  const FakeSysfs host;
  const std::string path = (host.root() / "state/worker").string();
  v1::DoctorReport report;
  doctor::Findings findings(&report, "host");
  CheckStateDirectory(path, 1, &findings);
  EXPECT_EQ(report.findings(0).severity(), "ok") << report.findings(0).found();
  CheckStateDirectory(path, uint64_t{1} << 60, &findings);
  EXPECT_EQ(report.findings(1).severity(), "warning");
  EXPECT_FALSE(std::filesystem::exists(host.root() / "state"));
}

v1::BlockDevice Disk() {
  v1::BlockDevice device;
  device.set_name("sdx");
  device.set_path("/dev/sdx");
  device.set_identity("wwn-1");
  device.set_size_bytes(1 << 30);
  device.set_scheduler("none");
  return device;
}

v1::DoctorFinding OfDevice(const v1::BlockDevice& device, const std::string& check = "/dev/sdx") {
  v1::DoctorReport report;
  doctor::Findings findings(&report, "allow");
  CheckAllowedDevice(device, {"wwn-2"}, &findings);
  for (const v1::DoctorFinding& finding : report.findings()) {
    if (finding.check() == check) return finding;
  }
  return {};
}

TEST(DoctorOfAllow, SaysWhatTheGuardWouldSayOfADevice) {
  EXPECT_EQ(OfDevice(Disk()).severity(), "ok");

  v1::BlockDevice mounted = Disk();
  mounted.set_busy(true);
  mounted.set_in_use("mounted at /home");
  EXPECT_EQ(OfDevice(mounted).severity(), "warning");
  EXPECT_TRUE(Has(OfDevice(mounted).found(), "a device in use is never written"));

  v1::BlockDevice data = Disk();
  data.set_in_use("carries an ext4 file system");
  EXPECT_EQ(OfDevice(data).severity(), "warning");
  EXPECT_TRUE(Has(OfDevice(data).help(), "--allow-expendable wwn-1"));
  data.set_identity("wwn-2");
  EXPECT_TRUE(Has(OfDevice(data).help(), "name it in the job"));
  data.set_enrolled("2026-11-24T08:00:00Z by alice");
  EXPECT_EQ(OfDevice(data).severity(), "ok");
  // An enrolled device that is mounted is in use all the same.
  mounted.set_enrolled("2026-11-24T08:00:00Z by alice");
  EXPECT_EQ(OfDevice(mounted).severity(), "warning");

  v1::BlockDevice read_only = Disk();
  read_only.set_read_only(true);
  EXPECT_TRUE(Has(OfDevice(read_only).found(), "read-only"));
}

TEST(DoctorOfAllow, WarnsOfASlowScheduler) {
  v1::BlockDevice device = Disk();
  EXPECT_EQ(OfDevice(device, "/dev/sdx scheduler").severity(), "ok");
  device.set_scheduler("bfq");
  EXPECT_EQ(OfDevice(device, "/dev/sdx scheduler").severity(), "warning");
  device.set_rotational(true);
  EXPECT_EQ(OfDevice(device, "/dev/sdx scheduler").severity(), "ok");
}

TEST(DoctorOfAllow, JudgesWhereFilesGo) {
  const auto severity = [](const PathFacts& facts) {
    v1::DoctorReport report;
    doctor::Findings findings(&report, "allow");
    CheckAllowedPath(facts, &findings);
    return report.findings(0).severity();
  };
  const PathFacts good = {"/mnt/san", "xfs", uint64_t{1} << 40, 1 << 20, 1 << 21, false, true};
  EXPECT_EQ(severity(good), "ok");
  PathFacts facts = good;
  facts.filesystem = "tmpfs";
  EXPECT_EQ(severity(facts), "warning");
  facts = good;
  facts.free_bytes = 1 << 20;
  EXPECT_EQ(severity(facts), "warning");
  facts = good;
  facts.free_inodes = 3;
  EXPECT_EQ(severity(facts), "warning");
  facts = good;
  facts.read_only = true;
  EXPECT_EQ(severity(facts), "warning");
  facts = good;
  facts.writable = false;
  EXPECT_EQ(severity(facts), "warning");
}

TEST(DoctorOfAllow, EachEntryIsCheckedByItself) {
  const FakeSysfs host;
  host.Write("data/file", "x");
  v1::DoctorReport report;
  doctor::Findings findings(&report, "allow");
  CheckAllowed({{"/nowhere/at/all", (host.root() / "data").string(), "wwn-that-nobody-has"}, {}},
               &findings);
  ASSERT_GE(report.findings_size(), 3);
  EXPECT_EQ(report.findings(0).severity(), "problem");
  EXPECT_TRUE(Has(report.findings(0).found(), "No such file"));
  EXPECT_NE(report.findings(1).severity(), "problem");
  EXPECT_EQ(report.findings(report.findings_size() - 1).check(), "wwn-that-nobody-has");
  EXPECT_EQ(report.findings(report.findings_size() - 1).severity(), "problem");
}

}  // namespace
}  // namespace lockstep::worker
