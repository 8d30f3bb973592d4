#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "worker/host/file_identity.h"
#include "worker/host/guard.h"

namespace lockstep::worker {

// A file that Lockstep made has a mark beside it, PATH.lockstep. The mark names the file (inode and
// birth), what it was filled with, and the directories made for it, and the worker that wrote it
// has signed all of that (MarkKeys). Anybody who can write to the directory can write a file of
// that name, and statx(2) tells the inode and the birth of a file that nobody else may read: only
// the signature proves that a worker made the file. The mark lets a run write to the file and a
// cleanup remove it; it works on every file system and for every host that sees the file.

// The contents of the mark beside a file.
struct Mark {
  std::string file;    // which file it is of, as IdentityOf() says
  std::string filled;  // random, zeros, reserved; empty while the file is not complete
  std::vector<Guard::MadeDirectory> directories;
};

// Mark::filled of a file whose content a workload has changed.
inline constexpr char kFilledByWorkload[] = "by a workload";

Guard::AllowedPath MarkPath(Guard::AllowedPath allowed);
// The mark beside `allowed`. NOT_FOUND when no file is there, or one that is no mark;
// FAILED_PRECONDITION, with the reason, when it proves nothing: unsigned, altered, or signed by a
// worker that this store does not know.
absl::StatusOr<Mark> ReadMark(const Guard& guard, const Guard::AllowedPath& allowed);
// Durable when it returns. FAILED_PRECONDITION when something else than a mark has its name.
absl::Status WriteMark(const Guard& guard, const Guard::AllowedPath& allowed, const Mark& mark);
// Records in the mark that the content has changed, so that the next prepare lays the file out
// anew. Does nothing without a mark.
absl::Status NoteChanged(const Guard& guard, const Guard::AllowedPath& allowed);
// Whether the mark belongs to this very file; false when the file's identity is not known.
bool IsOf(const Mark& mark, const common::FileDescriptor& fd);

// OK when `fd`, opened at `allowed`, is a file made by Lockstep; FAILED_PRECONDITION otherwise,
// with the remedy.
absl::Status CheckMadeByLockstep(const Guard& guard, const Guard::AllowedPath& allowed,
                                 const common::FileDescriptor& fd);

// Signs a mark for a file that is there already, for the operator who says that jobs may overwrite
// and remove it. A mark that is there is replaced.
absl::Status Adopt(const Guard& guard, const Guard::AllowedPath& allowed);

}  // namespace lockstep::worker
