#include "storage/embedded.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text.h"
#include "storage/pg.h"
#include "storage/postgres_programs.h"

namespace lockstep::storage {
namespace {

using common::ErrnoStatus;
using common::FileDescriptor;

constexpr int kReapTries = 30;    // times 500 ms
constexpr int kHolderTries = 50;  // times 100 ms
constexpr int kStartTries = 600;  // times 100 ms: recovery after a crash may take a while
// A socket's path has 108 bytes, the final NUL among them (unix(7)).
constexpr size_t kSocketPathLimit = 107 - sizeof("/.s.PGSQL.5432");

// How the server is reached, as the begin of a connection string. A path may have blanks (libpq,
// "Connection Strings").
std::string ServerOf(const std::string& directory) {
  const std::string path = absl::StrReplaceAll(directory, {{"\\", "\\\\"}, {"'", "\\'"}});
  return absl::StrCat("host='", path, "/run' port=5432");
}

// Everything that a child needs, made before the fork: this process has threads, so that between
// fork and exec only system calls may be made.
class Program {
 public:
  Program(std::vector<std::string> words, const std::string& log_path,
          const std::optional<common::User>& user)
      : words_(std::move(words)),
        log_path_(log_path),
        not_executed_(absl::StrCat(words_[0],
                                   ": cannot be executed; can its user enter each directory above "
                                   "it?\n")) {
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
    if (user) {
      becomes_ = true;
      uid_ = user->uid;
      gid_ = user->gid;
      int count = 64;
      groups_.resize(static_cast<size_t>(count));
      // With more than 64 groups none is taken over: the server's files belong to its user, and it
      // needs no other group.
      if (getgrouplist(user->name.c_str(), gid_, groups_.data(), &count) < 0) count = 0;
      groups_.resize(static_cast<size_t>(count));
    }
    // PGDATA, PGPORT and the like of whoever started the controller could change the settings of
    // the server. The locale is fixed, so its messages are in English.
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text(*entry);
      if (text.rfind("PG", 0) != 0 && text.rfind("LC_", 0) != 0 && text.rfind("LANG", 0) != 0) {
        settings_.push_back(text);
      }
    }
    settings_.push_back("LC_ALL=C.UTF-8");
    for (std::string& setting : settings_) environment_.push_back(setting.data());
    environment_.push_back(nullptr);
  }

  // The child's pid, or -1 with errno.
  pid_t Start() {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    // A session of its own: Ctrl-C at the controller's terminal ends the controller, which then
    // ends the server in its order. A signal to the whole group would end the server first.
    setsid();
    // Gives up root for good. glibc's setresuid() signals every thread to change its ids (nptl(7)),
    // and after fork(2) these threads do not exist in the child. The system calls change the only
    // thread that is left.
    if (becomes_ && (syscall(SYS_setgroups, groups_.size(), groups_.data()) != 0 ||
                     syscall(SYS_setresgid, gid_, gid_, gid_) != 0 ||
                     syscall(SYS_setresuid, uid_, uid_, uid_) != 0)) {
      _exit(126);
    }
    // The log is opened after root was given up, and no link is followed: the directory belongs to
    // the server's user, who could otherwise make root append to any file.
    const int log = open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    if (log >= 0) {
      dup2(log, 1);
      dup2(log, 2);
    }
    // The server must not inherit the controller's sockets: a listening one would stay bound after
    // the controller's death, and its successor could not listen.
    syscall(SYS_close_range, 3, ~0U, 0);
    sigset_t none;
    sigemptyset(&none);
    // A signal mask survives execve(2). The controller blocks the signals by which a postmaster is
    // stopped.
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    if (chdir("/") != 0) _exit(126);
    // Each process of the server inherits it. A limit that a session may set for itself (work_mem,
    // and the memory of a DO block) cannot be its limit. Beyond this one a statement fails with
    // "out of memory", and the server goes on. Shared memory does not count (setrlimit(2),
    // RLIMIT_DATA).
    const rlimit memory = {limits::kServerProcessBytes, limits::kServerProcessBytes};
    if (setrlimit(RLIMIT_DATA, &memory) != 0) _exit(126);
    execve(arguments_[0], arguments_.data(), environment_.data());
    [[maybe_unused]] const ssize_t said = write(2, not_executed_.data(), not_executed_.size());
    _exit(127);
  }

