#include "controller/cli/local_fleet.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/portable.h"
#include "controller/cli/namespaces.h"

namespace lockstep::cli {
namespace {

constexpr int kStartTries = 1200;  // times 50 ms: the first start initialises PostgreSQL

std::vector<char*> Raw(std::vector<std::string>* words) {
  std::vector<char*> raw;
  for (std::string& word : *words) raw.push_back(word.data());
  raw.push_back(nullptr);
  return raw;
}

// Prepares a child: its output goes to the log, and signals of the terminal do not reach it.
void Detach(const std::string& log) {
  // The terminal sends SIGINT to the whole foreground process group. In groups of their own, the
  // daemons end only when this program tells them to, and in its order.
  setpgid(0, 0);
  // `up` blocks signals for sigwait(3), and execve(2) keeps a blocked mask. Without this line the
  // daemons would never get SIGTERM.
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  if (log.empty()) return;
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  dup2(fd, 1);
  dup2(fd, 2);
}

std::string TailOf(const std::string& path) {
  const auto text = common::ReadFile(path);
  if (!text.ok()) return "";
  return text->size() > 1500 ? text->substr(text->size() - 1500) : *text;
}

void EndProcess(pid_t pid) {
  if (pid <= 0) return;
  kill(pid, SIGTERM);
  // 20 s, because the controller stops PostgreSQL before it ends. After a kill, PostgreSQL recovers
  // from its log at the next start.
  for (int i = 0; i < 400; ++i) {
    if (waitpid(pid, nullptr, WNOHANG) != 0) return;
    usleep(50000);
  }
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace

std::string FindProgram(const std::string& name) {
  const std::string folder = common::ProgramDirectory();
  for (const std::string& path :
       {absl::StrCat(folder, "/", name), absl::StrCat(folder, "/../", name),
        absl::StrCat(folder, "/../../worker/", name)}) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

absl::StatusOr<pid_t> LocalFleet::Spawn(const std::vector<std::string>& words,
                                        const std::string& log) const {
  std::vector<std::string> copy = words;
  const std::vector<char*> raw = Raw(&copy);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return common::ErrnoStatus(errno, "fork");
  if (pid > 0) return pid;
  // The kernel sends this signal when the parent dies, even of SIGKILL, so that no daemon is left
  // (prctl(2)). execve(2) keeps the setting.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // A parent that died before the prctl sends nothing any more.
  if (getppid() != parent) _exit(127);
  Detach(log);
  execv(raw[0], raw.data());
  _exit(127);
}

std::string LocalFleet::ReadyFile() const {
  return absl::StrCat(options_.state_directory, "/controller.", getpid(), ".ready");
}

absl::Status LocalFleet::StartController() {
  const std::string ready = ReadyFile();
  const std::string log = options_.quiet ? options_.state_directory + "/controller.log" : "";
  // An earlier process may have had the same pid. Its file would name addresses where nobody
  // listens.
  unlink(ready.c_str());
  if (!log.empty()) unlink(log.c_str());
  std::vector<std::string> words = {FindProgram("lockstep-controller"),
                                    "--state-dir",
                                    options_.state_directory,
                                    "--ready-file",
                                    ready,
                                    "--listen",
                                    options_.listen};
  if (words[0].empty()) return absl::NotFoundError("lockstep-controller is not beside lockstep");
  if (options_.namespaces) {
    words.insert(words.end(),
                 {"--listen", absl::StrCat(kBridgeAddress, ":0"), "--insecure-plaintext"});
  }
  if (!options_.http.empty()) words.insert(words.end(), {"--http", options_.http});
  if (!options_.store.empty()) words.insert(words.end(), {"--store", options_.store});
  if (options_.store_filesystem) words.push_back("--allow-store-filesystem");
  auto pid = Spawn(words, log);
  if (!pid.ok()) return pid.status();
  controller_ = *pid;
  const auto cancelled = [this] { return options_.is_cancelled && options_.is_cancelled(); };
  for (int i = 0; i < kStartTries && !cancelled(); ++i) {
    if (waitpid(controller_, nullptr, WNOHANG) == controller_) {
      controller_ = -1;
      return absl::UnavailableError(
          absl::StrCat("the controller did not start",
                       log.empty() ? "; its log is above" : ":\n" + TailOf(log)));
    }
    // The controller renames the complete file into place, so that a part of it is never read.
    const auto text = common::ReadFile(ready);
    if (text.ok()) {
      unlink(ready.c_str());
      std::istringstream lines(*text);
      for (std::string key, value; lines >> key >> value;) {
        if (key == "http") http_url_ = value;
        // The first address is loopback, for this program. With namespaces there is a second one on
        // the bridge, and workers dial the last one.
        if (key == "listen" && address_.empty()) address_ = value;
        if (key == "listen") worker_address_ = value;
      }
      return absl::OkStatus();
    }
    usleep(50000);
  }
  if (cancelled()) return absl::CancelledError("ended before the controller had started");
  return absl::DeadlineExceededError(absl::StrCat(
      "the controller takes longer than a minute to start",
      log.empty() ? "; its log is above" : absl::StrCat("; the end of ", log, ":\n", TailOf(log))));
}

absl::StatusOr<pid_t> LocalFleet::StartWorker(int index) {
  const std::string& name = options_.worker_names[index];
  const std::string log =
      options_.quiet ? absl::StrCat(options_.state_directory, "/", name, ".log") : "";
  if (!log.empty()) unlink(log.c_str());
  std::vector<std::string> words = {FindProgram("lockstep-worker"), "--controller", worker_address_,
                                    "--state-dir",
                                    absl::StrCat(options_.state_directory, "/workers/", name)};
  if (words[0].empty()) return absl::NotFoundError("lockstep-worker is not beside lockstep");
  for (const std::string& entry : options_.allow) words.insert(words.end(), {"--allow", entry});
  for (const std::string& label : options_.approve_labels) {
    words.insert(words.end(), {"--approve-label", label});
  }
  if (options_.allow_enroll) words.emplace_back("--allow-enroll");
  words.insert(words.end(), {"--observe", options_.observe});
  for (const std::string& entry : options_.allow_expendable) {
    words.insert(words.end(), {"--allow-expendable", entry});
  }
  for (const std::string& entry : options_.allow_settings) {
    words.insert(words.end(), {"--allow-settings", entry});
  }
  // The bridge is not loopback, so the worker refuses plaintext there without this flag. Only the
  // private namespaces reach the bridge, and each has a host name of its own.
  words.push_back(options_.namespaces ? "--insecure-plaintext" : absl::StrCat("--name=", name));
  if (!options_.namespaces) return Spawn(words, log);
  return ForkIntoHost(index + 1, name, [&] {
    const std::vector<char*> raw = Raw(&words);
    Detach(log);
    execv(raw[0], raw.data());
  });
}

absl::StatusOr<std::unique_ptr<LocalFleet>> LocalFleet::Start(const Options& options) {
  std::unique_ptr<LocalFleet> fleet(new LocalFleet(options));
  // Other users may pass through, but not list. PostgreSQL refuses to run as root, so its user must
  // reach its directory below this one.
  if (absl::Status status = common::MakeDirectories(options.state_directory, 0711); !status.ok()) {
    return status;
  }
  // Before anything is made in it. Somebody else who can write there could put a link in the place
  // of a log or of the workers' directory, whose target would then be written to or change its
  // mode.
  absl::Status owner = common::CheckNobodyElses(options.state_directory);
  if (!owner.ok()) return owner;
  // The daemons' logs go there. Without this check a daemon would end, and nothing would say why.
  if (access(options.state_directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return common::ErrnoStatus(errno, options.state_directory + ": the state directory");
  }
  const std::string workers = options.state_directory + "/workers";
  if (absl::Status status = common::MakePrivateDirectory(workers); !status.ok()) return status;
  if (absl::Status status = fleet->StartController(); !status.ok()) return status;
  for (int i = 0; i < options.workers; ++i) {
    const auto pid = fleet->StartWorker(i);
    if (!pid.ok()) return pid.status();
    fleet->workers_.push_back(*pid);
  }
  return fleet;
}

LocalFleet::~LocalFleet() {
  // All workers are told before the first one is waited for, so that they end at the same time.
  std::erase(workers_, -1);
  for (pid_t pid : workers_) kill(pid, SIGTERM);
  for (pid_t pid : workers_) EndProcess(pid);
  EndProcess(controller_);
  // A controller that was ended while it started may have written it since.
  unlink(ReadyFile().c_str());
}

std::optional<LocalFleet::Ended> LocalFleet::FindEnded() const {
  std::vector<pid_t> all = workers_;
  all.push_back(controller_);
  for (size_t i = 0; i < all.size(); ++i) {
    siginfo_t facts = {};
    // WNOWAIT leaves the child unreaped. Its pid cannot be given to another process before
    // EndProcess() has signalled it.
    if (waitid(P_PID, static_cast<id_t>(all[i]), &facts, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        facts.si_pid != all[i]) {
      continue;
    }
    const bool is_worker = i < workers_.size();
    return Ended{
        is_worker ? static_cast<int>(i) : -1,
        absl::StrCat(is_worker ? "worker " + options_.worker_names[i] : "the controller",
                     facts.si_code == CLD_EXITED ? " ended with status " : " was killed by signal ",
                     facts.si_status)};
  }
  return std::nullopt;
}

absl::Status LocalFleet::RestartWorker(int worker) {
  waitpid(workers_[static_cast<size_t>(worker)], nullptr, 0);
  // Should the start fail, no signal may reach whoever gets this pid.
  workers_[static_cast<size_t>(worker)] = -1;
  const auto pid = StartWorker(worker);
  if (!pid.ok()) return pid.status();
  workers_[static_cast<size_t>(worker)] = *pid;
  return absl::OkStatus();
}

}  // namespace lockstep::cli
