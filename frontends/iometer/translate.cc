// Access specifications become phases, and workers workloads.

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/timing.h"
#include "frontends/iometer/config.h"
#include "frontends/iometer/cycles.h"
#include "frontends/iometer/targets.h"

namespace lockstep::frontends::iometer {
namespace {

using timing::kMs;
using timing::kSecond;
constexpr int kMaxWorkloads = 64;
constexpr int kMaxPhases = 2000;

// Workers that do the same on the same disk are threads of one workload.
struct Group {
  v1::Workload workload;
  std::map<size_t, uint32_t> threads;  // by manager
  Origin spec_from, disk_from, depth_from, size_from;
};

int64_t AlignmentOf(const AccessLine& line) { return line.align == 0 ? kSector : line.align; }

int64_t NextMultiple(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

class Translator {
 public:
  explicit Translator(const Request& request) : request_(request) {}

  Translation Translate() {
    if (request_.files.size() != 1) {
      findings_.Fail({request_.files[1].name, 1, ""}, "is a second file; Iometer loads one");
      return Finish();
    }
    config_ = ReadConfig(request_.files[0], &findings_);
    // Disks and hosts of a file that was not read to its end would give errors that follow from the
    // first.
    if (!findings_.errors.empty()) return Finish();
    for (const AccessSpec& spec : config_.specs) specs_[spec.name] = &spec;
    ChooseHosts();
    CheckSetup();
    if (findings_.errors.empty()) AddPhases();
    return Finish();
  }

 private:
  Translation Finish() {
    findings_.MoveTo(&out_);
    return std::move(out_);
  }

  // The origin of an error that concerns the file as a whole.
  Origin Whole() const { return {request_.files[0].name, 1, ""}; }

  // ---- Hosts.

  // Each manager is a host. One alone may be any number of them.
  void ChooseHosts() {
    const size_t managers = config_.managers.size();
    if (managers == 0) return findings_.Fail(Whole(), "has no manager, and so nothing to do");
    if (managers > 1) return ChooseHostOfEach();
    const std::optional<Hosts> hosts = ParseHosts(request_.hosts.empty() ? "1" : request_.hosts);
    if (!hosts) {
      return findings_.Fail(Whole(), "--hosts is neither a number of hosts nor names");
    }
    hosts_ = hosts->count;
    *out_.job.mutable_hosts() = hosts->selector;
    out_.origins[hosts->selector.count() != 0 ? "hosts.count" : "hosts.names"] =
        request_.hosts.empty() ? config_.managers[0].where : Origin{"", 0, "--hosts"};
    if (hosts_ > 1) {
      findings_.Remark(config_.managers[0].where,
                       absl::StrCat("runs on each of the ", hosts_, " hosts"));
    }
  }

  void ChooseHostOfEach() {
    const size_t managers = config_.managers.size();
    std::vector<std::string> given;
    if (!request_.hosts.empty()) {
      const std::optional<Hosts> hosts = ParseHosts(request_.hosts);
      // The order of the names assigns hosts to managers. A range hides it.
      const bool are_names = hosts && hosts->selector.count() == 0 &&
                             !absl::StrContains(request_.hosts, "[") && hosts->count == managers;
      if (!are_names) {
        return findings_.Fail(config_.managers[0].where,
                              absl::StrCat("is one of ", managers, " managers; --hosts needs as ",
                                           "many names, each written out: node1,node2"));
      }
      given.assign(hosts->selector.names().begin(), hosts->selector.names().end());
    }
    std::set<std::string> taken;
    for (size_t m = 0; m < managers; ++m) {
      const Manager& manager = config_.managers[m];
      names_.push_back(given.empty() ? manager.name : given[m]);
      if (!common::IsHostName(names_.back()) || !taken.insert(names_.back()).second) {
        return findings_.Fail(manager.where,
                              "has a name that is no host's, or is there twice; say the hosts of "
                              "the managers with --hosts node1,node2");
      }
      out_.job.mutable_hosts()->add_names(names_.back());
    }
    hosts_ = static_cast<uint32_t>(managers);
    out_.origins["hosts.names"] =
        given.empty() ? config_.managers[0].where : Origin{"", 0, "--hosts"};
  }

  // ---- What holds for all phases.

  void CheckSetup() {
    const Setup& setup = config_.setup;
    std::string name = request_.files[0].name;
    name = name.substr(name.rfind('/') + 1);
    std::set<std::string> none;
    out_.job.set_name(UniqueName(name.empty() ? "iometer" : name, &none));
    if (!setup.description.empty()) {
      out_.job.set_description(common::Printable(setup.description, 1000));
      out_.origins["description"] = setup.description_from;
    }
    if (setup.run_seconds == 0) {
      findings_.Fail(setup.run_from.line > 0 ? setup.run_from : Whole(),
                     "has no run time: Iometer would run until somebody stops it");
    }
    depths_ = DepthsOf(setup, &findings_);
    SetSeed();
  }

  void SetSeed() {
    bool is_first = true;
    int64_t seed = 0;
    for (const Manager& manager : config_.managers) {
      for (const Worker& worker : manager.workers) {
        if (!worker.fixed_seed) continue;
        if (!is_first && seed != worker.seed) {
          return findings_.Refuse(worker.depth_from, "a seed of each workload");
        }
        is_first = false;
        seed = worker.seed;
        // 0 would mean that a seed is chosen.
        out_.job.set_seed(static_cast<uint64_t>(std::max<int64_t>(1, seed)));
        out_.origins["seed"] = worker.depth_from;
      }
    }
  }

  // ---- Phases.

  void AddPhases() {
    // In Iometer all workers run their first specification together, then all their second: each is
    // a phase.
    size_t most = 0;
    for (const Manager& manager : config_.managers) {
      for (const Worker& worker : manager.workers) most = std::max(most, worker.specs.size());
    }
    TargetTable targets(request_, hosts_, config_, &findings_);
    for (size_t spec = 0; spec < most && findings_.errors.empty(); ++spec) {
      for (const Run& run : RunsFor(config_, spec, &findings_)) AddRun(run, spec, &targets);
    }
    // The size of a target is known only when all its workers have been seen.
    for (Phase& run : runs_) {
      for (v1::Workload& w : *run.phase.mutable_run()->mutable_workloads()) {
        targets.ShortenRegion(&w);
      }
    }
    if (runs_.empty() && findings_.errors.empty()) {
      findings_.Fail(Whole(), "has no worker with an access specification and a target");
    }
    CheckTotals();
    if (!findings_.errors.empty()) return;
    targets.AddTo(&out_);
    if (targets.HasFiles()) {
      findings_.Remark(Whole(), "files in place of disks stay after the run, as iobw.tst does");
    }
    const int first = out_.job.phases_size();
    for (size_t i = 0; i < runs_.size(); ++i) {
      *out_.job.add_phases() = std::move(runs_[i].phase);
      const std::string path = absl::StrCat("phases[", first + static_cast<int>(i), "].");
      for (const auto& [field, origin] : runs_[i].origins) out_.origins[path + field] = origin;
    }
  }

  // Finds the errors that the controller would report without a line of the file.
  void CheckTotals() {
    constexpr size_t kFilledIn = 512;  // bytes of a workload's defaults and of its names
    const size_t points = std::max<size_t>(1, depths_.size());
    size_t workloads = 0;
    size_t bytes = 0;
    for (const Phase& run : runs_) {
      const auto own = static_cast<size_t>(run.phase.run().workloads_size());
      workloads += points * own;
      bytes += points * (run.phase.ByteSizeLong() + own * kFilledIn);
    }
    if (runs_.size() * points >= static_cast<size_t>(limits::kJobSteps) ||
        workloads > static_cast<size_t>(limits::kJobWorkloads) ||
        bytes > static_cast<size_t>(limits::kJobBytes) / 2) {
      findings_.Fail(Whole(), absl::StrCat("becomes ", runs_.size() * points, " runs with ",
                                           workloads, " workloads, which is more than a job has"));
    }
  }

  void AddRun(const Run& run, size_t spec, TargetTable* targets) {
    std::vector<Group> groups;
    std::map<std::string, size_t> by_content;
    std::set<std::string> specs;
    for (size_t m = 0; m < config_.managers.size(); ++m) {
      for (size_t w = 0; w < config_.managers[m].workers.size(); ++w) {
        const Worker& worker = config_.managers[m].workers[w];
        for (size_t t = 0; t < run.targets[m][w]; ++t) {
          const std::optional<Group> group =
              GroupOf(worker, worker.specs[spec], worker.targets[t], targets);
          // The errors of all groups are collected before the phase is given up.
          if (!group) continue;
          specs.insert(worker.specs[spec].name);
          // The content decides, not the worker: equal loads on one disk are threads.
          const auto [found, is_new] =
              by_content.emplace(group->workload.SerializeAsString(), groups.size());
          if (is_new) groups.push_back(*group);
          ++groups[found->second].threads[m];
        }
      }
    }
    // A pause, in which all workers are idle.
    if (groups.empty() || !findings_.errors.empty()) return;
    AddPhase(absl::StrCat(absl::StrJoin(specs, ", "), run.label.empty() ? "" : ", ", run.label),
             groups);
  }

  // The load of a worker on a disk. Threads and hosts are those of the group.
  std::optional<Group> GroupOf(const Worker& worker, const Named& assigned, const Named& disk,
                               TargetTable* targets) {
    const auto spec = specs_.find(assigned.name);
    if (spec == specs_.end()) {
      findings_.Fail(assigned.where, "is no access specification of this file");
      return std::nullopt;
    }
    if (spec->second->lines.empty()) {
      findings_.Fail(spec->second->where, "has no lines");
      return std::nullopt;
    }
    if (depths_.empty() && (worker.depth < 1 || worker.depth > kMaxDepth)) {
      findings_.Fail(worker.depth_from, "has no number of outstanding I/Os from 1 to 4,096");
      return std::nullopt;
    }
    const std::string target = targets->Find(worker, disk);
    if (target.empty()) return std::nullopt;
    for (const AccessLine& line : spec->second->lines) {
      if (worker.max_sectors == 0 || line.size <= worker.max_sectors * kSector) continue;
      findings_.Fail(line.where, "is larger than the maximum disk size of a worker");
      return std::nullopt;
    }
    Group group{.spec_from = assigned.where, .disk_from = disk.where};
    group.size_from = worker.size_from;
    group.depth_from = depths_.empty() ? worker.depth_from : config_.setup.depth.where;
    v1::Workload* w = &group.workload;
    w->set_name(absl::StrCat(assigned.name, " on ", target));
    w->add_targets(target);
    // dynamo uses it on Linux. Windows has something of the same kind.
    w->set_engine(v1::ENGINE_LIBAIO);
    // Iometer opens disks without the page cache (O_DIRECT).
    w->set_direct(true);
    if (depths_.empty()) w->set_queue_depth(static_cast<uint32_t>(worker.depth));
    SetAccess(*spec->second, worker, w);
    if (!SetRegion(*spec->second, worker, w)) return std::nullopt;
    return group;
  }

  // The part of a disk from the worker's starting sector on. False after an error.
  bool SetRegion(const AccessSpec& spec, const Worker& worker, v1::Workload* w) {
    for (const AccessLine& line : spec.lines) {
      const int64_t first = NextMultiple(worker.begin(), AlignmentOf(line));
      if (line.share == 0 || worker.end() == 0 || first + line.size <= worker.end()) continue;
      findings_.Fail(line.where,
                     "does not fit behind the starting sector of a worker, at a "
                     "multiple of its alignment");
      return false;
    }
    int64_t begin = worker.begin();
    // The I/Os of a single line lie side by side from the region's start on. In Iometer they begin
    // at multiples of the alignment, counted from the start of the disk, as those of several do.
    if (w->access_size() == 1) begin = NextMultiple(begin, w->access(0).align_bytes());
    w->mutable_region()->set_offset_bytes(begin);
    if (worker.end() > 0) w->mutable_region()->set_size_bytes(worker.end() - begin);
    return true;
  }

  void SetAccess(const AccessSpec& spec, const Worker& worker, v1::Workload* w) {
    bool writes = false;
    for (const AccessLine& line : spec.lines) {
      // A line that is never drawn must not count in SetRegion(), which treats a single line in
      // another way.
      if (line.share == 0) continue;
      v1::AccessLine* out = w->add_access();
      out->set_block_size_bytes(line.size);
      out->set_weight(static_cast<double>(line.share));
      out->set_read_ratio(static_cast<double>(line.reads) / 100);
      out->set_random_ratio(static_cast<double>(line.random) / 100);
      out->set_align_bytes(AlignmentOf(line));
      if (line.burst > 1) out->set_burst(static_cast<uint32_t>(line.burst));
      if (line.delay_ms > 0) {
        out->set_delay_ns(line.delay_ms * kMs);
        findings_.Remark(line.where, "pauses before each burst; the job pauses after it");
      }
      writes = writes || line.reads < 100;
    }
    if (!writes) return;
    v1::RandomContent* random = w->mutable_content()->mutable_random();
    if (worker.pattern == DataPattern::kFullRandom) random->set_fresh(true);
    if (worker.pattern == DataPattern::kRepeating) {
      w->mutable_content()->set_compressed_ratio(0.01);
      findings_.Remark(worker.size_from.line > 0 ? worker.size_from : worker.where,
                       "writes one byte again and again; the job writes what compresses to 1 %");
    }
  }

  struct Phase {
    v1::PhaseSpec phase;
    std::map<std::string, Origin> origins;  // of its fields
  };

  void AddPhase(const std::string& name, const std::vector<Group>& groups) {
    Phase& added = runs_.emplace_back();
    added.phase.set_name(UniqueName(name, &phase_names_));
    added.origins["name"] = groups[0].spec_from;
    v1::RunPhase* run = added.phase.mutable_run();
    run->set_duration_ns(config_.setup.run_seconds * kSecond);
    added.origins["run.duration"] = config_.setup.run_from;
    if (config_.setup.ramp_seconds > 0) {
      run->set_ramp_ns(config_.setup.ramp_seconds * kSecond);
      added.origins["run.ramp"] = config_.setup.ramp_from;
    }
    std::set<std::string> names;
    for (const Group& group : groups) AddWorkloads(group, &names, &added);
    if (run->workloads_size() > kMaxWorkloads) {
      findings_.Fail(groups[kMaxWorkloads - 1].disk_from,
                     "is beyond the 64 workloads of a phase; workers that do the same on the same "
                     "disk are one");
    }
    if (static_cast<int>(runs_.size()) >= kMaxPhases) {
      findings_.Fail(groups[0].spec_from, "is beyond the 2,000 phases of a job");
    }
    if (depths_.empty()) return;
    // Outstanding I/Os are the inner loop of Iometer, and the axis of a sweep runs within its
    // phase.
    v1::SweepAxis* axis = run->mutable_sweep()->add_axes();
    axis->set_field("queue_depth");
    for (const int64_t depth : depths_) axis->add_values(absl::StrCat(depth));
    added.origins["run.sweep.axes[0]"] = config_.setup.depth.where;
  }

  // One for each number of threads that managers have.
  void AddWorkloads(const Group& group, std::set<std::string>* names, Phase* phase) const {
    std::map<uint32_t, std::vector<size_t>> managers;  // by threads
    for (const auto& [manager, threads] : group.threads) managers[threads].push_back(manager);
    for (const auto& [threads, those] : managers) {
      v1::RunPhase* run = phase->phase.mutable_run();
      const std::string field = absl::StrCat("run.workloads[", run->workloads_size(), "].");
      v1::Workload* w = run->add_workloads();
      *w = group.workload;
      w->set_name(UniqueName(group.workload.name(), names));
      phase->origins[field + "name"] = group.spec_from;
      phase->origins[field + "targets"] = group.disk_from;
      if (w->queue_depth() > 0) phase->origins[field + "queue_depth"] = group.depth_from;
      phase->origins[field + "region.offset"] = group.size_from;
      phase->origins[field + "region.size"] = group.size_from;
      if (threads > 1) w->set_threads(threads);
      // A workload of all managers is one of all hosts.
      if (those.size() == config_.managers.size()) continue;
      for (const size_t manager : those) w->mutable_hosts()->add_names(names_[manager]);
    }
  }

  const Request& request_;
  Findings findings_;
  Translation out_;
  Config config_;
  std::map<std::string, const AccessSpec*> specs_;
  uint32_t hosts_ = 1;
  std::vector<std::string> names_;  // of the managers' hosts, if there are several
  std::vector<int64_t> depths_;
  std::vector<Phase> runs_;
  std::set<std::string> phase_names_;
};

bool RecognizesIometer(const SourceFile& file) {
  return absl::EndsWithIgnoreCase(file.name, ".icf") || LooksLikeConfig(file.text);
}

const RegisterFrontEnd kRegistered({"iometer",
                                    &RecognizesIometer,
                                    &TranslateIometer,
                                    {.directory = true, .target = true, .disks = true}});

}  // namespace

Translation TranslateIometer(const Request& request) { return Translator(request).Translate(); }

}  // namespace lockstep::frontends::iometer
