#include "controller/plan/written_contents.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "controller/plan/fleet_uses.h"

namespace lockstep::controller {
namespace {

// The prefix of the keys of files.
constexpr char kFiles[] = "file ";

std::string KeyOfInspected(const v1::Target& target, const v1::TargetInspection& found,
                           const std::string& boot_id, uint32_t worker) {
  const std::string path = found.paths_size() > 0 ? found.paths(0) : "";
  if (target.has_file()) {
    // A file system without an id cannot be recognised on another host. It counts as one that only
    // this worker sees.
    const std::string filesystem =
        found.filesystem_id().empty() ? absl::StrCat("worker ", worker) : found.filesystem_id();
    return absl::StrCat(kFiles, filesystem, " ", path);
  }
  if (!target.has_device() && !target.has_iscsi()) return "";
  // Without an identity, a device is known under one kernel only: the same path on another host may
  // be another device.
  return found.device_identity().empty() ? absl::StrCat("path ", boot_id, " ", path)
                                         : DeviceKey(found.device_identity(), boot_id);
}

// A result names at most one fingerprint for each expendable file, so more are not kept.
constexpr size_t kMaxLeft = limits::kForeignFiles;

// Whether the assignment writes the target.
bool IsWritten(const v1::Assignment& assignment, const v1::TargetAssignment& target) {
  // A prepare phase has no workloads, so `written` stays false there. It writes the files that the
  // worker lays out.
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
  // An attempt that never got its go has written nothing, so its writers are dropped here.
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
    // This attempt may overwrite what earlier fingerprints describe. They are void from its go on,
    // not only from its results on.
    thing.last = assigned_;
    thing.said.clear();
    for (const uint32_t worker : workers) thing.said[worker] = {};
  }
}

void WrittenContents::TakeResult(Attempt attempt, uint32_t worker, const v1::PhaseResult& result) {
  const auto find = [&](const std::string& key) -> Thing::Said* {
    const auto thing = things_.find(key);
    // A late result of an earlier attempt does not describe what the last one left there.
    if (thing == things_.end() || thing->second.last != attempt) return nullptr;
    const auto said = thing->second.said.find(worker);
    return said == thing->second.said.end() ? nullptr : &said->second;
  };
  // Files that Lockstep made are not listed in a result, since their marks identify them. For
  // files, the arrival of the result is the answer, even if it lists nothing.
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
  // Only earlier attempts count. An assignment that is sent again after the go describes the same
  // content as the first time.
  if (found == things_.end() || found->second.first >= attempt) return;
  const Thing& thing = found->second;
  target->set_written_before(true);
  // One of these fingerprints is of the final content: the worker whose last I/O ended last saw
  // what all of them left. If one writer did not report (it was lost, its I/O hangs), it may have
  // written after all others had looked, so none of them can be trusted.
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
