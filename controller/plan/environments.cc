#include "controller/plan/environments.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/validate.h"

namespace lockstep::controller {
namespace {

// Linux 5.0 removed the single-queue block layer with its schedulers. The kernel still takes
// "deadline" as an alias and then shows "mq-deadline" (block/mq-deadline.c), so that reading the
// setting back would fail the phase after all files were prepared.
struct FormerScheduler {
  const char* name;
  const char* successor;
};
constexpr FormerScheduler kFormerSchedulers[] = {
    {"cfq", "bfq"}, {"deadline", "mq-deadline"}, {"noop", "none"}};

}  // namespace

std::vector<v1::EnvironmentUse> EnvironmentsOf(const v1::JobSpec& job) {
  // ForEachStep() copies each step of a sweep. Jobs without an environment, the usual case, skip
  // that.
  const bool any = std::any_of(job.phases().begin(), job.phases().end(),
                               [](const auto& phase) { return phase.run().has_environment(); });
  if (!any) return {};
  std::map<std::string, std::pair<v1::Environment, std::set<uint32_t>>> uses;
  ForEachStep(job, [&](const v1::PhaseSpec& phase) {
    if (!phase.run().has_environment()) return;
    v1::Environment environment = phase.run().environment();
    const std::vector<uint32_t> targets = TargetsOf(job, phase);
    std::set<uint32_t> used;
    for (const uint32_t target : targets) {
      if (!job.targets(static_cast<int>(target)).has_null()) used.insert(target);
    }
    // A remount is of a path. A lock on a target, here one that has no device, keeps other runs
    // from the file system: these runs would otherwise fail instead of waiting.
    if (used.empty() && !environment.remount().empty()) {
      v1::Environment remounts;
      *remounts.mutable_remount() = environment.remount();
      environment = std::move(remounts);
      used.insert(targets.begin(), targets.end());
    }
    // The steps of a sweep often have the same settings. Equal ones become one entry, which a
    // worker checks once.
    auto& use = uses[environment.SerializeAsString()];
    use.first = environment;
    use.second.insert(used.begin(), used.end());
  });
  std::vector<v1::EnvironmentUse> out;
  for (const auto& [key, use] : uses) {
    v1::EnvironmentUse& added = out.emplace_back();
    *added.mutable_environment() = use.first;
    for (const uint32_t target : use.second) added.add_targets(target);
  }
  return out;
}

std::string DescribeEnvironment(const v1::Environment& environment) {
  std::vector<std::string> words;
  const auto size = [](int64_t bytes) { return common::FormatSize(static_cast<double>(bytes)); };
  if (!environment.scheduler().empty()) words.push_back("scheduler " + environment.scheduler());
  if (environment.nr_requests() != 0) {
    words.push_back(absl::StrCat("nr_requests ", environment.nr_requests()));
  }
  if (environment.has_read_ahead_bytes()) {
    words.push_back("read-ahead " + size(environment.read_ahead_bytes()));
  }
  if (environment.max_sectors_bytes() != 0) {
    words.push_back("max_sectors " + size(environment.max_sectors_bytes()));
  }
  if (environment.write_cache() != v1::WRITE_CACHE_UNSPECIFIED) {
    words.push_back(environment.write_cache() == v1::WRITE_CACHE_WRITE_BACK
                        ? "write cache write-back"
                        : "write cache write-through");
  }
  for (const v1::Remount& remount : environment.remount()) {
    if (remount.options().empty()) continue;
    words.push_back(absl::StrCat(remount.path(), " mounted ", remount.options()));
  }
  return absl::StrJoin(words, ", ");
}

std::string FormerSchedulerText(const std::string& scheduler) {
  for (const FormerScheduler& former : kFormerSchedulers) {
    if (scheduler != former.name) continue;
    return absl::StrCat(former.name, " was removed in Linux 5.0; write ", former.successor,
                        ", its nearest today");
  }
  return "";
}

void CheckEnvironment(const v1::Environment& environment, const Complain& complain) {
  const std::string& scheduler = environment.scheduler();
  if (scheduler.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string::npos) {
    complain(".scheduler", "is no name of an I/O scheduler: none, mq-deadline, kyber, bfq");
  }
  if (const std::string former = FormerSchedulerText(scheduler); !former.empty()) {
    complain(".scheduler", former);
  }
  // The kernel takes this value in KiB: queue/max_sectors_kb.
  if (environment.max_sectors_bytes() % 1024 != 0) {
    complain(".max_sectors", "must be a multiple of 1 KiB");
  }
  if (environment.read_ahead_bytes() % 4096 != 0) {
    complain(".read_ahead", "must be a multiple of 4 KiB, the kernel's page");
  }
  std::set<std::string> paths;
  for (int i = 0; i < environment.remount_size(); ++i) {
    const v1::Remount& remount = environment.remount(i);
    const std::string field = absl::StrCat(".remount[", i, "]");
    if (remount.path().empty() || remount.path()[0] != '/') {
      complain(field + ".path", "is not an absolute path");
    }
    if (!paths.insert(remount.path()).second) complain(field + ".path", "stands there twice");
    // The worker keeps a mount's flags and options as one text with a ';' between them.
    if (remount.options().find(';') != std::string::npos) {
      complain(field + ".options", "has a ';': mount options are separated by commas");
    }
  }
}

}  // namespace lockstep::controller
