#include "storage/embedded.h"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"
#include "storage/pg.h"

namespace lockstep::storage {
namespace {

using common::ErrnoStatus;
using common::FileDescriptor;

constexpr int kOldestMajor = 15;
constexpr int kReapTries = 30;    // times 500 ms
constexpr int kStartTries = 600;  // times 100 ms: recovery after a crash may take a while
constexpr size_t kSocketPathLimit = 107 - sizeof("/.s.PGSQL.5432");

int MajorOf(const std::string& binaries) {
  const size_t end = binaries.rfind("/bin");
  const size_t begin = binaries.rfind('/', end - 1);
  return atoi(binaries.substr(begin + 1, end - begin - 1).c_str());
}

// The installed PostgreSQL of this major version, or the newest one when 0. Empty when there is none.
std::string FindBinaries(int major) {
  glob_t found = {};
  std::string best;
  if (glob("/usr/lib/postgresql/*/bin", 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string path = found.gl_pathv[i];
      if (access((path + "/postgres").c_str(), X_OK) != 0 || access((path + "/initdb").c_str(), X_OK) != 0) continue;
      const int here = MajorOf(path);
      if (major != 0 ? here == major : here >= kOldestMajor && (best.empty() || here > MajorOf(best))) best = path;
    }
  }
  globfree(&found);
  return best;
}

const passwd* ServerUser() { return geteuid() == 0 ? getpwnam("postgres") : nullptr; }

// In the child, before exec: gives up root for good, and lets go of the terminal.
void BecomeServerUser(const passwd* user) {
  setsid();
  if (user != nullptr && (initgroups(user->pw_name, user->pw_gid) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)) {
    _exit(126);
  }
}

pid_t Spawn(const std::vector<std::string>& words, const std::string& log_path) {
  const passwd* user = ServerUser();
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  BecomeServerUser(user);
  const int log = open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  if (log >= 0) {
    dup2(log, 1);
    dup2(log, 2);
  }
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (chdir("/") != 0) _exit(126);
  // Messages in English, and nothing of the caller's settings for libpq.
  setenv("LC_ALL", "C.UTF-8", 1);
  unsetenv("PGDATA");
  execv(arguments[0], arguments.data());
  _exit(127);
}

std::string TailOf(const std::string& path) {
  const auto text = common::ReadFile(path);
  if (!text.ok()) return "";
  size_t begin = text->size() > 600 ? text->size() - 600 : 0;
  return text->substr(begin);
}

absl::Status MakeOwnDirectory(const std::string& path, int mode) {
  if (absl::Status status = common::MakeDirectories(path, 0755); !status.ok()) return status;
  if (const passwd* user = ServerUser()) {
    if (chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) return ErrnoStatus(errno, path);
  }
  if (chmod(path.c_str(), mode) != 0) return ErrnoStatus(errno, path);
  return absl::OkStatus();
}

// The postmaster that holds the data directory, or -1.
pid_t LivePostmaster(const std::string& data) {
  const std::string text = common::ReadTrimmed(data + "/postmaster.pid");
  const pid_t pid = atoi(text.c_str());
  if (pid <= 0 || kill(pid, 0) != 0) return -1;
  const std::string name = common::ReadTrimmed(absl::StrCat("/proc/", pid, "/comm"));
  if (name != "postgres") return -1;
  // The number may have been given to another server since: this one works in its data directory.
  struct stat own;
  struct stat here;
  if (stat(absl::StrCat("/proc/", pid, "/cwd").c_str(), &own) != 0 || stat(data.c_str(), &here) != 0) return -1;
  return own.st_dev == here.st_dev && own.st_ino == here.st_ino ? pid : -1;
}

absl::Status VersionMismatch(const std::string& data, const std::string& has, const std::string& newest) {
  return absl::FailedPreconditionError(absl::StrCat(
      data, " was made by PostgreSQL ", has, ", which is not installed (newest: ", newest.empty() ? "none" : absl::StrCat(MajorOf(newest)),
      "). Install postgresql-", has, ", or upgrade the cluster:\n  mv ", data, " ", data, ".old\n  ", newest, "/initdb -D ", data,
      " -U lockstep --auth=trust --encoding=UTF8\n  ", newest, "/pg_upgrade -U lockstep -d ", data, ".old -D ", data,
      " -b /usr/lib/postgresql/", has, "/bin -B ", newest));
}

}  // namespace

std::string EmbeddedPostgres::conninfo() const {
  return absl::StrCat("host=", directory_, "/run port=5432 user=lockstep dbname=lockstep connect_timeout=5");
}

std::string EmbeddedPostgres::reader_conninfo() const {
  return absl::StrCat("host=", directory_, "/run port=5432 user=lockstep_reader dbname=lockstep ", kReaderOptions);
}

absl::StatusOr<std::unique_ptr<EmbeddedPostgres>> EmbeddedPostgres::Start(const std::string& directory) {
  const std::string newest = FindBinaries(0);
  if (newest.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("no PostgreSQL of version ", kOldestMajor,
                                                      " or newer under /usr/lib/postgresql; run tools/install-deps, or give --store postgresql://…"));
  }
  if (geteuid() == 0 && ServerUser() == nullptr) {
    return absl::FailedPreconditionError("PostgreSQL does not run as root and there is no user postgres; give --store postgresql://…");
  }
  if (directory.size() + 4 > kSocketPathLimit) {
    return absl::InvalidArgumentError(absl::StrCat(directory, ": too long for a socket's path; give a shorter --state-dir"));
  }
  if (absl::Status status = MakeOwnDirectory(directory, 0755); !status.ok()) return status;
  const std::string lock_path = directory + "/lock";
  FileDescriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return ErrnoStatus(errno, lock_path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory, ": another controller uses this store; `lockstep status` asks it, --state-dir gives this one its own"));
  }
  if (absl::Status status = MakeOwnDirectory(directory + "/run", 0700); !status.ok()) return status;

  std::unique_ptr<EmbeddedPostgres> server(new EmbeddedPostgres(directory, std::move(lock)));
  const std::string data = directory + "/data";
  std::string binaries = newest;
  if (access((data + "/PG_VERSION").c_str(), F_OK) == 0) {
    const std::string has = common::ReadTrimmed(data + "/PG_VERSION");
    binaries = FindBinaries(atoi(has.c_str()));
    if (binaries.empty()) return VersionMismatch(data, has, newest);
  } else if (absl::Status status = server->Initialise(binaries); !status.ok()) {
    return status;
  }
  server->binaries_ = binaries;
  server->pid_ = LivePostmaster(data);
  if (server->pid_ > 0) {
    spdlog::info("adopting the PostgreSQL that runs in {} (pid {})", data, server->pid_);
  } else if (absl::Status status = server->Launch(binaries); !status.ok()) {
    return status;
  }
  absl::Status ready = server->AwaitReady();
  // A server that was killed, and that nobody has reaped yet, passes for a running one in PostgreSQL's eyes.
  for (int i = 0; !ready.ok() && i < kReapTries && access((data + "/postmaster.pid").c_str(), F_OK) == 0 && LivePostmaster(data) <= 0; ++i) {
    usleep(500000);
    if (absl::Status status = server->Launch(binaries); !status.ok()) return status;
    ready = server->AwaitReady();
  }
  if (!ready.ok()) return ready;
  if (absl::Status status = server->CreateDatabase(); !status.ok()) return status;
  return server;
}

