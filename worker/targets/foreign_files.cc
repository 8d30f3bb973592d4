#include "worker/targets/foreign_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "worker/host/device_content.h"
#include "worker/host/file_identity.h"
#include "worker/targets/marks.h"
#include "xxhash.h"

namespace lockstep::worker {

absl::StatusOr<v1::ForeignFile> DescribeForeign(uint32_t number, const common::FileDescriptor& fd,
                                                const std::string& path) {
  v1::ForeignFile file;
  file.set_file(number);
  file.set_identity(IdentityOf(fd));
  if (file.identity().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": its file system gives files neither a birth time nor a handle, by "
                     "which what was confirmed could be known again"));
  }
  struct stat facts;
  if (fstat(fd.get(), &facts) != 0) return common::ErrnoStatus(errno, path);
  const auto samples = SamplesOf(fd.get(), path);
  if (!samples.ok()) return samples.status();
  // Samples miss what lies between them; whoever writes there changes the time.
  const std::string all = absl::StrCat(facts.st_mtim.tv_sec, ".", facts.st_mtim.tv_nsec, " ",
                                       facts.st_size, " ", *samples);
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits(all.data(), all.size()));
  file.set_fingerprint(bytes.digest, sizeof bytes.digest);
  return file;
}

absl::StatusOr<FileConsent::Answer> FileConsent::Check(const Guard::Place& place, uint32_t number,
                                                       const common::FileDescriptor& fd) const {
  if (const absl::Status made = CheckMadeByLockstep(guard_, place, fd); made.ok()) {
    return Answer{};
  } else if (!guard_.IsExpendableFile(fd, expendable_)) {
    return made;
  }
  const auto& known = target_.foreign_files();
  const auto was = std::find_if(known.begin(), known.end(),
                                [&](const v1::ForeignFile& f) { return f.file() == number; });
  const std::string path = place.path();
  if (was == known.end() || was->identity() != IdentityOf(fd)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": another file than when the run was confirmed has this name; nothing was written. Look "
        "at `lockstep plan` again"));
  }
  // What the run has written itself may be anything.
  if (target_.written_before()) return Answer{true};
  const auto now = DescribeForeign(number, fd, path);
  if (!now.ok()) return now.status();
  if (now->fingerprint() == was->fingerprint()) return Answer{true};
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": somebody has written to it since the run was confirmed; nothing was written. "
                   "Look at `lockstep plan` again"));
}

}  // namespace lockstep::worker
