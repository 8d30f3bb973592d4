#include "controller/api/submissions.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/signing.h"
#include "google/protobuf/util/message_differencer.h"

namespace lockstep::controller {
namespace {

constexpr size_t kKeyDigits = 32;

// Without what ControllerService::ResolveRuns() fills in: `last` may mean another run by the second
// call, most often the run of the first.
v1::JobSpec Unresolved(v1::JobSpec job) {
  for (v1::PhaseSpec& phase : *job.mutable_phases()) {
    if (phase.has_observe()) {
      phase.mutable_observe()->clear_compare_with();
      phase.mutable_observe()->clear_limits();
    }
    if (phase.has_verify()) phase.mutable_verify()->clear_of_run();
  }
  return job;
}

}  // namespace

bool Submissions::IsKey(const std::string& text) {
  return text.size() == kKeyDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// The store's primary key makes a submission unique this way, in any order of calls and
// controllers. A key in a column of its own would need a second constraint, and the same check of
// the caller in each place that reads it.
std::string Submissions::RunIdOf(const std::string& caller, const std::string& key) {
  std::string bytes = common::KeyedHash(key, "lockstep submission of " + caller).substr(0, 16);
  // A UUID of version 8, whose bits are its maker's choice (RFC 9562, section 5.8).
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x80);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  const std::string hex = absl::BytesToHexString(bytes);
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

std::shared_ptr<void> Submissions::Begin(const std::string& run_id) {
  {
    const common::MutexLock lock(&in_progress_->mutex);
    if (!in_progress_->runs.insert(run_id).second) return nullptr;
  }
  return {in_progress_.get(), [all = in_progress_, run_id](void*) {
            const common::MutexLock lock(&all->mutex);
            all->runs.erase(run_id);
          }};
}

absl::StatusOr<bool> Submissions::IsStored(const measure::RunRecord& run) const {
  const auto stored = store_->GetRun(run.run_id);
  if (absl::IsNotFound(stored.status())) return false;
  if (!stored.ok()) return stored.status();
  if (stored->source == run.source && google::protobuf::util::MessageDifferencer::Equals(
                                          Unresolved(stored->job), Unresolved(run.job))) {
    return true;
  }
  return absl::AlreadyExistsError(
      absl::StrCat("run ", run.run_id, " was submitted with the same key and another job (",
                   stored->job.name(), "); nothing was submitted. Use a new key for a new job"));
}

}  // namespace lockstep::controller
