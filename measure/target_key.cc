#include "measure/target_key.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "xxhash.h"

namespace lockstep::measure {

// The key is in the headers of blocks on storage and in the write log. Another hash would make all
// blocks of earlier runs look misplaced.
uint64_t TargetKey(const std::string& thing) { return XXH3_64bits(thing.data(), thing.size()); }

std::string FilePath(const v1::FileTarget& target, uint32_t file, const std::string& host,
                     uint32_t worker_index) {
  const bool numbered = target.path().find("{file}") != std::string::npos;
  std::string path = absl::StrReplaceAll(
      target.path(),
      {{"{host}", host}, {"{worker}", absl::StrCat(worker_index)}, {"{file}", absl::StrCat(file)}});
  if (!numbered && file != 0) absl::StrAppend(&path, ".", file);
  return path;
}

std::string ThingOfFile(const v1::Target& target, const std::string& path,
                        const std::string& host) {
  // One path is a different file on each host, unless the target is shared: then it is one file for
  // all.
  return target.sharing() == v1::SHARING_PRIVATE ? absl::StrCat(path, " on ", host) : path;
}

std::string ThingOfDevice(const std::string& identity, const std::string& path,
                          const std::string& boot_id) {
  if (identity.empty()) return path;
  // A loop device is known by the device and inode numbers of its file, which mean something to one
  // kernel only.
  return absl::StartsWith(identity, "loop-file:") ? absl::StrCat(identity, " of ", boot_id)
                                                  : identity;
}

}  // namespace lockstep::measure
