#include "worker/iscsi/session.h"

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <ctime>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/timing.h"
#include "worker/iscsi/identity.h"
#include "worker/iscsi/scsi_errno.h"

namespace lockstep::worker {
namespace {

// The pause between two NOPs. A target that has left kUnanswered of them unanswered, and so was
// silent for 15 s, counts as lost.
constexpr int64_t kKeepNs = 5 * timing::kSecond;
constexpr int kUnanswered = 3;
constexpr int kAttentions = 10;

static_assert(sizeof(scsi_iovec) == sizeof(LunCommand::vector));

int64_t NowNs() { return common::SystemClock().MonotonicNs(); }

std::string Trimmed(const char* text) {
  return common::Printable(std::string(absl::StripAsciiWhitespace(text)), 64);
}

enum Step { kTestReady, kInquiry, kSerial, kPage83, kCapacity, kReady };

}  // namespace

// libiscsi calls these. They only take notes, since a context must not be destroyed while libiscsi
// is on the stack.
struct IscsiCallbacks {
  static void Connected(iscsi_context*, int status, void*, void* self) {
    auto* session = static_cast<IscsiSession*>(self);
    // iscsi_destroy_context() calls back for everything that is in flight.
    if (session->closing_ || session->failed_) return;
    if (status != SCSI_STATUS_GOOD) {
      return session->Fail(
          absl::UnavailableError(session->state_ == IscsiSession::State::kConnecting
                                     ? absl::StrCat("no connection: ", session->Error())
                                     : "the connection was closed"));
    }
    if (iscsi_login_async(session->context_, &LoggedIn, self) != 0) {
      session->Fail(absl::UnavailableError("no login: " + session->Error()));
    }
  }

  static void LoggedIn(iscsi_context*, int status, void*, void* self) {
    auto* session = static_cast<IscsiSession*>(self);
    if (session->closing_ || session->failed_) return;
    if (status == SCSI_STATUS_GOOD) return session->SendStep(kTestReady);
    const std::string error = session->Error();
    // libiscsi 1.19 gives the target's status class as text only.
    if (absl::StrContains(error, "uthenticat") || absl::StrContains(error, "uthorization")) {
      return session->Fail(absl::UnauthenticatedError(
          absl::StrCat("the target refuses the login: ", error,
                       "; the worker's --iscsi-secrets has CHAP names and passwords")));
    }
    if (absl::StrContains(error, "arget not found")) {
      return session->Fail(absl::NotFoundError("the portal has no such target: " + error));
    }
    session->Fail(absl::UnavailableError(
        status == SCSI_STATUS_REDIRECT
            ? "the target is at another portal (" +
                  std::string(iscsi_get_target_address(session->context_)) + "); name that one"
            : "no login: " + error));
  }

  struct Asked {
    IscsiSession* session;
    int step;
  };
  static void Answered(iscsi_context*, int status, void* data, void* asked) {
    const std::unique_ptr<Asked> which(static_cast<Asked*>(asked));
    auto* task = static_cast<scsi_task*>(data);
    if (!which->session->closing_ && !which->session->failed_) {
      which->session->Answered(which->step, status, task);
    }
    if (task != nullptr) scsi_free_scsi_task(task);
  }

  static void Done(iscsi_context*, int status, void* data, void* command) {
    auto* of = static_cast<LunCommand*>(command);
    of->session->Complete(of, status, static_cast<scsi_task*>(data));
  }

