// Stamps that let Lockstep overwrite a device: whole ones, of this device, of a worker that this
// store knows. tests/integration/test_enrolment.py tries the same with real tools on real devices.

#include "worker/host/device_stamp.h"

#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/mark_endorsement.h"
#include "common/units.h"
#include "gtest/gtest.h"
#include "worker/targets/openers.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;
using common::SigningKey;
using State = DeviceStamp::State;

using common::kMiB;
constexpr uint64_t kSize = 32 * kMiB;
constexpr char kIdentity[] = "naa.600";

class DeviceStampTest : public testing::Test {
 protected:
  DeviceStampTest() : keys_(WorkerOf(store_, "worker")) {}

  // A worker whose key the store has endorsed.
  static std::shared_ptr<MarkKeys> WorkerOf(const SigningKey& store, const std::string& name) {
    const fs::path state = fs::path(getenv("TEST_TMPDIR")) /
                           testing::UnitTest::GetInstance()->current_test_info()->name() / name;
    fs::create_directories(state);
    auto keys = *MarkKeys::Load(state);
    EXPECT_TRUE(keys->SetEndorsement(store.public_key(),
                                     store.Sign(common::MarkEndorsementText(keys->public_key())))
                    .ok());
    return keys;
  }

  void Put(uint64_t offset, const std::string& bytes) {
    device_.replace(offset, bytes.size(), bytes);
  }
  void Enrol(const MarkKeys& keys, const std::string& identity = kIdentity) {
    const auto bytes = ComposeStamp(
        {identity, device_.size(), std::to_string(++number_), "alice", "2026-11-24"}, keys);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    Put(0, bytes->first);
    Put(device_.size() - kStampBytes, bytes->last);
  }
  DeviceStamp Read(const MarkKeys& keys, const std::string& identity = kIdentity) {
    reads_ = 0;
    const auto stamp = ReadStamp(
        [this](uint64_t offset, uint32_t length) -> absl::StatusOr<std::string> {
          ++reads_;
          return device_.substr(offset, length);
        },
        identity, device_.size(), keys);
    EXPECT_TRUE(stamp.ok()) << stamp.status();
    return *stamp;
  }
  // Why the stamp does not count.
  std::string Broken(const MarkKeys& keys) {
    const DeviceStamp stamp = Read(keys);
    EXPECT_EQ(stamp.state, State::kBroken);
    return stamp.message;
  }

  std::string device_ = std::string(kSize, '\0');
  const SigningKey store_ = SigningKey::Make();
  const std::shared_ptr<MarkKeys> keys_;
  int reads_ = 0;
  int number_ = 0;  // of the last stamp
};

TEST_F(DeviceStampTest, AWholeStampCountsForEveryWorkerOfTheStore) {
  EXPECT_EQ(Read(*keys_).state, State::kNone);
  EXPECT_EQ(reads_, 1) << "one block tells that there is none";
  Enrol(*keys_);
  EXPECT_EQ(Read(*keys_).state, State::kCounts);
  EXPECT_EQ(Read(*keys_).enrolled, "2026-11-24 by alice");
  EXPECT_EQ(Read(*keys_).number, "1") << "the store says whether it counts still";
  EXPECT_EQ(Read(*WorkerOf(store_, "other")).state, State::kCounts);
  // The bytes between do not matter.
  Put(kStampBytes, std::string(kSize - 2 * kStampBytes, 'x'));
  EXPECT_EQ(Read(*keys_).state, State::kCounts);
}

