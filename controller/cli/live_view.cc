#include "controller/cli/live_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"

namespace lockstep::cli {
namespace {

class Printer {
 public:
  explicit Printer(bool colour) : colour_(colour), terminal_(isatty(2) != 0) {}

  void Print(const v1::WatchEvent& event) {
    if (event.has_phase()) return PrintPhase(event.phase());
    if (event.has_interval()) return PrintInterval(event.interval());
    if (event.has_progress()) return PrintProgress(event.progress());
    if (event.has_event()) PrintEvent(event.event());
  }
  void EndLine() {
    if (pending_) std::cerr << "\n";
    pending_ = false;
  }

 private:
  std::string Paint(const std::string& text, const char* code) const { return colour_ ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m") : text; }

  void PrintPhase(const v1::PhaseChange& phase) {
    if (phase.state() == shown_state_ && phase.index() == shown_phase_) return;
    shown_state_ = phase.state();
    shown_phase_ = phase.index();
    EndLine();
    const std::string expected = phase.expected_seconds() > 0 && phase.state() == "running" ? absl::StrFormat(" for %.0f s", phase.expected_seconds()) : "";
    std::cerr << Paint(absl::StrFormat("[%d/%d] %s", phase.index() + 1, phase.count(), phase.name()), "1") << ": " << phase.state() << expected << "\n";
  }

  void PrintInterval(const v1::FleetInterval& interval) {
    EndLine();
    if (interval.interval_class() == "drain") return;  // a fraction of a second: no rate for people
    const bool counted = interval.interval_class() == "measured";
    std::cerr << absl::StrFormat("  %6.1f s  %9s IOPS  %9.1f MiB/s  p99 %9s%s%s\n", interval.end_seconds(), common::FormatCount(interval.iops()),
                                 interval.bytes_per_second() / 1048576, common::FormatDuration(interval.p99_ns()), counted ? "" : "  (" + interval.interval_class() + ")",
                                 interval.errors() > 0 ? absl::StrFormat("  %.0f errors", interval.errors()) : "");
  }

  void PrintProgress(const v1::ProgressUpdate& progress) {
    if (!terminal_ || progress.total_bytes() <= 0) return;
    std::cerr << absl::StrFormat("\r  %3.0f %%  %s of %s   ", 100 * progress.done_bytes() / progress.total_bytes(), common::FormatSize(progress.done_bytes()),
                                 common::FormatSize(progress.total_bytes()));
    pending_ = true;
  }

  void PrintEvent(const v1::EventReport& event) {
    if (event.severity() == "info") return;
    EndLine();
    std::cerr << Paint(absl::StrCat("  ", event.severity(), event.host().empty() ? "" : " on ", event.host(), ": ", event.message()), event.severity() == "error" ? "31" : "33")
              << "\n";
  }

  const bool colour_;
  const bool terminal_;
  bool pending_ = false;
  std::string shown_state_;
  uint32_t shown_phase_ = 0;
};

int interrupt_pipe = -1;  // where the handler writes; a signal's handler can reach nothing else

// Takes SIGINT while it lives; the questions are asked on a thread of its own.
class Interrupts {
 public:
  Interrupts(v1::Controller::Stub* stub, std::string run_id, grpc::ClientContext* watch) : stub_(stub), run_id_(std::move(run_id)), watch_(watch) {
    if (pipe2(pipe_, O_CLOEXEC) != 0) return;
    interrupt_pipe = pipe_[1];
    before_ = signal(SIGINT, [](int) { (void)!write(interrupt_pipe, "i", 1); });
    thread_ = std::thread([this] { Main(); });
  }
  ~Interrupts() {
    if (!thread_.joinable()) return;
    signal(SIGINT, before_);
    (void)!write(pipe_[1], "e", 1);  // ends the thread
    thread_.join();
    close(pipe_[0]);
    close(pipe_[1]);
  }
  bool left() const { return left_; }

 private:
  void Main() {
    char byte = 0;
    while (read(pipe_[0], &byte, 1) == 1 && byte == 'i') {
      const char answer = Ask();
      if (answer == 'c') {
        Cancel();
      } else if (answer == 'w') {
        left_ = true;
        watch_->TryCancel();
        return;
      }
    }
  }

  static char Ask() {
    if (isatty(0) == 0) return 'c';
    std::cerr << "\n[c]ancel the run, stop [w]atching (it goes on), or Enter to keep watching? " << std::flush;
    std::ifstream terminal("/dev/tty");
    std::string line;
    if (!std::getline(terminal, line)) return 'w';
    return line.empty() ? 0 : static_cast<char>(line[0] | 0x20);
  }

  void Cancel() {
    grpc::ClientContext context;
    v1::StopRequest request;
    request.set_run_id(run_id_);
    request.set_reason("cancelled from the command line");
    v1::StopReply reply;
    const grpc::Status status = stub_->Stop(&context, request, &reply);
    std::cerr << (status.ok() ? "cancelling" : status.error_message()) << "\n";
  }

  v1::Controller::Stub* stub_;
  const std::string run_id_;
  grpc::ClientContext* watch_;
  int pipe_[2] = {-1, -1};
  void (*before_)(int) = SIG_DFL;
  std::atomic<bool> left_{false};
  std::thread thread_;
};

}  // namespace

Watched FollowRun(v1::Controller::Stub* stub, const std::string& run_id, bool colour) {
  Watched watched;
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_run_id(run_id);
  Interrupts interrupts(stub, run_id, &context);
  auto reader = stub->Watch(&context, request);
  Printer printer(colour);
  v1::WatchEvent event;
  while (reader->Read(&event)) {
    if (!event.has_run()) {
      printer.Print(event);
      continue;
    }
    watched.summary = event.run();
  }
  printer.EndLine();
  watched.status = reader->Finish();
  watched.left = interrupts.left();
  return watched;
}

}  // namespace lockstep::cli
