#include "common/portable.h"

#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <string_view>

namespace lockstep::common {

// A program of an archive is started by the archive's loader, under the name ROOT/lib/start/NAME.
// The kernel tells this name. /proc/self/exe would lead to the loader, and a root directory without
// anything else has no /proc.
std::string PortableRoot() {
  constexpr std::string_view kStart = "/lib/start/";
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started == nullptr || *started != '/') return "";
  const std::string path(started);
  const size_t end = path.rfind('/') + 1;
  if (end < kStart.size() || path.compare(end - kStart.size(), kStart.size(), kStart) != 0) {
    return "";
  }
  const std::string root = path.substr(0, end - kStart.size());
  return access((root + "/bin/" + path.substr(end)).c_str(), X_OK) == 0 ? root : "";
}

std::string ProgramDirectory() {
  if (const std::string root = PortableRoot(); !root.empty()) return root + "/bin";
  char self[PATH_MAX] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return "";
  const std::string path(self);
  return path.substr(0, path.rfind('/'));
}

}  // namespace lockstep::common
