// Files whose direct I/O passes through the page cache: what the kernel tells of them.

#include "worker/targets/direct_io.h"

#include <sys/sysmacros.h>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

TEST(DirectIoTest, Ext4SaysWhetherItJournalsData) {
  EXPECT_TRUE(HasDataJournal("rw\nstripe=0\ndata=journal\ninode_readahead_blks=32\n"));
  EXPECT_FALSE(HasDataJournal("rw\ndata=ordered\n"));
  EXPECT_FALSE(HasDataJournal("rw\nnodata=journal\ndata=journalled\n"));
  EXPECT_FALSE(HasDataJournal(""));
}

TEST(DirectIoTest, NothingIsKnownOfDevicesThatAreNotThere) {
  EXPECT_FALSE(JournalsData(makedev(0, 0)));
  EXPECT_FALSE(HasBufferedDirectIo(common::FileDescriptor()));
}

}  // namespace
}  // namespace lockstep::worker
