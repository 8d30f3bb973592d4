// Runs become phases.

#include "frontends/vdbench/translate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/timing.h"
#include "frontends/vdbench/keys.h"
#include "frontends/vdbench/rates.h"
#include "frontends/vdbench/values.h"

namespace lockstep::frontends::vdbench {
namespace {

using timing::kSecond;
constexpr int kMaxWorkloads = 64;
constexpr size_t kMaxTargets = 256;

class Translator {
 public:
  explicit Translator(const Request& request) : request_(request) {}

  Translation Translate() {
    const std::vector<Statement> statements = ReadStatements(request_, &findings_);
    for (const Statement& statement : statements) {
      if (findings_.errors.size() >= kMaxErrors) break;
      Read(statement);
    }
    if (findings_.errors.empty()) ChooseHosts();
    // The shares of a run's storages and workloads depend on the hosts. Runs are therefore read
    // after the hosts are chosen.
    for (const Statement* run : runs_) {
      if (findings_.errors.empty()) AddRun(*run);
    }
    if (phases_.empty() && findings_.errors.empty()) {
      findings_.Fail(Whole(), "has no run definition (rd=)");
    }
    if (findings_.errors.empty()) Assemble(statements);
    findings_.MoveTo(&out_);
    return std::move(out_);
  }

 private:
  Origin Whole() const { return {request_.files[0].name, 1, ""}; }

  void Read(const Statement& statement) {
    switch (statement.kind) {
      case Kind::kHost:
        return ReadHost(statement);
      case Kind::kStorage:
        for (Storage& storage : ReadStorages(request_, statement, &findings_)) {
          if (storages_.size() == kMaxTargets) {
            return findings_.Fail(statement.where, "is beyond the 256 targets of a job");
          }
          out_.disks.insert({storage.name, storage.lun});
          storages_.push_back(std::move(storage));
        }
        return;
      case Kind::kWorkload:
        loads_.push_back(ReadLoad(statement, &findings_));
        return;
      case Kind::kRun:
        runs_.push_back(&Keep(statement));
        return;
      case Kind::kFileSystem:
      case Kind::kFileWorkload:
        return findings_.Refuse(statement.where, "files, directories and operations on them");
      case Kind::kGeneral:
        return ReadGeneral(statement);
    }
  }

  // A copy that stays where it is.
  const Statement& Keep(const Statement& statement) {
    kept_.push_back(std::make_unique<Statement>(statement));
    return *kept_.back();
  }

  void ReadGeneral(const Statement& statement) {
    CheckParameters(statement, &findings_);
    const Parameter& parameter = statement.parameters.begin()->second;
    if (parameter.key == "compratio" || parameter.key == "compression") {
      const auto ratio = ParseNumber(parameter.value);
      if (!ratio || *ratio < 1 || *ratio > 100) {
        return findings_.Fail(parameter.where, "is no ratio from 1 to 100");
      }
      compressed_ = &Keep(statement).parameters.begin()->second;
      // The ratio of vdbench is the size before compression over that after it. A job has what is
      // left.
      compressed_ratio_ = 1 / *ratio;
    }
  }

  // ---- Hosts.

  void ReadHost(const Statement& statement) {
    CheckParameters(statement, &findings_);
    const Parameter* system = statement.Find("system");
    hosts_.push_back(statement.name);
    systems_.push_back(system == nullptr ? statement.name : system->value);
    host_origins_.push_back(system == nullptr ? statement.where : system->where);
  }

