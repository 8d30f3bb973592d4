#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace lockstep::worker {

// A folder of the test's own with a sysfs and a proc, as the kernel lays them out.
class FakeSysfs {
 public:
  FakeSysfs()
      : root_(std::filesystem::path(getenv("TEST_TMPDIR")) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(root_);
  }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  void AddDisk(const std::string& name, int major_number, int minor_number, int sectors) const {
    const std::string folder = "sys/devices/" + name;
    Write(folder + "/dev",
          std::to_string(major_number) + ":" + std::to_string(minor_number) + "\n");
    Write(folder + "/size", std::to_string(sectors) + "\n");
    Write(folder + "/ro", "0\n");
    Write(folder + "/diskseq", "7\n");
    Write(folder + "/queue/logical_block_size", "512\n");
    Write(folder + "/queue/rotational", "1\n");
    Link(folder, name, major_number, minor_number);
  }

  void Link(const std::string& folder, const std::string& name, int major_number,
            int minor_number) const {
    std::filesystem::create_directories(root_ / "sys/class/block");
    std::filesystem::create_directories(root_ / "sys/dev/block");
    std::filesystem::create_symlink(root_ / folder, root_ / "sys/class/block" / name);
    std::filesystem::create_symlink(
        root_ / folder, root_ / "sys/dev/block" /
                            (std::to_string(major_number) + ":" + std::to_string(minor_number)));
  }

  // `device` is made of `part`.
  void AddSlave(const std::string& device, const std::string& part) const {
    std::filesystem::create_directories(root_ / "sys/devices" / device / "slaves" / part);
    std::filesystem::create_directories(root_ / "sys/devices" / part / "holders" / device);
  }
  void RemoveSlave(const std::string& device, const std::string& part) const {
    std::filesystem::remove_all(root_ / "sys/devices" / device / "slaves" / part);
  }

  const std::filesystem::path& root() const { return root_; }

 private:
  const std::filesystem::path root_;
};

}  // namespace lockstep::worker
