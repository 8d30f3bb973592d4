// Jobs become workloads, and stonewalls phases.

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "frontends/findings.h"
#include "frontends/fio/job.h"
#include "frontends/fio/targets.h"
#include "frontends/fio/working_sets.h"

namespace lockstep::frontends::fio {
namespace {

constexpr size_t kMaxWorkloads = 64;
constexpr size_t kMaxPhases = 2000;
constexpr int kMaxGroupLabels = 48;

// The part that all jobs of one phase share.
struct Group {
  std::vector<std::string> jobs;
  v1::RunPhase run;
  Origins origins;  // of fields of the run phase
  PhaseTimes times;
  bool waited = false;       // begun by wait_for
  std::set<int> reads_back;  // targets that are verified afterwards
  int64_t verified_block = 0;
};

class Translator {
 public:
  explicit Translator(const Request& request) : request_(request) {}

  Translation Translate() {
    JobFiles files = ReadJobFiles(request_);
    findings_.errors = std::move(files.errors);
    ChooseHosts(files);
    for (const Section& section : files.sections) {
      if (findings_.errors.size() >= kMaxErrors) break;
      AddJob(section);
    }
    for (Group& group : groups_) {
      const bool is_last = &group == &groups_.back();
      group.times.Finish(
          is_last ? PhaseTimes::Position::kLast : PhaseTimes::Position::kBeforeOthers, &findings_,
          &group.run, &group.origins);
      DropLoneFlows(&findings_, &group.run, &group.origins);
    }
    // The job of a file with errors is never used: only its messages are.
    if (findings_.errors.empty()) Assemble(files);
    findings_.MoveTo(&out_);
    return std::move(out_);
  }

 private:
  void ChooseHosts(const JobFiles& files) {
    const bool flag = !request_.hosts.empty();
    const std::string& text = flag ? request_.hosts : files.hosts;
    const Origin origin = flag                   ? Origin{"", 0, "--hosts"}
                          : !files.hosts.empty() ? files.hosts_origin
                                                 : DefaultOrigin("one host");
    const std::optional<Hosts> hosts = ParseHosts(text.empty() ? "1" : text);
    if (!hosts) {
      return findings_.Fail(origin,
                            "is neither a number of hosts nor names: write 4, or "
                            "node[1-8],db1");
    }
    hosts_ = hosts->count;
    *out_.job.mutable_hosts() = hosts->selector;
    const char* field = hosts->selector.count() != 0 ? "hosts.count" : "hosts.names";
    out_.origins[field] = origin;
  }

  void AddJob(const Section& section) {
    SectionReader reader(section, &findings_);
    Job job = ReadJob(reader);
    // Everything else that could be said of the job depends on its engine.
    if (!job.is_engine_known) return;
    const FilePlan plan = PlanFiles(reader, request_, hosts_, &job);
    SetIoSize(reader, plan, &job);
    ChooseGroup(reader, job.name);
    Group& group = groups_.back();
    group.jobs.push_back(job.name);
    group.times.Add(reader, job, &group.run, &group.origins);
    // A ramp is a whole number of intervals, which have a second otherwise.
    if (job.ramp.value % kSecond != 0) is_fine_ = job.ramp.from;
    SetEnvironment(reader, job, &group);
    SetSeed(reader, job);
    // A job has one description: that of the first section.
    if (const Option* about = reader.Find("description");
        about != nullptr && about->has_value && out_.job.description().empty()) {
      out_.job.set_description(about->value);
      out_.origins["description"] = about->where;
    }
    for (size_t i = 0; i < plan.shares.size(); ++i) {
      AddWorkload(reader, job, plan, i, &group);
    }
    group.times.Close(group.run);
    if (group.run.workloads_size() > static_cast<int>(kMaxWorkloads)) {
      reader.Fail("is beyond the 64 workloads of a phase; put a stonewall between the jobs");
    }
  }

  // ---- Phases.

