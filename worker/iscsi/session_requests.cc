// Requests to a session by callers that have the time to wait for the answer.

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/timing.h"
#include "worker/iscsi/identity.h"
#include "worker/iscsi/scsi_errno.h"
#include "worker/iscsi/session.h"

namespace lockstep::worker {
namespace {

// Attempts of a question that the target wants to be asked again.
constexpr int kAttempts = 10;
// How often a session tries to be registered while others are, too, and how long it waits between.
constexpr int kJoins = 20;
constexpr int64_t kJoinPauseNs = 10 * timing::kMs;

}  // namespace

struct IscsiSession::Request {
  // `shared` is a new std::shared_ptr<Request>: the caller may have gone.
  static void Answered(iscsi_context*, int status, void* data, void* shared) {
    const std::unique_ptr<std::shared_ptr<Request>> question(
        static_cast<std::shared_ptr<Request>*>(shared));
    auto* task = static_cast<scsi_task*>(data);
    (*question)->done = true;
    (*question)->error = ErrnoOf(status, task);
    if (task == nullptr) return;
    if (status == SCSI_STATUS_GOOD && task->datain.data != nullptr && task->datain.size > 0) {
      (*question)->data.assign(reinterpret_cast<const char*>(task->datain.data),
                               static_cast<size_t>(task->datain.size));
    }
    scsi_free_scsi_task(task);
  }

  bool done = false;
  int error = 0;
  std::string data;
};

absl::Status IscsiSession::AwaitReady(int64_t deadline_ns) {
  IscsiSession* self = this;
  while (state_ == State::kConnecting) {
    if (common::SystemClock().MonotonicNs() >= deadline_ns) {
      return absl::DeadlineExceededError(absl::StrCat(url_.text(), ": does not answer"));
    }
    Wait({&self, 1}, deadline_ns);
  }
  return state_ == State::kLost ? why_ : absl::OkStatus();
}

absl::StatusOr<std::string> IscsiSession::Answer(const std::shared_ptr<Request>& question,
                                                 int64_t deadline_ns) {
  IscsiSession* self = this;
  while (!question->done) {
    if (state_ == State::kLost) return why_;
    if (common::SystemClock().MonotonicNs() >= deadline_ns) {
      return absl::DeadlineExceededError(absl::StrCat(url_.text(), ": does not answer"));
    }
    Wait({&self, 1}, deadline_ns);
  }
  if (question->error == 0) return std::move(question->data);
  // The loss of the session answers its questions as cancelled: the reason says more.
  if (state_ == State::kLost) return why_;
  return absl::UnavailableError(absl::StrCat(url_.text(), ": does not say: ", Error()));
}

IscsiSession::Reply IscsiSession::Ask(const Starter& start, int64_t deadline_ns) {
  for (int attempt = 0;; ++attempt) {
    if (state_ != State::kReady) {
      return {absl::UnavailableError(url_.text() + ": not connected"), 0};
    }
    auto question = std::make_shared<Request>();
    auto* shared = new std::shared_ptr<Request>(question);
    if (start(question.get(), shared) == nullptr) {
      delete shared;
      return {absl::UnavailableError(absl::StrCat(url_.text(), ": ", Error())), 0};
    }
    auto data = Answer(question, deadline_ns);
    // With a unit attention the device reports what happened before this command (a reset, a
    // change by another initiator), and does not execute it (SAM-5 5.14): it is to be sent again.
    if (question->error == EAGAIN && attempt < kAttempts) continue;
    return {std::move(data), question->error};
  }
}

absl::StatusOr<std::string> IscsiSession::Read(uint64_t offset, uint32_t length,
                                               int64_t deadline_ns) {
  const auto start = [&](Request*, void* shared) {
    return iscsi_read16_task(context_, url_.lun, offset / facts_.block_bytes, length,
                             static_cast<int>(facts_.block_bytes), 0, 0, 0, 0, 0,
                             &Request::Answered, shared);
  };
  return Ask(start, deadline_ns).data;
}

absl::Status IscsiSession::Write(uint64_t offset, const std::string& data, int64_t deadline_ns) {
  const auto start = [&](Request* question, void* shared) {
    question->data = data;  // libiscsi sends it later
    return iscsi_write16_task(
        context_, url_.lun, offset / facts_.block_bytes,
        reinterpret_cast<unsigned char*>(question->data.data()), static_cast<uint32_t>(data.size()),
        static_cast<int>(facts_.block_bytes), 0, 0, 0, 0, 0, &Request::Answered, shared);
  };
  const Reply reply = Ask(start, deadline_ns);
  if (reply.error == EBADE) {
    return absl::FailedPreconditionError(url_.text() + ": reservation conflict");
  }
  return reply.data.status();
}

absl::Status IscsiSession::Flush(int64_t deadline_ns) {
  const auto start = [&](Request*, void* shared) {
    // A count of 0 blocks means all blocks to the end of the LUN (SBC, SYNCHRONIZE CACHE).
    return iscsi_synchronizecache16_task(context_, url_.lun, 0, 0, 0, 0, &Request::Answered,
                                         shared);
  };
  return Ask(start, deadline_ns).data.status();
}

absl::StatusOr<std::vector<int>> IscsiSession::Luns(int64_t deadline_ns) {
  const auto start = [&](Request*, void* shared) {
    // 16 KiB hold 2,047 LUNs, behind a header of eight bytes.
    return iscsi_reportluns_task(context_, 0, 16384, &Request::Answered, shared);
  };
  const auto data = Ask(start, deadline_ns).data;
  if (!data.ok()) return data.status();
  // SPC-5 6.33: a length, then eight bytes for each LUN; of those with flat or peripheral
  // addressing the number is in the first two.
  std::vector<int> luns;
  for (size_t at = 8; at + 8 <= data->size(); at += 8) {
    const auto high = static_cast<uint8_t>((*data)[at]);
    const auto low = static_cast<uint8_t>((*data)[at + 1]);
    if (high >> 6 <= 1) luns.push_back((high & 0x3f) << 8 | low);
  }
  return luns;
}

absl::StatusOr<std::string> IscsiSession::IdentityOf(int lun, int64_t deadline_ns) {
  const auto start = [&](Request*, void* shared) {
    return iscsi_inquiry_task(context_, lun, 1, 0x83, kMaxInquiry, &Request::Answered, shared);
  };
  const auto page = Ask(start, deadline_ns).data;
  if (!page.ok()) return page.status();
  return common::Printable(
      LunIdentity({reinterpret_cast<const uint8_t*>(page->data()), page->size()}), 256);
}

absl::Status IscsiSession::Reserve(ReservationAction action, uint64_t key, uint64_t other_key,
                                   int64_t deadline_ns) {
  scsi_persistent_reserve_out_basic parameters = {};
  parameters.reservation_key = key;
  parameters.service_action_reservation_key = other_key;
  const auto start = [&](Request*, void* shared) {
    return iscsi_persistent_reserve_out_task(
        context_, url_.lun, static_cast<int>(action), SCSI_PERSISTENT_RESERVE_SCOPE_LU,
        kWriteExclusiveRegistrantsOnly, &parameters, &Request::Answered, shared);
  };
  const Reply reply = Ask(start, deadline_ns);
  if (reply.data.ok()) return absl::OkStatus();
  if (reply.error == EBADE) {
    return absl::FailedPreconditionError(url_.text() + ": reservation conflict");
  }
  if (reply.error == EOPNOTSUPP || reply.error == EREMOTEIO) {
    return absl::UnimplementedError(url_.text() + ": the LUN has no persistent reservations");
  }
  return reply.data.status();
}

absl::Status IscsiSession::Rejoin(uint64_t key, int64_t deadline_ns) {
  for (int attempt = 0; attempt < kJoins; ++attempt) {
    const auto before = ReadReservation(deadline_ns);
    if (!before.ok()) return before.status();
    if (std::find(before->keys.begin(), before->keys.end(), key) == before->keys.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat(url_.text(),
                       ": this worker was fenced off: its registration is gone, and "
                       "the storage refuses what it writes"));
    }
    // A new session is an I_T nexus without a registration, so that REGISTER has no old key to
    // compare. The keys are read before, and the count of changes after it.
    absl::Status status = Reserve(ReservationAction::kRegisterAndIgnore, 0, key, deadline_ns);
    if (!status.ok()) return status;
    const auto after = ReadReservation(deadline_ns);
    if (!after.ok()) return after.status();
    // If somebody has ended the registration in between, the count has grown by more than this
    // change.
    if (after->generation == before->generation + 1) return absl::OkStatus();
    // A worker that was fenced off must not keep what it has registered just now.
    status = Reserve(ReservationAction::kRegisterAndIgnore, 0, 0, deadline_ns);
    if (!status.ok()) return status;
    // Other sessions that do the same try again at other moments.
    const common::Clock& clock = common::SystemClock();
    clock.SleepUntil(clock.MonotonicNs() + number_ % (attempt + 2) * kJoinPauseNs);
  }
  return absl::UnavailableError(
      absl::StrCat(url_.text(), ": its registrations change all the time"));
}

