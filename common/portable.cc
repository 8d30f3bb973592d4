#include "common/portable.h"

#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <string_view>

namespace lockstep::common {

// The starter of an archive executes ROOT/lib/start/NAME, a link to the archive's loader, which
// then loads ROOT/lib/programs/NAME. The auxiliary vector has one of the two names: the kernel
// writes the first one, and a loader that was started as a program replaces it by the second one
// (glibc, elf/rtld.c). /proc/self/exe would lead to the loader, and an empty root directory has no
// /proc.
std::string PortableRoot() {
  const auto* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (started == nullptr || *started != '/') return "";
  const std::string path(started);
  const size_t end = path.rfind('/') + 1;
  for (const std::string_view directory : {"/lib/programs/", "/lib/start/"}) {
    if (end < directory.size()) continue;
    const size_t begin = end - directory.size();
    if (path.compare(begin, directory.size(), directory) != 0) continue;
    const std::string root = path.substr(0, begin);
    if (access((root + "/bin/" + path.substr(end)).c_str(), X_OK) == 0) return root;
  }
  return "";
}

std::string ProgramDirectory() {
  if (const std::string root = PortableRoot(); !root.empty()) return root + "/bin";
  char self[PATH_MAX] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return "";
  const std::string path(self);
  return path.substr(0, path.rfind('/'));
}

}  // namespace lockstep::common