  void ChooseGroup(const SectionReader& reader, const std::string& name) {
    constexpr auto kBare = SectionReader::Bare::kMeansTrue;
    // fio puts a stonewall between the files of its command line.
    const bool wall =
        reader.Flag("stonewall", Otherwise::kOff, kBare).value || reader.section().begins_file;
    const Value<std::string> wait = reader.Text("wait_for", "");
    if (groups_.empty() || wall) groups_.emplace_back();
    if (wait.from == nullptr) {
      // In fio it would begin with the job that was waited for.
      if (groups_.back().waited && !wall) {
        reader.Fail(absl::StrCat("'", name,
                                 "' would run beside jobs of two phases; add a stonewall or a "
                                 "wait_for"));
      }
      return;
    }
    const auto has = [&](const Group& group) {
      return std::find(group.jobs.begin(), group.jobs.end(), wait.value) != group.jobs.end();
    };
    const auto found = std::find_if(groups_.begin(), groups_.end(), has);
    if (found == groups_.end()) {
      return reader.Fail(*wait.from, "names no job above this one, which fio refuses, too");
    }
    // The jobs of an earlier phase have ended by then.
    if (&*found != &groups_.back()) return;
    const bool alone = std::all_of(found->jobs.begin(), found->jobs.end(),
                                   [&](const std::string& job) { return job == wait.value; });
    if (!alone) {
      return reader.Refuse(*wait.from,
                           "a workload that waits for one of several; all workloads of "
                           "a phase end before the next one begins");
    }
    groups_.emplace_back();
    groups_.back().waited = true;
  }

  void SetEnvironment(const SectionReader& reader, const Job& job, Group* group) {
    if (job.drop_caches && !group->run.drop_caches()) {
      group->run.set_drop_caches(true);
      group->origins["drop_caches"] = job.drop_caches_origin;
      Origin where = job.drop_caches_origin;
      const bool is_default = where.line == 0;
      if (is_default) where = {job.where.file, job.where.line, where.option};
      // The default holds for every section. The remark about the first one is enough.
      if (!is_default || !std::exchange(is_default_cache_said_, true)) {
        findings_.Remark(where,
                         "the worker drops the whole page cache of its host, for which it must be "
                         "root; invalidate=0 leaves it as it is");
      }
    }
    const Value<std::string> scheduler = reader.Text("ioscheduler", "");
    if (scheduler.from == nullptr) return;
    if (scheduler.value.size() > 32) reader.Fail(*scheduler.from, "is no name of a scheduler");
    v1::Environment* environment = group->run.mutable_environment();
    if (!environment->scheduler().empty() && environment->scheduler() != scheduler.value) {
      reader.Refuse(*scheduler.from, "a scheduler of each workload");
    }
    environment->set_scheduler(scheduler.value);
    group->origins["environment.scheduler"] = scheduler.from->where;
  }

  // fio draws the same numbers in each run by default. Either option makes it do so.
  void SetSeed(const SectionReader& reader, const Job& job) {
    const Value<std::string> seed = reader.Text("randseed", "");
    const Value<bool> same = reader.Flag("randrepeat", Otherwise::kOn);
    const Value<bool> all = reader.Flag("allrandrepeat", Otherwise::kOff);
    if (seed.from != nullptr) {
      const auto number = ParseInteger(seed.value);
      if (!number || *number < 0) return reader.Fail(*seed.from, "is no whole number");
      if (out_.origins.contains("seed") && out_.origins["seed"].line > 0 &&
          out_.job.seed() != static_cast<uint64_t>(*number)) {
        return reader.Refuse(*seed.from, "a seed of each workload");
      }
      // 0 would mean that a seed is chosen.
      out_.job.set_seed(static_cast<uint64_t>(std::max<int64_t>(1, *number)));
      out_.origins["seed"] = seed.from->where;
    } else if (job.random && (same.value || all.value) && out_.job.seed() == 0) {
      out_.job.set_seed(1);
      out_.origins["seed"] = OriginOf(all.value ? all : same, "randrepeat=1");
    }
  }

  // ---- Workloads.

