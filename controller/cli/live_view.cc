#include "controller/cli/live_view.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/mutex.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/local_signals.h"
#include "measure/report_states.h"
#include "measure/states.h"
#include "proto/fields.h"

namespace lockstep::cli {
namespace {

class Printer {
 public:
  Printer(bool colour, LiveSysbench* sysbench)
      : colour_(colour), terminal_(isatty(2) != 0), sysbench_(sysbench) {}

  void Print(const v1::WatchEvent& event) {
    common::MutexLock lock(&mutex_);
    // A question can stand unanswered while the run goes on. Events of nearly three hours, at one a
    // second, are kept; later ones are dropped.
    constexpr size_t kMaxHeld = 10000;
    if (!held_) return PrintNow(event);
    if (waiting_.size() < kMaxHeld) waiting_.push_back(event);
  }
  void EndLine() {
    common::MutexLock lock(&mutex_);
    EndLineNow();
  }
  // While a question stands on the terminal, nothing else may be written there: it would scroll the
  // question away.
  void Hold() {
    common::MutexLock lock(&mutex_);
    EndLineNow();
    held_ = true;
  }
  void Resume() {
    common::MutexLock lock(&mutex_);
    held_ = false;
    for (const v1::WatchEvent& event : waiting_) PrintNow(event);
    waiting_.clear();
  }

 private:
  void PrintNow(const v1::WatchEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (event.has_phase()) PrintPhase(event.phase());
    if (sysbench_ != nullptr) sysbench_->Print(event);
    if (event.has_interval() && sysbench_ == nullptr) return PrintInterval(event.interval());
    if (event.has_progress()) return PrintProgress(event.progress());
    if (event.has_event()) PrintEvent(event.event());
  }
  void EndLineNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (pending_) std::cerr << "\n";
    pending_ = false;
  }
  std::string Paint(const std::string& text, const char* code) const {
    return colour_ ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m") : text;
  }

  void PrintPhase(const v1::PhaseChange& phase) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (phase.state() == shown_state_ && phase.index() == shown_phase_) return;
    is_observe_ = measure::Is(phase, measure::PhaseKind::kObserve);
    shown_state_ = phase.state();
    shown_phase_ = phase.index();
    EndLineNow();
    const std::string expected =
        phase.expected_seconds() > 0 && measure::Is(phase, measure::PhaseState::kRunning)
            ? absl::StrCat(" for ", common::FormatDigits(phase.expected_seconds(), 3), " s")
            : "";
    std::cerr << Paint(
                     absl::StrFormat("[%d/%d] %s", phase.index() + 1, phase.count(), phase.name()),
                     "1")
              << ": " << phase.state() << expected << "\n";
  }

  // The controller knows which load would have completed I/Os: one of 2 IOPS completes none in most
  // intervals.
  static std::string SilenceText(const v1::FleetInterval& interval) {
    const uint32_t silent = interval.silent_hosts();
    if (silent == 0) return "";
    return silent >= interval.hosts()
               ? "  NO I/O COMPLETED"
               : absl::StrFormat("  no I/O completed on %d of %d hosts", silent, interval.hosts());
  }

