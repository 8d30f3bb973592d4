#include "storage/postgres_programs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/portable.h"

namespace lockstep::storage {
namespace {

// Debian gives packages numbers below 65000, systemd gives services 61184 to 65519, and 65534 is
// nobody, to whom other programs' files belong. User namespaces mostly have numbers up to 65535.
constexpr uid_t kPortableUser = 65525;

int MajorOf(const std::string& binaries) {
  const size_t end = binaries.rfind("/bin");
  const size_t begin = binaries.rfind('/', end - 1);
  return atoi(binaries.substr(begin + 1, end - begin - 1).c_str());
}

// Debian, Ubuntu and our archives have a directory for each major version.
std::string FindBinariesIn(const std::string& versions, int major) {
  std::string best;
  std::error_code none;
  for (const auto& version : std::filesystem::directory_iterator(versions, none)) {
    const std::string path = version.path().string() + "/bin";
    if (access((path + "/postgres").c_str(), X_OK) != 0 ||
        access((path + "/initdb").c_str(), X_OK) != 0) {
      continue;
    }
    const int here = MajorOf(path);
    if (major != 0 ? here == major
                   : here >= kOldestMajor && (best.empty() || here > MajorOf(best))) {
      best = path;
    }
  }
  return best;
}

}  // namespace

std::string FindBinaries(int major) {
  const std::string root = common::PortableRoot();
  const std::string own = root.empty() ? "" : FindBinariesIn(root + "/lib/postgresql", major);
  return own.empty() ? FindBinariesIn("/usr/lib/postgresql", major) : own;
}

absl::Status VersionMismatch(const std::string& data, const std::string& has,
                             const std::string& newest) {
  return absl::FailedPreconditionError(absl::StrCat(
      data, " was made by PostgreSQL ", has, ", which is not installed (newest: ",
      newest.empty() ? "none" : absl::StrCat(MajorOf(newest)), "). Install postgresql-", has,
      ", or upgrade the cluster:\n  mv ", data, " ", data, ".old\n  ", newest, "/initdb -D ", data,
      " -U lockstep --auth=trust --encoding=UTF8\n  ", newest, "/pg_upgrade -U lockstep -d ", data,
      ".old -D ", data, " -b /usr/lib/postgresql/", has, "/bin -B ", newest));
}

std::optional<common::User> ServerUser(const std::string& directory) {
  struct stat facts;
  // PostgreSQL refuses a cluster of somebody else's. Only root and the server's user can have made
  // the directory there (ClaimDirectory() in embedded.cc).
  if (lstat((directory + "/data").c_str(), &facts) == 0 && facts.st_uid != 0) {
    const auto owner = common::FindUser(facts.st_uid);
    return owner ? owner : common::User{"", facts.st_uid, facts.st_gid};
  }
  if (const auto user = common::FindUser("postgres")) return user;
  if (common::PortableRoot().empty()) return std::nullopt;
  return common::User{"", kPortableUser, kPortableUser};
}

}  // namespace lockstep::storage
