#include "controller/plan/plan_token.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/signing.h"

namespace lockstep::controller {
namespace {

// The same bytes for the same message, also of maps.
std::string Encode(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream out(&bytes);
    google::protobuf::io::CodedOutputStream coded(&out);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

constexpr int64_t kSecondNs = 1000000000;
constexpr size_t kHashBytes = 12;
constexpr size_t kTimeDigits = 8;
// Two controllers' wall clocks may differ.
constexpr int64_t kClockStepSeconds = 300;

std::optional<uint64_t> TimeOf(const std::string& token) {
  uint64_t seconds = 0;
  if (token.size() != kTimeDigits + 1 + 2 * kHashBytes || token[kTimeDigits] != '-' ||
      !absl::SimpleHexAtoi(token.substr(0, kTimeDigits), &seconds)) {
    return std::nullopt;
  }
  return seconds;
}

}  // namespace

std::vector<std::string> OverwritesOf(const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers) {
  constexpr size_t kHostsShown = 8;
  std::map<std::string, std::vector<std::string>> hosts;  // by what is overwritten
  for (const PlanWorker& worker : workers) {
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.overwrites().empty() || found.is_approved() ||
          found.target() >= static_cast<uint32_t>(job.targets_size())) {
        continue;
      }
      const std::string& name = job.targets(static_cast<int>(found.target())).name();
      const std::string path = found.paths_size() > 0 ? found.paths(0) : "";
      const std::string& identity = found.device_identity();
      hosts[absl::StrCat("target ", name, " (", identity.empty() ? path : identity,
                         "): ", found.overwrites())]
          .push_back(absl::StrCat(worker.hello.host().name(), " ", path));
    }
  }
  std::vector<std::string> words;
  for (auto& [what, where] : hosts) {
    const size_t more = where.size() > kHostsShown ? where.size() - kHostsShown : 0;
    where.resize(where.size() - more);
    words.push_back(absl::StrCat(what, "; as ", absl::StrJoin(where, ", "),
                                 more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  return words;
}

PlanTokens::PlanTokens(const std::string& secret)
    : key_(common::KeyedHash(secret, "lockstep plan token 1")) {}

std::string PlanTokens::Hash(uint64_t seconds, const v1::JobSpec& job,
                             const std::vector<PlanWorker>& workers) const {
  std::vector<std::string> found;
  for (const PlanWorker& worker : workers) {
    for (const v1::TargetInspection& target : worker.inspection.targets()) {
      v1::TargetInspection same = target;
      // Free space, and what is still to be allocated, change by themselves.
      same.clear_free_bytes();
      same.clear_missing_bytes();
      same.clear_filesystem_bytes();
      same.clear_file_places();
      same.clear_places();
      found.push_back(absl::StrCat(worker.hello.worker_id(), "\n", Encode(same)));
    }
  }
  // In whatever order workers have attached.
  std::sort(found.begin(), found.end());
  v1::JobSpec spec = job;
  spec.clear_seed();
  const std::string encoded = Encode(spec);
  std::string all = absl::StrCat(seconds, "\n", encoded.size(), "\n", encoded);
  for (const std::string& one : found) absl::StrAppend(&all, "\n", one.size(), "\n", one);
  return absl::BytesToHexString(common::KeyedHash(key_, all).substr(0, kHashBytes));
}

std::string PlanTokens::Make(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
                             int64_t wall_ns) const {
  const auto seconds = static_cast<uint64_t>(wall_ns / kSecondNs);
  return absl::StrFormat("%08x-%s", seconds, Hash(seconds, job, workers));
}

absl::Status PlanTokens::CheckAge(const std::string& token, int64_t wall_ns) const {
  const auto seconds = TimeOf(token);
  if (!seconds) {
    return absl::InvalidArgumentError(
        "is no token of a plan; `lockstep plan` prints one, and the command that uses it");
  }
  const int64_t age = wall_ns / kSecondNs - static_cast<int64_t>(*seconds);
  if (age <= limits::kPlanTokenSeconds && age >= -kClockStepSeconds) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("is of a plan that was made ", age / 3600, " h ago; at most ",
                   limits::kPlanTokenSeconds / 3600, " h may pass. Look at `lockstep plan` again"));
}

bool PlanTokens::IsOf(const std::string& token, const v1::JobSpec& job,
                      const std::vector<PlanWorker>& workers) const {
  const auto seconds = TimeOf(token);
  return seconds && common::IsSameSecret(
                        token, absl::StrFormat("%08x-%s", *seconds, Hash(*seconds, job, workers)));
}

}  // namespace lockstep::controller