// Into a sibling directory, then renamed: a half-made cluster never has the final name.
absl::Status EmbeddedPostgres::Initialise(const std::string& binaries) {
  const std::string made = absl::StrCat(directory_, "/initdb.", getpid());
  const std::string log = directory_ + "/initdb.log";
  const pid_t pid = Spawn({binaries + "/initdb", "-D", made, "-U", "lockstep", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"}, log);
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return ErrnoStatus(errno, "initdb");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("initdb in ", made, " failed; can the user postgres enter ", directory_, "?\n", TailOf(log)));
  }
  if (rename(made.c_str(), (directory_ + "/data").c_str()) != 0) return ErrnoStatus(errno, directory_ + "/data");
  unlink(log.c_str());
  return absl::OkStatus();
}

absl::Status EmbeddedPostgres::Launch(const std::string& binaries) {
  const std::string data = directory_ + "/data";
  pid_ = Spawn({binaries + "/postgres", "-D", data, "-k", directory_ + "/run", "-p", "5432", "-c", "listen_addresses=", "-c",
                "unix_socket_permissions=0700", "-c", "synchronous_commit=on", "-c", "jit=off", "-c", "max_connections=64", "-c",
                "max_wal_size=2GB"},
               directory_ + "/postgres.log");
  child_ = true;
  return pid_ > 0 ? absl::OkStatus() : ErrnoStatus(errno, "fork");
}

absl::Status EmbeddedPostgres::AwaitReady() {
  const std::string conninfo =
      absl::StrCat("host=", directory_, "/run port=5432 user=lockstep dbname=postgres connect_timeout=5");
  for (int i = 0; i < kStartTries; ++i) {
    int status = 0;
    if (child_ && waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return absl::FailedPreconditionError(
          absl::StrCat("PostgreSQL did not start; the end of ", directory_, "/postgres.log:\n", TailOf(directory_ + "/postgres.log")));
    }
    if (PQping(conninfo.c_str()) == PQPING_OK) return absl::OkStatus();
    usleep(100000);
  }
  return absl::UnavailableError(absl::StrCat("PostgreSQL in ", directory_, " does not answer; see postgres.log there"));
}

absl::Status EmbeddedPostgres::CreateDatabase() {
  auto connection = PgConnection::Open(absl::StrCat("host=", directory_, "/run port=5432 user=lockstep dbname=postgres"));
  if (!connection.ok()) return connection.status();
  auto exists = (*connection)->Query("SELECT FROM pg_database WHERE datname = 'lockstep'");
  if (!exists.ok()) return exists.status();
  return exists->rows() > 0 ? absl::OkStatus() : (*connection)->Execute("CREATE DATABASE lockstep");
}

void EmbeddedPostgres::KeepAlive() {
  int status = 0;
  const bool dead = pid_ <= 0 || (child_ ? waitpid(pid_, &status, WNOHANG) == pid_ : kill(pid_, 0) != 0);
  if (!dead) return;
  spdlog::error("the PostgreSQL in {} has died; starting it again", directory_);
  if (absl::Status started = Launch(binaries_); !started.ok()) spdlog::error("{}", std::string(started.message()));
}

EmbeddedPostgres::~EmbeddedPostgres() {
  if (pid_ <= 0) return;
  kill(pid_, SIGINT);  // fast shutdown
  for (int i = 0; i < 300; ++i) {
    int status = 0;
    if (child_ ? waitpid(pid_, &status, WNOHANG) == pid_ : kill(pid_, 0) != 0) return;
    usleep(100000);
  }
  spdlog::warn("PostgreSQL (pid {}) does not stop", pid_);
}

}  // namespace lockstep::storage