 private:
  std::vector<std::string> words_;
  const std::string log_path_;
  const std::string not_executed_;
  std::vector<char*> arguments_;
  std::vector<std::string> settings_;
  std::vector<char*> environment_;
  bool becomes_ = false;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
};

// A small file in a directory that the server's user owns: a link there is not followed, and
// nothing but a regular file is read.
std::string ReadOwned(const std::string& path) {
  constexpr size_t kMaxTailBytes = 65536;
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts;
  if (!fd.valid() || fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  std::string text(kMaxTailBytes, '\0');
  const off_t from = facts.st_size > static_cast<off_t>(kMaxTailBytes)
                         ? facts.st_size - static_cast<off_t>(kMaxTailBytes)
                         : 0;
  const ssize_t got = pread(fd.get(), text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

std::string TailOf(const std::string& path) {
  constexpr size_t kShown = 600;
  const std::string text = ReadOwned(path);
  return common::PrintableLines(text.size() > kShown ? text.substr(text.size() - kShown) : text);
}

// The directory `name` in `parent`, made where it is not there, the server's user's own, with this
// mode. Everything is done on descriptors: in a directory that the server's user owns, a link could
// lead a change by root anywhere.
absl::StatusOr<FileDescriptor> OwnDirectory(int parent, const std::string& name,
                                            const std::string& path, mode_t mode,
                                            const std::optional<common::User>& user) {
  if (mkdirat(parent, name.c_str(), mode) != 0 && errno != EEXIST) return ErrnoStatus(errno, path);
  FileDescriptor directory(
      openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) {
    if (errno == ELOOP || errno == ENOTDIR) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": a link, or no directory; it is left alone. Give --state-dir another place"));
    }
    return ErrnoStatus(errno, path);
  }
  if (user && fchown(directory.get(), user->uid, user->gid) != 0) return ErrnoStatus(errno, path);
  if (fchmod(directory.get(), mode) != 0) return ErrnoStatus(errno, path);
  return directory;
}

// The postmaster that holds the data directory, or -1.
pid_t LivePostmaster(const std::string& data) {
  const std::string text = ReadOwned(data + "/postmaster.pid");
  const pid_t pid = atoi(text.c_str());
  if (pid <= 0 || kill(pid, 0) != 0) return -1;
  const std::string name = common::ReadTrimmed(absl::StrCat("/proc/", pid, "/comm"));
  if (name != "postgres") return -1;
  // The number may belong to another PostgreSQL by now. A postmaster's working directory is its
  // data directory, so that /proc tells whose it is.
  struct stat own;
  struct stat here;
  if (stat(absl::StrCat("/proc/", pid, "/cwd").c_str(), &own) != 0 ||
      stat(data.c_str(), &here) != 0) {
    return -1;
  }
  return own.st_dev == here.st_dev && own.st_ino == here.st_ino ? pid : -1;
}

// Whether a signal that ends this program waits: the program blocks them.
bool IsAskedToEnd() {
  sigset_t pending;
  return sigpending(&pending) == 0 &&
         (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

// The address in a lock that another controller has; empty if it does not listen yet.
std::string HolderOf(int lock) {
  char address[256];
  const ssize_t read = pread(lock, address, sizeof address, 0);
  const std::string text(address, static_cast<size_t>(std::max<ssize_t>(0, read)));
  return common::IsPlainLine(text) ? text : "";
}

// Makes the store's directories where they are missing, and takes the lock that one controller has.
absl::StatusOr<FileDescriptor> ClaimDirectory(const std::string& directory,
                                              const std::optional<common::User>& user) {
  if (!common::IsPlainLine(directory) || directory.find(',') != std::string::npos) {
    // A comma in the name of a server begins another server's name (libpq), and cannot be escaped.
    return absl::InvalidArgumentError(
        absl::StrCat(common::Printable(directory),
                     ": has a comma or control characters; give another --state-dir"));
  }
  if (directory.size() + 4 > kSocketPathLimit) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, ": too long for a socket's path; give a shorter --state-dir"));
  }
  const size_t slash = directory.rfind('/');
  const std::string parent_path = slash == std::string::npos ? "."
                                  : slash == 0               ? "/"
                                                             : directory.substr(0, slash);
  if (absl::Status status = common::MakeDirectories(parent_path, 0711); !status.ok()) return status;
  const FileDescriptor parent(open(parent_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return ErrnoStatus(errno, parent_path);
  const auto own = OwnDirectory(
      parent.get(), slash == std::string::npos ? directory : directory.substr(slash + 1), directory,
      0711, user);
  if (!own.ok()) return own.status();
  const std::string lock_path = directory + "/lock";
  // The kernel releases the lock when this process ends, in whatever way. O_CLOEXEC keeps it from
  // the server: a lock of flock(2) lasts until every copy of the descriptor is closed.
  FileDescriptor lock(
      openat(own->get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!lock.valid()) return ErrnoStatus(errno, lock_path);
  bool locked = flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
  std::string holder;
  // One that is starting says its address soon, and without that nobody finds it.
  for (int i = 0; i < kHolderTries && !locked; ++i) {
    holder = HolderOf(lock.get());
    if (!holder.empty() || IsAskedToEnd()) break;
    usleep(100000);
    locked = flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
  }
  if (!locked) {
    return absl::FailedPreconditionError(absl::StrCat(
        directory, ": ",
        holder.empty()
            ? "another controller uses this store, and does not listen yet; try again"
            : absl::StrCat("the controller at ", holder,
                           " uses this store; `lockstep --controller ", holder, " status` asks it"),
        ", or give this one its own --state-dir"));
  }
  // Until this controller listens, nobody is told the address of an earlier one.
  if (ftruncate(lock.get(), 0) != 0) return ErrnoStatus(errno, lock_path);
  if (const auto run = OwnDirectory(own->get(), "run", directory + "/run", 0700, user); !run.ok()) {
    return run.status();
  }
  return lock;
}

}  // namespace

void EmbeddedPostgres::WriteHolderAddress(const std::string& address) {
  // The lock protects the store, the address only helps whoever finds it taken. A full disk must
  // not end a controller for that.
  if (pwrite(lock_.get(), address.data(), address.size(), 0) < 0) {
    log::Warn("{}/lock: {}", directory_, common::ErrnoText(errno));
  }
}

std::string EmbeddedPostgres::conninfo() const {
  return ServerOf(directory_) + " user=lockstep dbname=lockstep connect_timeout=5";
}

std::string EmbeddedPostgres::reader_conninfo() const {
  return absl::StrCat(ServerOf(directory_), " user=lockstep_reader dbname=lockstep ",
                      kReaderOptions);
}

absl::StatusOr<std::unique_ptr<EmbeddedPostgres>> EmbeddedPostgres::Start(
    const std::string& directory) {
  const std::string newest = FindBinaries(0);
  if (newest.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no PostgreSQL of version ", kOldestMajor,
                     " or newer beside this program or under /usr/lib/postgresql; install "
                     "postgresql-15, or give --store postgresql://…"));
  }
  std::optional<common::User> user;
  if (geteuid() == 0) {
    user = ServerUser(directory);
    if (!user) {
      return absl::FailedPreconditionError(
          "PostgreSQL does not run as root and there is no user postgres; give --store "
          "postgresql://…");
    }
  }
  auto lock = ClaimDirectory(directory, user);
  if (!lock.ok()) return lock.status();
  std::unique_ptr<EmbeddedPostgres> server(
      new EmbeddedPostgres(directory, *std::move(lock), std::move(user)));
  const std::string data = directory + "/data";
  std::string binaries = newest;
  if (access((data + "/PG_VERSION").c_str(), F_OK) == 0) {
    const std::string has = std::to_string(atoi(ReadOwned(data + "/PG_VERSION").c_str()));
    binaries = FindBinaries(atoi(has.c_str()));
    if (binaries.empty()) return VersionMismatch(data, has, newest);
  } else if (absl::Status status = server->Initialise(binaries); !status.ok()) {
    return status;
  }
  server->binaries_ = binaries;
  server->pid_ = LivePostmaster(data);
  if (server->pid_ > 0) {
    log::Info("adopting the PostgreSQL that runs in {} (pid {})", data, server->pid_);
  } else if (absl::Status status = server->Launch(binaries); !status.ok()) {
    return status;
  }
  absl::Status ready = server->AwaitReady();
  // A killed server stays a zombie until its parent has waited for it. Until then kill(2) finds the
  // pid that postmaster.pid names, and the new postmaster takes it for a running server and ends.
  for (int i = 0;
       !ready.ok() && i < kReapTries && access((data + "/postmaster.pid").c_str(), F_OK) == 0 &&
       LivePostmaster(data) <= 0;
       ++i) {
    usleep(500000);
    if (absl::Status status = server->Launch(binaries); !status.ok()) return status;
    ready = server->AwaitReady();
  }
  if (!ready.ok()) return ready;
  if (absl::Status status = server->CreateDatabase(); !status.ok()) return status;
  return server;
}

