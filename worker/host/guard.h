#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files.h"
#include "common/mutex.h"
#include "proto/worker.pb.h"
#include "worker/host/allowed_directory.h"
#include "worker/host/device_content.h"
#include "worker/host/device_stamp.h"
#include "worker/host/device_use.h"
#include "worker/host/mark_keys.h"
#include "worker/host/time_limit.h"
#include "worker/iscsi/luns.h"

namespace lockstep::worker {

// The exclusive holds (O_EXCL) of one load on the block devices that it writes: while one lives,
// mount, mkfs, swapon, LVM and md are refused the device by the kernel. Thread-safe.
class DeviceClaims {
 public:
  // Holds the device at `probe`, unless it is held here already. UNAVAILABLE when somebody else
  // holds it.
  absl::Status Claim(const common::FileDescriptor& probe, dev_t number, const std::string& path);
  // Another worker of this kernel holds the device; ClaimReleased() checks it from now on.
  void Watch(const common::FileDescriptor& probe, dev_t number, const std::string& path);
  // Holds those watched devices that the other worker has released. FAILED_PRECONDITION when
  // somebody else uses one by then, or when a loop device shows other bytes than before.
  absl::Status ClaimReleased();

 private:
  struct Held {
    std::string path;
    common::FileDescriptor probe;  // O_PATH
    common::FileDescriptor hold;   // invalid while a peer holds it
    std::string shown;             // KernelBlocks::ShownBy() it then
  };
  common::Mutex mutex_;
  std::map<dev_t, Held> held_ ABSL_GUARDED_BY(mutex_);
};

// A change by which this class refuses more than before raises kLowestGuardVersion
// (proto/protocol_version.h): a controller then admits no worker with the guard from before it.

// The only way by which a worker opens what a job names. It opens only what its allow-list covers,
// and only regular files and block devices: it looks at what a path leads to before it opens it. It
// never opens for writing what carries somebody's data. A name alone permits nothing: an allowed
// device is the one that had the name when the worker started, and an allowed directory one that
// only root or the worker's user can have put there (AllowedDirectory). Immutable after Make();
// thread-safe. Refusals are PERMISSION_DENIED or FAILED_PRECONDITION and name the path, the reason
// and the remedy.
class Guard {
 public:
  // `allow`: absolute directories (everything beneath them), devices, files, identities of devices,
  // iSCSI LUNs or, without a LUN, all of a target. `luns` is how these are reached; may be null.
  // `allow_expendable`: identities of devices that carry a signature, and paths of files, that may
  // be overwritten all the same. `keys` sign and check the marks beside files; null for keys that
  // live as long as the guard. NOT_FOUND when an entry does not exist.
  static absl::StatusOr<Guard> Make(const std::vector<std::string>& allow,
                                    const std::vector<std::string>& allow_expendable,
                                    std::shared_ptr<Luns> luns = nullptr,
                                    std::shared_ptr<MarkKeys> keys = nullptr);

  // A path beneath an allowed directory, split at that directory. Links are resolved only when the
  // path is opened.
  struct AllowedPath {
    std::shared_ptr<const AllowedDirectory> directory;
    std::string root;      // its real path
    std::string relative;  // never empty, without ".."
    // the path itself is allowed, not a directory above it: nothing may be made beside it
    bool named = false;
    std::string path() const { return root + "/" + relative; }
  };
  absl::StatusOr<AllowedPath> Locate(const std::string& path) const;

  // Opens a regular file beneath the allowed directory; a link that leads out of it is refused
  // (openat2(2), RESOLVE_BENEATH). The file is checked before it is opened, and the same file is
  // opened then. With O_CREAT | O_EXCL a file is made.
  absl::StatusOr<common::FileDescriptor> Open(const AllowedPath& allowed, int flags,
                                              int mode = 0) const;
  // The nearest directory above the file that exists, as a path descriptor; `rest`, when given,
  // is the way from it to the file.
  absl::StatusOr<common::FileDescriptor> OpenNearest(AllowedPath allowed,
                                                     std::string* rest = nullptr) const;
  // A directory that Lockstep made. Without an identity it is never removed.
  struct MadeDirectory {
    std::string path, identity;
    bool operator==(const MadeDirectory&) const = default;
  };
  // Makes the missing directories above the file, and returns those made, outermost first.
  absl::StatusOr<std::vector<MadeDirectory>> MakeParents(const AllowedPath& allowed) const;
  // Removes the file at `allowed` if `is_it`, given an O_PATH descriptor of it, returns true. The
  // file is first moved aside, so that a file that takes its name in between is never
  // removed. False when `is_it` returned false; the file then keeps its name.
  absl::StatusOr<bool> RemoveIf(
      const AllowedPath& allowed,
      const std::function<bool(const common::FileDescriptor&)>& is_it) const;
  // Removes the directory if it still has its path and is empty; says nothing when it is not.
  void RemoveDirectoryIfEmpty(const MadeDirectory& made) const;

  // Looks at the device at `path` as `use` would open it, and lets go of it again. `ranges`, when
  // given, gets its bytes even where it is refused. `in_use` tells the contents that may be
  // overwritten. DEADLINE_EXCEEDED when the device does not answer.
  absl::StatusOr<v1::BlockDevice> CheckDevice(const std::string& path, const DeviceUse& use,
                                              std::vector<v1::ByteRange>* ranges) const;
  // The path of the one device that is as the target wants it, among those that are allowed here.
  // NOT_FOUND, or FAILED_PRECONDITION where there are several, with what there is.
  absl::StatusOr<std::string> FindDevice(const v1::DeviceTarget& wanted) const;
  // Opens it: for writing under an exclusive hold, under which all is checked. `flags`: of open(2).
  struct OpenedDevice {
    v1::BlockDevice facts;
    common::FileDescriptor fd;
    std::vector<v1::ByteRange> ranges;
  };
  absl::StatusOr<OpenedDevice> OpenDevice(const std::string& path, const DeviceUse& use, int flags,
                                          DeviceClaims* holds) const;

