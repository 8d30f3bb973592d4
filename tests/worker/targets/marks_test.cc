// Which marks prove that Lockstep made a file: those that a worker of this store has signed, and
// nothing that anybody else can write.

#include "worker/targets/marks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "common/files.h"
#include "common/mark_endorsement.h"
#include "gtest/gtest.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;
using common::SigningKey;

// A worker whose key the store has endorsed.
std::shared_ptr<MarkKeys> WorkerOf(const SigningKey& store, const std::string& state) {
  fs::create_directories(state);
  auto keys = *MarkKeys::Load(state);
  EXPECT_TRUE(keys->SetEndorsement(store.public_key(),
                                   store.Sign(common::MarkEndorsementText(keys->public_key())))
                  .ok());
  return keys;
}

class MarksTest : public testing::Test {
 protected:
  MarksTest()
      : folder_(fs::canonical(getenv("TEST_TMPDIR")) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::create_directories(folder_ / "data");
    std::ofstream(folder_ / "data/file") << "precious";
  }
  ~MarksTest() override { fs::remove_all(folder_); }

  Guard GuardWith(std::shared_ptr<MarkKeys> keys) const {
    return *Guard::Make({folder_ / "data"}, {}, nullptr, std::move(keys));
  }
  Guard::AllowedPath At(const Guard& guard) const { return *guard.Locate(folder_ / "data/file"); }
  absl::Status Check(const Guard& guard) const {
    const auto fd = guard.Open(At(guard), O_RDONLY);
    return CheckMadeByLockstep(guard, At(guard), *fd);
  }
  std::string Identity(const Guard& guard) const {
    return IdentityOf(*guard.Open(At(guard), O_RDONLY));
  }
  std::string ReadMarkFile() const {
    std::ifstream in(folder_ / "data/file.lockstep");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void WriteMarkFile(const std::string& text) const {
    std::ofstream(folder_ / "data/file.lockstep") << text;
  }

  const fs::path folder_;
  const SigningKey store_ = SigningKey::Make();
};

TEST_F(MarksTest, AForgedMarkIsNotBelieved) {
  const Guard guard = GuardWith(WorkerOf(store_, folder_ / "state"));
  // All that it says is true, and anybody can know it.
  WriteMarkFile("made by lockstep 1\nfile " + Identity(guard) + "\nfilled random\n");
  const absl::Status earlier = Check(guard);
  EXPECT_EQ(earlier.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(earlier.message(), "earlier version")) << earlier;
  EXPECT_TRUE(absl::StrContains(earlier.message(), "--adopt")) << earlier;
  WriteMarkFile("made by lockstep 2\nfile " + Identity(guard) + "\nfilled random\n");
  EXPECT_FALSE(Check(guard).ok());
  // Signed with keys of the forger's own.
  const SigningKey forger = SigningKey::Make();
  const Guard forged = GuardWith(WorkerOf(forger, folder_ / "forger"));
  fs::remove(folder_ / "data/file.lockstep");
  ASSERT_TRUE(WriteMark(forged, At(forged), {Identity(forged), "random", {}}).ok());
  EXPECT_TRUE(Check(forged).ok());
  const absl::Status foreign = Check(guard);
  EXPECT_EQ(foreign.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(foreign.message(), "does not know")) << foreign;
}

TEST_F(MarksTest, NoByteOfAMarkCanBeChanged) {
  const Guard guard = GuardWith(WorkerOf(store_, folder_ / "state"));
  ASSERT_TRUE(WriteMark(guard, At(guard),
                        {Identity(guard), "random", {{"/a", "1 born 2"}, {"/b", "3 born 4"}}})
                  .ok());
  ASSERT_TRUE(Check(guard).ok());
  const std::string mark = ReadMarkFile();
  for (size_t i = 0; i < mark.size(); ++i) {
    std::string other = mark;
    other[i] = other[i] == '7' ? '8' : '7';
    WriteMarkFile(other);
    EXPECT_FALSE(ReadMark(guard, At(guard)).ok()) << i;
  }
  // Appended lines are not signed.
  WriteMarkFile(mark + "directory /precious\nfile 1 born 2.3\n");
  const auto longer = ReadMark(guard, At(guard));
  if (longer.ok()) {
    EXPECT_EQ(longer->directories.size(), 2u);
    EXPECT_EQ(longer->file, Identity(guard));
  }
}

TEST_F(MarksTest, AMarkOfAnotherFileIsNone) {
  const Guard guard = GuardWith(WorkerOf(store_, folder_ / "state"));
  ASSERT_TRUE(WriteMark(guard, At(guard), {Identity(guard), "random", {}}).ok());
  fs::rename(folder_ / "data/file", folder_ / "data/old");
  std::ofstream(folder_ / "data/file") << "somebody's";
  EXPECT_FALSE(Check(guard).ok());
}

TEST_F(MarksTest, WorkersOfOneStoreKnowEachOthersMarks) {
  const Guard one = GuardWith(WorkerOf(store_, folder_ / "one"));
  const Guard other = GuardWith(WorkerOf(store_, folder_ / "other"));
  ASSERT_TRUE(WriteMark(one, At(one), {Identity(one), "random", {}}).ok());
  EXPECT_TRUE(Check(other).ok());
  ASSERT_TRUE(NoteChanged(other, At(other)).ok());
  EXPECT_TRUE(Check(one).ok());
  EXPECT_EQ(ReadMark(one, At(one))->filled, kFilledByWorkload);
}

TEST_F(MarksTest, AnEndorsementIsOfOneKeyOnly) {
  const auto thief = *MarkKeys::Load(folder_);
  const auto honest = WorkerOf(store_, folder_ / "honest");
  EXPECT_FALSE(thief
                   ->SetEndorsement(store_.public_key(),
                                    store_.Sign(common::MarkEndorsementText(honest->public_key())))
                   .ok());
  const Guard guard = GuardWith(thief);
  const absl::Status unknown = WriteMark(guard, At(guard), {Identity(guard), "random", {}});
  EXPECT_EQ(unknown.code(), absl::StatusCode::kFailedPrecondition) << unknown;
  EXPECT_FALSE(fs::exists(folder_ / "data/file.lockstep"));
}

TEST_F(MarksTest, TheKeySurvivesARestartAndOnlyItsOwnerReadsIt) {
  const std::string state = folder_ / "state";
  const std::string before = WorkerOf(store_, state)->public_key();
  const auto again = *MarkKeys::Load(state);
  EXPECT_EQ(again->public_key(), before);
  EXPECT_TRUE(again->Sign("text").ok()) << "the endorsement is kept, too";
  struct stat facts;
  ASSERT_EQ(stat((state + "/mark-key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  ASSERT_TRUE(common::WriteFileAtomically(state + "/mark-key", "no key").ok());
  EXPECT_EQ(MarkKeys::Load(state).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(MarksTest, AnOperatorAdoptsAFile) {
  const Guard guard = GuardWith(WorkerOf(store_, folder_ / "state"));
  EXPECT_FALSE(Check(guard).ok());
  ASSERT_TRUE(Adopt(guard, At(guard)).ok());
  EXPECT_TRUE(Check(guard).ok());
}

// A worker that is moved to another store has the same key, and another admin's consent.
TEST_F(MarksTest, AWorkersOwnMarkOfAnotherStoreProvesNothing) {
  const auto keys = WorkerOf(store_, folder_ / "state");
  const Guard guard = GuardWith(keys);
  ASSERT_TRUE(Adopt(guard, At(guard)).ok());
  ASSERT_TRUE(Check(guard).ok());
  const SigningKey other = SigningKey::Make();
  ASSERT_TRUE(keys->SetEndorsement(other.public_key(),
                                   other.Sign(common::MarkEndorsementText(keys->public_key())))
                  .ok());
  const absl::Status moved = Check(guard);
  EXPECT_EQ(moved.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(moved.message(), "does not know")) << moved;
  ASSERT_TRUE(keys->SetEndorsement(store_.public_key(),
                                   store_.Sign(common::MarkEndorsementText(keys->public_key())))
                  .ok());
  EXPECT_TRUE(Check(guard).ok()) << "back at its store";
}

}  // namespace
}  // namespace lockstep::worker
