#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::cli {

// The path of another of Lockstep's programs: it lies beside this one, or where Bazel built it.
// Empty where there is none.
std::string FindProgram(const std::string& name);

// A controller and workers on this machine, as child processes that end with this one.
class LocalFleet {
 public:
  struct Options {
    std::string state_directory;
    std::string listen = "127.0.0.1:9640";
    std::string http;   // empty: no web page
    std::string store;  // empty: embedded
    int workers = 1;
    std::vector<std::string> worker_names;  // of each worker
    std::vector<std::string> allow;
    std::vector<std::string> allow_expendable;
    std::vector<std::string> allow_settings;
    std::vector<std::string> approve_labels;
    bool allow_enroll = false;
    std::string observe = "allowed";  // of each worker: --observe
    bool store_filesystem = false;    // jobs may lay out files on the store's own file system
    // a network namespace per worker; EnterPrivateNetwork() was called
    bool namespaces = false;
    bool quiet = false;  // the daemons' logs go to files in the state directory
    // Ends the start, with CANCELLED, once it returns true. Empty: nothing does.
    std::function<bool()> is_cancelled;
  };
  // Returns once the controller listens and every worker is started. Fails with the daemon's own
  // words.
  static absl::StatusOr<std::unique_ptr<LocalFleet>> Start(const Options& options);
  // Ends all, workers first, and waits.
  ~LocalFleet();

  // HOST:PORT of the controller, and the page's address (may be empty).
  const std::string& address() const { return address_; }
  const std::string& http_url() const { return http_url_; }
  // A process that has ended by itself.
  struct Ended {
    int worker = -1;   // its number; -1: the controller
    std::string what;  // "worker vm-2 was killed by signal 9"
  };
  // One of those that have; does not wait.
  std::optional<Ended> FindEnded() const;
  // Starts a worker that has ended again, with its state directory and so under its ids.
  absl::Status RestartWorker(int worker);

 private:
  explicit LocalFleet(Options options) : options_(std::move(options)) {}
  absl::Status StartController();
  // The file in which the controller says that it listens, and on which addresses.
  std::string ReadyFile() const;
  absl::StatusOr<pid_t> StartWorker(int index);
  absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& words, const std::string& log) const;

  const Options options_;
  std::string worker_address_;
  std::string address_;
  std::string http_url_;
  pid_t controller_ = -1;
  std::vector<pid_t> workers_;
};

}  // namespace lockstep::cli