// initdb works in a sibling directory that is renamed afterwards: a half-made cluster never has the
// final name. --auth=trust is safe because the only way in is the socket, whose directory only the
// server's user and root enter.
absl::Status EmbeddedPostgres::Initialise(const std::string& binaries) {
  const std::string made = absl::StrCat(directory_, "/initdb.", getpid());
  const std::string log = directory_ + "/initdb.log";
  const pid_t pid = Spawn({binaries + "/initdb", "-D", made, "-U", "lockstep", "--auth=trust",
                           "--encoding=UTF8", "--locale=C.UTF-8"},
                          log);
  // Follows no link. A copy that failed, on a full disk, would take up the rest of it.
  const auto discard = [&made] {
    std::error_code none;
    std::filesystem::remove_all(made, none);
  };
  int status = 0;
  pid_t ended = 0;
  for (; pid > 0 && ended == 0; usleep(20000)) {
    ended = waitpid(pid, &status, WNOHANG);
    if (ended != 0 || !IsAskedToEnd()) continue;
    // Its group: initdb has started servers of its own. It may not have become the first of it yet.
    for (const pid_t one : {-pid, pid}) kill(one, SIGKILL);
    waitpid(pid, &status, 0);
    discard();
    return absl::CancelledError(made + ": initdb was ended by a signal to this program");
  }
  if (ended != pid) return ErrnoStatus(errno, "initdb");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    discard();
    return absl::FailedPreconditionError(absl::StrCat("initdb in ", made,
                                                      " failed; can the server's user enter ",
                                                      directory_, "?\n", TailOf(log)));
  }
  if (rename(made.c_str(), (directory_ + "/data").c_str()) != 0) {
    return ErrnoStatus(errno, directory_ + "/data");
  }
  unlink(log.c_str());
  return absl::OkStatus();
}

