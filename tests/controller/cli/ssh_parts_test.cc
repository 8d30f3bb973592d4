// The parts of the command line's ssh: processes that it starts, and records on disk.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/limits.h"
#include "controller/cli/ssh/fleet.h"
#include "controller/cli/ssh/process.h"
#include "controller/cli/ssh/records.h"
#include "gtest/gtest.h"

namespace lockstep::cli {
namespace {

absl::StatusOr<ProcessOutput> Shell(const std::string& script, const ProcessInput& input = {}) {
  return RunProcess({"sh", "-c", script}, input, absl::Minutes(1), nullptr);
}

TEST(ProcessTest, GivesOutputsAndTheStatus) {
  const auto done = Shell("cat; echo why >&2; exit 3", {"a text\n", ""});
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->out, "a text\n");
  EXPECT_EQ(done->err, "why\n");
  EXPECT_EQ(done->status, 3);
  EXPECT_EQ(Shell("kill -9 $$")->status, 128 + SIGKILL);
}

TEST(ProcessTest, AProgramThatReadsNothingOrPrintsTooMuchIsNoTrouble) {
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(Shell("exit 0", {large, ""})->status, 0);
  const auto loud = Shell("head -c 1000000 /dev/zero");
  EXPECT_EQ(loud->out.size(), static_cast<size_t>(limits::kSshAnswerBytes));
  EXPECT_EQ(loud->status, 0);
  const auto more =
      RunProcess({"head", "-c", "1000000", "/dev/zero"}, {}, absl::Minutes(1), nullptr, 500000);
  EXPECT_EQ(more->out.size(), 500000u);
}

TEST(ProcessTest, EndsAtItsLimitAndWhenCancelled) {
  const auto slow = RunProcess({"sleep", "60"}, {}, absl::Milliseconds(50), nullptr);
  EXPECT_EQ(slow.status().code(), absl::StatusCode::kDeadlineExceeded);
  const auto over = RunProcess({"sleep", "60"}, {}, absl::Minutes(1), [] { return true; });
  EXPECT_EQ(over.status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(RunProcess({"no-such-program"}, {}, absl::Minutes(1), nullptr).ok());
}

TEST(ProcessTest, AProgramThatPrintsWithoutEndEndsAtItsLimit) {
  const auto loud = RunProcess({"yes"}, {}, absl::Milliseconds(300), nullptr);
  EXPECT_EQ(loud.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(ProcessTest, InheritsNoDescriptorAndHasASessionOfItsOwn) {
  const auto open = Shell("ls /proc/self/fd | wc -l; cut -d' ' -f6 /proc/$$/stat; echo $$");
  ASSERT_TRUE(open.ok());
  std::istringstream said(open->out);
  int descriptors = 0;
  int session = 0;
  int self = -1;
  said >> descriptors >> session >> self;
  EXPECT_EQ(descriptors, 4);  // with that of the listing
  EXPECT_EQ(session, self);
}

class RecordsTest : public testing::Test {
 protected:
  RecordsTest() {
    char path[] = "/tmp/lockstep-records-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~RecordsTest() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

TEST_F(RecordsTest, KeepsWhatItWasGiven) {
  const FleetRecords records(directory_);
  EXPECT_TRUE(records.Load()->empty());
  FleetRecord record;
  record.token = "0123456789abcdef01234567";
  record.destination = "root@node1";
  record.name = "node1";
  record.directory = "/tmp/with a space";
  record.allow = {"/data", "/dev/sd b"};
  record.began_s = 7;
  record.pki = "/root/lockstep pki";
  record.serial = "4A11";
  record.valid_to_s = 8;
  record.other_certificates = {{"B0B", 9}, {"C0C", 10}};
  record.tls_certificate = "/c";
  record.tls_key = "/k";
  record.tls_authority = "/a";
  ASSERT_TRUE(records.Save(record).ok());
  struct stat facts = {};
  ASSERT_EQ(stat((directory_ + "/fleets").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700u);
  std::ofstream(directory_ + "/fleets/else") << "token something\n";
  const auto loaded = records.Load();
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->size(), 1u);
  EXPECT_EQ((*loaded)[0].directory, record.directory);
  EXPECT_EQ((*loaded)[0].destination, record.destination);
  EXPECT_EQ((*loaded)[0].config, "");
  EXPECT_EQ((*loaded)[0].allow, record.allow);
  EXPECT_EQ((*loaded)[0].pki, record.pki);
  EXPECT_EQ((*loaded)[0].serial, record.serial);
  EXPECT_EQ((*loaded)[0].valid_to_s, record.valid_to_s);
  ASSERT_EQ((*loaded)[0].other_certificates.size(), 2u);
  EXPECT_EQ((*loaded)[0].other_certificates[1].serial, "C0C");
  EXPECT_EQ((*loaded)[0].other_certificates[1].valid_to_s, 10);
  EXPECT_EQ((*loaded)[0].tls_certificate, record.tls_certificate);
  EXPECT_EQ((*loaded)[0].tls_key, record.tls_key);
  EXPECT_EQ((*loaded)[0].tls_authority, record.tls_authority);
  ASSERT_TRUE(records.Remove(record).ok());
  EXPECT_TRUE(records.Load()->empty());
}

TEST_F(RecordsTest, OfCommandsAtOnceOneHasTheHost) {
  const FleetRecords records(directory_);
  std::atomic<int> added = 0;
  std::vector<std::thread> commands;
  for (int i = 0; i < 8; ++i) {
    commands.emplace_back([&, i] {
      FleetRecord record;
      record.token = absl::StrFormat("%024x", i);
      record.name = "node1";
      if (records.Add(record).ok()) ++added;
    });
  }
  for (std::thread& command : commands) command.join();
  EXPECT_EQ(added, 1);
  EXPECT_EQ(records.Load()->size(), 1u);
}

// In /tmp, say, everybody can put one beside the program.
TEST_F(RecordsTest, AnArchiveOfAnotherUserIsNoWorker) {
  const std::string planted = directory_ + "/lockstep-worker-9-linux-x86_64.tar.gz";
  std::ofstream(planted) << "x";
  EXPECT_EQ(ArchiveIn(directory_, "/proc/self/exe", "1"), planted);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(planted.c_str(), 12345, 12345), 0);
    EXPECT_EQ(ArchiveIn(directory_, "/proc/self/exe", "1"), "");
    const std::string link = directory_ + "/lockstep-worker-8-linux-x86_64.tar.gz";
    std::filesystem::create_symlink("/etc/passwd", link);
    ASSERT_EQ(lchown(link.c_str(), 12345, 12345), 0);
    EXPECT_EQ(ArchiveIn(directory_, "/proc/self/exe", "1"), "");
  }
  const std::string own = directory_ + "/lockstep-worker-1-linux-x86_64.tar.gz";
  std::ofstream(own) << "x";
  EXPECT_EQ(ArchiveIn(directory_, "/proc/self/exe", "1"), own);
  chmod(own.c_str(), 0666);
  EXPECT_NE(ArchiveIn(directory_, "/proc/self/exe", "1"), own);
}

TEST_F(RecordsTest, OthersMayNotHaveWrittenThem) {
  std::filesystem::create_directory(directory_ + "/fleets");
  chmod((directory_ + "/fleets").c_str(), 0777);
  EXPECT_FALSE(FleetRecords(directory_).Load().ok());
}

}  // namespace
}  // namespace lockstep::cli
