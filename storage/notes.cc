// People's notes about runs. The report of a run that has ended is saved, and notes may come later:
// they are stored, and read, by themselves.
//
// The number of a removed note is never given again: who wrote "see note 3" meant that one. Numbers
// go on after the highest, so only the highest has to be remembered. If that note is removed, its
// row stays without author and text (a note always has a text). The row goes when a later note has
// been written, so a run has at most one.

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "measure/states.h"
#include "storage/pg_lease.h"
#include "storage/pg_store.h"

namespace lockstep::storage {
namespace {

// Texts of an archive that somebody else made are cut to what a note may have.
constexpr size_t kAuthorLength = 256;

// As PgStore::Notes() reads them; of `notes n`.
std::string NoteColumns() {
  return absl::StrCat(
      "n.number, to_char(n.at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS at, "
      "left(n.author, ",
      kAuthorLength, ") AS author, left(n.message, ", limits::kNoteBytes, ") AS message");
}

v1::EventReport NoteOf(const PgResult& rows, int row) {
  v1::EventReport note;
  note.set_at(rows.Text(row, "at"));
  note.set_severity(measure::kNoteSeverity);
  note.set_number(static_cast<uint32_t>(rows.Int(row, "number")));
  note.set_author(rows.Text(row, "author"));
  note.set_message(rows.Text(row, "message"));
  return note;
}

PgParam Microseconds(const std::optional<int64_t>& ns) {
  return ns ? PgParam(absl::StrCat(*ns / 1000)) : PgParam();
}

absl::StatusOr<v1::EventReport> InsertNote(PgConnection* connection, const std::string& run_id,
                                           const NewNote& note) {
  // The lock on the run's row orders notes that are written at once, so that their numbers differ
  // and the limit holds. It does not keep a row from referring to the run.
  auto run = connection->Query(
      "SELECT started_at IS NULL AS waits, (SELECT coalesce(max(number), 0) + 1 FROM notes n WHERE "
      "n.run_id = r.run_id) AS next, (SELECT count(*) FROM notes n WHERE n.run_id = r.run_id AND "
      "n.message <> '') AS notes FROM runs r WHERE r.run_id = $1 FOR NO KEY UPDATE OF r",
      {run_id});
  if (!run.ok()) return run.status();
  if (run->rows() == 0) return absl::NotFoundError(absl::StrCat("no run ", run_id));
  if (run->Int(0, "notes") >= limits::kNotesOfARun) {
    return absl::ResourceExhaustedError(absl::StrCat("run ", run_id.substr(0, 8), " has ",
                                                     limits::kNotesOfARun,
                                                     " notes already, which is the limit"));
  }
  if (note.after_start_ns && run->Bool(0, "waits")) {
    return absl::FailedPreconditionError(
        absl::StrCat("run ", run_id.substr(0, 8),
                     " has not started; give a time, or leave it out for a note of now"));
  }
  auto written = connection->Query(
      absl::StrCat(
          "INSERT INTO notes AS n (run_id, number, at, author, message) SELECT r.run_id, "
          "$2::integer, m.at, $5::text, $6::text FROM runs r, LATERAL (SELECT coalesce(timestamptz "
          "'epoch' + $3::bigint * "
          "interval '1 microsecond', r.started_at + $4::bigint * interval '1 microsecond', now()) "
          "AS at) m WHERE r.run_id = $1 AND m.at BETWEEN r.submitted_at - interval '1 day' AND "
          "now() + interval '1 minute' RETURNING ",
          NoteColumns()),
      {run_id, run->Text(0, "next"), Microseconds(note.at_wall_ns),
       Microseconds(note.after_start_ns), note.author, note.message});
  if (!written.ok()) return written.status();
  if (written->rows() == 0) {
    return absl::InvalidArgumentError(
        "the time of the note is more than a day before the run was submitted, or in the future");
  }
  auto forgotten =
      connection->Query("DELETE FROM notes WHERE run_id = $1 AND message = ''", {run_id});
  if (!forgotten.ok()) return forgotten.status();
  return NoteOf(*written, 0);
}

absl::StatusOr<v1::EventReport> DeleteNote(PgConnection* connection, const std::string& run_id,
                                           uint32_t number,
                                           const std::optional<std::string>& author) {
  // As of those who write: which number is the highest does not change before the end.
  auto run = connection->Query("SELECT 1 FROM runs WHERE run_id = $1 FOR NO KEY UPDATE", {run_id});
  if (!run.ok()) return run.status();
  auto removed = connection->Query(
      absl::StrCat("DELETE FROM notes n WHERE n.run_id = $1 AND n.number = $2::bigint AND "
                   "n.message <> '' AND ($3::text IS NULL OR n.author = $3::text) RETURNING ",
                   NoteColumns()),
      {run_id, absl::StrCat(number), author ? PgParam(*author) : PgParam()});
  if (!removed.ok()) return removed.status();
  if (removed->rows() > 0) {
    auto kept = connection->Query(
        "INSERT INTO notes (run_id, number, at, author, message) SELECT $1::uuid, $2::integer, "
        "now(), '', '' WHERE NOT EXISTS (SELECT FROM notes WHERE run_id = $1::uuid AND number > "
        "$2::integer)",
        {run_id, absl::StrCat(number)});
    if (!kept.ok()) return kept.status();
    return NoteOf(*removed, 0);
  }
  auto other = connection->Query(
      "SELECT author FROM notes WHERE run_id = $1 AND number = $2::bigint AND message <> ''",
      {run_id, absl::StrCat(number)});
  if (!other.ok()) return other.status();
  if (other->rows() > 0) {
    return absl::PermissionDeniedError(absl::StrCat("note ", number, " is ",
                                                    other->Text(0, "author"),
                                                    "'s; only its author or an admin removes it"));
  }
  return absl::NotFoundError(absl::StrCat("run ", run_id.substr(0, 8), " has no note ", number,
                                          "; its report lists those that it has"));
}

}  // namespace

absl::StatusOr<v1::EventReport> PgStore::RemoveNote(const std::string& run_id, uint32_t number,
                                                    const std::optional<std::string>& author) {
  v1::EventReport removed;
  const absl::Status status = Transaction([&](PgConnection* connection) -> absl::Status {
    auto deleted = DeleteNote(connection, run_id, number, author);
    if (!deleted.ok()) return deleted.status();
    removed = *std::move(deleted);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return removed;
}

absl::StatusOr<v1::EventReport> PgStore::AddNote(const std::string& run_id, const NewNote& note) {
  v1::EventReport added;
  const absl::Status status = Transaction([&](PgConnection* connection) -> absl::Status {
    auto inserted = InsertNote(connection, run_id, note);
    if (!inserted.ok()) return inserted.status();
    added = *std::move(inserted);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return added;
}

absl::StatusOr<std::vector<v1::EventReport>> PgStore::Notes(const std::string& run_id) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      absl::StrCat("SELECT ", NoteColumns(),
                   " FROM notes n WHERE n.run_id = $1 AND n.message <> '' ORDER BY n.at, n.number "
                   "LIMIT ",
                   limits::kNotesOfARun),
      {run_id});
  if (!rows.ok()) return rows.status();
  std::vector<v1::EventReport> notes;
  for (int i = 0; i < rows->rows(); ++i) notes.push_back(NoteOf(*rows, i));
  return notes;
}

}  // namespace lockstep::storage
