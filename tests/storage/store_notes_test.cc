// Notes about runs.

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "gtest/gtest.h"
#include "tests/storage/store_fixture.h"

namespace lockstep::storage {
namespace {

TEST_F(StoreTest, NotesHaveTheirMomentAndTheirPhase) {
  const std::string run = Begin().run_id();
  ASSERT_TRUE(connection_
                  ->Query("UPDATE phases SET go_at = r.started_at + interval '2 seconds' FROM runs "
                          "r WHERE phases.run_id = r.run_id AND r.run_id = $1",
                          {run})
                  .ok());
  const auto after = store_->AddNote(run, {"anna", "it's \"late\"", std::nullopt, 5000000000});
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->severity(), "note");
  EXPECT_EQ(after->author(), "anna");
  EXPECT_EQ(after->message(), "it's \"late\"");
  ASSERT_TRUE(store_->AddNote(run, {"ben", "earlier", std::nullopt, 0}).ok());
  ASSERT_TRUE(store_->AddNote(run, {"ben", "now", std::nullopt, std::nullopt}).ok());
  const auto notes = store_->Notes(run);
  ASSERT_TRUE(notes.ok()) << notes.status();
  ASSERT_EQ(notes->size(), 3u);
  EXPECT_EQ((*notes)[0].message(), "earlier");
  EXPECT_EQ((*notes)[2].message(), "it's \"late\"");
  auto rows = connection_->Query(
      "SELECT string_agg(concat_ws('|', number, seconds, phase_name, phase_seconds, author), ' ' "
      "ORDER BY number) AS list FROM run_notes WHERE run_id = $1 AND message <> 'now'",
      {run});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->Text(0, "list"), "1|5|mix|3|anna 2|0|ben");
}

TEST_F(StoreTest, NotesAreRemovedByTheirAuthorsAndByAdmins) {
  const std::string run = Begin().run_id();
  for (const char* author : {"anna", "ben", "anna"}) {
    ASSERT_TRUE(store_->AddNote(run, {author, "x", std::nullopt, std::nullopt}).ok());
  }
  EXPECT_EQ(store_->RemoveNote(run, 2, "anna").status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(store_->RemoveNote(run, 4, "anna").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->RemoveNote(common::NewUuid(), 1, std::nullopt).status().code(),
            absl::StatusCode::kNotFound);
  const auto own = store_->RemoveNote(run, 1, "anna");
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->number(), 1u);
  EXPECT_EQ(own->author(), "anna");
  // An admin removes anybody's.
  ASSERT_TRUE(store_->RemoveNote(run, 2, std::nullopt).ok());
  const auto left = store_->Notes(run);
  ASSERT_TRUE(left.ok()) << left.status();
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ((*left)[0].number(), 3u);
}

TEST_F(StoreTest, TheNumberOfARemovedNoteIsNotGivenAgain) {
  const std::string run = Begin().run_id();
  const auto add = [&] {
    const auto added = store_->AddNote(run, {"anna", "x", std::nullopt, std::nullopt});
    return added.ok() ? added->number() : 0;
  };
  EXPECT_EQ(add(), 1u);
  EXPECT_EQ(add(), 2u);
  ASSERT_TRUE(store_->RemoveNote(run, 2, "anna").ok());
  EXPECT_EQ(store_->RemoveNote(run, 2, "anna").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->Notes(run)->size(), 1u);
  EXPECT_EQ(add(), 3u);
  // Nor after all are removed, in any order.
  for (const uint32_t number : {3, 1}) ASSERT_TRUE(store_->RemoveNote(run, number, "anna").ok());
  EXPECT_EQ(store_->Notes(run)->size(), 0u);
  auto seen =
      connection_->Query("SELECT count(*) AS notes FROM run_notes WHERE run_id = $1", {run});
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->Int(0, "notes"), 0);
  EXPECT_EQ(add(), 4u);
  // A removed note leaves nothing once there is a later one.
  auto rows = connection_->Query("SELECT count(*) AS rows FROM notes WHERE run_id = $1", {run});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->Int(0, "rows"), 1);
}

TEST_F(StoreTest, NotesOfNoMomentOfTheRunAreRefused) {
  const std::string run = Begin().run_id();
  const auto code_at = [&](int64_t seconds) {
    return store_->AddNote(run, {"anna", "x", seconds * 1000000000, std::nullopt}).status().code();
  };
  EXPECT_EQ(code_at(1000), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code_at(9000000000), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      store_->AddNote(run, {"anna", "x", std::nullopt, int64_t{3600} * 1000000000}).status().code(),
      absl::StatusCode::kInvalidArgument);
  measure::RunRecord waiting;
  waiting.run_id = common::NewUuid();
  waiting.job.set_name("waits");
  ASSERT_TRUE(store_->Enqueue(waiting).ok());
  EXPECT_EQ(store_->AddNote(waiting.run_id, {"anna", "x", std::nullopt, 1}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(store_->AddNote(waiting.run_id, {"anna", "x", std::nullopt, std::nullopt}).ok());
  EXPECT_EQ(
      store_->AddNote(common::NewUuid(), {"anna", "x", std::nullopt, std::nullopt}).status().code(),
      absl::StatusCode::kNotFound);
  ASSERT_TRUE(store_->EndRun(waiting.run_id, {.state = measure::RunState::kCancelled}).ok());
}

TEST_F(StoreTest, ARunHasAtMostSoManyNotes) {
  const std::string run = Begin().run_id();
  ASSERT_TRUE(connection_
                  ->Query(absl::StrCat("INSERT INTO notes (run_id, number, at, author, message) "
                                       "SELECT $1, n, now(), 'anna', 'x' FROM generate_series(1, ",
                                       limits::kNotesOfARun - 1, ") n"),
                          {run})
                  .ok());
  EXPECT_TRUE(store_->AddNote(run, {"anna", "last", std::nullopt, std::nullopt}).ok());
  EXPECT_EQ(store_->AddNote(run, {"anna", "more", std::nullopt, std::nullopt}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->Notes(run)->size(), static_cast<size_t>(limits::kNotesOfARun));
}

}  // namespace
}  // namespace lockstep::storage