TEST_F(DeviceStampTest, WhateverElseBeginsToUseTheDeviceDestroysIt) {
  struct Case {
    const char* what;
    uint64_t offset;
    std::string bytes;
  };
  const uint64_t end = kSize;
  const Case cases[] = {
      {"a partition table of type dos", 446, std::string(66, '\x55')},
      {"LVM's label", 512, "LABELONE"},
      {"GPT's header", 512, "EFI PART"},
      {"ext4's superblock", 1024 + 56, "\x53\xef"},
      {"md 1.1", 0, "\xfc\x4e\x2b\xa9"},
      {"md 1.2", 4096, "\xfc\x4e\x2b\xa9"},
      {"swap", 4086, "SWAPSPACE2"},
      {"XFS", 0, "XFSB"},
      {"LUKS", 0, "LUKS\xba\xbe"},
      {"LUKS's second header", 0x4000, "SKUL\xba\xbe"},
      {"btrfs", 0x10000 + 0x40, "_BHRfS_M"},
      {"ZFS's uberblocks", 128 << 10, std::string("\x0c\xb1\xba", 3)},
      {"one byte", 1000003 % kStampBytes, "?"},
      {"a byte of the padding", 4095, "?"},
      {"GPT's second header", end - 512, "EFI PART"},
      {"md 1.0", end - 8192, "\xfc\x4e\x2b\xa9"},
      {"md 0.90", end - 65536, "\xfc\x4e\x2b\xa9"},
      {"ZFS's last label", end - (256 << 10), std::string("\x0c\xb1\xba", 3)},
      {"DRBD's metadata", end - 4096, "\x83\x74\x02\x6b"},
      {"wipefs", 0, std::string(8, '\0')},
      {"the last byte", end - 1, "?"},
      {"the last MiB's first byte", end - kMiB, "?"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    device_.assign(kSize, '\0');
    Enrol(*keys_);
    Put(c.offset, c.bytes);
    EXPECT_NE(Read(*keys_).state, State::kCounts);
  }
}

TEST_F(DeviceStampTest, ItSaysWhereItIsOverwritten) {
  Enrol(*keys_);
  Put(70000, "?");
  EXPECT_EQ(Broken(*keys_), "is overwritten at offset 70000");
  Enrol(*keys_);
  Put(kSize - 10, "?");
  EXPECT_EQ(Broken(*keys_), absl::StrCat("is overwritten at offset ", kSize - 10));
  Enrol(*keys_);
  Put(kSize - kMiB, std::string(kMiB, '\0'));
  EXPECT_EQ(Broken(*keys_), absl::StrCat("is overwritten at offset ", kSize - kMiB));
}

TEST_F(DeviceStampTest, ACopyIsNoStampOfAnotherDeviceAndNoneOfAnotherSize) {
  Enrol(*keys_);
  const DeviceStamp copied = Read(*keys_, "naa.601");
  EXPECT_EQ(copied.state, State::kBroken);
  EXPECT_EQ(copied.message, "is of another device, naa.600");
  device_.resize(kSize + 4 * kMiB, '\0');
  EXPECT_EQ(Broken(*keys_), absl::StrCat("was made when the device had ", kSize, " bytes"));
  // The array's snapshot of it, grown, with the old end where the new one is.
  Put(device_.size() - kMiB, device_.substr(kSize - kMiB, kMiB));
  EXPECT_EQ(Broken(*keys_), absl::StrCat("was made when the device had ", kSize, " bytes"));
}

// Their identities are used again: an inode, a number.
TEST_F(DeviceStampTest, WhatThisKernelAloneHasMadeIsNamedByItsAttachmentToo) {
  v1::BlockDevice device;
  device.set_identity("naa.600");
  EXPECT_EQ(StampIdentity(device), "naa.600");
  device.set_identity("loop-file:8:1:131-part1");
  EXPECT_EQ(StampIdentity(device), "") << "this kernel numbers no attachments";
  device.set_disk_sequence(41);
  device.set_identity("zram:b007:zram0");
  EXPECT_EQ(StampIdentity(device), "") << "a reset keeps its name and its sequence";
  device.set_identity("loop-file:8:1:131-part1");
  const std::string before = StampIdentity(device);
  EXPECT_TRUE(absl::StartsWith(before, "loop-file:8:1:131-part1 attachment ")) << before;
  device.set_disk_sequence(42);
  Enrol(*keys_, before);
  EXPECT_EQ(Read(*keys_, before).state, State::kCounts);
  const DeviceStamp again = Read(*keys_, StampIdentity(device));
  EXPECT_EQ(again.state, State::kBroken);
  EXPECT_TRUE(absl::StrContains(again.message, "is of an earlier attachment of it"))
      << again.message;
  device.set_identity("loop-file:8:1:13");
  EXPECT_TRUE(
      absl::StrContains(Read(*keys_, StampIdentity(device)).message, "is of another device"));
}

TEST_F(DeviceStampTest, BothEndsAreOfOneEnrolment) {
  Enrol(*keys_);
  const std::string first = device_.substr(0, kStampBytes);
  const std::string last = device_.substr(kSize - kStampBytes);
  Enrol(*keys_);
  Put(0, first);
  EXPECT_EQ(Broken(*keys_), "has two ends that were not made together");
  Put(kSize - kStampBytes, last);
  EXPECT_EQ(Read(*keys_).state, State::kCounts);
  Put(kSize - kStampBytes, first);
  EXPECT_EQ(Broken(*keys_), "has two ends that were not made together");
  Put(0, last);
  EXPECT_EQ(Broken(*keys_), "has two ends that were not made together");
}

TEST_F(DeviceStampTest, AStampOfAnotherStoreOrOfNobodyCountsForNothing) {
  Enrol(*WorkerOf(SigningKey::Make(), "stranger"));
  EXPECT_EQ(Broken(*keys_), "was signed by a worker that this controller's store does not know");
  Enrol(*keys_);
  std::string altered = device_.substr(0, kStampBytes);
  altered = absl::StrReplaceAll(altered, {{"by alice", "by clara"}});
  Put(0, altered);
  EXPECT_TRUE(absl::StrContains(Broken(*keys_), "was altered"));
  // Without any proof, and with one cut off.
  std::string block = "lockstep device stamp 1\ndevice naa.600\nbytes 33554432\nend first\n";
  block.resize(4096, '\0');
  for (uint64_t at = 0; at < kStampBytes; at += block.size()) Put(at, block);
  EXPECT_TRUE(absl::StrContains(Broken(*keys_), "was altered"));
}

TEST_F(DeviceStampTest, WhatCannotBeStampedIsSaid) {
  const auto code = [&](const StampFacts& facts) {
    return ComposeStamp(facts, *keys_).status().code();
  };
  EXPECT_EQ(code({kIdentity, kSize, "17", "alice", "now"}), absl::StatusCode::kOk);
  EXPECT_EQ(code({"", kSize, "17", "alice", "now"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({"naa.6\nbytes 7", kSize, "17", "a", "now"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({std::string(5000, 'x'), kSize, "17", "a", "n"}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({kIdentity, kSize, "", "alice", "now"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({kIdentity, 8 * kMiB, "17", "alice", "now"}), absl::StatusCode::kInvalidArgument);
  // A name that would be lines of its own is words in one line.
  Enrol(*keys_);
  const auto bytes = ComposeStamp({kIdentity, kSize, "17", "a\nend last\n", "now"}, *keys_);
  ASSERT_TRUE(bytes.ok());
  Put(0, bytes->first);
  Put(kSize - kStampBytes, bytes->last);
  EXPECT_EQ(Read(*keys_).state, State::kCounts);
}

TEST_F(DeviceStampTest, ADeviceThatCannotBeReadHasNoVerdict) {
  Enrol(*keys_);
  const auto stamp = ReadStamp(
      [this](uint64_t offset, uint32_t length) -> absl::StatusOr<std::string> {
        if (offset != 0) return absl::UnavailableError("offset cannot be read");
        return device_.substr(offset, length);
      },
      kIdentity, kSize, *keys_);
  EXPECT_EQ(stamp.status().code(), absl::StatusCode::kUnavailable);
}

TEST(UsableBytesTest, StampsAreNobodysRoom) {
  v1::BlockDevice device;
  device.set_path("/dev/sda");
  device.set_size_bytes(kSize);
  EXPECT_EQ(*UsableBytes(device, 0, 0), kSize);
  EXPECT_EQ(*UsableBytes(device, 0, kStampBytes), kSize - 2 * kStampBytes);
  EXPECT_EQ(*UsableBytes(device, 4096, kStampBytes), 4096u);
  const auto beyond = UsableBytes(device, kSize, kStampBytes);
  EXPECT_EQ(beyond.status().message(),
            "/dev/sda: has 31457280 bytes beside the 2097152 of its stamps, the job says 33554432");
}

// The extents that workloads may touch of an opened device.
std::vector<BlockSpace::Extent> ExtentsOf(const v1::TargetAssignment& target) {
  OpenTargets open;
  OpenedFile file;
  file.engine_file.size_bytes = kSize - target.stamp_bytes();  // the second stamp is behind it
  EXPECT_TRUE(AddOpened(target, 0, std::move(file), &open).ok());
  return open.extents;
}

TEST(StampedTargetTest, LoadStaysBetweenTheStamps) {
  v1::TargetAssignment target;
  target.set_stamp_bytes(kStampBytes);
  auto all = ExtentsOf(target);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].begin, kStampBytes);
  EXPECT_EQ(all[0].end, kSize - kStampBytes);
  target.set_slice_begin_bytes(20 * kMiB);
  target.set_slice_length_bytes(10 * kMiB);
  auto slice = ExtentsOf(target);
  ASSERT_EQ(slice.size(), 1u);
  EXPECT_EQ(slice[0].begin, 21 * kMiB);
  EXPECT_EQ(slice[0].end, 31 * kMiB);
  v1::TargetAssignment striped;
  striped.set_stamp_bytes(kStampBytes);
  striped.set_stripe_bytes(4 * kMiB);
  striped.set_stripe_step(2);
  uint64_t bytes = 0;
  for (const uint32_t first : {0, 1}) {
    striped.set_first_stripe(first);
    for (const BlockSpace::Extent& extent : ExtentsOf(striped)) {
      EXPECT_GE(extent.begin, kStampBytes);
      EXPECT_LE(extent.end, kSize - kStampBytes);
      EXPECT_TRUE(extent.begin == kStampBytes || extent.begin % (4 * kMiB) == 0);
      bytes += extent.end - extent.begin;
    }
  }
  EXPECT_EQ(bytes, kSize - 2 * kStampBytes);
}

}  // namespace
}  // namespace lockstep::worker
