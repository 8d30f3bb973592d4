#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "controller/cli/ssh/process.h"
#include "controller/cli/ssh/records.h"

namespace lockstep::cli {

// The user's ssh program and one host: starts a worker there, and ends it. The first session copies
// the worker and stays; it is a control connection that further sessions share. Nothing but scripts
// of this directory runs on the host, and they get all that they are told on standard input, since
// everybody on a host can read the arguments of processes. Not thread-safe; hosts are independent
// of each other.
class SshConnection {
 public:
  struct Ports {
    std::string program = "ssh";
    std::function<bool()> is_cancelled;
    // Called with what is being done: "connecting", "copying the worker", "starting it".
    std::function<void(const std::string&)> progress;
  };
  struct WorkerFiles {
    std::string archive;           // a portable archive (tools/package)
    std::string directory;         // on the host; empty: the script chooses one
    int64_t need_kib = 0;          // of space there
    std::string expected_version;  // of the worker
  };
  // In PEM; both are empty for a controller without TLS.
  struct Certificate {
    std::string certificate;  // of the worker
    std::string authority;    // of the controller
  };
  // How the worker reaches the controller.
  enum class Way {
    kSocket,  // a Unix socket in the worker's directory, which ssh forwards
    kPort,    // a port of the host's loopback address, which ssh forwards
    kDirect,  // the worker dials the controller itself
  };

  // `record` says which host; this fills in its directories and saves it.
  SshConnection(FleetRecord* record, const FleetRecords* records, Ports ports)
      : record_(record), records_(records), ports_(std::move(ports)) {}

  // Connects, copies the worker and leaves its supervisor there. The host's own words are the error
  // where it cannot be reached or does not take the worker. Nothing is left, and no record, where
  // it was not reached at all. After other errors Remove() is to be called.
  absl::Status Install(const WorkerFiles& files);
  // The answer of the doctor on a host.
  struct DoctorAnswer {
    std::string report;      // v1::DoctorReport as JSON; nothing in it has been checked
    std::string unanswered;  // why there is none; empty if there is one
  };
  // Has the worker's doctor check the host, with these flags of a worker. One that hangs is given
  // up after limits::kSshDoctorNs, and is no error: an error is one of the connection.
  absl::StatusOr<DoctorAnswer> RunDoctor(const std::vector<std::string>& flags);
  // Has the worker make its key, which stays on the host, and returns the request for a certificate
  // of it (PEM), as the host sends it: nothing in it has been checked. RESOURCE_EXHAUSTED for more
  // than limits::kCsrBytes. `challenge` is what the request is to carry. A worker that has a
  // certificate goes on with its key until Renew().
  enum class Key { kFirst, kNext };
  absl::StatusOr<std::string> RequestCertificate(const std::string& challenge,
                                                 Key key = Key::kFirst);
  // Gives the worker the certificate (PEM) of its next key, instead of the key and the certificate
  // that it has. It reads both when it connects to the controller the next time.
  absl::Status Renew(const std::string& certificate);
  // Returns what the worker is to dial. `controller` is HOST:PORT as this machine dials it.
  absl::StatusOr<std::string> Forward(Way way, const std::string& controller);
  // Starts the worker, and returns when it is attached to the controller. It finds the certificate
  // in TlsDirectory().
  absl::Status StartWorker(const Certificate& certificate,
                           const std::vector<std::string>& arguments, absl::Duration limit);
  // On the host: has the key, and the certificate once the worker was started.
  std::string TlsDirectory() const { return record_->directory + "/tls"; }

  // Whether the control connection is there.
  bool IsConnected() const;

  // The result of Remove().
  struct Removed {
    bool was_gone = false;             // nothing was there
    std::vector<std::string> targets;  // files of jobs, which stay
  };
  // Ends the worker, removes its files from the host and the connection from this machine. Connects
  // anew where the control connection is lost. An error says what is left; the record stays then.
  // It also stays where it has a certificate, which is to be revoked.
  absl::StatusOr<Removed> Remove(absl::Duration limit);
  // Removes the record and the connection from this machine, whatever is on the host.
  absl::Status Forget();

 private:
  absl::Status AwaitInstalled(const WorkerFiles& files, ProcessInput input, bool* is_connected);
  std::vector<std::string> Connect() const;
  std::vector<std::string> Share() const;
  void CloseControl();
  // The words after `key` in the host's answer.
  std::optional<std::string> Answer(const std::string& text, const std::string& key) const;
  std::string WhyNot(const std::string& errors) const;
  absl::StatusOr<std::string> RunScript(
      const std::string& script, const std::string& input, absl::Duration limit,
      size_t max_bytes = static_cast<size_t>(limits::kSshAnswerBytes));

  FleetRecord* const record_;
  const FleetRecords* const records_;
  const Ports ports_;
};

}  // namespace lockstep::cli