  void AddWorkload(const SectionReader& reader, const Job& job, const FilePlan& plan, size_t index,
                   Group* group) {
    const Share& share = plan.shares[index];
    const int number = group->run.workloads_size();
    v1::Workload* w = group->run.add_workloads();
    const std::string field = absl::StrCat("workloads[", number, "].");
    w->set_name(UniqueName(plan.shares.size() > 1 ? absl::StrCat(job.name, ".", index) : job.name,
                           &workload_names_));
    group->origins[field + "name"] = job.where;
    w->MergeFrom(job.workload);
    for (const auto& [name, origin] : job.origins) group->origins[field + name] = origin;
    if (plan.region.ByteSizeLong() != 0) *w->mutable_region() = plan.region;
    for (const auto& [name, origin] : plan.region_origins) group->origins[field + name] = origin;
    if (const Origin* origin = working_sets_.Add(reader, job, plan.size.value,
                                                 static_cast<double>(share.clones) * hosts_, w)) {
      group->origins[field + "content.duplicate_blocks"] = *origin;
    }
    for (const TargetUse& use : share.uses) {
      const int target = targets_.Find(reader, use, hosts_);
      w->add_targets(targets_.at(target).name);
      targets_.NoteReach(target, use, w, {&group->origins, field + "region.size"});
      CheckVerified(reader, job, target, group);
    }
    if (!share.uses.empty()) group->origins[field + "targets"] = share.uses[0].path_origin;
    if (share.clones > 1) {
      w->set_threads(share.clones);
      group->origins[field + "threads"] = job.clones.from->where;
    }
    if (share.own_files) {
      w->set_files_per_thread(true);
      group->origins[field + "files_per_thread"] = job.clones.from->where;
    }
    // Rates count for each clone in fio, and for the whole fleet in a job.
    SetRates(reader, job, static_cast<double>(share.clones) * hosts_, w, field, &group->origins);
    SetFlow(job, share.clones, w, field, &group->origins);
    SetEnd(job, plan, share, w, field, group);
  }

  // Without time_based a job ends when it has done its size once.
  void SetEnd(const Job& job, const FilePlan& plan, const Share& share, v1::Workload* w,
              const std::string& field, Group* group) const {
    const auto all = static_cast<int64_t>(share.clones) * hosts_;
    // The file may have any numbers: their product stays at the largest one, since an overflow
    // would be undefined.
    const auto times = [](int64_t a, int64_t b) {
      return a > INT64_MAX / std::max<int64_t>(1, b) ? INT64_MAX : a * b;
    };
    if (job.operations.value > 0) {
      w->set_operations(static_cast<uint64_t>(times(job.operations.value, all)));
      group->origins[field + "operations"] = job.operations.from->where;
    }
    if (job.time_based) return;
    // Passes count blocks, which must be of one size for that.
    const bool one_size = job.workload.block_size_bytes() != 0;
    // fio goes round until it has moved as many bytes as there are, left out ones included.
    const bool skips = job.workload.pattern().sequential().skip_bytes() != 0;
    const Value<int64_t>& bytes = job.io_size.value > 0 ? job.io_size
                                  : one_size && !skips  ? plan.io_size
                                                        : plan.size;
    if (bytes.value > 0) {
      w->set_io_size_bytes(times(times(bytes.value, job.loops.value), all));
      group->origins[field + "io_size"] = bytes.from->where;
      return;
    }
    // A number of I/Os ends the job in place of its size.
    if (job.operations.value > 0) return;
    // All threads of a workload together do a pass; in fio each clone does one, unless the files or
    // regions are its own.
    const bool own = share.own_files || share.own_regions;
    const int64_t passes = times(job.loops.value, own ? 1 : share.clones);
    w->set_passes(static_cast<uint32_t>(std::min<int64_t>(1000000, passes)));
    group->origins[field + "passes"] = OriginOf(job.loops, "it ends after its size");
  }

  // ---- Targets.

  void CheckVerified(const SectionReader& reader, const Job& job, int target, Group* group) {
    if (!job.verify) return;
    const int64_t block = job.workload.block_size_bytes();
    const auto [known, is_new] = verified_.emplace(target, block);
    const Option& option = *reader.Find("verify");
    if (is_new && !job.writes) {
      reader.Refuse(option,
                    "blocks that fio or an earlier run has written; here a job above must "
                    "have written them, with verify");
    } else if (known->second != block) {
      reader.Refuse(option, "one block size for all that write and verify a file");
    }
    if (!job.reads_back) return;
    if (group->verified_block != 0 && group->verified_block != block) {
      reader.Refuse(option, "a verify phase for each block size; put a stonewall between the jobs");
    }
    group->verified_block = block;
    group->reads_back.insert(target);
    group->origins["verify"] = option.where;
  }