pid_t EmbeddedPostgres::Spawn(const std::vector<std::string>& words,
                              const std::string& log_path) const {
  return Program(words, log_path, user_).Start();
}

absl::Status EmbeddedPostgres::Launch(const std::string& binaries) {
  const std::string data = directory_ + "/data";
  // `lockstep.embedded` tells interface/4_roles.sql that the whole cluster is Lockstep's own. A
  // reader's connections (20 at most) leave most of the 64 to the controller. temp_file_limit is in
  // KiB.
  pid_ = Spawn({binaries + "/postgres",
                "-D",
                data,
                "-k",
                directory_ + "/run",
                "-p",
                "5432",
                "-c",
                "listen_addresses=",
                "-c",
                "lockstep.embedded=on",
                "-c",
                "unix_socket_permissions=0700",
                "-c",
                "synchronous_commit=on",
                "-c",
                "jit=off",
                "-c",
                "max_connections=64",
                "-c",
                "max_wal_size=2GB",
                "-c",
                absl::StrCat("temp_file_limit=", limits::kServerTempBytes / 1024)},
               directory_ + "/postgres.log");
  child_ = true;
  return pid_ > 0 ? absl::OkStatus() : ErrnoStatus(errno, "fork");
}

absl::Status EmbeddedPostgres::AwaitReady() {
  // At the first start the database `lockstep` does not exist yet.
  const std::string conninfo =
      ServerOf(directory_) + " user=lockstep dbname=postgres connect_timeout=5";
  for (int i = 0; i < kStartTries; ++i) {
    int status = 0;
    if (child_ && waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return absl::FailedPreconditionError(absl::StrCat("PostgreSQL did not start; the end of ",
                                                        directory_, "/postgres.log:\n",
                                                        TailOf(directory_ + "/postgres.log")));
    }
    if (PQping(conninfo.c_str()) == PQPING_OK) return absl::OkStatus();
    usleep(100000);
  }
  return absl::UnavailableError(
      absl::StrCat("PostgreSQL in ", directory_, " does not answer; see postgres.log there"));
}

absl::Status EmbeddedPostgres::CreateDatabase() {
  auto connection = PgConnection::Open(ServerOf(directory_) + " user=lockstep dbname=postgres");
  if (!connection.ok()) return connection.status();
  auto exists = (*connection)->Query("SELECT FROM pg_database WHERE datname = 'lockstep'");
  if (!exists.ok()) return exists.status();
  return exists->rows() > 0 ? absl::OkStatus() : (*connection)->Execute("CREATE DATABASE lockstep");
}

void EmbeddedPostgres::KeepAlive() {
  int status = 0;
  // waitpid(2) reports children only: an adopted server is none, so its pid is probed instead.
  const bool dead =
      pid_ <= 0 || (child_ ? waitpid(pid_, &status, WNOHANG) == pid_ : kill(pid_, 0) != 0);
  if (!dead) return;
  log::Error("the PostgreSQL in {} has died; starting it again", directory_);
  if (absl::Status started = Launch(binaries_); !started.ok()) {
    log::Error("{}", std::string(started.message()));
  }
}

EmbeddedPostgres::~EmbeddedPostgres() {
  if (pid_ <= 0) return;
  // SIGTERM would wait until all clients have gone, and after SIGQUIT the next start would have to
  // recover (PostgreSQL, "Shutting Down the Server").
  kill(pid_, SIGINT);  // fast shutdown
  for (int i = 0; i < 300; ++i) {
    int status = 0;
    if (child_ ? waitpid(pid_, &status, WNOHANG) == pid_ : kill(pid_, 0) != 0) return;
    usleep(100000);
  }
  log::Warn("PostgreSQL (pid {}) does not stop", pid_);
}

}  // namespace lockstep::storage
