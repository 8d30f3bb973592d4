// NFS mounts, as a virtual machine with Linux 6.1 and NFS 4.2 had them.

#include <sys/sysmacros.h>

#include <string>

#include "gtest/gtest.h"
#include "worker/host/nfs_stats.h"
#include "worker/host/storage_servers.h"

namespace lockstep::worker {
namespace {

// With "mount --bind /mnt/nfs /mnt/bind".
TEST(NfsMountsTest, TheMountThatTheTargetIsOnIsNamed) {
  static constexpr char kBound[] =
      "25 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n"
      "40 25 0:28 / /mnt/nfs rw,relatime - nfs4 10.77.0.12:/ rw,vers=4.2,rsize=65536,wsize=65536,"
      "namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,clientaddr=10.77.0.11,local_lock=none,"
      "addr=10.77.0.12\n"
      "39 25 0:29 / /mnt/my\\040nas ro,relatime - nfs4 10.77.0.12:/with\\040space ro,vers=4.2,"
      "proto=tcp,addr=10.77.0.12\n"
      "38 25 0:28 / /mnt/bind rw,relatime - nfs4 10.77.0.12:/ rw,vers=4.2,proto=tcp,"
      "addr=10.77.0.12\n";
  EXPECT_EQ(ServersOfMount(kBound, makedev(0, 28), 40).at(0).mount, "/mnt/nfs");
  EXPECT_EQ(ServersOfMount(kBound, makedev(0, 28), 38).at(0).mount, "/mnt/bind");
  EXPECT_EQ(ServersOfMount(kBound, makedev(0, 28)).at(0).mount, "/mnt/bind");
  EXPECT_EQ(ServersOfMount(kBound, makedev(0, 28), 99).at(0).mount, "/mnt/bind");
  EXPECT_EQ(ServersOfMount(kBound, makedev(0, 28), 39).at(0).mount, "/mnt/bind")
      << "another file system's";
  EXPECT_EQ(ServersOfMount(kBound, makedev(0, 29), 39).at(0).mount, "/mnt/my nas");
}

constexpr char kRecordedStats[] =
    "device 10.77.0.12:/ mounted on /mnt/nfs with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,rsize=65536,wsize=65536,namlen=255,acregmin=3,acregmax=60,"
    "acdirmin=30,acdirmax=60,hard,proto=tcp,timeo=600,retrans=2,sec=sys,"
    "clientaddr=10.77.0.11,local_lock=none\n"
    "\tage:\t201\n"
    "\timpl_id:\tname='',domain='',date='0,0'\n"
    "\tcaps:\tcaps=0xfffbc0bf,wtmult=512,dtsize=65536,bsize=0,namlen=255\n"
    "\tnfsv4:\tbm0=0xfdffbfff,bm1=0x40fdbe3e,bm2=0x60803,acl=0x3,sessions,"
    "pnfs=not configured,lease_time=10,lease_expired=0\n"
    "\tsec:\tflavor=1,pseudoflavor=1\n"
    "\tevents:\t9 8 2 5 1 2 26 2 0 2 0 2 2 3 6 3 0 6 0 1 2 0 0 0 0 0 0 \n"
    "\tbytes:\t1070 1070 3010560 69885952 3011630 69887022 2 2 \n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 0 0 2 0 1 2586 2586 0 11831 0 16 5772 8194\n"
    "\tper-op statistics\n"
    "\t        NULL: 1 1 0 44 24 80 34 116 0\n"
    "\t        READ: 737 737 0 126764 3088280 731 8327 9458 0\n"
    "\t       WRITE: 1704 1704 0 70186944 190940 11053 48715 60579 0\n"
    "\t      COMMIT: 64 64 0 9984 6656 6 216 231 0\n"
    "\t        OPEN: 2 2 0 544 776 14 31 47 0\n"
    "\t OPEN_NOATTR: 4 4 0 896 1376 0 15 17 0\n"
    "\t       CLOSE: 5 5 0 868 760 1 33 35 0\n"
    "\t     SETATTR: 5 5 0 996 1212 0 31 33 0\n"
    "\t      ACCESS: 1 1 0 156 168 0 2 3 0\n"
    "\t     GETATTR: 10 10 0 1504 2400 10 49 68 0\n"
    "\t      LOOKUP: 2 2 0 336 192 12 12 25 2\n"
    "\n"
    "device 10.77.0.12:/with\\040space mounted on /mnt/my\\040nas with fstype nfs4 statvers=1.1\n"
    "\topts:\tro,vers=4.2\n"
    "device 10.77.0.12:/ mounted on /mnt/bind with fstype nfs4 statvers=1.1\n"
    "\tper-op statistics\n"
    "\t        READ: 737 737 0 126764 3088280 731 8327 9458 0\n";

TEST(NfsMountsTest, RecordedStatsAreThoseThatNfsiostatPrints) {
  const NfsCounters found = ParseMountStats(kRecordedStats, {"/mnt/nfs"});
  const v1::NfsSample& read = found.at({"/mnt/nfs", "READ"});
  EXPECT_EQ(read.operations(), 737u);
  EXPECT_EQ(read.received_bytes(), 3088280u);
  // nfsiostat: 11.299 and 12.833 ms.
  EXPECT_NEAR(static_cast<double>(read.round_trip_ms()) / 737, 11.299, 0.001);
  EXPECT_NEAR(static_cast<double>(read.execution_ms()) / 737, 12.833, 0.001);
  EXPECT_EQ(found.at({"/mnt/nfs", "WRITE"}).sent_bytes(), 70186944u);
  EXPECT_EQ(found.at({"/mnt/nfs", "LOOKUP"}).operations(), 2u);
  EXPECT_EQ(found.count({"/mnt/nfs", "xprt"}), 0u);
  for (const auto& [key, sample] : found) EXPECT_EQ(key.first, "/mnt/nfs") << key.second;
}

}  // namespace
}  // namespace lockstep::worker
