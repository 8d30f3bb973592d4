#include "worker/verify/mismatch_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/limits.h"

namespace lockstep::worker {
namespace {

namespace fs = std::filesystem;

constexpr size_t kIdLength = 36;

struct Saved {
  int64_t bytes = 0;
  fs::file_time_type newest = fs::file_time_type::min();
  std::vector<fs::path> directories;
};

// Lists what is there, by run. Other names were not saved here, and are left alone.
std::map<std::string, Saved> ListRuns(const std::string& directory) {
  std::map<std::string, Saved> runs;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    const std::string run_id = name.substr(0, kIdLength);
    // A link could lead the removal of a run to somewhere else.
    if (!common::IsUuid(run_id) || entry.is_symlink(ignored)) continue;
    Saved& saved = runs[run_id];
    saved.directories.push_back(entry.path());
    for (const auto& file : fs::directory_iterator(entry.path(), ignored)) {
      const auto size = file.file_size(ignored);
      if (!ignored) saved.bytes += static_cast<int64_t>(size);
      saved.newest = std::max(saved.newest, file.last_write_time(ignored));
    }
  }
  return runs;
}

void RemoveAll(const Saved& saved) {
  std::error_code ignored;
  for (const fs::path& directory : saved.directories) fs::remove_all(directory, ignored);
}

// Makes room for so many bytes: the runs that were saved longest ago go.
void EvictOldest(std::map<std::string, Saved> runs, const std::string& keep, int64_t bytes) {
  int64_t all = bytes;
  for (const auto& [id, saved] : runs) all += saved.bytes;
  // The run that saves must not lose what it has just saved.
  runs.erase(keep);
  while (all > limits::kMismatchBytes && !runs.empty()) {
    const auto oldest = std::min_element(
        runs.begin(), runs.end(),
        [](const auto& a, const auto& b) { return a.second.newest < b.second.newest; });
    RemoveAll(oldest->second);
    all -= oldest->second.bytes;
    runs.erase(oldest);
  }
}

}  // namespace

absl::StatusOr<std::string> MismatchFiles::Save(const std::string& run_id, uint32_t phase,
                                                uint32_t attempt, const std::string& name,
                                                const std::string& bytes) const {
  if (directory_.empty()) return absl::FailedPreconditionError("nothing is saved here");
  auto runs = ListRuns(directory_);
  const auto size = static_cast<int64_t>(bytes.size());
  if (runs[run_id].bytes + size > limits::kMismatchRunBytes) {
    return absl::ResourceExhaustedError("the run has saved enough blocks that do not match");
  }
  EvictOldest(std::move(runs), run_id, size);
  const std::string folder =
      absl::StrCat(directory_, "/", run_id, "-phase", phase, "-attempt", attempt);
  // The blocks are what was read from the target, of which others on the host must not see
  // anything.
  for (const std::string& each : {directory_, folder}) {
    if (absl::Status made = common::MakePrivateDirectory(each); !made.ok()) return made;
  }
  const std::string path = absl::StrCat(folder, "/", name);
  const common::FileDescriptor fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return common::ErrnoStatus(errno, path);
  if (write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    const int error = errno;
    // A part of a block must not be taken for the whole.
    unlink(path.c_str());
    return common::ErrnoStatus(error, path);
  }
  return path;
}

void MismatchFiles::Remove(const std::vector<std::string>& run_ids) const {
  if (directory_.empty()) return;
  const auto runs = ListRuns(directory_);
  for (const std::string& run_id : run_ids) {
    const auto found = runs.find(run_id);
    if (found != runs.end()) RemoveAll(found->second);
  }
}

}  // namespace lockstep::worker