  // ---- The job.

  void Assemble(const JobFiles& files) {
    v1::JobSpec& job = out_.job;
    job.set_name(NameOfJob());
    // Only now all jobs are known, on which the sizes of regions and working sets depend.
    targets_.EndRegions();
    working_sets_.Join();
    if (is_fine_ != nullptr) {
      job.set_interval_ns(kSecond / 10);
      out_.origins["interval"] = is_fine_->where;
    }
    for (const KnownTarget& known : targets_.all()) {
      const std::string path = absl::StrCat("targets[", job.targets_size(), "]");
      v1::Target* target = job.add_targets();
      *target = known.use.target;
      target->set_name(known.name);
      const char* kind = target->has_file()     ? ".file"
                         : target->has_device() ? ".device"
                         : target->has_iscsi()  ? ".iscsi"
                                                : ".null";
      const char* field = target->has_iscsi() ? ".url" : target->has_null() ? ".device" : ".path";
      out_.origins[absl::StrCat(path, kind, field)] = known.use.path_origin;
      if (!known.use.size_origin.option.empty()) {
        out_.origins[absl::StrCat(path, kind, ".size")] = known.use.size_origin;
      }
      if (!known.use.count_origin.option.empty()) {
        out_.origins[absl::StrCat(path, kind, ".count")] = known.use.count_origin;
      }
    }
    AddPrepare(Layout::kWritten);
    AddPrepare(Layout::kAllocated);
    for (const Group& group : groups_) AddPhases(group);
    AddCleanup();
    if (job.phases_size() > static_cast<int>(kMaxPhases)) {
      findings_.Fail(files.sections.back().where, "is beyond the 2,000 phases of a job");
    }
  }

  std::string NameOfJob() const {
    std::string name = request_.files[0].name;
    name = name.substr(name.rfind('/') + 1);
    // `lockstep history` shows the name of the job. People know the file by its name.
    name = std::string(absl::StripSuffix(absl::StripSuffix(name, ".fio"), ".job"));
    std::set<std::string> none;
    return frontends::UniqueName(name.empty() || name == "-" ? "fio" : name, &none);
  }

  std::string PathOfPhase() const { return absl::StrCat("phases[", out_.job.phases_size(), "]"); }

  // fio writes files that are read in advance. Files that are only written it just allocates,
  // unless it shall overwrite.
  enum class Layout { kWritten, kAllocated };
  void AddPrepare(Layout layout) {
    const bool with_data = layout == Layout::kWritten;
    v1::PreparePhase prepare;
    bool others = false;
    for (const KnownTarget& known : targets_.all()) {
      if (!known.use.target.has_file()) continue;
      if (known.use.needs_data == with_data) {
        prepare.add_targets(known.name);
      } else {
        others = true;
      }
    }
    if (prepare.targets().empty()) return;
    // No names stand for all targets.
    if (!others) prepare.clear_targets();
    if (!with_data) prepare.set_fallocate_only(true);
    const std::string path = PathOfPhase() + ".prepare";
    out_.origins[with_data ? path : path + ".fallocate_only"] =
        DefaultOrigin(with_data ? "files that are read are laid out"
                                : "files that are written are only allocated");
    *out_.job.add_phases()->mutable_prepare() = prepare;
  }

