#include "controller/plan/written_contents.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "controller/plan/fleet_uses.h"

namespace lockstep::controller {
namespace {

// What the keys of files begin with.
constexpr char kFiles[] = "file ";

std::string KeyOfInspected(const v1::Target& target, const v1::TargetInspection& found,
                           const std::string& boot_id, uint32_t worker) {
  const std::string path = found.paths_size() > 0 ? found.paths(0) : "";
  if (target.has_file()) {
    // A file system that has no name of its own is this worker's alone.
    const std::string filesystem =
        found.filesystem_id().empty() ? absl::StrCat("worker ", worker) : found.filesystem_id();
    return absl::StrCat(kFiles, filesystem, " ", path);
  }
  if (!target.has_device() && !target.has_iscsi()) return "";
  return found.device_identity().empty() ? absl::StrCat("path ", boot_id, " ", path)
                                         : DeviceKey(found.device_identity(), boot_id);
}

// What a worker may say of one thing: at most one fingerprint of each expendable file.
constexpr size_t kMaxLeft = limits::kForeignFiles;

// Whether the assignment writes the target.
bool IsWritten(const v1::Assignment& assignment, const v1::TargetAssignment& target) {
  return target.written() || (assignment.has_prepare() && target.file_count() > 0);
}

}  // namespace

WrittenContents::WrittenContents(const SettledRun& run) {
  for (uint32_t w = 0; w < run.workers.size(); ++w) {
    const PlanWorker& worker = run.workers[w];
    for (const v1::TargetInspection& found : worker.inspection.targets()) {
      if (found.target() >= static_cast<uint32_t>(run.job.targets_size())) continue;
      const std::string key = KeyOfInspected(run.job.targets(static_cast<int>(found.target())),
                                             found, worker.hello.host().boot_id(), w);
      if (!key.empty()) keys_[{w, found.target()}] = key;
    }
  }
}

std::string WrittenContents::KeyOf(uint32_t worker, uint32_t target) const {
  const auto found = keys_.find({worker, target});
  return found == keys_.end() ? "" : found->second;
}

void WrittenContents::Assign(Attempt attempt, const std::vector<v1::Assignment>& assignments) {
  assigned_ = attempt;
  writers_.clear();
  for (const v1::Assignment& assignment : assignments) {
    for (const v1::TargetAssignment& target : assignment.targets()) {
      const std::string key = KeyOf(assignment.worker_index(), target.index());
      if (key.empty() || !IsWritten(assignment, target)) continue;
      writers_[key].push_back(assignment.worker_index());
    }
  }
}

void WrittenContents::Start() {
  for (const auto& [key, workers] : writers_) {
    const bool is_files = key.rfind(kFiles, 0) == 0;
    const auto [found, is_new] =
        things_.try_emplace(key, Thing{assigned_, assigned_, is_files, {}});
    Thing& thing = found->second;
    if (!is_new && thing.last == assigned_) continue;  // it is sent again
    thing.last = assigned_;
    thing.said.clear();
    for (const uint32_t worker : workers) thing.said[worker] = {};
  }
}

void WrittenContents::TakeResult(Attempt attempt, uint32_t worker, const v1::PhaseResult& result) {
  const auto find = [&](const std::string& key) -> Thing::Said* {
    const auto thing = things_.find(key);
    if (thing == things_.end() || thing->second.last != attempt) return nullptr;
    const auto said = thing->second.said.find(worker);
    return said == thing->second.said.end() ? nullptr : &said->second;
  };
  for (auto key = keys_.lower_bound({worker, 0}); key != keys_.end() && key->first.first == worker;
       ++key) {
    if (Thing::Said* said = find(key->second)) said->has_result = true;
  }
  for (const v1::LeftContent& left : result.left_contents()) {
    Thing::Said* said = find(KeyOf(worker, left.target()));
    if (said != nullptr && said->left.size() < kMaxLeft) said->left.push_back(left);
  }
}

bool WrittenContents::IsUnknown(const Thing& thing) {
  return std::any_of(thing.said.begin(), thing.said.end(), [&](const auto& one) {
    return thing.is_files ? !one.second.has_result : one.second.left.empty();
  });
}

void WrittenContents::Describe(Attempt attempt, uint32_t worker,
                               v1::TargetAssignment* target) const {
  const auto found = things_.find(KeyOf(worker, target->index()));
  if (found == things_.end() || found->second.first >= attempt) return;
  const Thing& thing = found->second;
  target->set_written_before(true);
  // The worker whose last I/O ended last has seen what all of them left: it is one of these. Where
  // one did not say (it was lost, its I/O hangs), it may have written after all others had looked.
  if (thing.last >= attempt || IsUnknown(thing)) return;
  std::set<std::pair<uint32_t, std::string>> left;  // file and fingerprint
  for (const auto& [writer, said] : thing.said) {
    for (const v1::LeftContent& one : said.left) left.emplace(one.file(), one.fingerprint());
  }
  for (const auto& [file, fingerprint] : left) {
    v1::LeftContent* one = target->add_left_contents();
    one->set_file(file);
    one->set_fingerprint(fingerprint);
  }
}

}  // namespace lockstep::controller
