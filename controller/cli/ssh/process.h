#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/files.h"
#include "common/limits.h"

namespace lockstep::cli {

// The standard input of a program: a text, then a file.
struct ProcessInput {
  std::string text;
  std::string path;  // empty: no file
};

struct ProcessOutput {
  int status = 0;  // the exit status; 128 + the number of the signal that ended it
  std::string out;
  std::string err;
};

// Thread-safe. Programs are looked for in PATH. They run in sessions of their own, so that Ctrl-C
// of a terminal does not reach them, and with no other descriptor of this process.

// Runs a program to its end. DEADLINE_EXCEEDED after `limit` and CANCELLED once `is_cancelled`
// returns true; it is killed then. At most `max_bytes` of each output are kept.
absl::StatusOr<ProcessOutput> RunProcess(
    const std::vector<std::string>& words, const ProcessInput& input, absl::Duration limit,
    const std::function<bool()>& is_cancelled,
    size_t max_bytes = static_cast<size_t>(limits::kSshAnswerBytes));

// A program that was started, and is left running when this ends. Not thread-safe.
class StartedProcess {
 public:
  // Its outputs go to files, of at most limits::kSshFileBytes each: it is killed beyond that.
  static absl::StatusOr<StartedProcess> Start(const std::vector<std::string>& words,
                                              const std::string& out, const std::string& err);
  // Passes on as much of the input as the program takes now, and the end of it after the last
  // byte. OK also when the program reads no more.
  absl::Status Feed(ProcessInput* input);
  // Whether it has ended. Its status is known then.
  bool HasEnded();
  void Kill();

 private:
  pid_t pid_ = -1;
  int status_ = -1;
  common::FileDescriptor input_;
  common::FileDescriptor file_;
  std::string buffer_;
  friend absl::StatusOr<ProcessOutput> RunProcess(const std::vector<std::string>&,
                                                  const ProcessInput&, absl::Duration,
                                                  const std::function<bool()>&, size_t);
};

}  // namespace lockstep::cli
