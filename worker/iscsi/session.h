#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/iscsi_url.h"
#include "worker/iscsi/secrets.h"

struct iscsi_context;
struct scsi_task;

namespace lockstep::worker {

// The name and the secret with which this worker logs in to iSCSI targets.
struct IscsiLogin {
  std::string initiator;  // its iqn, by which arrays mask LUNs
  std::optional<ChapSecret> chap;
};

// The facts that a LUN reports about itself.
struct LunFacts {
  std::string identity;  // LunIdentity(); empty where it has none
  std::string vendor, model, serial;
  uint64_t size_bytes = 0;
  uint32_t block_bytes = 0;  // logical
};

// Whether both are the same LUN, of the same size.
inline bool IsSameLun(const LunFacts& a, const LunFacts& b) {
  return a.identity == b.identity && a.serial == b.serial && a.size_bytes == b.size_bytes &&
         a.block_bytes == b.block_bytes;
}

// The service actions of PERSISTENT RESERVE OUT.
enum class ReservationAction {
  kRegister = 0,           // key → other_key; 0 ends the registration
  kReserve = 1,            // by the registered key
  kPreempt = 4,            // by the registered key, of other_key
  kRegisterAndIgnore = 6,  // other_key, whatever was registered by this session
};

// The state of a LUN's persistent reservations.
struct ReservationFacts {
  uint32_t generation = 0;     // counts changes of registrations
  std::vector<uint64_t> keys;  // of each session that is registered
  uint64_t holder = 0;         // its key; 0: nobody has reserved
  int type = 0;                // of the reservation, as SPC-5 table 60
};
inline constexpr int kWriteExclusiveRegistrantsOnly = 5;

// One command to a LUN. It and its memory belong to the caller, and stay where they are until
// `done` was called.
struct LunCommand {
  enum class Kind { kRead, kWrite, kUnmap, kSync };
  Kind kind = Kind::kRead;
  bool fua = false;     // a write is durable when it is done
  uint64_t offset = 0;  // bytes; a multiple of the LUN's block, as the length
  uint32_t length = 0;
  void* data = nullptr;
  // Bytes moved, 0 for unmap and sync, or -errno: EAGAIN where the target asks for it again,
  // ECANCELED where the session was lost and nobody knows what became of the command.
  int32_t result = 0;
  void (*done)(LunCommand* command) = nullptr;  // called in Wait(), Turn() and the destructor
  void* owner = nullptr;
  uint32_t slot = 0;

  // The session's own.
  struct {
    void* base = nullptr;
    size_t length = 0;
  } vector;  // as struct scsi_iovec
  scsi_task* task = nullptr;
  class IscsiSession* session = nullptr;
  LunCommand* next = nullptr;
  LunCommand* previous = nullptr;
};

// One session with a LUN, many commands in flight. It never blocks but in Wait(), and never comes
// back once it is lost: its user makes another one. A target that answers no NOP for 15 s counts as
// lost. Belongs to one thread. The process ignores SIGPIPE: libiscsi writes to connections that the
// other end may have closed.
class IscsiSession {
 public:
  enum class State { kConnecting, kReady, kLost };
  // For which Wait() can wait at once.
  static constexpr size_t kMaxSessions = 64;

  // The next number for a session of this process; of 65,536 each is used again.
  static uint32_t NewNumber();
  // Begins to connect, to log in and to ask for the facts. A session that takes a lost one's place
  // has its number: the target then ends the lost one, so that nothing of it is done later.
  IscsiSession(const common::IscsiUrl& url, const IscsiLogin& login, uint32_t number = NewNumber());
  ~IscsiSession();
  IscsiSession(const IscsiSession&) = delete;

  State state() const { return state_; }
  // Why it is lost: UNAUTHENTICATED, NOT_FOUND (no such target or LUN), UNAVAILABLE.
  const absl::Status& why() const { return why_; }
  const LunFacts& facts() const { return facts_; }
  // HOST:PORT as numbers, of the connection; empty while there is none.
  std::string peer() const;

  // Hands a command over, in state kReady. When the session is lost, `done` is called all the same.
  void Start(LunCommand* command);
  // Sends what was started; never waits.
  void Turn();
  // How many commands wait here because the target's window is full (MaxCmdSN).
  int held_back() const;

  // Waits until something has happened on one of the sessions, or `deadline_ns` (CLOCK_MONOTONIC).
  static void Wait(absl::Span<IscsiSession* const> sessions, int64_t deadline_ns);

  // The rest is for those who have time: they wait themselves. DEADLINE_EXCEEDED and UNAVAILABLE
  // name the LUN; offsets and lengths are bytes, multiples of its block.
  absl::Status AwaitReady(int64_t deadline_ns);
  absl::StatusOr<std::string> Read(uint64_t offset, uint32_t length, int64_t deadline_ns);
  absl::Status Write(uint64_t offset, const std::string& data, int64_t deadline_ns);
  // Makes completed writes durable.
  absl::Status Flush(int64_t deadline_ns);
  // Numbers of the target's LUNs.
  absl::StatusOr<std::vector<int>> Luns(int64_t deadline_ns);
  // PERSISTENT RESERVE OUT (SPC-5 6.17) of type write exclusive, registrants only.
  // FAILED_PRECONDITION: reservation conflict; UNIMPLEMENTED where the LUN knows no such thing.
  absl::Status Reserve(ReservationAction action, uint64_t key, uint64_t other_key,
                       int64_t deadline_ns);
  // Registers this session under a key that another session of the worker has registered; also
  // where others are registered at the same time. FAILED_PRECONDITION where the key is registered
  // no more, or was taken away during that time: the worker was fenced off.
  absl::Status Rejoin(uint64_t key, int64_t deadline_ns);
  // PERSISTENT RESERVE IN (SPC-5 6.16): the keys that are registered, and who has reserved.
  absl::StatusOr<ReservationFacts> ReadReservation(int64_t deadline_ns);
  // The identity that another LUN of the target claims; empty where it has none.
  absl::StatusOr<std::string> IdentityOf(int lun, int64_t deadline_ns);

 private:
  friend struct IscsiCallbacks;
  // A command of the session itself.
  struct Request;
  struct Reply {
    absl::StatusOr<std::string> data;
    int error = 0;  // errno of the command's answer; 0 where there was none
  };
  // Hands a command to libiscsi, which calls Request::Answered with `shared`; null: it did not
  // take it.
  using Starter = std::function<scsi_task*(Request* request, void* shared)>;

  void Fail(const absl::Status& why);
  void Service(int events);
  void Lose();
  void Keep(int64_t now_ns);
  void SendStep(int step);
  void Answered(int step, int status, scsi_task* task);
  void Complete(LunCommand* command, int status, scsi_task* task);
  // Starts a command and waits for its answer, again where the target wants it repeated.
  Reply Ask(const Starter& start, int64_t deadline_ns);
  absl::StatusOr<std::string> Answer(const std::shared_ptr<Request>& question, int64_t deadline_ns);
  absl::StatusOr<std::string> ReserveIn(int action, int64_t deadline_ns);
  std::string Error() const;

  const common::IscsiUrl url_;
  const uint32_t number_;
  iscsi_context* context_ = nullptr;
  State state_ = State::kConnecting;
  bool failed_ = false;  // why_ says why; lost as soon as libiscsi has returned
  bool closing_ = false;
  absl::Status why_;
  LunFacts facts_;
  int attentions_ = 0;
  bool heard_ = false;  // since the last NOP was due
  int64_t kept_ns_ = 0;
  LunCommand first_;  // of those in flight, a ring
};

}  // namespace lockstep::worker