  void AddPhases(const Group& group) {
    const std::string path = PathOfPhase();
    v1::PhaseSpec* phase = out_.job.add_phases();
    phase->set_name(UniqueName(group.jobs[0], &phase_names_));
    *phase->mutable_run() = group.run;
    for (const auto& [field, origin] : group.origins) {
      // This origin is that of the verify phase, not of a field of the run.
      if (field != "verify") out_.origins[absl::StrCat(path, ".run.", field)] = origin;
    }
    NameGroups(group, phase->name());
    if (group.reads_back.empty()) return;
    const std::string path_of_check = PathOfPhase();
    out_.origins[path_of_check + ".name"] = group.origins.at("verify");
    v1::PhaseSpec* check = out_.job.add_phases();
    check->set_name(UniqueName(group.jobs[0] + " verify", &phase_names_));
    v1::VerifyPhase* verify = check->mutable_verify();
    for (const int target : group.reads_back) {
      verify->add_targets(targets_.at(target).name);
    }
    verify->set_block_size_bytes(group.verified_block);
    // Like fio, it looks only at blocks that were written.
    verify->set_sparse(true);
    ReadBackAsWritten(group, path_of_check + ".verify.", verify);
  }

  // `lockstep report --format fio-text` prints the groups of a phase, long after the file was read.
  // Labels are stored with the run.
  void NameGroups(const Group& group, const std::string& phase) {
    const Option* from = group.times.begins_group();
    if (from == nullptr) return;
    const std::string key = "fio.groups." + phase;
    // A job has 64 labels, of which some are left to its user.
    if (out_.job.labels_size() == kMaxGroupLabels || absl::StrContains(key, "=")) {
      return findings_.Remark(from->where, "begins no group of the report; each job has figures");
    }
    (*out_.job.mutable_labels())[key] = absl::StrJoin(group.times.GroupSizes(), ",");
    // As long as the name is in a field's path.
    out_.origins["labels." + common::Printable(key, 100)] = from->where;
  }

  // fio reads back with the depth of the job, and in the order of the writes. The phase reads in a
  // random order of its own if one of the jobs wrote in random order, each block once, and else
  // from start to end.
  void ReadBackAsWritten(const Group& group, const std::string& field, v1::VerifyPhase* verify) {
    constexpr int64_t kMaxDepth = 4096;
    int64_t depth = 0;
    for (const v1::Workload& w : group.run.workloads()) {
      if (!w.verify() || w.read_ratio() == 1) continue;
      depth += int64_t{std::max(1u, w.queue_depth())} * std::max(1u, w.threads());
      if (!w.direct()) verify->set_direct(false);
      if (w.pattern().has_shuffled()) verify->set_random(true);
    }
    verify->set_queue_depth(static_cast<uint32_t>(std::clamp<int64_t>(depth, 1, kMaxDepth)));
    out_.origins[field + "queue_depth"] = DefaultOrigin("it reads back as deep as it has written");
    if (verify->random()) {
      out_.origins[field + "random"] =
          DefaultOrigin("it reads back in the random order of its writes; this is another one");
    }
  }

  void AddCleanup() {
    v1::CleanupPhase cleanup;
    bool stays = false;
    for (const KnownTarget& known : targets_.all()) {
      if (!known.use.target.has_file()) continue;
      if (known.use.unlink) {
        cleanup.add_targets(known.name);
      } else {
        stays = true;
      }
    }
    if (stays) {
      findings_.Remark({request_.files[0].name, 0, ""},
                       "files stay after the run, as with fio; unlink=1 removes them");
    }
    if (cleanup.targets().empty()) return;
    if (!stays) cleanup.clear_targets();
    *out_.job.add_phases()->mutable_cleanup() = cleanup;
  }

  const Request& request_;
  Findings findings_;
  Translation out_;
  uint32_t hosts_ = 1;
  const Option* is_fine_ = nullptr;  // a ramp that is no whole number of seconds
  std::deque<Group> groups_;         // whose workloads stay where they are
  TargetBook targets_{&findings_};
  WorkingSets working_sets_;
  std::map<int, int64_t> verified_;  // block sizes of targets with headers
  std::set<std::string> phase_names_, workload_names_;
  bool is_default_cache_said_ = false;  // that page caches are dropped
};

bool RecognizesFio(const SourceFile& file) {
  return absl::EndsWithIgnoreCase(file.name, ".fio") || LooksLikeJobFile(file.text);
}

const RegisterFrontEnd kRegistered(
    {"fio", &RecognizesFio, &TranslateFio, {.directory = true, .target = true}});

}  // namespace

Translation TranslateFio(const Request& request) { return Translator(request).Translate(); }

}  // namespace lockstep::frontends::fio
