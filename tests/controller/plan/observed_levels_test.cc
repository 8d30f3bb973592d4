// Which of the devices that lie over each other an observe phase adds up: each request once.

#include "controller/plan/observed_levels.h"

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::controller {
namespace {

using Names = std::set<std::string>;

struct Seen {
  std::string name;
  std::vector<std::string> on;
  bool in_use = false;
};

Names CountedOf(const std::vector<Seen>& devices) {
  v1::ObservedDevices seen;
  for (const Seen& device : devices) {
    v1::ObservedDevice* out = seen.add_devices();
    out->set_name(device.name);
    for (const std::string& part : device.on) out->add_on(part);
    out->set_in_use(device.in_use);
  }
  ObservedLevels levels;
  levels.Add(seen);
  return levels.Counted();
}

TEST(ObservedLevelsTest, AMirrorCountsAndNotItsDisks) {
  EXPECT_EQ(CountedOf({{"md0", {"sda", "sdb"}}, {"sda", {}}, {"sdb", {}}, {"sdc", {}}}),
            (Names{"md0", "sdc"}));
  // dm's mirror has devices of its own for its halves.
  EXPECT_EQ(CountedOf({{"dm-2", {"dm-0", "dm-1", "sda", "sdb"}},
                       {"dm-0", {"sda"}},
                       {"dm-1", {"sdb"}},
                       {"sda", {}},
                       {"sdb", {}}}),
            Names{"dm-2"});
  EXPECT_EQ(CountedOf({{"mpatha", {"sda", "sdb"}}, {"sda", {}}, {"sdb", {}}}), Names{"mpatha"});
}

TEST(ObservedLevelsTest, AMirrorKeepsItsPlaceOverDisksInUse) {
  // A boot partition on the first disk, swap space on the second, LVM on the mirror.
  EXPECT_EQ(CountedOf({{"dm-0", {"md0", "sda", "sdb"}, true},
                       {"dm-1", {"md0", "sda", "sdb"}, true},
                       {"md0", {"sda", "sdb"}},
                       {"sda", {}, true},
                       {"sdb", {}, true}}),
            (Names{"dm-0", "dm-1"}));
}

TEST(ObservedLevelsTest, ADiskInUseCountsInPlaceOfOnesThatLieOnItAlone) {
  // Each request of a loop device over a file is among the disk's, and so is other I/O there.
  EXPECT_EQ(CountedOf({{"loop0", {"sda"}, true}, {"sda", {}, true}}), Names{"sda"});
  EXPECT_EQ(CountedOf({{"loop0", {"dm-0", "sda"}, true},
                       {"dm-0", {"sda"}, true},
                       {"dm-1", {"sda"}, true},
                       {"sda", {}, true}}),
            Names{"sda"});
  EXPECT_EQ(CountedOf({{"loop0", {"dm-0", "sda"}, true},
                       {"dm-0", {"sda"}, true},
                       {"dm-1", {"sda"}, true},
                       {"sda", {}}}),
            (Names{"dm-0", "dm-1"}));
  // A volume over two disks keeps its place, and so does one on the first of them alone.
  EXPECT_EQ(CountedOf({{"dm-0", {"sda"}, true},
                       {"dm-1", {"sda", "sdb"}, true},
                       {"sda", {}, true},
                       {"sdb", {}}}),
            (Names{"dm-0", "dm-1"}));
}

TEST(ObservedLevelsTest, WorkersOfOneKernelAreTakenTogether) {
  ObservedLevels levels;
  v1::ObservedDevices disk, mirror;
  disk.add_devices()->set_name("sda");
  mirror.add_devices()->set_name("md0");
  mirror.mutable_devices(0)->add_on("sda");
  mirror.mutable_devices(0)->add_on("sdb");
  levels.Add(disk);
  levels.Add(mirror);
  EXPECT_EQ(levels.Counted(), Names{"md0"});
}

TEST(ObservedLevelsTest, ACircleEndsAndItsDevicesCount) {
  EXPECT_EQ(CountedOf({{"a", {"b", "a"}}, {"b", {"a"}}}), (Names{"a", "b"}));
  EXPECT_TRUE(CountedOf({}).empty());
}

}  // namespace
}  // namespace lockstep::controller
