#include "worker/targets/foreign_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/host/device_content.h"
#include "worker/host/file_identity.h"
#include "worker/targets/marks.h"
#include "xxhash.h"

namespace lockstep::worker {

namespace {

// The first byte of a fingerprint says how deep it is.
constexpr char kWhole = 'w';
constexpr char kSamples = 's';

FileDepth DepthOf(const std::string& fingerprint) {
  return !fingerprint.empty() && fingerprint[0] == kWhole ? FileDepth::kWhole : FileDepth::kSamples;
}

absl::StatusOr<std::string> HashOfAll(const common::FileDescriptor& fd, const std::string& path) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<char> buffer(1 << 20);
  for (off_t at = 0;;) {
    const ssize_t got = pread(fd.get(), buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(absl::StrCat(path, ": ", common::ErrnoText(errno)));
    if (got == 0) break;
    XXH3_128bits_update(state.get(), buffer.data(), static_cast<size_t>(got));
    at += got;
  }
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(state.get()));
  return std::string(reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest);
}

}  // namespace

absl::StatusOr<v1::ForeignFile> DescribeForeign(uint32_t number, const common::FileDescriptor& fd,
                                                const std::string& path, FileDepth depth) {
  v1::ForeignFile file;
  file.set_file(number);
  file.set_identity(IdentityOf(fd));
  if (file.identity().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": its file system gives files neither a birth time nor a handle, by "
                     "which what was confirmed could be known again"));
  }
  // Pages that somebody has mapped and written to are clean afterwards: the next write to one of
  // them is a fault, which changes the time of modification.
  (void)fsync(fd.get());
  struct stat facts;
  if (fstat(fd.get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  const auto content = depth == FileDepth::kWhole ? HashOfAll(fd, path) : SamplesOf(fd.get(), path);
  if (!content.ok()) return content.status();
  // A writer may set back the time of modification (utimensat(2)), but not that of change.
  const std::string all =
      absl::StrCat(facts.st_mtim.tv_sec, ".", facts.st_mtim.tv_nsec, " ", facts.st_ctim.tv_sec, ".",
                   facts.st_ctim.tv_nsec, " ", facts.st_size, " ", *content);
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits(all.data(), all.size()));
  file.set_fingerprint(
      std::string(1, depth == FileDepth::kWhole ? kWhole : kSamples) +
      std::string(reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest));
  return file;
}

absl::StatusOr<FileConsent::Answer> FileConsent::Check(const Guard::AllowedPath& allowed,
                                                       uint32_t number,
                                                       const common::FileDescriptor& fd) const {
  const absl::Status made = CheckMadeByLockstep(guard_, allowed, fd);
  if (made.ok()) return Answer{};
  if (!guard_.IsExpendableFile(fd, expendable_)) return made;
  const auto& known = target_.foreign_files();
  const auto was = std::find_if(known.begin(), known.end(),
                                [&](const v1::ForeignFile& f) { return f.file() == number; });
  const std::string path = allowed.path();
  if (was == known.end() || was->identity() != IdentityOf(fd)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": another file than when the run was confirmed has this name; nothing was written. Look "
        "at `lockstep plan` again"));
  }
  // After the run has written to the target, what it left in this file; else what was confirmed.
  std::vector<std::string> expected;
  for (const v1::LeftContent& left : target_.left_contents()) {
    if (left.file() == number) expected.push_back(left.fingerprint());
  }
  if (expected.empty()) {
    // A worker of the last phase that wrote the target did not say what it left.
    // The content is the run's own, and nobody can say any more what it has to be.
    if (target_.written_before() && target_.left_contents().empty()) return Answer{true};
    expected.push_back(was->fingerprint());
  }
  // Each worker that could write the file has reported it, and only the last to read it saw the
  // writes of all. One fingerprint that fits is enough.
  for (const std::string& one : expected) {
    const auto now = DescribeForeign(number, fd, path, DepthOf(one));
    if (!now.ok()) return now.status();
    if (now->fingerprint() == one) return Answer{true};
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": does not hold what it held when the run ",
                   target_.written_before() ? "had last written to it" : "was confirmed",
                   "; nothing was written. Look at `lockstep plan` again"));
}

}  // namespace lockstep::worker
