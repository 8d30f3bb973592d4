// Files that the guard lets a worker open, make and remove: real files beneath and beside an
// allowed directory, links that lead out of it, and the allow-list for devices. The kernel's view
// of devices is in kernel_blocks_test.cc; real devices are in tests/integration/test_guard.py.

#include "worker/host/guard.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using common::FileDescriptor;

class GuardTest : public testing::Test {
 protected:
  GuardTest()
      : folder_(fs::canonical(getenv("TEST_TMPDIR")) /
                testing::UnitTest::GetInstance()->current_test_info()->name()),
        guard_(Make(folder_)) {
    Write("outside", "precious");
    Write("allowed-too/file", "precious");
  }

  static Guard Make(const fs::path& folder) {
    fs::create_directories(folder / "allowed");
    return *Guard::Make({folder / "allowed"}, {});
  }

  void Write(const fs::path& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  std::string Read(const fs::path& path) const {
    std::ifstream in(folder_ / path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Guard::AllowedPath At(const fs::path& path) const { return *guard_.Locate(folder_ / path); }
  absl::Status Open(const fs::path& path, int flags = O_RDWR) const {
    return guard_.Open(At(path), flags, 0600).status();
  }

  const fs::path folder_;
  const Guard guard_;
};

TEST_F(GuardTest, OnlyWhatLiesBeneathAnAllowedDirectoryHasAPlace) {
  EXPECT_EQ(At("allowed/a/b").relative, "a/b");
  EXPECT_EQ(At("allowed/a/b").path(), folder_ / "allowed/a/b");
  const auto code = [&](const std::string& path) { return guard_.Locate(path).status().code(); };
  EXPECT_EQ(code(folder_ / "outside"), StatusCode::kPermissionDenied);
  EXPECT_EQ(code(folder_ / "allowed-too/file"), StatusCode::kPermissionDenied)
      << "a name begins so";
  EXPECT_EQ(code(folder_ / "allowed/../outside"), StatusCode::kPermissionDenied);
  EXPECT_EQ(code("/"), StatusCode::kPermissionDenied);
  EXPECT_EQ(code("allowed/a"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(""), StatusCode::kInvalidArgument);
  const std::string said(guard_.Locate(folder_ / "outside").status().message());
  EXPECT_NE(said.find("--allow permits (" + (folder_ / "allowed").string()), std::string::npos)
      << said;
}

TEST_F(GuardTest, AnAllowedFileIsAllowedAloneAndNothingBesideIt) {
  const Guard guard = *Guard::Make({folder_ / "allowed-too/file"}, {});
  EXPECT_TRUE(guard.Locate(folder_ / "allowed-too/file")->named);
  EXPECT_FALSE(guard.Locate(folder_ / "allowed-too/other").ok());
}

TEST_F(GuardTest, TheAllowListNamesWhatExistsAndNotEverything) {
  EXPECT_EQ(Guard::Make({folder_ / "missing"}, {}).status().code(), StatusCode::kNotFound);
  for (const char* wrong : {"/", "//", "", "relative/path"}) {
    EXPECT_EQ(Guard::Make({wrong}, {}).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
  fs::create_symlink("/", folder_ / "root");
  EXPECT_FALSE(Guard::Make({folder_ / "root"}, {}).ok());
}

TEST_F(GuardTest, ALinkThatLeadsOutIsRefusedAndOneWithinIsNot) {
  Write("allowed/file", "ours");
  fs::create_symlink(folder_ / "outside", folder_ / "allowed/absolute");
  fs::create_symlink("../outside", folder_ / "allowed/relative");
  fs::create_symlink("..", folder_ / "allowed/folder");
  fs::create_symlink("file", folder_ / "allowed/within");
  for (const char* path : {"allowed/absolute", "allowed/relative", "allowed/folder/outside"}) {
    EXPECT_FALSE(Open(path).ok()) << path;
    EXPECT_FALSE(Open(path, O_RDWR | O_CREAT).ok()) << path;
  }
  EXPECT_TRUE(Open("allowed/within").ok());
  EXPECT_FALSE(Open("allowed/within", O_RDWR | O_NOFOLLOW).ok());
  EXPECT_FALSE(guard_.MakeParents(At("allowed/folder/made/file")).ok());
  EXPECT_FALSE(fs::exists(folder_ / "made"));
  EXPECT_EQ(Read("outside"), "precious");
}

TEST_F(GuardTest, OnlyRegularFilesAreOpened) {
  ASSERT_EQ(mkfifo((folder_ / "allowed/fifo").c_str(), 0600), 0);
  fs::create_directories(folder_ / "allowed/directory");
  for (const auto& [path, kind] :
       {std::pair("allowed/fifo", "a FIFO"), std::pair("allowed/directory", "a directory")}) {
    const absl::Status status = Open(path);
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << path;
    EXPECT_NE(status.message().find(kind), std::string::npos) << status;
  }
  EXPECT_EQ(Open("allowed/missing").code(), StatusCode::kNotFound);
}

TEST_F(GuardTest, WhatIsMadeWasNotThereBefore) {
  EXPECT_TRUE(Open("allowed/new", O_RDWR | O_CREAT).ok());
  EXPECT_EQ(Open("allowed/new", O_RDWR | O_CREAT).code(), StatusCode::kAlreadyExists);
}

TEST_F(GuardTest, DirectoriesAreMadeAndOnlyEmptyOnesRemoved) {
  const auto made = guard_.MakeParents(At("allowed/a/b/file"));
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->size(), 2u);
  EXPECT_EQ(made->at(0).path, folder_ / "allowed/a");
  EXPECT_EQ(made->at(1).path, folder_ / "allowed/a/b");
  EXPECT_TRUE(guard_.MakeParents(At("allowed/a/b/file"))->empty());
  std::string rest;
  ASSERT_TRUE(guard_.OpenNearest(At("allowed/a/b/c/d"), &rest).ok());
  EXPECT_EQ(rest, "c/d");
  guard_.RemoveDirectoryIfEmpty(made->at(0));
  EXPECT_TRUE(fs::exists(folder_ / "allowed/a/b")) << "not empty";
  guard_.RemoveDirectoryIfEmpty({folder_ / "allowed/a/b", "another"});
  guard_.RemoveDirectoryIfEmpty({folder_ / "allowed/a/b", ""});
  EXPECT_TRUE(fs::exists(folder_ / "allowed/a/b")) << "not the one that was made";
  guard_.RemoveDirectoryIfEmpty(made->at(1));
  EXPECT_FALSE(fs::exists(folder_ / "allowed/a/b"));
}

// A link within the allowed directory leads to a directory of the same name, somebody else's.
TEST_F(GuardTest, ADirectoryBehindALinkIsNotTheOneThatWasMade) {
  const auto made = guard_.MakeParents(At("allowed/a/b/file"));
  ASSERT_EQ(made->size(), 2u);
  fs::rename(folder_ / "allowed/a", folder_ / "allowed/moved");
  fs::create_directories(folder_ / "allowed/theirs/b");
  fs::create_directory_symlink("theirs", folder_ / "allowed/a");
  guard_.RemoveDirectoryIfEmpty(made->at(1));
  EXPECT_TRUE(fs::exists(folder_ / "allowed/theirs/b"));
}

TEST_F(GuardTest, AFileIsRemovedOnlyIfItIsTheOne) {
  Write("allowed/file", "other");
  const auto kept =
      guard_.RemoveIf(At("allowed/file"), [](const FileDescriptor&) { return false; });
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_FALSE(*kept);
  EXPECT_EQ(Read("allowed/file"), "other");
  EXPECT_TRUE(*guard_.RemoveIf(At("allowed/file"), [](const FileDescriptor&) { return true; }));
  EXPECT_TRUE(fs::is_empty(folder_ / "allowed"));
}

// While it is looked at, somebody makes another file under its name.
TEST_F(GuardTest, AFileThatTakesTheNameMeanwhileIsNeitherRemovedNorReplaced) {
  for (const bool ours : {true, false}) {
    Write("allowed/file", "first");
    const auto removed = guard_.RemoveIf(At("allowed/file"), [&](const FileDescriptor&) {
      Write("allowed/file", "second");
      return ours;
    });
    EXPECT_EQ(Read("allowed/file"), "second");
    if (ours) {
      EXPECT_TRUE(removed.ok() && *removed);
    } else {
      EXPECT_EQ(removed.status().code(), StatusCode::kAborted) << removed.status();
      const std::string said(removed.status().message());
      const size_t at = said.find(".lockstep-removing-");
      ASSERT_NE(at, std::string::npos) << said;
      EXPECT_EQ(Read("allowed/" + said.substr(at, said.find(' ', at) - at)), "first");
    }
  }
}

TEST_F(GuardTest, ADeviceIsAllowedByItsIdentityOrByThePathOfAnAllowedDirectory) {
  const Guard guard = *Guard::Make({"naa.600", folder_ / "allowed"}, {});
  v1::BlockDevice device;
  device.set_path("/dev/sda");
  device.set_identity("naa.600");
  EXPECT_TRUE(guard.Allows(device));
  device.set_identity("naa.6001");
  EXPECT_FALSE(guard.Allows(device));
  device.set_identity("");
  EXPECT_FALSE(guard.Allows(device)) << "no identity is nobody's";
  device.set_path(folder_ / "allowed/sda");
  EXPECT_TRUE(guard.Allows(device));
  EXPECT_EQ(guard.CheckDevice("/dev/null", {}, nullptr).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(GuardTest, ExpendableIsWhatBothTheJobAndTheWorkerName) {
  const Guard guard = *Guard::Make({folder_ / "allowed"}, {"naa.600"});
  EXPECT_TRUE(guard.IsExpendable("naa.600", {"naa.600"}));
  EXPECT_FALSE(guard.IsExpendable("naa.600", {}));
  EXPECT_FALSE(guard.IsExpendable("naa.600", {"naa.601"}));
  EXPECT_FALSE(guard.IsExpendable("naa.601", {"naa.601"}));
  EXPECT_FALSE(guard.IsExpendable("", {""}));
}

}  // namespace
}  // namespace lockstep::worker
