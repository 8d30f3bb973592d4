#include "worker/engine/iscsi_engine.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/timing.h"
#include "worker/engine/registry.h"
#include "worker/iscsi/luns.h"
#include "worker/iscsi/session.h"

namespace lockstep::worker {
namespace {

using timing::kSecond;
constexpr int64_t kLoginNs = 20 * kSecond;
// The pause between attempts to reach a portal that is unavailable, and the limit of each attempt.
constexpr int64_t kRetryNs = kSecond;
constexpr int64_t kAttemptNs = 5 * kSecond;

class IscsiEngine final : public IoEngine {
 public:
  explicit IscsiEngine(const EngineContext& context)
      : clock_(context.clock), report_(context.report) {}
  // A session that ends calls Done() for its commands, which uses luns_: the sessions end before
  // the list does.
  ~IscsiEngine() override {
    for (Lun& lun : luns_) lun.session.reset();
  }

  absl::Status Open(const EngineSetup& setup) override {
    if (setup.completion_polling || setup.submission_polling) {
      return absl::UnimplementedError("polling is io_uring's; an iSCSI target has engine: iscsi");
    }
    if (setup.files.size() > IscsiSession::kMaxSessions) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a workload has at most ", IscsiSession::kMaxSessions, " LUNs; make several of it"));
    }
    setup_ = setup;
    // libiscsi keeps pointers to the commands: the list never grows after this.
    commands_.resize(setup.queue_depth);
    file_of_.resize(setup.queue_depth);
    done_.reserve(setup.queue_depth);
    luns_.resize(setup.files.size());
    for (Lun& lun : luns_) lun.waiting.reserve(setup.queue_depth);
    waited_for_.reserve(luns_.size());
    // All sessions connect at once, so that arming takes as long as the slowest one.
    for (size_t i = 0; i < luns_.size(); ++i) {
      luns_[i].spec = std::get<RemoteLun>(setup.files[i].way).lun;
      luns_[i].session = Connect(luns_[i]);
    }
    for (Lun& lun : luns_) {
      const absl::Status ready = lun.session->AwaitReady(clock_->MonotonicNs() + kLoginNs);
      if (!ready.ok()) return ready;
      if (!IsTheSame(lun)) return absl::FailedPreconditionError(Other(lun));
      // While a phase is armed nobody is fenced off, so that this cannot bring a key back that was
      // taken away. A session that was lost may only rejoin (Resume()).
      const uint64_t key = lun.spec->reservation_key;
      if (key == 0) continue;
      const absl::Status joined = lun.session->Reserve(ReservationAction::kRegisterAndIgnore, 0,
                                                       key, clock_->MonotonicNs() + kLoginNs);
      if (!joined.ok()) return joined;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int> Exchange(absl::Span<const IoRequest> requests, int min_complete,
                               int64_t deadline_ns, absl::Span<IoCompletion> completions) override {
    for (const IoRequest& request : requests) Add(request);
    for (Lun& lun : luns_) lun.session->Turn();
    if (setup_.timed_submission) submitted_at_ns_ = clock_->MonotonicNs();
    CountHeldBack(requests.size());
    int count = Take(completions, 0);
    // libiscsi receives only in Wait(): one look is needed even where no completion is waited for.
    bool looked = false;
    while (count < min_complete || (!looked && count == 0)) {
      const int64_t now = clock_->MonotonicNs();
      if (looked && now >= deadline_ns) break;
      waited_for_.clear();
      int64_t until = min_complete == 0 ? now : deadline_ns;
      for (Lun& lun : luns_) {
        MonitorSession(&lun, now);
        // While a session is lost, the time decides about the next attempt, not an event.
        if (lun.lost_ns != 0) until = std::min(until, now + kRetryNs / 10);
        waited_for_.push_back(lun.session.get());
      }
      if (done_.empty()) IscsiSession::Wait(waited_for_, until);
      looked = true;
      count = Take(completions, count);
    }
    return count;
  }

  void Finish() override {
    if (held_back_ == 0) return;
    notes_.push_back(absl::StrFormat(
        "iscsi: %d of %d I/Os waited on this host until the target's command window let them go "
        "(MaxCmdSN): it takes fewer in flight than the job has",
        held_back_, started_));
  }

  std::string Describe() const override { return "iscsi (libiscsi, a session for each thread)"; }

 private:
  struct Lun {
    const LunSpec* spec = nullptr;
    uint32_t number = IscsiSession::NewNumber();
    std::unique_ptr<IscsiSession> session;
    std::vector<uint32_t> waiting;  // slots that are to be sent when it is back
    int64_t lost_ns = 0;            // since when; 0: it is there
    int64_t useless_ns = 0;  // since when nothing was completed: sessions that are lost again
    int64_t tried_ns = 0;
    int given_up = 0;  // what its I/Os fail with from now on, as errno
  };

  static std::unique_ptr<IscsiSession> Connect(const Lun& lun) {
    return std::make_unique<IscsiSession>(lun.spec->numeric, lun.spec->login, lun.number);
  }
  static bool IsTheSame(const Lun& lun) { return IsSameLun(lun.session->facts(), lun.spec->facts); }
  static std::string Other(const Lun& lun) {
    return absl::StrCat(lun.spec->url.text(), ": another LUN answers (",
                        lun.session->facts().identity, ") than the one that was looked at (",
                        lun.spec->facts.identity, ")");
  }

  static std::string Fenced(const Lun& lun) {
    return absl::StrCat(lun.spec->url.text(),
                        ": this worker was fenced off: its registration is gone, and the storage "
                        "refuses what it writes");
  }

  void Add(const IoRequest& request) {
    Lun& lun = luns_[request.file];
    LunCommand& command = commands_[request.slot];
    file_of_[request.slot] = request.file;
    command.kind = request.kind == IoKind::kRead    ? LunCommand::Kind::kRead
                   : request.kind == IoKind::kWrite ? LunCommand::Kind::kWrite
                   : request.kind == IoKind::kTrim  ? LunCommand::Kind::kUnmap
                                                    : LunCommand::Kind::kSync;
    command.fua = lun.spec->fua;
    command.offset = request.offset;
    command.length = request.kind == IoKind::kSync ? 0 : request.length;
    const bool moves = request.kind == IoKind::kRead || request.kind == IoKind::kWrite;
    command.data = moves ? setup_.buffers->at(request.buffer) : nullptr;
    command.done = &IscsiEngine::Done;
    command.owner = this;
    command.slot = request.slot;
    ++started_;
    const uint32_t block = lun.spec->facts.block_bytes;
    if (lun.given_up != 0) {
      done_.push_back({request.slot, -lun.given_up});
    } else if (request.kind != IoKind::kSync &&
               (command.offset % block != 0 || command.length % block != 0)) {
      // SCSI addresses whole blocks. The kernel answers unaligned direct I/O in the same way.
      done_.push_back({request.slot, -EINVAL});
    } else if (lun.lost_ns != 0) {
      lun.waiting.push_back(request.slot);
    } else {
      lun.session->Start(&command);
    }
  }

  // Called in Turn() and Wait().
  static void Done(LunCommand* command) {
    auto* engine = static_cast<IscsiEngine*>(command->owner);
    if (command->result == -ECANCELED) {
      // Nobody knows whether the target has executed the command of a lost session. It is sent
      // again with the same bytes: its I/O is still in flight, so that nobody has changed its
      // buffer.
      engine->luns_[engine->file_of_[command->slot]].waiting.push_back(command->slot);
    } else {
      Lun& lun = engine->luns_[engine->file_of_[command->slot]];
      // Only a completed command shows that a session is of use. One that is lost again right after
      // each login must not be opened for ever.
      lun.useless_ns = 0;
      // The lost registration is reported once, not for each I/O in flight.
      if (command->result == -EBADE && lun.spec->reservation_key != 0 && lun.given_up == 0) {
        engine->report_(measure::Severity::kError, Fenced(lun));
        engine->GiveUp(&lun, EBADE);
      }
      engine->done_.push_back({command->slot, command->result});
    }
  }

  int Take(absl::Span<IoCompletion> completions, int count) {
    for (const IoCompletion& completion : done_) completions[count++] = completion;
    done_.clear();
    return count;
  }

  void CountHeldBack(size_t batch) {
    size_t held = 0;
    for (const Lun& lun : luns_) held += static_cast<size_t>(lun.session->held_back());
    // Commands of earlier batches may still be held back, and were counted then.
    held_back_ += std::min(held, batch);
  }

  // Opens a session again that was lost; sends what waits for it when it is back.
  void MonitorSession(Lun* lun, int64_t now) {
    if (lun->given_up != 0) return;
    const IscsiSession::State state = lun->session->state();
    if (lun->lost_ns == 0) {
      if (state != IscsiSession::State::kLost) return;
      lun->lost_ns = now;
      if (lun->useless_ns == 0) lun->useless_ns = now;
      report_(measure::Severity::kWarning,
              absl::StrFormat("%s; %d I/Os wait, and it is tried again for %d s",
                              std::string(lun->session->why().message()), lun->waiting.size(),
                              lun->spec->reconnect_ns / kSecond));
    }
    if (state == IscsiSession::State::kReady) return Resume(lun, now);
    if (now - lun->useless_ns > lun->spec->reconnect_ns) {
      report_(measure::Severity::kError,
              absl::StrFormat("%s: was not back after %d s: %s", lun->spec->url.text(),
                              lun->spec->reconnect_ns / kSecond,
                              std::string(lun->session->why().message())));
      return GiveUp(lun, ENOTCONN);
    }
    const bool hangs =
        state == IscsiSession::State::kConnecting && now - lun->tried_ns > kAttemptNs;
    if ((state == IscsiSession::State::kLost || hangs) && now - lun->tried_ns >= kRetryNs) {
      lun->tried_ns = now;
      lun->session = Connect(*lun);
    }
  }

  void Resume(Lun* lun, int64_t now) {
    if (!IsTheSame(*lun)) {
      report_(measure::Severity::kError, Other(*lun));
      return GiveUp(lun, ESTALE);
    }
    const uint64_t key = lun->spec->reservation_key;
    // A worker that was fenced off during the loss must not write again.
    const absl::Status joined =
        key == 0 ? absl::OkStatus() : lun->session->Rejoin(key, clock_->MonotonicNs() + kAttemptNs);
    if (!joined.ok()) {
      // A session that is lost once more is opened again. After a conflict it stays closed.
      if (!absl::IsFailedPrecondition(joined)) return;
      report_(measure::Severity::kError, std::string(joined.message()));
      return GiveUp(lun, EBADE);
    }
    report_(
        measure::Severity::kInfo,
        absl::StrFormat("%s: is back after %.1f s; %d I/Os are sent again", lun->spec->url.text(),
                        static_cast<double>(now - lun->lost_ns) / kSecond, lun->waiting.size()));
    lun->lost_ns = 0;
    for (const uint32_t slot : lun->waiting) lun->session->Start(&commands_[slot]);
    lun->waiting.clear();
    lun->session->Turn();
  }

  void GiveUp(Lun* lun, int error) {
    lun->given_up = error;
    // Each I/O in flight must complete, whatever becomes of the LUN: its slot is not used again
    // before.
    for (const uint32_t slot : lun->waiting) done_.push_back({slot, -error});
    lun->waiting.clear();
  }

  const common::Clock* clock_;
  const ReportEvent report_;
  EngineSetup setup_;
  std::vector<LunCommand> commands_;  // by slot
  std::vector<uint16_t> file_of_;     // by slot
  std::vector<IoCompletion> done_;
  std::vector<IscsiSession*> waited_for_;
  uint64_t started_ = 0;
  uint64_t held_back_ = 0;
  std::vector<Lun> luns_;
};

}  // namespace

std::unique_ptr<IoEngine> NewIscsiEngine(const EngineContext& context) {
  return std::make_unique<IscsiEngine>(context);
}

namespace {

const RegisterEngine kIscsi(
    {.name = "iscsi",
     .reaches = [](const EngineFile& file) { return std::holds_alternative<RemoteLun>(file.way); },
     .make = [](const EngineContext& c) { return NewIscsiEngine(c); }});

}  // namespace

}  // namespace lockstep::worker
