// Which devices a listing for enrolment has, who writes their stamps, and why others are left out.

#include "controller/plan/enrolment.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

constexpr uint64_t kSize = uint64_t{1} << 40;

class EnrolmentTest : public testing::Test {
 protected:
  // A host with a worker of its own, which lets admins enrol.
  v1::HostDevices* AddHost(const std::string& name, bool allow_enroll = true) {
    v1::HostDevices* host = fleet_.add_hosts();
    host->set_host(name);
    host->set_boot_id("boot-" + name);
    host->set_worker_id("id-" + name);
    v1::Hello& hello = hellos_.emplace_back();
    hello.set_worker_id("id-" + name);
    hello.mutable_host()->set_name(name);
    hello.set_allow_enroll(allow_enroll);
    hello.add_features(v1::PROTOCOL_FEATURE_STAMPS);
    return host;
  }
  static v1::BlockDevice* AddDevice(v1::HostDevices* host, const std::string& path,
                                    const std::string& identity) {
    v1::BlockDevice* device = host->add_devices();
    device->set_path(path);
    device->set_identity(identity);
    device->set_model("SAMSUNG MZQL2");
    device->set_size_bytes(kSize);
    device->set_allowed(true);
    return device;
  }
  absl::StatusOr<EnrolListing> List() const {
    return ListEnrolment(request_, fleet_, hellos_, used_, stamps_);
  }
  // "path: why it is left out", or the path alone.
  std::vector<std::string> Listed() const {
    const auto listing = List();
    EXPECT_TRUE(listing.ok()) << listing.status();
    std::vector<std::string> lines;
    for (const EnrolListing::Entry& entry : listing->entries) {
      const std::string& why = entry.device.left_out();
      EXPECT_EQ(entry.worker_id.empty(), !why.empty());
      lines.push_back(absl::StrCat(entry.device.host(), " ", entry.device.path(),
                                   why.empty() ? "" : ": " + why));
    }
    return lines;
  }
  // The reason that the only listed device has.
  std::string Why() const {
    const auto listing = List();
    EXPECT_TRUE(listing.ok()) << listing.status();
    if (!listing.ok() || listing->entries.size() != 1) return "not one device is listed";
    return listing->entries[0].device.left_out();
  }

  v1::EnrollRequest request_;
  v1::DevicesReply fleet_;
  std::vector<v1::Hello> hellos_;
  std::map<std::string, std::string> used_;
  StampRegistry stamps_;
};

TEST_F(EnrolmentTest, ARequestMustSayWhich) {
  AddDevice(AddHost("node1"), "/dev/sda", "naa.1");
  EXPECT_EQ(List().status().code(), absl::StatusCode::kInvalidArgument);
  request_.add_hosts("node[1-3]");
  EXPECT_EQ(List().status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(List().status().message(), "node2, node3"));
  request_.clear_hosts();
  request_.add_identities("naa.2");
  EXPECT_EQ(List().status().code(), absl::StatusCode::kNotFound);
  request_.set_identities(0, "/dev/sda");
  EXPECT_EQ(Listed(), std::vector<std::string>{"node1 /dev/sda"});
  request_.set_model("INTEL*");
  EXPECT_TRUE(Listed().empty());
  request_.set_model("SAMSUNG*");
  EXPECT_EQ(Listed().size(), 1u);
}