  static void Kept(iscsi_context*, int, void*, void*) {}
};

uint32_t IscsiSession::NewNumber() {
  static std::atomic<uint32_t> numbers{0};
  return ++numbers;
}

IscsiSession::IscsiSession(const common::IscsiUrl& url, const IscsiLogin& login, uint32_t number)
    : url_(url), number_(number) {
  first_.next = first_.previous = &first_;
  context_ = iscsi_create_context(login.initiator.c_str());
  if (context_ == nullptr) {
    Fail(absl::ResourceExhaustedError("no memory for a session"));
    Lose();
    return;
  }
  // Each session of an initiator has an ISID of its own. A login with the same one ends the other,
  // and what it had in flight (RFC 7143, 6.3.5).
  // Two workers of a host can have one initiator name: 24 bits of clock and process id tell their
  // sessions apart.
  static const auto kProcess =
      static_cast<uint32_t>(static_cast<uint64_t>(NowNs()) * 0x9e3779b97f4a7c15 >> 40) ^
      static_cast<uint32_t>(getpid());
  iscsi_set_isid_random(context_, kProcess & 0xffffff, number & 0xffff);
  iscsi_set_targetname(context_, url.target.c_str());
  iscsi_set_session_type(context_, ISCSI_SESSION_NORMAL);
  // libiscsi would reconnect by itself and send again what was in flight, also writes that the
  // target has fenced off by then.
  iscsi_set_noautoreconnect(context_, 1);
  if (login.chap) {
    iscsi_set_initiator_username_pwd(context_, login.chap->user.c_str(),
                                     login.chap->password.c_str());
    if (!login.chap->target_user.empty()) {
      iscsi_set_target_username_pwd(context_, login.chap->target_user.c_str(),
                                    login.chap->target_password.c_str());
    }
  }
  if (iscsi_connect_async(context_, url.portal.c_str(), &IscsiCallbacks::Connected, this) != 0) {
    Fail(absl::UnavailableError("no connection: " + Error()));
  }
  Service(0);
}

IscsiSession::~IscsiSession() {
  if (!failed_) Fail(absl::CancelledError("closed"));
  Lose();
}

std::string IscsiSession::Error() const {
  const char* text = context_ == nullptr ? nullptr : iscsi_get_error(context_);
  return text == nullptr         ? "no reason given"
         : Trimmed(text).empty() ? "no reason given"
                                 : common::Printable(text, 300);
}

void IscsiSession::Fail(const absl::Status& why) {
  if (failed_) return;
  failed_ = true;
  why_ = absl::Status(why.code(), absl::StrCat(url_.text(), ": ", std::string(why.message())));
}

// This may only be called when nothing of libiscsi is on the stack.
void IscsiSession::Lose() {
  state_ = State::kLost;
  closing_ = true;
  if (context_ != nullptr) iscsi_destroy_context(context_);
  context_ = nullptr;
  // The callbacks of the destroyed context have passed over the commands (`closing_`): each is
  // answered here, once.
  while (first_.next != &first_) {
    LunCommand* command = first_.next;
    first_.next = command->next;
    command->next->previous = &first_;
    if (command->task != nullptr) scsi_free_scsi_task(command->task);
    command->task = nullptr;
    command->result = -ECANCELED;
    command->done(command);
  }
}

void IscsiSession::Service(int events) {
  if (state_ == State::kLost) return;
  if (!failed_ && iscsi_service(context_, events) != 0) {
    Fail(absl::UnavailableError("the session was lost: " + Error()));
  }
  if (failed_) Lose();
}

std::string IscsiSession::peer() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (context_ == nullptr ||
      getpeername(iscsi_get_fd(context_), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "";
  }
  std::array<char, NI_MAXHOST> host;
  std::array<char, NI_MAXSERV> port;
  if (getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return address.ss_family == AF_INET6 ? absl::StrCat("[", host.data(), "]:", port.data())
                                       : absl::StrCat(host.data(), ":", port.data());
}

void IscsiSession::SendStep(int step) {
  auto* asked = new IscsiCallbacks::Asked{this, step};
  const auto callback = &IscsiCallbacks::Answered;
  scsi_task* task = nullptr;
  switch (step) {
    // TEST UNIT READY comes first: it moves no data, and the target reports the unit attentions of
    // a login in its status.
    case kTestReady:
      task = iscsi_testunitready_task(context_, url_.lun, callback, asked);
      break;
    case kInquiry:
      task = iscsi_inquiry_task(context_, url_.lun, 0, 0, 96, callback, asked);
      break;
    case kSerial:
      task = iscsi_inquiry_task(context_, url_.lun, 1, 0x80, kMaxInquiry, callback, asked);
      break;
    case kPage83:
      task = iscsi_inquiry_task(context_, url_.lun, 1, 0x83, kMaxInquiry, callback, asked);
      break;
    default:
      task = iscsi_readcapacity16_task(context_, url_.lun, callback, asked);
  }
  if (task != nullptr) return;
  delete asked;
  Fail(absl::UnavailableError("no request can be sent: " + Error()));
}

void IscsiSession::Answered(int step, int status, scsi_task* task) {
  const int error = ErrnoOf(status, task);
  // A unit attention may say that this is another LUN, so that the questions begin anew. Each is
  // reported once, and a target has several after a login or a reset (SPC, sense key 06h).
  if (error == EAGAIN && ++attentions_ <= kAttentions) return SendStep(kTestReady);
  // Pages 80h and 83h may be missing. Luns::Probe() refuses a LUN without an identity, and says so.
  if (error != 0 && (step == kTestReady || step == kInquiry || step == kCapacity)) {
    if (error == ENODEV) return Fail(absl::NotFoundError("the target has no such LUN"));
    return Fail(absl::UnavailableError(absl::StrCat("the LUN does not answer: ", Error())));
  }
  if (error == 0 && step == kInquiry) {
    auto* found = static_cast<scsi_inquiry_standard*>(scsi_datain_unmarshall(task));
    if (found == nullptr ||
        found->device_type != SCSI_INQUIRY_PERIPHERAL_DEVICE_TYPE_DIRECT_ACCESS ||
        found->qualifier != SCSI_INQUIRY_PERIPHERAL_QUALIFIER_CONNECTED) {
      return Fail(absl::NotFoundError("the LUN is no disk"));
    }
    facts_.vendor = Trimmed(found->vendor_identification);
    facts_.model = Trimmed(found->product_identification);
  } else if (error == 0 && step == kSerial && task->datain.size > 4) {
    facts_.serial = Trimmed(std::string(reinterpret_cast<const char*>(task->datain.data) + 4,
                                        static_cast<size_t>(task->datain.size) - 4)
                                .c_str());
  } else if (error == 0 && step == kPage83 && task->datain.size > 0) {
    facts_.identity = common::Printable(
        LunIdentity({task->datain.data, static_cast<size_t>(task->datain.size)}), 256);
  } else if (step == kCapacity) {
    auto* found = static_cast<scsi_readcapacity16*>(scsi_datain_unmarshall(task));
    // The target says the size: within 60 bits, sums of offsets and lengths cannot overflow.
    const bool sane = found != nullptr && found->block_length >= 512 &&
                      found->block_length <= 65536 &&
                      (found->block_length & (found->block_length - 1)) == 0 &&
                      found->returned_lba < (uint64_t{1} << 60) / found->block_length;
    if (!sane) return Fail(absl::UnavailableError("the LUN's size makes no sense"));
    facts_.block_bytes = found->block_length;
    facts_.size_bytes = (found->returned_lba + 1) * found->block_length;
    state_ = State::kReady;
    kept_ns_ = NowNs();
    return;
  }
  SendStep(step + 1);
}

void IscsiSession::Start(LunCommand* command) {
  command->session = this;
  command->task = nullptr;
  command->previous = first_.previous;
  command->next = &first_;
  first_.previous->next = command;
  first_.previous = command;
  // The command is in the ring already, and comes back by Turn(): each one gets an answer.
  if (state_ == State::kLost || failed_) return;
  const auto block = static_cast<int>(facts_.block_bytes);
  const uint64_t lba = command->offset / facts_.block_bytes;
  command->vector = {command->data, command->length};
  auto* vector = reinterpret_cast<scsi_iovec*>(&command->vector);
  const auto done = &IscsiCallbacks::Done;
  const int fua = command->fua ? 1 : 0;
  switch (command->kind) {
    case LunCommand::Kind::kRead:
      command->task = iscsi_read16_iov_task(context_, url_.lun, lba, command->length, block, 0, 0,
                                            0, 0, 0, done, command, vector, 1);
      break;
    case LunCommand::Kind::kWrite:
      command->task = iscsi_write16_iov_task(context_, url_.lun, lba, nullptr, command->length,
                                             block, 0, 0, fua, 0, 0, done, command, vector, 1);
      break;
    case LunCommand::Kind::kUnmap: {
      unmap_list list = {lba, command->length / facts_.block_bytes};
      command->task = iscsi_unmap_task(context_, url_.lun, 0, 0, &list, 1, done, command);
      break;
    }
    case LunCommand::Kind::kSync:
      command->task = iscsi_synchronizecache16_task(context_, url_.lun, 0, 0, 0, 0, done, command);
      break;
  }
  if (command->task == nullptr) Fail(absl::UnavailableError("no command can be sent: " + Error()));
}

void IscsiSession::Complete(LunCommand* command, int status, scsi_task* task) {
  const int error = ErrnoOf(status, task);
  const bool another = IsAnotherLun(status, task);
  uint32_t missing = 0;
  // The residual was not moved. The result is then short, as that of a read(2) at the end of a
  // file.
  if (task != nullptr && task->residual_status != SCSI_RESIDUAL_NO_RESIDUAL) {
    missing = static_cast<uint32_t>(std::min<size_t>(task->residual, command->length));
  }
  if (task != nullptr) scsi_free_scsi_task(task);
  command->task = nullptr;
  // While the session closes, Lose() answers the commands.
  if (closing_ || failed_) return;
  // The command stays in the ring: Lose() answers it with all the others.
  if (status == SCSI_STATUS_CANCELLED) {
    return Fail(absl::UnavailableError("the session was lost: " + Error()));
  }
  // Nothing more is sent before a new session has looked at the LUN again.
  if (another) {
    return Fail(absl::UnavailableError("the target says that the LUN has changed"));
  }
  heard_ = true;
  command->previous->next = command->next;
  command->next->previous = command->previous;
  const bool moves =
      command->kind == LunCommand::Kind::kRead || command->kind == LunCommand::Kind::kWrite;
  command->result = error != 0 ? -error
                    : moves    ? static_cast<int32_t>(command->length - missing)
                               : 0;
  command->done(command);
}

void IscsiSession::Turn() {
  // Commands that were started after the loss come back here.
  if (failed_) return Lose();
  const int wanted = iscsi_which_events(context_);
  // No poll(2) comes first: the socket does not block, and Wait() sends what it does not take now.
  Service(wanted & POLLOUT);
}

int IscsiSession::held_back() const {
  if (state_ != State::kReady || failed_) return 0;
  // libiscsi asks for POLLOUT only where the window lets a command go.
  return (iscsi_which_events(context_) & POLLOUT) != 0 ? 0 : iscsi_out_queue_length(context_);
}

// NOPs: whether the target is still there.
void IscsiSession::Keep(int64_t now_ns) {
  if (state_ != State::kReady || failed_ || now_ns - kept_ns_ < kKeepNs) return;
  kept_ns_ = now_ns;
  // A target that completes commands is there, also where NOPs wait behind a full window.
  if (std::exchange(heard_, false)) return;
  if (iscsi_get_nops_in_flight(context_) >= kUnanswered) {
    return Fail(absl::UnavailableError("the target answered no NOP for 15 s"));
  }
  iscsi_nop_out_async(context_, &IscsiCallbacks::Kept, nullptr, 0, nullptr);
}

void IscsiSession::Wait(absl::Span<IscsiSession* const> sessions, int64_t deadline_ns) {
  std::array<pollfd, kMaxSessions> polled;
  std::array<IscsiSession*, kMaxSessions> whose;
  nfds_t count = 0;
  int64_t now = NowNs();
  for (IscsiSession* session : sessions) {
    assert(count < kMaxSessions);
    session->Keep(now);
    if (session->failed_) {
      session->Lose();
      continue;
    }
    const int wanted = iscsi_which_events(session->context_);
    polled[count] = {iscsi_get_fd(session->context_), static_cast<short>(wanted | POLLRDHUP), 0};
    whose[count++] = session;
  }
  // The wait ends at the next NOP at the latest.
  const int64_t rest = std::clamp<int64_t>(deadline_ns - now, 0, kKeepNs);
  const timespec limit = {rest / timing::kSecond, rest % timing::kSecond};
  if (ppoll(polled.data(), count, &limit, nullptr) <= 0) return;
  for (nfds_t i = 0; i < count; ++i) {
    const int events = polled[i].revents;
    if (events == 0) continue;
    whose[i]->Service(events & (POLLIN | POLLOUT | POLLERR | POLLHUP));
    // Everything that arrived before the end has been read now.
    if ((events & POLLRDHUP) != 0 && whose[i]->state_ != State::kLost) {
      whose[i]->Fail(absl::UnavailableError("the target closed the connection"));
      whose[i]->Lose();
    }
  }
}

}  // namespace lockstep::worker