  void ChooseHosts() {
    v1::HostSelector* selector = out_.job.mutable_hosts();
    // One host definition, or none, says nothing about how many hosts take part.
    if (hosts_.size() < 2) {
      const auto hosts = ParseHosts(request_.hosts.empty() ? "1" : request_.hosts);
      if (!hosts) {
        return findings_.Fail(Whole(), "--hosts is neither a number of hosts nor names");
      }
      *selector = hosts->selector;
      host_count_ = hosts->count;
      out_.origins[selector->count() != 0 ? "hosts.count" : "hosts.names"] =
          request_.hosts.empty() ? Origin{"", 0, "one host"} : Origin{"", 0, "--hosts"};
      return;
    }
    if (!request_.hosts.empty()) {
      const auto hosts = ParseHosts(request_.hosts);
      // A range of names would leave open which definition each host stands for.
      if (!hosts || hosts->selector.names_size() != static_cast<int>(hosts_.size()) ||
          absl::StrContains(request_.hosts, "[")) {
        return findings_.Fail(host_origins_[0],
                              absl::StrCat("is one of ", hosts_.size(), " hosts; --hosts needs as ",
                                           "many names, each written out: node1,node2"));
      }
      systems_.assign(hosts->selector.names().begin(), hosts->selector.names().end());
    }
    std::set<std::string> taken;
    for (size_t i = 0; i < systems_.size(); ++i) {
      // In vdbench two definitions may name one system. They would be two workers on a host, which
      // has one.
      if (!common::IsHostName(systems_[i]) || !taken.insert(systems_[i]).second) {
        return findings_.Fail(host_origins_[i], "is no host's name, or is there twice");
      }
      selector->add_names(systems_[i]);
    }
    host_count_ = static_cast<uint32_t>(systems_.size());
    out_.origins["hosts.names"] = host_origins_[0];
  }

  // Narrows a workload to the hosts that both its storage and itself name.
  void SetHosts(const Load& load, const Storage& storage, v1::Workload* w) {
    if (load.hosts.empty() && storage.hosts.empty()) return;
    // A file that defines no host has vdbench's own one. It, or the only one, stands for all hosts.
    const auto defined = hosts_.empty() ? std::vector<std::string>{"localhost"} : hosts_;
    bool is_any = false;
    const auto names = [](const std::vector<std::string>& patterns, const std::string& host) {
      return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                             [&](const auto& p) { return Matches(p, host); });
    };
    for (size_t i = 0; i < defined.size(); ++i) {
      if (!names(load.hosts, defined[i]) || !names(storage.hosts, defined[i])) continue;
      is_any = true;
      if (defined.size() > 1) w->mutable_hosts()->add_names(systems_[i]);
    }
    if (!is_any) findings_.Fail(load.where, "runs on no host that is defined");
    // A workload of all hosts needs no names.
    if (w->hosts().names_size() == static_cast<int>(hosts_.size())) w->clear_hosts();
  }

  // ---- Workloads of a run.

  std::vector<const Load*> LoadsOf(const Statement& run) {
    std::vector<const Load*> chosen;
    const Parameter* wd = run.Find("wd");
    if (wd == nullptr) {
      findings_.Fail(run.where, "has no wd");
      return chosen;
    }
    for (const std::string& pattern : ListOf(*wd, &findings_)) {
      const size_t before = chosen.size();
      for (const Load& load : loads_) {
        const bool is_new = std::find(chosen.begin(), chosen.end(), &load) == chosen.end();
        if (is_new && Matches(pattern, load.name)) chosen.push_back(&load);
      }
      if (chosen.size() == before) {
        findings_.Fail(wd->where, absl::StrCat("names no workload: ", pattern));
      }
    }
    return chosen;
  }

  std::vector<const Storage*> StoragesOf(const Statement& run, const Load& load) {
    std::vector<const Storage*> chosen;
    // A run's sd replaces that of its workloads.
    const Parameter* sd = run.Find("sd");
    const std::vector<std::string> patterns =
        sd != nullptr ? ListOf(*sd, &findings_) : load.storages;
    for (const std::string& pattern : patterns) {
      const size_t before = chosen.size();
      for (const Storage& storage : storages_) {
        const bool is_new = std::find(chosen.begin(), chosen.end(), &storage) == chosen.end();
        if (is_new && Matches(pattern, storage.name)) chosen.push_back(&storage);
      }
      if (chosen.size() == before) {
        findings_.Fail(sd != nullptr ? sd->where : load.where,
                       absl::StrCat("names no storage: ", pattern));
      }
    }
    return chosen;
  }

