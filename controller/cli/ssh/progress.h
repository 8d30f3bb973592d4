#pragma once

#include <string>
#include <vector>

#include "common/mutex.h"

namespace lockstep::cli {

// Shows one line for each host on standard error, when the host is done, and what is wrong with the
// host below it. On a terminal, a last line says how many are done, and what is done to one of the
// others. Thread-safe.
class HostProgress {
 public:
  // `names` of all hosts.
  explicit HostProgress(const std::vector<std::string>& names);

  void Show(const std::string& host, const std::string& doing);
  // `below` has no line, or several with their line breaks.
  void Finish(const std::string& host, const std::string& line, const std::string& below = "");

 private:
  const size_t count_;
  const bool is_terminal_;
  size_t width_ = 0;  // of the longest name
  common::Mutex mutex_;
  size_t finished_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace lockstep::cli
