#include "controller/cli/ssh/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/limits.h"

namespace lockstep::cli {
namespace {

using common::FileDescriptor;

// The descriptors that a program gets as its standard input, output and error.
struct Streams {
  int in, out, err;
};

absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& words, const Streams& streams) {
  std::vector<std::string> copy = words;
  std::vector<char*> raw;
  for (std::string& word : copy) raw.push_back(word.data());
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, streams.in, 0);
  posix_spawn_file_actions_adddup2(&actions, streams.out, 1);
  posix_spawn_file_actions_adddup2(&actions, streams.err, 2);
  // gRPC's descriptors, and those of other hosts' processes: a program that keeps the other end of
  // a pipe open would hide its end.
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  // A child inherits the mask and ignored signals (execve(2)). With SIGTERM blocked, ssh could not
  // be ended.
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&defaults, number);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  // A session has no terminal, so that neither its signals nor a question of ssh's reach it.
  posix_spawnattr_setflags(
      &attributes,
      static_cast<int16_t>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, raw[0], &actions, &attributes, raw.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return common::ErrnoStatus(failed, words[0]);
  return pid;
}

// A pair of sockets instead of a pipe: send(2) can be told to raise no SIGPIPE, which would end
// this program with the first ssh that does.
absl::Status MakePair(FileDescriptor* ours, FileDescriptor* theirs) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return common::ErrnoStatus(errno, "socketpair");
  }
  *ours = FileDescriptor(pair[0]);
  *theirs = FileDescriptor(pair[1]);
  // Only this side: the flag belongs to one end of the pair, and programs expect to block.
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

// Appends what there is, and no more than a full buffer of the kernel has: a program that prints
// without end must not keep the caller from its limit.
void Drain(int fd, size_t max_bytes, std::string* text) {
  constexpr int kMaxPieces = 256;
  char piece[4096];
  for (int i = 0; i < kMaxPieces; ++i) {
    const ssize_t bytes = read(fd, piece, sizeof piece);
    if (bytes <= 0) return;
    const size_t room = max_bytes - text->size();
    // More is read and dropped: a program that can no longer write would never end.
    text->append(piece, std::min(static_cast<size_t>(bytes), room));
  }
}

}  // namespace

absl::StatusOr<StartedProcess> StartedProcess::Start(const std::vector<std::string>& words,
                                                     const std::string& out,
                                                     const std::string& err) {
  StartedProcess process;
  FileDescriptor in;
  if (absl::Status made = MakePair(&process.input_, &in); !made.ok()) return made;
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  const FileDescriptor out_file(open(out.c_str(), flags, 0600));
  if (!out_file.valid()) return common::ErrnoStatus(errno, out);
  const FileDescriptor err_file(open(err.c_str(), flags, 0600));
  if (!err_file.valid()) return common::ErrnoStatus(errno, err);
  const auto pid = Spawn(words, {in.get(), out_file.get(), err_file.get()});
  if (!pid.ok()) return pid.status();
  process.pid_ = *pid;
  // The files are on this machine, and the program prints what a host likes, also after this one
  // has ended. Beyond the limit the kernel ends it (setrlimit(2)).
  constexpr auto kMax = static_cast<rlim_t>(limits::kSshFileBytes);
  const rlimit limit = {kMax, kMax};
  // prlimit(2), because posix_spawn(3) cannot set limits, and this program's own would hold here,
  // too. ESRCH: it has ended already.
  if (prlimit(process.pid_, RLIMIT_FSIZE, &limit, nullptr) != 0 && errno != ESRCH) {
    const int error = errno;
    process.Kill();
    return common::ErrnoStatus(error, "prlimit");
  }
  return process;
}

absl::Status StartedProcess::Feed(ProcessInput* input) {
  if (!input_.valid()) return absl::OkStatus();
  if (!input->text.empty()) {
    buffer_ = std::exchange(input->text, "");
    if (!input->path.empty()) {
      file_ = FileDescriptor(open(input->path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file_.valid()) return common::ErrnoStatus(errno, input->path);
    }
  }
  while (true) {
    if (buffer_.empty() && file_.valid()) {
      buffer_.resize(1 << 16);
      const ssize_t bytes = read(file_.get(), buffer_.data(), buffer_.size());
      if (bytes < 0) return common::ErrnoStatus(errno, input->path);
      buffer_.resize(static_cast<size_t>(bytes));
      if (bytes == 0) file_ = {};
    }
    if (buffer_.empty()) break;
    const ssize_t bytes = send(input_.get(), buffer_.data(), buffer_.size(), MSG_NOSIGNAL);
    // The socket is full. The caller comes again, and serves other hosts in between.
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
    if (bytes < 0) break;  // the program's own words say why it has ended
    buffer_.erase(0, static_cast<size_t>(bytes));
  }
  input_ = {};
  return absl::OkStatus();
}

bool StartedProcess::HasEnded() {
  if (pid_ <= 0) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  pid_ = -1;
  return true;
}

void StartedProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

absl::StatusOr<ProcessOutput> RunProcess(const std::vector<std::string>& words,
                                         const ProcessInput& input, absl::Duration limit,
                                         const std::function<bool()>& is_cancelled,
                                         size_t max_bytes) {
  StartedProcess process;
  FileDescriptor in;
  FileDescriptor out;
  FileDescriptor err;
  FileDescriptor out_end;
  FileDescriptor err_end;
  if (absl::Status made = MakePair(&process.input_, &in); !made.ok()) return made;
  if (absl::Status made = MakePair(&out, &out_end); !made.ok()) return made;
  if (absl::Status made = MakePair(&err, &err_end); !made.ok()) return made;
  const auto pid = Spawn(words, {in.get(), out_end.get(), err_end.get()});
  if (!pid.ok()) return pid.status();
  process.pid_ = *pid;
  // The program alone keeps the other ends: the end of its output is seen only when no copy is
  // open.
  in = {};
  out_end = {};
  err_end = {};
  ProcessInput rest = input;
  // An empty input is an end, too.
  if (rest.text.empty() && rest.path.empty()) process.input_ = {};
  ProcessOutput output;
  const absl::Time until = absl::Now() + limit;
  while (true) {
    if (absl::Status fed = process.Feed(&rest); !fed.ok()) {
      process.Kill();
      return fed;
    }
    // Asked before the outputs are read, so that nothing that was printed is missed.
    const bool ended = process.HasEnded();
    Drain(out.get(), max_bytes, &output.out);
    Drain(err.get(), max_bytes, &output.err);
    if (ended) {
      output.status = process.status_;
      return output;
    }
    if (absl::Now() >= until) {
      process.Kill();
      return absl::DeadlineExceededError(
          absl::StrCat(words[0], " took longer than ", absl::FormatDuration(limit)));
    }
    if (is_cancelled && is_cancelled()) {
      process.Kill();
      return absl::CancelledError("cancelled");
    }
    pollfd polled[] = {{out.get(), POLLIN, 0}, {err.get(), POLLIN, 0}};
    poll(polled, 2, 20);
  }
}

}  // namespace lockstep::cli
