#include "controller/cli/ssh/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"

namespace lockstep::cli {
namespace {

// Back to the begin of the line, and clears it.
constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace

HostProgress::HostProgress(const std::vector<std::string>& names)
    : count_(names.size()), is_terminal_(isatty(2) != 0) {
  for (const std::string& name : names) width_ = std::max(width_, name.size());
}

void HostProgress::Show(const std::string& host, const std::string& doing) {
  // In a file each step of each host would stay as a line.
  if (!is_terminal_) return;
  common::MutexLock lock(&mutex_);
  std::cerr << kClearLine << finished_ << " of " << count_ << " hosts; " << host << ": " << doing
            << std::flush;
}

void HostProgress::Finish(const std::string& host, const std::string& line,
                          const std::string& below) {
  common::MutexLock lock(&mutex_);
  ++finished_;
  const std::string pad(width_ - std::min(width_, host.size()), ' ');
  std::cerr << (is_terminal_ ? kClearLine : "") << absl::StrCat(host, pad, "  ", line, "\n", below)
            << std::flush;
}

}  // namespace lockstep::cli