  // The workload that a load is on a storage, with what the run says of all.
  Flow FlowOf(const Statement& run, const Load& load, const Storage& storage, bool is_alone) {
    Flow flow;
    flow.origins = load.origins;
    v1::Workload* w = &flow.workload;
    *w = load.workload;
    w->set_name(is_alone ? load.name : absl::StrCat(load.name, " on ", storage.name));
    w->add_targets(storage.name);
    flow.origins["name"] = load.where;
    flow.origins["targets"] = storage.where;
    // A thread of vdbench has one I/O in flight.
    w->set_engine(v1::ENGINE_SYNC);
    SetThreads(run, load, storage, &flow);
    SetFromRun(run, &flow);
    const Parameter* flags = run.Find("openflags");
    if (flags == nullptr) flags = load.openflags != nullptr ? load.openflags : storage.openflags;
    // The flags of the run go before those of the workload, and these before those of the storage.
    SetOpenFlags(flags, w, &findings_);
    flow.origins["direct"] =
        flags != nullptr ? flags->where : Origin{"", 0, "vdbench's default: buffered"};
    SetOffsets(run, load, storage, w, &flow.origins, &findings_);
    const bool has_hits = load.read_hits != nullptr || load.write_hits != nullptr;
    if (has_hits) hit_storages_.insert(storage.name);
    // A shared position counts blocks of one size.
    if (!w->block_sizes().empty() && w->pattern().has_sequential()) {
      w->mutable_pattern()->mutable_sequential()->clear_shared();
    }
    // Without rdpct a workload only reads: it has no content that could be compressed.
    if (compressed_ != nullptr && w->has_read_ratio() && w->read_ratio() < 1) {
      w->mutable_content()->mutable_random();
      w->mutable_content()->set_compressed_ratio(compressed_ratio_);
      flow.origins["content.compressed"] = compressed_->where;
    }
    SetHosts(load, storage, w);
    CheckFits(storage, flow);
    return flow;
  }

  // Sizes and shares of the run go before the workload's own ones.
  void SetFromRun(const Statement& run, Flow* flow) {
    v1::Workload* w = &flow->workload;
    if (const Parameter* size = run.Find("xfersize")) {
      SetSizes(*size, w, &findings_);
      flow->origins.erase("block_size");
      flow->origins.erase("block_sizes");
      flow->origins[w->block_sizes().empty() ? "block_size" : "block_sizes"] = size->where;
    }
    if (const Parameter* reads = run.Find("rdpct")) {
      SetReads(*reads, w, &findings_);
      flow->origins["read"] = reads->where;
    }
  }

  void SetThreads(const Statement& run, const Load& load, const Storage& storage, Flow* flow) {
    uint32_t threads = storage.threads;
    Origin from = storage.threads_from.line > 0 ? storage.threads_from
                                                : Origin{"", 0, "vdbench's default: threads=8"};
    // The run's number goes before the workload's, and that before the storage's.
    for (const Parameter* given : {load.threads, run.Find("threads")}) {
      if (given == nullptr) continue;
      threads = static_cast<uint32_t>(CountOf(*given, 1, kMaxThreads, &findings_));
      from = given->where;
    }
    flow->workload.set_threads(threads);
    flow->origins["threads"] = from;
  }

  void CheckFits(const Storage& storage, const Flow& flow) {
    const int64_t bytes = BytesOf(storage);
    if (bytes > 0 && LargestBlock(flow.workload) > bytes) {
      findings_.Fail(storage.size_from, "is smaller than a block of a workload on it");
    }
    const int64_t reached = ReachedBytes(storage, flow.workload);
    // A loop over sizes must fit into the smallest part that any workload reaches.
    if (reached > 0) smallest_storage_ = std::min(smallest_storage_, reached);
    used_.insert(storage.name);
  }

  // ---- Runs.

  void AddRun(const Statement& run) {
    CheckParameters(run, &findings_);
    RunPlan plan;
    plan.statement = &run;
    const std::vector<const Load*> loads = LoadsOf(run);
    for (const Load* load : loads) {
      const std::vector<const Storage*> storages = StoragesOf(run, *load);
      const size_t first = plan.flows.size();
      for (const Storage* storage : storages) {
        plan.flows.push_back(FlowOf(run, *load, *storage, storages.size() == 1));
        // This is checked within the loop: patterns can multiply 256 storages by thousands of
        // workloads, and each pair would be kept.
        if (plan.flows.size() > kMaxWorkloads) {
          return findings_.Fail(run.where, "has more than the 64 workloads of a phase");
        }
        if (!findings_.errors.empty()) return;
      }
      for (size_t i = first; i < plan.flows.size(); ++i) {
        plan.flows[i].skew = load->skew;
        plan.flows[i].load = load - loads_.data();
        plan.flows[i].percent = load->skew_percent / static_cast<double>(storages.size());
      }
    }
    if (!findings_.errors.empty()) return;
    ShareRates(loads, &plan);
    SetTimes(run, &plan);
    if (!findings_.errors.empty()) return;
    AddPhases(plan, smallest_storage_, &phase_names_, &phases_, &findings_);
  }

