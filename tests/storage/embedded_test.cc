// The PostgreSQL that a controller runs itself, and addresses of stores.

#include "storage/embedded.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "storage/conninfo.h"
#include "tests/storage/store_fixture.h"

namespace lockstep::storage {
namespace {

TEST(EmbeddedTest, ASecondOneInTheSameDirectoryIsRefused) {
  const auto second = EmbeddedPostgres::Start(cluster->directory + "/pg");
  EXPECT_NE(second.status().message().find("another controller uses this store"),
            absl::string_view::npos)
      << second.status();
}

TEST(EmbeddedTest, OneThatStartsBesideAnotherLearnsItsAddress) {
  const std::string lock = cluster->directory + "/pg/lock";
  std::ofstream(lock, std::ios::trunc).flush();
  std::thread other([&lock] {
    // Once the second one has opened the lock, beside the holder, the holder listens.
    const auto opened = [&lock] {
      int found = 0;
      for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code none;
        found += std::filesystem::read_symlink(fd, none) == lock;
      }
      return found >= 2;
    };
    for (int i = 0; i < 2000 && !opened(); ++i) absl::SleepFor(absl::Milliseconds(1));
    std::ofstream(lock) << "127.0.0.1:9640";
  });
  const auto second = EmbeddedPostgres::Start(cluster->directory + "/pg");
  other.join();
  std::ofstream(lock, std::ios::trunc).flush();
  EXPECT_TRUE(absl::StrContains(second.status().message(),
                                "the controller at 127.0.0.1:9640 uses this store"))
      << second.status();
}

TEST(EmbeddedTest, ABlankInTheDirectorySNameIsNoObstacleAndACommaIs) {
  const std::string directory = cluster->directory + "/with 'a' blank";
  const auto started = EmbeddedPostgres::Start(directory);
  EXPECT_TRUE(started.ok()) << started.status();
  for (const char* name : {"/a,b", "/a\nb"}) {
    EXPECT_TRUE(absl::StrContains(
        EmbeddedPostgres::Start(cluster->directory + name).status().message(), "has a comma"));
  }
}

TEST(EmbeddedTest, AKilledServerThatNobodyHasReapedYetIsWaitedFor) {
  const std::string directory = cluster->directory + "/killed";
  ASSERT_TRUE(EmbeddedPostgres::Start(directory).ok());  // and stopped
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  std::ofstream(directory + "/data/postmaster.pid") << dead << "\n"
                                                    << directory << "/data\n1\n5432\n"
                                                    << directory << "/run\n\n";
  // Reaped once a server has refused to start because of it.
  std::thread init([dead, log = directory + "/postgres.log"] {
    const auto refused = [&log] {
      std::stringstream said;
      said << std::ifstream(log).rdbuf();
      return absl::StrContains(said.str(), "already exists");
    };
    for (int i = 0; i < 6000 && !refused(); ++i) absl::SleepFor(absl::Milliseconds(10));
    EXPECT_TRUE(refused());
    waitpid(dead, nullptr, 0);
  });
  const auto started = EmbeddedPostgres::Start(directory);
  init.join();
  EXPECT_TRUE(started.ok()) << started.status();
}

TEST(EmbeddedTest, AnotherMajorVersionIsRefusedWithTheCommandsToUpgrade) {
  const std::string directory = cluster->directory + "/old";
  ASSERT_TRUE(common::MakeDirectories(directory + "/data", 0755).ok());
  ASSERT_TRUE(common::WriteFileAtomically(directory + "/data/PG_VERSION", "13\n").ok());
  const auto refused = EmbeddedPostgres::Start(directory);
  EXPECT_NE(refused.status().message().find("was made by PostgreSQL 13"), absl::string_view::npos)
      << refused.status();
  EXPECT_NE(refused.status().message().find("pg_upgrade"), absl::string_view::npos);
}

TEST(ConninfoTest, TheReadersHasNoPassword) {
  EXPECT_EQ(*DeriveReaderConninfo("postgresql://anna:secret@db.example:5433/bench"),
            std::string("user=lockstep_reader dbname='bench' host='db.example' port='5433' ") +
                kReaderOptions);
  EXPECT_EQ(AddressText("postgresql://anna:secret@db.example:5544/bench?sslmode=require"),
            "postgresql://db.example:5544/bench");
  EXPECT_EQ(AddressText("dbname='bench' host='/run/postgresql' options='-c a=b'"),
            "postgresql:///bench (socket in /run/postgresql)");
  EXPECT_EQ(AddressText("host=::1 dbname=bench"), "postgresql://[::1]/bench");
  EXPECT_FALSE(DeriveReaderConninfo("postgresql://[").ok());
}

}  // namespace
}  // namespace lockstep::storage