TEST_F(EnrolmentTest, ANameOfTheAllowListNamesTheDeviceToo) {
  AddDevice(AddHost("node1"), "/dev/sda", "naa.1")->add_links("/dev/disk/by-id/wwn-1");
  AddDevice(fleet_.mutable_hosts(0), "/dev/sdb", "naa.2");
  request_.add_identities("/dev/disk/by-id/wwn-1");
  EXPECT_EQ(Listed(), std::vector<std::string>{"node1 /dev/sda"});
  request_.set_identities(0, "/dev/disk/by-id/wwn-2");
  EXPECT_EQ(List().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(EnrolmentTest, ALunThatSeveralHostsSeeIsStampedOnce) {
  AddDevice(AddHost("node2"), "/dev/sdb", "naa.1");
  AddDevice(AddHost("node1"), "/dev/sdx", "naa.1");
  request_.add_hosts("node2");
  const auto listing = List();
  ASSERT_TRUE(listing.ok());
  ASSERT_EQ(listing->entries.size(), 1u);
  EXPECT_EQ(listing->entries[0].worker_id, "id-node1") << "whoever may, the first by name";
  EXPECT_EQ(listing->entries[0].device.hosts_size(), 2);
  EXPECT_EQ(listing->entries[0].order.path(), "/dev/sdx");
  // A name that only kernels use is another device on each.
  AddDevice(fleet_.mutable_hosts(0), "/dev/loop0", "loop-file:1:2");
  AddDevice(fleet_.mutable_hosts(1), "/dev/loop0", "loop-file:1:2");
  request_.add_hosts("node1");
  EXPECT_EQ(Listed().size(), 3u);
}

TEST_F(EnrolmentTest, OfDevicesWithOneIdentityTheNamedOneIsStamped) {
  AddDevice(AddHost("node1"), "iscsi://a/iqn/1", "naa.1");
  AddDevice(AddHost("node2"), "iscsi://b/iqn/1", "naa.1");
  request_.add_identities("iscsi://b/iqn/1");
  EXPECT_EQ(Listed(), std::vector<std::string>{"node2 iscsi://b/iqn/1"});
}

TEST_F(EnrolmentTest, OnlyAWorkerWhoseOperatorAllowsItStamps) {
  v1::HostDevices* host = AddHost("node1", /*allow_enroll=*/false);
  AddDevice(host, "/dev/sda", "naa.1");
  request_.add_identities("naa.1");
  EXPECT_EQ(Why(),
            "its workers were started without --allow-enroll (node1); start them again with it");
  v1::BlockDevice* elsewhere = AddDevice(AddHost("node2"), "/dev/sdb", "naa.1");
  EXPECT_EQ(Listed(), std::vector<std::string>{"node2 /dev/sdb"});
  elsewhere->set_allowed(false);
  EXPECT_EQ(Why(),
            "its workers were started without --allow-enroll (node1); start them again with it");
  host->mutable_devices(0)->set_allowed(false);
  EXPECT_EQ(Why(), "no worker's --allow names it; start one that does");
  request_.clear_identities();
  request_.add_hosts("node1");
  EXPECT_TRUE(Listed().empty()) << "the system's disks are nobody's business";
}

TEST_F(EnrolmentTest, AWorkerWithoutStampsIsNotAskedForOne) {
  AddDevice(AddHost("node1"), "/dev/sda", "naa.1");
  AddDevice(AddHost("node2"), "/dev/sdb", "naa.1");
  request_.add_identities("naa.1");
  hellos_[0].clear_features();
  EXPECT_EQ(Listed(), std::vector<std::string>{"node2 /dev/sdb"});
  hellos_[1].clear_features();
  EXPECT_EQ(Why(),
            "its workers cannot write stamps (node1, node2); start one that can: `lockstep status "
            "--format json` has the features of each");
}

TEST_F(EnrolmentTest, WhatIsInUseAnywhereIsLeftOut) {
  AddDevice(AddHost("node1"), "/dev/sda", "naa.1");
  request_.add_identities("naa.1");
  v1::BlockDevice* other =
      AddDevice(AddHost("stranger", /*allow_enroll=*/false), "/dev/sdq", "naa.1");
  other->set_busy(true);
  other->set_in_use("mounted on /data");
  EXPECT_EQ(Why(), "stranger has it as /dev/sdq, which is mounted on /data");
  other->set_identity("naa.1-part1");
  other->set_disk_identity("naa.1");
  EXPECT_EQ(Why(), "stranger has it as /dev/sdq, which is mounted on /data");
  other->set_busy(false);
  EXPECT_EQ(Why(), "");
  used_["naa.1-part1"] = "0a1b2c3d-4e5f";
  EXPECT_EQ(Why(), "run 0a1b2c3d uses it");
  used_ = {{"naa.1", "0a1b2c3d-4e5f"}};
  EXPECT_EQ(Why(), "run 0a1b2c3d uses it");
  request_.set_identities(0, "naa.1-part1");
  fleet_.mutable_hosts(1)->mutable_devices(0)->set_allowed(true);
  hellos_[1].set_allow_enroll(true);
  EXPECT_EQ(Why(), "run 0a1b2c3d uses it") << "a partition of a disk that is used";
  used_.clear();
  fleet_.mutable_hosts(1)->set_missing("the worker has not answered");
  EXPECT_EQ(List().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(EnrolmentTest, ASignatureIsLeftOutUnlessTheDeviceIsNamed) {
  v1::BlockDevice* device = AddDevice(AddHost("node1"), "/dev/sda", "naa.1");
  device->set_in_use("carries a file system or signature of type ext4");
  device->set_content_fingerprint("f");
  device->set_has_signature(true);
  request_.add_hosts("node1");
  EXPECT_TRUE(absl::StrContains(Why(), "type ext4; name it")) << Why();
  request_.add_identities("naa.1");
  EXPECT_EQ(Why(), "");
  request_.clear_identities();
  device->set_has_signature(false);
  device->set_in_use("carries data without a known signature");
  EXPECT_EQ(Why(), "");
  EXPECT_EQ(List()->entries[0].device.carries(), "data without a known signature");
  device->clear_content_fingerprint();
  device->set_in_use("not inspected: other devices did not answer");
  EXPECT_EQ(Why(), "not inspected: other devices did not answer");
}

TEST_F(EnrolmentTest, WhatHasNoIdentityOrTwoSizesIsLeftOut) {
  v1::HostDevices* host = AddHost("node1");
  v1::BlockDevice* device = AddDevice(host, "/dev/vda", "");
  request_.add_identities("/dev/vda");
  EXPECT_TRUE(absl::StrContains(Why(), "no identity")) << Why();
  device->set_identity("naa.1");
  EXPECT_EQ(Why(), "");
  device->set_read_only(true);
  EXPECT_EQ(Why(), "it is read-only");
  device->set_read_only(false);
  AddDevice(AddHost("node2"), "/dev/vdb", "naa.1")->set_size_bytes(kSize / 2);
  EXPECT_TRUE(absl::StrContains(Why(), "different sizes")) << Why();
}

TEST_F(EnrolmentTest, APartitionOnlyWhereItIsNamed) {
  v1::HostDevices* host = AddHost("node1");
  AddDevice(host, "/dev/sda", "naa.1");
  AddDevice(host, "/dev/sda1", "naa.1-part1")->set_disk_identity("naa.1");
  request_.add_hosts("node1");
  EXPECT_EQ(Listed(), std::vector<std::string>{"node1 /dev/sda"});
  request_.add_identities("/dev/sda1");
  EXPECT_EQ(Listed(), std::vector<std::string>{"node1 /dev/sda1"});
}

TEST_F(EnrolmentTest, APathOfAMultipathDeviceIsNone) {
  v1::HostDevices* host = AddHost("node1");
  v1::BlockDevice* path = AddDevice(host, "/dev/sda", "naa.1");
  path->set_busy(true);
  path->set_in_use("held by dm-0 (LVM, md or multipath)");
  AddDevice(host, "/dev/dm-0", "naa.1")->set_transport("multipath");
  request_.add_hosts("node1");
  EXPECT_EQ(Listed(), std::vector<std::string>{"node1 /dev/dm-0"});
}

TEST_F(EnrolmentTest, OnlyEnrolledDevicesAreReleased) {
  v1::HostDevices* host = AddHost("node1");
  v1::BlockDevice* device = AddDevice(host, "/dev/sda", "naa.1");
  AddDevice(host, "/dev/sdb", "naa.2");
  device->set_enrolled("2026-11-24T08:00:00Z by alice");
  request_.add_hosts("node1");
  EXPECT_EQ(Listed(),
            (std::vector<std::string>{"node1 /dev/sda: is enrolled already", "node1 /dev/sdb"}));
  request_.set_release(true);
  EXPECT_EQ(Listed(), std::vector<std::string>{"node1 /dev/sda"});
  EXPECT_TRUE(List()->entries[0].order.release());
  hellos_[0].set_allow_enroll(false);
  EXPECT_EQ(Listed(), std::vector<std::string>{"node1 /dev/sda"}) << "consent is taken back";
  request_.add_identities("naa.2");
  EXPECT_EQ(Why(), "is not enrolled");
}

measure::StampRecord Stamp(const std::string& number, const std::string& identity,
                           const std::string& host) {
  return {number, identity, identity, host, "/dev/sda", "anna", 1000, "", 0};
}

TEST_F(EnrolmentTest, ATokenIsWorthNothingAfterItsDeviceWasEnrolledOrReleased) {
  AddDevice(AddHost("node1"), "/dev/sda", "naa.1");
  request_.add_hosts("node1");
  std::set<std::string> texts;
  const auto is_new = [&] { return texts.insert(List()->Text()).second; };
  EXPECT_TRUE(is_new());
  stamps_.Add({Stamp("a", "naa.1", "node1")});
  EXPECT_TRUE(is_new());
  stamps_.End({"a"}, "bert", 2000);
  EXPECT_TRUE(is_new());
  stamps_.Add({Stamp("b", "naa.2", "node1")});
  EXPECT_FALSE(is_new()) << "another device's";
}

TEST_F(EnrolmentTest, AStampThatWasReleasedAndPutBackCountsForNothing) {
  v1::BlockDevice* device = AddDevice(AddHost("node1"), "/dev/sda", "naa.1");
  device->set_enrolled("2026-11-24T08:00:00Z by anna");
  device->set_stamp_number("a");
  v1::Inspection inspection;
  inspection.add_targets()->set_stamp_number("a");
  inspection.add_targets();
  const auto judge = [&] {
    v1::Inspection judged = inspection;
    stamps_.Judge(&judged);
    EXPECT_EQ(judged.targets(1).refused(), "");
    return judged.targets(0).refused();
  };
  EXPECT_TRUE(absl::StrContains(judge(), "not known to this controller's store"));
  stamps_.Add({Stamp("a", "naa.1", "node1")});
  EXPECT_EQ(judge(), "");
  v1::DevicesReply live = fleet_;
  stamps_.Judge(&live);
  EXPECT_EQ(live.DebugString(), fleet_.DebugString());
  // Another host of the same device enrols it anew.
  stamps_.Add({Stamp("c", "naa.1", "node2")});
  EXPECT_TRUE(absl::StrContains(judge(), "was released by anna at 1970-01-01T00:00:00Z"));
  stamps_.Judge(&fleet_);
  EXPECT_EQ(device->enrolled(), "");
  EXPECT_TRUE(absl::StrContains(device->in_use(), "carries a stamp that was released by anna"));
  // It can be taken off, and the device enrolled anew.
  request_.add_hosts("node1");
  device->set_content_fingerprint("f");
  EXPECT_EQ(Listed(), std::vector<std::string>{"node1 /dev/sda"});
  request_.set_release(true);
  EXPECT_EQ(Listed(), std::vector<std::string>{"node1 /dev/sda"});
  EXPECT_EQ(List()->entries[0].order.stamp_number(), "a");
}

TEST_F(EnrolmentTest, ATokenIsOfTheDevicesThatWouldBeStamped) {
  v1::HostDevices* host = AddHost("node1");
  v1::BlockDevice* device = AddDevice(host, "/dev/sda", "naa.1");
  v1::BlockDevice* other = AddDevice(host, "/dev/sdb", "naa.2");
  request_.add_hosts("node1");
  const std::string text = List()->Text();
  EXPECT_EQ(List()->Text(), text);
  const auto differs = [&](const char* what) { EXPECT_NE(List()->Text(), text) << what; };
  device->set_content_fingerprint("f");
  device->set_in_use("carries data");
  differs("what it carries");
  device->clear_content_fingerprint();
  device->clear_in_use();
  device->set_disk_sequence(8);
  differs("another disk under the name");
  device->clear_disk_sequence();
  device->set_identity("naa.3");
  differs("another device");
  device->set_identity("naa.1");
  EXPECT_EQ(List()->Text(), text);
  other->set_busy(true);
  differs("one device less");
  other->set_busy(false);
  AddDevice(host, "/dev/sdc", "naa.4");
  differs("one device more");
}

TEST_F(EnrolmentTest, ListingsHaveALimit) {
  v1::HostDevices* host = AddHost("node1");
  for (int64_t i = 0; i <= limits::kEnrollDevices; ++i) {
    AddDevice(host, absl::StrCat("/dev/x", i), absl::StrCat("naa.", i));
  }
  request_.add_hosts("node1");
  EXPECT_EQ(List().status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace lockstep::controller