  // Loads without a skew share what the others leave.
  void ShareRates(const std::vector<const Load*>& loads, RunPlan* plan) {
    double given = 0;
    size_t without = 0;
    const Load* last = nullptr;
    for (const Load* load : loads) {
      given += load->skew_percent;
      without += load->skew == nullptr ? 1 : 0;
      last = load->skew != nullptr ? load : last;
    }
    // Skews are decimal fractions whose sum is not exact in binary, hence the tolerance below.
    const double left = 100 - given;
    if (given > 100 + 1e-6 || (without > 0 && left <= 0) || (without == 0 && left > 1e-6)) {
      return findings_.Fail(last->skew->where,
                            absl::StrCat("makes the skews of the run ", given, " % in all"));
    }
    for (const Load* load : loads) {
      if (load->skew != nullptr) continue;
      const auto own = [&](const Flow& flow) { return flow.load == load - loads_.data(); };
      const auto storages = std::count_if(plan->flows.begin(), plan->flows.end(), own);
      for (Flow& flow : plan->flows) {
        if (!own(flow)) continue;
        // A load with several storages has a flow for each, which divide its share.
        flow.percent = left / static_cast<double>(without) / static_cast<double>(storages);
      }
    }
    std::set<std::string> used;
    for (const Flow& flow : plan->flows) {
      if (used.insert(flow.workload.targets(0)).second) continue;
      findings_.Remark(plan->statement->where,
                       absl::StrCat("workloads share the threads of ", flow.workload.targets(0),
                                    " in vdbench; in the job each has as many"));
    }
  }

  void SetTimes(const Statement& run, RunPlan* plan) {
    const auto seconds = [&](const char* key, int64_t otherwise, Origin* from) {
      const Parameter* parameter = run.Find(key);
      *from = Origin{"", 0, absl::StrCat("vdbench's default: ", key, "=", otherwise)};
      if (parameter == nullptr) return otherwise;
      *from = parameter->where;
      const auto value = ParseSeconds(parameter->value);
      if (value && *value <= kMaxPhaseSeconds) return *value;
      findings_.Fail(parameter->where, kNoPhaseTime);
      return otherwise;
    };
    Origin interval_from;
    Origin warmup_from;
    const int64_t elapsed = seconds("elapsed", 30, &plan->duration_from);
    const int64_t interval = seconds("interval", 1, &interval_from);
    const int64_t warmup = seconds("warmup", 0, &warmup_from);
    if (interval < 1 || interval > 60) {
      return findings_.Fail(interval_from, "is no interval from 1 to 60 seconds");
    }
    // A job has one interval for all of its phases.
    if (interval_ != 0 && interval_ != interval) {
      return findings_.Refuse(interval_from.line > 0 ? interval_from : run.where,
                              "an interval of each run");
    }
    interval_ = interval;
    // The warm-up becomes the ramp, which a job ends at the end of an interval.
    if (warmup % interval != 0) {
      return findings_.Fail(warmup_from, "is no multiple of the interval");
    }
    // Without a warm-up, vdbench leaves the first interval out of its figures.
    const int64_t ramp = warmup > 0 ? warmup : interval;
    const int64_t duration = warmup > 0 ? elapsed : elapsed - interval;
    if (duration < 1) {
      return findings_.Fail(plan->duration_from.line > 0 ? plan->duration_from : interval_from,
                            "leaves no interval that counts");
    }
    plan->duration_ns = duration * kSecond;
    plan->ramp_ns = ramp * kSecond;
    plan->ramp_from =
        warmup > 0 ? warmup_from : Origin{"", 0, "vdbench leaves the first interval out"};
  }

  // ---- The job.

