#include "controller/cli/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/files.h"

namespace lockstep::cli {
namespace {

// Runs `ip WORDS`, quietly.
absl::Status Ip(const std::string& words) {
  std::vector<std::string> arguments = absl::StrSplit(absl::StrCat("ip ", words), ' ');
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_WRONLY);
    // If namespaces are not possible, the demo goes on with plain processes. The complaints of ip
    // would look like a failure of the demo.
    dup2(null, 2);
    execvp("ip", raw.data());
    _exit(127);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return common::ErrnoStatus(errno, "fork");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("`ip ", words, "` failed"));
}

absl::Status All(const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    if (absl::Status status = Ip(command); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EnterPrivateNetwork() {
  if (geteuid() != 0) return absl::PermissionDeniedError("network namespaces need root");
  const int before = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (unshare(CLONE_NEWNET) != 0) return common::ErrnoStatus(errno, "unshare(CLONE_NEWNET)");
  const absl::Status status = All({"link set lo up", "link add ls-bridge type bridge",
                                   absl::StrCat("addr add ", kBridgeAddress, "/24 dev ls-bridge"),
                                   "link set ls-bridge up"});
  // The caller goes on without namespaces, so it must be back in the network that it came from.
  if (!status.ok()) setns(before, CLONE_NEWNET);
  close(before);
  return status;
}

absl::StatusOr<pid_t> ForkIntoHost(int number, const std::string& host_name,
                                   const std::function<void()>& run) {
  // Each side waits for the other, so there are two pipes. The child makes its namespace, then the
  // parent puts a link into it, then the child configures the link.
  int ready[2];
  int linked[2];
  if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(linked, O_CLOEXEC) != 0) {
    return common::ErrnoStatus(errno, "pipe");
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return common::ErrnoStatus(errno, "fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // A parent that died before the prctl sends nothing any more.
    if (getppid() != parent) _exit(126);
    // While the child holds this end itself, it would never see that the parent has given up.
    close(linked[1]);
    char byte = 0;
    if (unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0 ||
        sethostname(host_name.c_str(), host_name.size()) != 0 || write(ready[1], "r", 1) != 1 ||
        read(linked[0], &byte, 1) != 1) {
      _exit(126);
    }
    if (!All({"link set lo up", absl::StrCat("addr add 10.77.0.", 10 + number, "/24 dev eth0"),
              "link set eth0 up"})
             .ok()) {
      _exit(125);
    }
    run();
    _exit(127);
  }
  // Only the child holds this end now, so that its death ends the read below.
  close(ready[1]);
  close(linked[0]);
  char byte = 0;
  absl::Status status = read(ready[0], &byte, 1) == 1
                            ? absl::OkStatus()
                            : absl::UnavailableError("a network namespace could not be made");
  const std::string end = absl::StrCat("ls-veth", number);
  if (status.ok()) {
    status = All({absl::StrCat("link add ", end, " type veth peer name eth0 netns ", pid),
                  absl::StrCat("link set ", end, " master ls-bridge"),
                  absl::StrCat("link set ", end, " up")});
  }
  // If the child has ended, SIGPIPE would end this program before it could clean up.
  const auto handler = signal(SIGPIPE, SIG_IGN);
  if (status.ok() && write(linked[1], "l", 1) != 1) {
    status = absl::UnavailableError("a namespace's process ended early");
  }
  signal(SIGPIPE, handler);
  close(ready[0]);
  close(linked[1]);
  if (!status.ok()) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return status;
  }
  return pid;
}

}  // namespace lockstep::cli
