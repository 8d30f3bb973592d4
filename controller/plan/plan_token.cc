#include "controller/plan/plan_token.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep::controller {
namespace {

// Maps have no order of their own, so equal messages could have different bytes. Deterministic
// serialization sorts them. protobuf guarantees equal bytes within one binary only, so an upgrade
// may void tokens.
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

// The text that a token of a plan covers.
std::string TextOf(const v1::JobSpec& job, const std::vector<PlanWorker>& workers) {
  std::vector<std::string> found;
  for (const PlanWorker& worker : workers) {
    for (const v1::TargetInspection& target : worker.inspection.targets()) {
      v1::TargetInspection same = target;
      // Free space, and what is still to be allocated, change by themselves. Their changes must not
      // make a token void.
      same.clear_free_bytes();
      same.clear_missing_bytes();
      same.clear_filesystem_bytes();
      same.clear_file_ranges();
      same.clear_ranges();
      same.clear_settings_ranges();
      // A number among layers, which those of other targets are counted with.
      same.clear_top_layer();
      found.push_back(absl::StrCat(worker.hello.worker_id(), "\n", Encode(same)));
    }
  }
  // The order in which workers attach must not matter.
  std::sort(found.begin(), found.end());
  v1::JobSpec spec = job;
  // The seed decides which offsets are written, not what the job may overwrite.
  spec.clear_seed();
  const std::string encoded = Encode(spec);
  // The lengths keep two different plans from having one text: serialized bytes can contain line
  // ends.
  std::string all = absl::StrCat(encoded.size(), "\n", encoded);
  for (const std::string& one : found) absl::StrAppend(&all, "\n", one.size(), "\n", one);
  return all;
}

// The contents that are overwritten, in words: those that their workers approve, or those that they
// do not.
enum class Approval { kMissing, kGiven };
std::vector<std::string> FindOverwrites(const v1::JobSpec& job,
                                        const std::vector<PlanWorker>& workers, Approval approval) {
  constexpr size_t kHostsShown = 8;
  std::map<std::string, std::vector<std::string>> hosts;  // by what is overwritten
  for (const PlanWorker& worker : workers) {
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.overwrites().empty() || found.is_approved() != (approval == Approval::kGiven) ||
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

}  // namespace

std::vector<std::string> OverwritesOf(const v1::JobSpec& job,
                                      const std::vector<PlanWorker>& workers) {
  return FindOverwrites(job, workers, Approval::kMissing);
}

std::vector<std::string> ApprovedOverwritesOf(const v1::JobSpec& job,
                                              const std::vector<PlanWorker>& workers) {
  return FindOverwrites(job, workers, Approval::kGiven);
}

std::string PlanTokens::Make(const v1::JobSpec& job, const std::vector<PlanWorker>& workers,
                             int64_t wall_ns) const {
  return tokens_.Make(TextOf(job, workers), wall_ns);
}

absl::Status PlanTokens::CheckAge(const std::string& token, int64_t wall_ns) const {
  const absl::Status age = tokens_.CheckAge(token, wall_ns);
  if (age.ok()) return age;
  if (absl::IsInvalidArgument(age)) {
    return absl::InvalidArgumentError(
        "is no token of a plan; `lockstep plan` prints one, and the command that uses it");
  }
  return absl::Status(age.code(), absl::StrCat("is of a plan that ", std::string(age.message()),
                                               ". Look at `lockstep plan` again"));
}

bool PlanTokens::IsOf(const std::string& token, const v1::JobSpec& job,
                      const std::vector<PlanWorker>& workers) const {
  return tokens_.IsOf(token, TextOf(job, workers));
}

}  // namespace lockstep::controller
