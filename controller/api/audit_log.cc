#include "controller/api/audit_log.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text.h"
#include "common/timing.h"

namespace lockstep::controller {
namespace {

constexpr size_t kEntriesAtOnce = 200;
constexpr size_t kDetailBytes = 1000;
// Names come from certificates, and an authority may issue any number of them. The map of refusals
// must not grow with them.
constexpr size_t kCallersCounted = 1000;
constexpr auto kRetryPause = std::chrono::seconds(1);

const char* CodeName(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return "OK";
    case grpc::StatusCode::CANCELLED:
      return "CANCELLED";
    case grpc::StatusCode::INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case grpc::StatusCode::NOT_FOUND:
      return "NOT_FOUND";
    case grpc::StatusCode::ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case grpc::StatusCode::PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case grpc::StatusCode::FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case grpc::StatusCode::ABORTED:
      return "ABORTED";
    case grpc::StatusCode::UNAVAILABLE:
      return "UNAVAILABLE";
    case grpc::StatusCode::UNAUTHENTICATED:
      return "UNAUTHENTICATED";
    default:
      return "UNKNOWN";
  }
}

}  // namespace

AuditLog::AuditLog(storage::FleetStore* store, const common::Clock* clock, const Callers* callers)
    : store_(store), clock_(clock), callers_(callers), thread_([this] { Main(); }) {}

AuditLog::~AuditLog() {
  {
    common::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

v1::AuditEntry AuditLog::EntryOf(const grpc::ServerContextBase& context, const Principal& principal,
                                 const std::string& action) {
  v1::AuditEntry entry;
  entry.set_principal(principal.name);
  entry.set_role(RoleName(principal.role));
  entry.set_peer(common::Printable(context.peer(), 128));
  entry.set_action(action);
  return entry;
}

void AuditLog::AddRefusedWorker(const v1::Hello& hello, const std::string& peer,
                                const std::string& reason) {
  v1::AuditEntry entry;
  entry.set_principal(hello.certificate());
  entry.set_role("worker");
  entry.set_peer(common::Printable(peer, 128));
  entry.set_action("attach");
  entry.set_subject(common::Printable(hello.host().name(), 128));
  Add(std::move(entry), grpc::Status(grpc::StatusCode::PERMISSION_DENIED, reason));
}

void AuditLog::Add(v1::AuditEntry entry, const grpc::Status& answer) {
  // Only calls that were not served are limited: each change that was made has its entry, and a
  // loop of refused calls does not fill the store.
  if (!answer.ok() && IsLeftOut(&entry)) return;
  // The time is that of the answer. The store may get the entry much later, so now() of the
  // database would be wrong.
  entry.set_at(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixNanos(clock_->WallNs()),
                                absl::UTCTimeZone()));
  entry.set_answer(CodeName(answer.error_code()));
  std::string details = entry.details();
  if (!answer.ok()) {
    absl::StrAppend(&details, details.empty() ? "" : "; ", answer.error_message());
  }
  // Subjects and details hold callers' text. Control characters in it could forge lines or drive
  // the terminal of whoever reads the log.
  entry.set_subject(common::Printable(entry.subject(), 256));
  entry.set_details(common::Printable(details, kDetailBytes));
  common::MutexLock lock(&mutex_);
  if (waiting_.size() >= static_cast<size_t>(limits::kAuditWaiting)) {
    if (++dropped_ == 1) log::Error("the audit log waits for the store: entries are lost");
    return;
  }
  waiting_.push_back(std::move(entry));
  changed_.NotifyOne();
}

grpc::Status AuditLog::Require(const grpc::ServerContextBase& context, Role role,
                               const std::string& call) {
  const Principal principal = PrincipalOf(context);
  grpc::Status refused = callers_ == nullptr ? grpc::Status::OK : callers_->Check(context);
  if (refused.ok()) refused = controller::Require(principal, role);
  if (!refused.ok()) Add(EntryOf(context, principal, call), refused);
  return refused;
}

bool AuditLog::IsLeftOut(v1::AuditEntry* entry) {
  common::MutexLock lock(&mutex_);
  const int64_t minute = clock_->MonotonicNs() / timing::kMinute;
  if (refusals_.size() >= kCallersCounted && !refusals_.contains(entry->principal())) {
    refusals_.clear();
  }
  Refusals& refusals = refusals_[entry->principal()];
  if (refusals.minute != minute) {
    refusals.minute = minute;
    refusals.in_minute = 0;
  }
  if (++refusals.in_minute > limits::kAuditRefusals) {
    ++refusals.left_out;
    return true;
  }
  if (refusals.left_out > 0) {
    entry->set_details(absl::StrCat(entry->details(), entry->details().empty() ? "" : "; ",
                                    "after ", refusals.left_out, " more that were not recorded"));
    refusals.left_out = 0;
  }
  return false;
}

void AuditLog::Main() {
  while (true) {
    std::vector<v1::AuditEntry> batch;
    bool last = false;
    {
      common::MutexLock lock(&mutex_);
      changed_.Wait(&lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || !waiting_.empty();
      });
      if (waiting_.empty()) return;
      // While the log is stopping each batch gets one attempt: a store that is unavailable must not
      // hold up the controller's end.
      last = stopping_;
      const size_t count = std::min(waiting_.size(), kEntriesAtOnce);
      // The entries stay in the queue until they are stored, so that a retry keeps their order.
      // Only this thread removes entries, so they are still the first ones below.
      batch.assign(waiting_.begin(), waiting_.begin() + static_cast<int64_t>(count));
    }
    const absl::Status added = store_->AddAudit(batch);
    // ABORTED is not retried: another controller is active, and this one ends.
    const bool again = !added.ok() && storage::IsTransient(added) && !last;
    if (!added.ok() && !again) {
      log::Error("{} entries of the audit log cannot be stored: {}", batch.size(),
                 std::string(added.message()));
    }
    common::MutexLock lock(&mutex_);
    if (again) {
      changed_.WaitFor(&lock, kRetryPause,
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
      continue;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<int64_t>(batch.size()));
    if (dropped_ > 0) {
      log::Error("{} entries of the audit log were lost while the store was unavailable", dropped_);
      dropped_ = 0;
    }
  }
}

}  // namespace lockstep::controller
