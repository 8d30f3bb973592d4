#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/tls.h"
#include "controller/cli/job_file.h"
#include "controller/cli/translated_job.h"
#include "grpcpp/grpcpp.h"
#include "proto/controller.grpc.pb.h"

namespace lockstep::cli {

// How the command ended, for scripts. If several hold for a run, the first of these counts:
// corrupted data, a run that did not end as it should, expectations, a load that measured nothing,
// lost hosts.
enum ExitStatus {
  kOk = 0,
  kError = 1,        // the command itself: no controller, bad flag, refused
  kInvalidJob = 2,   // the job file has errors
  kRunFailed = 3,    // the run failed, was aborted, lost its workers, or a load measured nothing
  kNotMet = 4,       // the run is done, and an expectation was not met; `gate`: a regression
  kCannotTell = 5,   // `gate`: too few runs, missing figures, or no more than a drift
  kCorrupted = 6,    // a block was not as it was written
  kDegraded = 7,     // a host was lost, with --require-all-hosts; `fleet up`: some hosts failed
  kCancelled = 130,  // the run was cancelled
};

// The arguments that every command gets.
struct Context {
  // or several, separated by commas: the first that answers
  std::string controller = "127.0.0.1:9640";
  common::TlsFiles tls;
  bool insecure = false;
  bool no_colour = false;
  std::string program = "lockstep";  // as it was called
  bool is_local = false;             // the controller ends with this command
  std::string up_command;            // if it does: what starts one on the same results
  bool is_controller_given = false;  // --controller, or the environment, says it

  // Whether to print colours to `descriptor`: a terminal, and NO_COLOR is not set (no-color.org).
  bool Colour(int descriptor) const;
  // Columns of the terminal that standard output is; 0 when it is none.
  size_t Width() const;
  // A warning that the own certificate expires soon; empty when it does not.
  std::string CertificateWarning() const;
  // UNAVAILABLE with what to do, when nobody answers there.
  absl::StatusOr<std::unique_ptr<v1::Controller::Stub>> Connect() const;
};

// Prints "lockstep: …" to stderr; returns kError.
int Fail(const std::string& message);
int Fail(const grpc::Status& status);
int Fail(const absl::Status& status);
// The same status of the other kind.
absl::Status ToAbsl(const grpc::Status& status);

// The text of a job file ("-" is standard input). On an error: prints it and returns nullopt.
std::optional<std::string> ReadJobSource(const std::string& path);

// Reads and parses a job file, or a file of another tool, whose translation's remarks it prints.
// On an error: prints it and returns null.
std::unique_ptr<JobFile> LoadJobFile(const std::string& path, const std::vector<std::string>& sets,
                                     const TranslateFlags& flags);

// The controller's problems with a job, at their lines, to stderr. Returns kInvalidJob, or kError
// for other failures.
int PrintProblems(const JobFile& file, const grpc::Status& status);

// Waits until `count` workers are attached, for 30 s at most, also if the controller does not
// answer; ends early when `over` returns true. False when they are not attached.
bool AwaitWorkers(v1::Controller::Stub* stub, int count, const std::function<bool()>& over);

// OK if WriteOutput() can probably write `path`. Otherwise the reason. Writes nothing.
absl::Status CheckOutput(const std::string& path);
// Writes a file that the user named. Returns kOk, or kError after a message. A block device is
// refused, and nothing is written.
int WriteOutput(const std::string& path, const std::string& content);

// Whether there is a person to ask.
bool IsInteractive();
// Asks on standard error; true for "yes".
bool SaysYes(const std::string& question);

// The user's name, for the record.
std::string UserName();

}  // namespace lockstep::cli