  // Looks at a LUN as `use` would use it: nothing is asked of a portal that the allow-list does not
  // name. `device`, when given, gets what it is even where it is refused. No iSCSI LUN is held
  // exclusively: other initiators may write it.
  absl::StatusOr<LunSpec> CheckLun(const common::IscsiUrl& url, const DeviceUse& use,
                                   v1::BlockDevice* device) const;
  // The LUNs that the allow-list names, as block devices; those that do not answer within the limit
  // say so in `in_use`.
  std::vector<v1::BlockDevice> ListLuns(int64_t limit_ns) const;

  // Whether what carries data may be overwritten all the same: both the job's list and this
  // worker's configuration name it, by a device's identity or a file's real path.
  bool IsExpendable(const std::string& name, const std::vector<std::string>& by_job) const;
  // The same of an open file, by its real path.
  bool IsExpendableFile(const common::FileDescriptor& fd,
                        const std::vector<std::string>& by_job) const;

  // Whether the allow-list covers a device of the inventory.
  bool Allows(const v1::BlockDevice& device) const;
  // The paths by which the allow-list names the device, other than its own.
  std::vector<std::string> LinksOf(const v1::BlockDevice& device) const;
  // The result of a first look at a device that the allow-list covers.
  struct Found {
    bool is_held = false;   // by another program, or by a load: nothing was read
    DeviceContent content;  // of samples
    DeviceStamp stamp;
  };
  absl::StatusOr<Found> WhatIsOn(const v1::BlockDevice& device, int64_t limit_ns) const;

  // Writes a device's stamp, or removes it, under an exclusive hold under which all that `order`
  // says of the device is checked; of a LUN, which cannot be held, as close to it as can be. The
  // caller has asked an admin, and this host's operator. DEADLINE_EXCEEDED when the device does not
  // answer, with words whether its writing has begun: if not, it never will.
  absl::Status Stamp(const v1::StampOrder& order, const std::string& by, const std::string& at,
                     int64_t limit_ns) const;

  // An entry of the allow-list, for callers that open nothing: no file system is asked.
  struct Named {
    enum class Kind { kPath, kDevice, kIdentity, kLun };
    std::string text;
    Kind kind = Kind::kPath;  // kPath: a directory or a file
    // The identity of a device, as it was when the worker started.
    std::string identity;
    uint64_t disk_sequence = 0;
    // The path to which a directory or a file led then, without links.
    std::string real_path;
  };
  std::vector<Named> Names() const;

  const std::vector<std::string>& allow() const { return allow_; }
  const std::vector<std::string>& allow_expendable() const { return allow_expendable_; }
  const MarkKeys& mark_keys() const { return *keys_; }

 private:
  // An entry of the allow-list, and, of a device, which one had the name when the worker started.
  struct Entry {
    std::string text;
    std::shared_ptr<const AllowedDirectory> directory;  // of a directory, or the one of a file
    std::string file;                                   // of a file: its name there
    bool by_identity = false;
    bool is_lun = false;  // or all of a target
    bool is_device = false;
    std::string identity;
    uint64_t disk_sequence = 0;
    std::string real_path;  // when the worker started, of a path
  };
  static absl::Status ResolvePath(Entry* entry);
  // A device that was looked at and not opened.
  struct Probe {
    common::FileDescriptor fd;  // O_PATH
    dev_t number = 0;
    std::string real_path;
  };
  static absl::StatusOr<Probe> ProbePath(const std::string& path);
  // The present path of a device, or of a directory of devices, without links. Empty for other
  // entries, and if the name no longer permits anything.
  static std::string PathOfEntry(const Entry& entry);
  // Whether the name, or the identity, of what was looked at is allowed: enough to open it for a
  // closer look.
  bool IsNamed(const std::string& real_path, const std::string& identity) const;
  absl::Status CheckAllowed(const std::string& path, const Probe& probe,
                            const v1::BlockDevice& device) const;
  // Checks that the device is enrolled, is blank, or has contents that may be overwritten; `device`
  // gets the result. For a device that is only read, only its stamp is read.
  absl::Status CheckContentOf(const std::string& path, int fd, const DeviceUse& use,
                              v1::BlockDevice* device) const;
  // How closely what a device carries is looked at before it is written.
  static ContentDepth DepthOf(const DeviceUse& use);
  absl::Status CheckContent(const std::string& path, const DeviceContent& found,
                            const DeviceUse& use, v1::BlockDevice* device) const;
  // Takes down an enrolled device's stamp. FAILED_PRECONDITION when the run was admitted with
  // another state of it.
  absl::Status CheckStamp(const std::string& path, const DeviceStamp& stamp, const DeviceUse& use,
                          v1::BlockDevice* device) const;
  absl::Status CheckLunAllowed(const common::IscsiUrl& url) const;
  absl::Status StampDevice(const v1::StampOrder& order, const std::string& by,
                           const std::string& at, const BeginChange& begin) const;
  absl::Status StampLun(const common::IscsiUrl& url, const v1::StampOrder& order,
                        const std::string& by, const std::string& at, int64_t limit_ns,
                        const BeginChange& begin) const;
  absl::Status NotAllowed(const std::string& path) const;

  std::vector<std::string> allow_;  // as configured
  std::vector<Entry> entries_;
  std::vector<std::string> allow_expendable_;
  std::shared_ptr<Luns> luns_;
  std::shared_ptr<const MarkKeys> keys_;
};

}  // namespace lockstep::worker
