#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "proto/worker.pb.h"

namespace lockstep::worker {

// The only way by which a worker opens what a job names. It opens nothing outside its allow-list and never opens for
// writing what carries somebody's data. Immutable after Make(); thread-safe. Refusals are PERMISSION_DENIED or FAILED_PRECONDITION and
// name the path, the reason and the remedy.
class Guard {
 public:
  // `allow`: absolute directories (everything beneath them), devices, or files. `allow_expendable`: identities of
  // devices that carry a signature, and paths of files, that may be overwritten all the same. NOT_FOUND when an entry does not exist.
  static absl::StatusOr<Guard> Make(const std::vector<std::string>& allow,
                                    const std::vector<std::string>& allow_expendable);

  // A path that lies beneath an allowed directory, split there. Links are followed only at the opening.
  struct Place {
    std::string root;      // real path of the allowed directory
    std::string relative;  // never empty, without ".."
    bool named = false;    // the path itself is allowed, not a directory above it: nothing may be made beside it
    std::string path() const { return root + "/" + relative; }
  };
  absl::StatusOr<Place> Locate(const std::string& path) const;

  // Opens beneath the allowed directory; a link that leads out of it is refused (openat2(2), RESOLVE_BENEATH).
  absl::StatusOr<common::FileDescriptor> Open(const Place& place, int flags, int mode = 0) const;
  // The nearest directory above the place that exists, as a path descriptor.
  absl::StatusOr<common::FileDescriptor> OpenNearest(Place place) const;
  // Makes the missing directories above the place, and returns those made, outermost first.
  absl::StatusOr<std::vector<std::string>> MakeParents(const Place& place) const;
  absl::Status Remove(const Place& place) const;
  // Removes a directory if it is empty; says nothing when it is not.
  void RemoveDirectoryIfEmpty(const std::string& path) const;

  // Whether the device at `path` may be used, and for writing: allowed, a block device, of `identity` where one is
  // required, and (for writing) not mounted, swap, held or carrying a signature that is not expendable.
  absl::StatusOr<v1::BlockDevice> CheckDevice(const std::string& path, const std::string& identity, bool write,
                                              const std::vector<std::string>& expendable) const;
  // CheckDevice, then opens and checks again on the open descriptor that it is the same device.
  absl::StatusOr<common::FileDescriptor> OpenDevice(const std::string& path, const std::string& identity, bool write,
                                                    const std::vector<std::string>& expendable, int flags) const;

  // Whether what carries data may be overwritten all the same: both the job's list and this worker's configuration name
  // it, by a device's identity or a file's real path.
  bool IsExpendable(const std::string& name, const std::vector<std::string>& by_job) const;

  const std::vector<std::string>& allow() const { return allow_; }
  const std::vector<std::string>& allow_expendable() const { return allow_expendable_; }

 private:
  std::vector<std::string> allow_;       // as configured
  std::vector<std::string> real_allow_;  // links followed
  std::vector<std::string> allow_expendable_;
};

}  // namespace lockstep::worker