  void PrintInterval(const v1::FleetInterval& interval) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    EndLineNow();
    if (measure::Is(interval, measure::IntervalClass::kDrain))
      return;  // a fraction of a second: no rate for people
    if (is_observe_) return PrintDevices(interval);
    const bool counted = measure::Is(interval, measure::IntervalClass::kMeasured);
    std::cerr << absl::StrFormat(
        "  %6.1f s  %9s IOPS  %9.1f MiB/s  p99 %9s%s%s\n", interval.end_seconds(),
        common::FormatCount(interval.iops()), interval.bytes_per_second() / 1048576,
        // Without an I/O there is no latency.
        interval.p99_ns() > 0 ? common::FormatDuration(interval.p99_ns()) : "-",
        counted ? SilenceText(interval) : "  (" + interval.interval_class() + ")",
        interval.errors() > 0 ? absl::StrFormat("  %.0f errors", interval.errors()) : "");
  }

  // An observe phase has no load: what its devices did on average.
  static void PrintDevices(const v1::FleetInterval& interval) {
    std::cerr << absl::StrFormat("  %6.1f s  ", interval.end_seconds());
    constexpr int kFigures = 4;  // FleetInterval.iostat
    if (interval.iostat_size() < kFigures) {
      std::cerr << "no device\n";
      return;
    }
    const double request_bytes = interval.iostat(2);
    std::cerr << absl::StrFormat(
        "await %9s  request %9s  queue %6.2f  busy %3.0f %%\n",
        request_bytes > 0 ? common::FormatDuration(interval.iostat(0)) : "-",
        request_bytes > 0 ? common::FormatSize(request_bytes) : "-", interval.iostat(1),
        100 * interval.iostat(3));
  }

  void PrintProgress(const v1::ProgressUpdate& progress) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // The line is overwritten with carriage returns, which only a terminal obeys.
    if (!terminal_ || progress.total_bytes() <= 0) return;
    std::cerr << absl::StrFormat(
        "\r  %3.0f %%  %s of %s   ", 100 * progress.done_bytes() / progress.total_bytes(),
        common::FormatSize(progress.done_bytes()), common::FormatSize(progress.total_bytes()));
    pending_ = true;
  }

  void PrintEvent(const v1::EventReport& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (measure::Is(event, measure::Severity::kInfo)) return;
    EndLineNow();
    std::cerr << Paint(absl::StrCat("  ", event.severity(), event.host().empty() ? "" : " on ",
                                    event.host(), event.author().empty() ? "" : " by ",
                                    event.author(), ": ", event.message()),
                       measure::Is(event, measure::Severity::kError) ? "31" : "33")
              << "\n";
  }

  const bool colour_;
  const bool terminal_;
  LiveSysbench* const sysbench_;  // or null
  common::Mutex mutex_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<v1::WatchEvent> waiting_ ABSL_GUARDED_BY(mutex_);
  bool pending_ ABSL_GUARDED_BY(mutex_) = false;
  std::string shown_state_ ABSL_GUARDED_BY(mutex_);
  uint32_t shown_phase_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_observe_ ABSL_GUARDED_BY(mutex_) = false;  // that phase
};

int interrupt_pipe = -1;  // where the handlers write; a signal's handler can reach nothing else

// Takes SIGINT and SIGTERM while it lives; what they lead to is done on a thread of its own.
class Interrupts {
 public:
  Interrupts(v1::Controller::Stub* stub, std::string run_id, Owner owner, Printer* printer,
             grpc::ClientContext* watch)
      : stub_(stub), run_id_(std::move(run_id)), owner_(owner), printer_(printer), watch_(watch) {
    if (pipe2(pipe_, O_CLOEXEC) != 0) return;
    interrupt_pipe = pipe_[1];
    // A handler may call write(2), but no lock, stream or gRPC (signal-safety(7)). So the handlers
    // only pass a letter on, and a thread does the rest.
    before_interrupt_ = signal(SIGINT, [](int) { (void)!write(interrupt_pipe, "i", 1); });
    before_terminate_ = signal(SIGTERM, [](int) { (void)!write(interrupt_pipe, "t", 1); });
    // A controller that ends with this command does not outlive its terminal. Any other one goes
    // on.
    if (LocalSignals::are_taken()) {
      before_hangup_ = signal(SIGHUP, [](int) { (void)!write(interrupt_pipe, "t", 1); });
      if (before_hangup_ == SIG_IGN) signal(SIGHUP, SIG_IGN);  // nohup
    }
    // One that came before, while the run was submitted, is for the run, too.
    const int early = LocalSignals::received();
    if (early != 0) (void)!write(interrupt_pipe, early == SIGINT ? "i" : "t", 1);
    thread_ = std::thread([this] { Main(); });
  }
  ~Interrupts() {
    if (!thread_.joinable()) return;
    // The handlers are restored before the pipe is closed. A late signal would otherwise write to
    // whatever has the descriptor by then.
    signal(SIGINT, before_interrupt_);
    signal(SIGTERM, before_terminate_);
    if (LocalSignals::are_taken()) signal(SIGHUP, before_hangup_);
    (void)!write(pipe_[1], "e", 1);  // ends the thread
    thread_.join();
    close(pipe_[0]);
    close(pipe_[1]);
  }
  bool left() const { return left_; }

