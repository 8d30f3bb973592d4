#include "controller/daemon/open_store.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "common/files.h"
#include "storage/conninfo.h"

namespace lockstep::controller {
namespace {

// "boot_id/device" underneath a path, to warn about targets on the same one.
std::string DeviceOf(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return "";
  char resolved[PATH_MAX];
  const std::string link = "/sys/dev/block/" + std::to_string(major(facts.st_dev)) + ":" +
                           std::to_string(minor(facts.st_dev));
  // A file system without a block device of its own (NFS, btrfs, overlayfs) has a device number
  // without such a link.
  if (realpath(link.c_str(), resolved) == nullptr) return "";
  std::string device(resolved);
  // In sysfs a partition is a directory within that of its disk, and only it has this file.
  if (access((device + "/partition").c_str(), F_OK) == 0) {
    device = device.substr(0, device.rfind('/'));
  }
  return common::ReadTrimmed("/proc/sys/kernel/random/boot_id") + "/" +
         device.substr(device.rfind('/') + 1);
}

// "boot_id:device number" of the file system that holds a path, as workers name those of targets.
std::string FilesystemOf(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return "";
  return common::ReadTrimmed("/proc/sys/kernel/random/boot_id") + ":" +
         std::to_string(major(facts.st_dev)) + ":" + std::to_string(minor(facts.st_dev));
}

}  // namespace

absl::StatusOr<OpenedStore> OpenStore(const StoreFlags& flags) {
  OpenedStore opened;
  storage::PgStore::Options options;
  if (flags.store.empty()) {
    const std::string directory = flags.state_directory + "/postgres";
    auto embedded = storage::EmbeddedPostgres::Start(directory);
    if (!embedded.ok()) return embedded.status();
    opened.embedded = *std::move(embedded);
    opened.location = {DeviceOf(directory), FilesystemOf(directory), flags.store_filesystem};
    options.conninfo = opened.embedded->conninfo();
    options.reader_conninfo = opened.embedded->reader_conninfo();
    options.description = "embedded PostgreSQL in " + directory;
  } else {
    options.conninfo = flags.store;
    const auto reader = storage::DeriveReaderConninfo(flags.store);
    if (!reader.ok()) return reader.status();
    options.description = storage::AddressText(flags.store);
  }
  opened.conninfo = options.conninfo;
  // The active controller brings the schema up to date (Lead() in main.cc). A standby of a newer
  // version must not change it under the one that is active.
  options.migrates = false;
  auto store = storage::PgStore::Open(std::move(options));
  if (!store.ok()) return store.status();
  opened.store = *std::move(store);
  return opened;
}

}  // namespace lockstep::controller
