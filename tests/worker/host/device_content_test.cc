// The contents of a device: signatures, data wherever it lies, nothing, or unknown. Regular files
// stand for devices; tests/integration/test_data_safety.py has real ones.

#include "worker/host/device_content.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "absl/strings/match.h"
#include "common/files.h"
#include "common/units.h"
#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
using common::kMiB;

class DeviceContentTest : public testing::Test {
 protected:
  DeviceContentTest()
      : path_(fs::path(getenv("TEST_TMPDIR")) /
              testing::UnitTest::GetInstance()->current_test_info()->name()),
        fd_(open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    EXPECT_EQ(ftruncate(fd_.get(), 64 * kMiB), 0);
  }
  ~DeviceContentTest() override { fs::remove(path_); }

  DeviceContent Content(ContentDepth depth, int64_t until_ns = kNoLimit) const {
    auto content = ContentOf(fd_.get(), path_, depth, until_ns);
    EXPECT_TRUE(content.ok()) << content.status();
    return content.ok() ? *content : DeviceContent();
  }
  void Write(uint64_t offset, const std::string& data) const {
    EXPECT_EQ(pwrite(fd_.get(), data.data(), data.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(data.size()));
  }

  const fs::path path_;
  const common::FileDescriptor fd_;
};

TEST_F(DeviceContentTest, NothingButZerosIsBlank) {
  const DeviceContent content = Content(ContentDepth::kEmptiness);
  EXPECT_EQ(content.what, "");
  EXPECT_EQ(content.fingerprint, "");
}

TEST_F(DeviceContentTest, DataBetweenTheSamplesIsFound) {
  Write(32 * kMiB + 12345, "x");
  EXPECT_EQ(Content(ContentDepth::kSamples).what, "") << "samples are no proof";
  const DeviceContent content = Content(ContentDepth::kEmptiness);
  EXPECT_TRUE(absl::StrContains(content.what, "not zero at offset 33566777")) << content.what;
  EXPECT_EQ(Content(ContentDepth::kSignature).what, "") << "no signature";
}

TEST_F(DeviceContentTest, TheVeryLastByteCounts) {
  Write(64 * kMiB - 1, "x");
  EXPECT_TRUE(absl::StrContains(Content(ContentDepth::kSamples).what, "offset 67108863"));
}

TEST_F(DeviceContentTest, WhatCannotBeReadInTimeIsNotBlank) {
  const DeviceContent content = Content(ContentDepth::kEmptiness, 0);
  EXPECT_EQ(content.what, UnknownContent(64 * kMiB));
  EXPECT_FALSE(content.fingerprint.empty());
  EXPECT_EQ(Content(ContentDepth::kEmptiness, 0).fingerprint, content.fingerprint);
}

TEST_F(DeviceContentTest, AFingerprintIsOfTheBytesAtBothEndsAndOfTheSize) {
  Write(4096, "first");
  const std::string first = Content(ContentDepth::kEmptiness).fingerprint;
  EXPECT_EQ(Content(ContentDepth::kEmptiness).fingerprint, first);
  Write(4096, "other");
  const std::string other = Content(ContentDepth::kEmptiness).fingerprint;
  EXPECT_NE(other, first);
  Write(63 * kMiB + 5, "x");
  const std::string end = Content(ContentDepth::kEmptiness).fingerprint;
  EXPECT_NE(end, other);
  ASSERT_EQ(ftruncate(fd_.get(), 65 * kMiB), 0);
  EXPECT_NE(Content(ContentDepth::kEmptiness).fingerprint, end);
}

TEST_F(DeviceContentTest, AnotherFileSystemOfTheSameKindHasAnotherFingerprint) {
  const std::string make = "/sbin/mkfs.ext4 -q -F " + path_.string();
  if (!fs::exists("/sbin/mkfs.ext4")) GTEST_SKIP() << "needs mkfs.ext4";
  ASSERT_EQ(system(make.c_str()), 0);
  const DeviceContent one = Content(ContentDepth::kEmptiness);
  EXPECT_TRUE(absl::StrContains(one.what, "ext4")) << one.what;
  ASSERT_EQ(system(make.c_str()), 0);
  const DeviceContent other = Content(ContentDepth::kEmptiness);
  EXPECT_EQ(other.what, one.what);
  EXPECT_NE(other.fingerprint, one.fingerprint);
}

}  // namespace
}  // namespace lockstep::worker