absl::StatusOr<std::string> IscsiSession::ReserveIn(int action, int64_t deadline_ns) {
  // The largest multiple of 8 that the allocation length of 16 bits can say.
  constexpr uint16_t kMaxAnswerBytes = 65528;
  const auto start = [&](Request*, void* shared) {
    return iscsi_persistent_reserve_in_task(context_, url_.lun, action, kMaxAnswerBytes,
                                            &Request::Answered, shared);
  };
  Reply reply = Ask(start, deadline_ns);
  if (reply.data.ok() && reply.data->size() >= 8) return std::move(reply.data);
  if (reply.data.ok() || reply.error == EOPNOTSUPP || reply.error == EREMOTEIO) {
    return absl::UnimplementedError(url_.text() + ": the LUN has no persistent reservations");
  }
  return reply.data.status();
}

absl::StatusOr<ReservationFacts> IscsiSession::ReadReservation(int64_t deadline_ns) {
  const auto number = [](const std::string& bytes, size_t at, size_t length) {
    uint64_t value = 0;
    for (size_t i = 0; i < length; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
    return value;
  };
  const auto keys = ReserveIn(SCSI_PERSISTENT_RESERVE_READ_KEYS, deadline_ns);
  if (!keys.ok()) return keys.status();
  ReservationFacts facts;
  facts.generation = static_cast<uint32_t>(number(*keys, 0, 4));
  // The length counts all keys, also those that did not fit into the answer.
  const size_t end = std::min<uint64_t>(keys->size(), 8 + number(*keys, 4, 4));
  for (size_t at = 8; at + 8 <= end; at += 8) facts.keys.push_back(number(*keys, at, 8));
  const auto holder = ReserveIn(SCSI_PERSISTENT_RESERVE_READ_RESERVATION, deadline_ns);
  if (!holder.ok()) return holder.status();
  // Without a reservation the length is 0. With one, its key is at byte 8, and its type in the low
  // half of byte 21 (SPC-5 6.16).
  if (number(*holder, 4, 4) >= 16 && holder->size() >= 24) {
    facts.holder = number(*holder, 8, 8);
    facts.type = static_cast<int>(number(*holder, 21, 1) & 0x0f);
  }
  return facts;
}

}  // namespace lockstep::worker