 private:
  void Main() {
    char byte = 0;
    while (read(pipe_[0], &byte, 1) == 1 && byte != 'e') {
      const Wish wish = byte == 't' ? OnTerminate() : Prompt();
      if (wish == Wish::kNothingAnyMore) return;
      if (wish == Wish::kCancel) {
        Cancel();
      } else if (wish == Wish::kLeave) {
        // Set before the stream is cancelled: FollowRun() reads it as soon as the stream has ended.
        left_ = true;
        watch_->TryCancel();
        return;
      }
    }
  }

  enum class Wish { kWatchOn, kCancel, kLeave, kNothingAnyMore };

  Wish OnTerminate() const { return owner_ == Owner::kSubmitter ? Wish::kCancel : Wish::kLeave; }

  // kNothingAnyMore when the run has ended during that time.
  Wish Prompt() {
    if (isatty(0) == 0) return Wish::kCancel;
    // std::cin has a buffer that poll(2) does not see, so the terminal is opened anew.
    const int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC);
    if (terminal < 0) return Wish::kLeave;
    printer_->Hold();
    std::cerr << "\n[c]ancel the run, stop [w]atching (it goes on), or Enter to keep watching? "
              << std::flush;
    std::optional<Wish> wish;
    while (!wish) {
      // The end of the run, or a SIGTERM, withdraws the question. A blocking read of the terminal
      // would miss both.
      pollfd ready[] = {{terminal, POLLIN, 0}, {pipe_[0], POLLIN, 0}};
      if (poll(ready, 2, -1) < 0 && errno != EINTR) wish = Wish::kWatchOn;
      char byte = 0;
      if ((ready[1].revents & POLLIN) != 0 && read(pipe_[0], &byte, 1) == 1) {
        if (byte == 'i') continue;  // Ctrl-C once more
        wish = byte == 'e' ? Wish::kNothingAnyMore : OnTerminate();
        std::cerr << (byte == 'e' ? "\n(the run has ended)\n" : "\n");
      } else if ((ready[0].revents & (POLLIN | POLLHUP)) != 0) {
        char line[64] = {};
        const ssize_t got = read(terminal, line, sizeof line);
        // A terminal that hung up gives no answer. The run then goes on, as it does for anybody who
        // leaves.
        const char letter = got <= 0 ? 'w' : static_cast<char>(line[0] | 0x20);
        wish = letter == 'c' ? Wish::kCancel : letter == 'w' ? Wish::kLeave : Wish::kWatchOn;
      }
    }
    close(terminal);
    printer_->Resume();
    return *wish;
  }

  void Cancel() {
    grpc::ClientContext context;
    // Without a deadline, a controller that hangs would keep this thread, and the destructor waits
    // for it.
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    v1::StopRequest request;
    request.set_run_id(run_id_);
    request.set_reason("cancelled from the command line");
    v1::StopReply reply;
    const grpc::Status status = stub_->Stop(&context, request, &reply);
    std::cerr << (status.ok() ? "cancelling" : common::Printable(status.error_message())) << "\n";
  }

  v1::Controller::Stub* stub_;
  const std::string run_id_;
  const Owner owner_;
  Printer* printer_;
  grpc::ClientContext* watch_;
  int pipe_[2] = {-1, -1};
  void (*before_interrupt_)(int) = SIG_DFL;
  void (*before_terminate_)(int) = SIG_DFL;
  void (*before_hangup_)(int) = SIG_DFL;
  std::atomic<bool> left_{false};
  std::thread thread_;
};

}  // namespace

Watched FollowRun(v1::Controller::Stub* stub, const std::string& run_id, bool colour, Owner owner,
                  LiveSysbench* sysbench) {
  Watched watched;
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_run_id(run_id);
  request.set_latencies(sysbench != nullptr);
  Printer printer(colour, sysbench);
  {
    // The handlers live as long as the stream. While the report is printed afterwards, Ctrl-C ends
    // the command as usual.
    Interrupts interrupts(stub, run_id, owner, &printer, &context);
    auto reader = stub->Watch(&context, request);
    v1::WatchEvent event;
    while (reader->Read(&event)) {
      v1::CleanTexts(&event);
      if (!event.has_run()) {
        printer.Print(event);
        continue;
      }
      watched.summary = event.run();
    }
    watched.status = reader->Finish();
    watched.left = interrupts.left();
  }
  printer.EndLine();
  return watched;
}

}  // namespace lockstep::cli