  void Assemble(const std::vector<Statement>& statements) {
    std::string name = request_.files[0].name;
    name = name.substr(name.rfind('/') + 1);
    std::set<std::string> none;
    out_.job.set_name(UniqueName(name.empty() ? "vdbench" : name, &none));
    out_.job.set_interval_ns(interval_ * kSecond);
    out_.origins["interval"] = {"", 0, "interval of the runs"};
    AddTargets();
    if (!findings_.errors.empty()) return;
    // A pause comes before the next run, so the last run has none.
    if (!phases_.empty() && phases_.back().spec.has_observe()) phases_.pop_back();
    for (const Phase& phase : phases_) {
      const std::string path = absl::StrCat("phases[", out_.job.phases_size(), "].");
      *out_.job.add_phases() = phase.spec;
      for (const auto& [field, origin] : phase.origins) out_.origins[path + field] = origin;
    }
    // The controller expands loops, and fills in defaults of about 512 bytes for each workload. It
    // would refuse such a job, too, but without a line of the file.
    if (StepsOf(phases_) > static_cast<size_t>(limits::kJobSteps) - 1 ||
        out_.job.ByteSizeLong() + 512 * WorkloadsOf(phases_) >
            static_cast<size_t>(limits::kJobBytes) / 2 ||
        WorkloadsOf(phases_) > static_cast<size_t>(limits::kJobWorkloads)) {
      findings_.Fail(
          statements.back().where,
          absl::StrCat("with the runs above becomes ", StepsOf(phases_), " runs and ",
                       WorkloadsOf(phases_), " workloads, which is more than a job has"));
    }
  }

  void AddTargets() {
    std::map<std::string, std::string> by_path;
    bool files = false;
    for (const Storage& storage : storages_) {
      if (!used_.contains(storage.name)) continue;
      const bool is_file = storage.target.has_file();
      const std::string& path =
          is_file ? storage.target.file().path() : storage.target.device().path();
      const auto [known, is_new] = by_path.emplace(path, storage.name);
      if (!is_new) {
        return findings_.Fail(storage.lun_from,
                              absl::StrCat("is the lun of ", known->second, ", too"));
      }
      // Hosts may have mounted one directory. They would then write to the same file.
      if (is_file && host_count_ > 1 && !absl::StrContains(path, "{host}")) {
        return findings_.Fail(storage.lun_from,
                              "would be one file of several hosts; put {host} into its path");
      }
      const std::string field =
          absl::StrCat("targets[", out_.job.targets_size(), "].", is_file ? "file" : "device");
      *out_.job.add_targets() = storage.target;
      out_.origins[field + ".path"] = storage.lun_from;
      if (storage.size_from.line > 0) out_.origins[field + ".size"] = storage.size_from;
      if (storage.hit_area != nullptr && !hit_storages_.contains(storage.name)) {
        findings_.Remark(storage.hit_area->where, absl::StrCat("left out; ", kNoHits));
      }
      files = files || is_file;
    }
    if (!files) return;
    // vdbench, too, creates and fills a file that is missing before it starts the load.
    v1::PhaseSpec* prepare = out_.job.add_phases();
    prepare->set_name(UniqueName("prepare files", &phase_names_));
    prepare->mutable_prepare();
    findings_.Remark(Whole(), "files stay after the run, as with vdbench");
  }

  const Request& request_;
  Findings findings_;
  Translation out_;
  std::vector<std::string> hosts_, systems_;  // names of hd, and of the hosts
  std::vector<Origin> host_origins_;
  uint32_t host_count_ = 1;
  std::vector<Storage> storages_;
  std::vector<Load> loads_;
  std::vector<std::unique_ptr<Statement>> kept_;
  std::vector<const Statement*> runs_;
  const Parameter* compressed_ = nullptr;
  double compressed_ratio_ = 1;
  int64_t interval_ = 0;  // seconds
  int64_t smallest_storage_ = INT64_MAX;
  std::set<std::string> used_, hit_storages_, phase_names_;
  std::vector<Phase> phases_;
};

bool RecognizesVdbench(const SourceFile& file) { return LooksLikeParameters(file.text); }

const RegisterFrontEnd kRegistered(
    {"vdbench", &RecognizesVdbench, &TranslateVdbench, {.disks = true}});

}  // namespace

Translation TranslateVdbench(const Request& request) { return Translator(request).Translate(); }

}  // namespace lockstep::frontends::vdbench
