// How a job does its I/O: direction, engine, pace.

#include "frontends/fio/job.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lockstep::frontends::fio {
namespace {

constexpr int64_t kMaxClones = 1024;
constexpr int64_t kMaxDepth = 4096;
constexpr int64_t kMaxNode = 1023;

struct DirectionWord {
  const char* word;
  bool reads, writes, trims, random;
};
constexpr DirectionWord kDirections[] = {
    {"read", true, false, false, false},     {"write", false, true, false, false},
    {"trim", false, false, true, false},     {"randread", true, false, false, true},
    {"randwrite", false, true, false, true}, {"randtrim", false, false, true, true},
    {"rw", true, true, false, false},        {"readwrite", true, true, false, false},
    {"randrw", true, true, false, true},
};

void ReadDirection(const SectionReader& section, Job* job) {
  const Value<std::string> rw = section.Text("rw", "read");
  const std::string word = rw.value.substr(0, rw.value.find(':'));
  // fio's default. After an error, too, the rest of the job is checked as one that reads.
  job->reads = true;
  for (const DirectionWord& each : kDirections) {
    if (word != each.word) continue;
    job->reads = each.reads;
    job->writes = each.writes;
    job->trims = each.trims;
    job->random = each.random;
    return;
  }
  if (word == "trimwrite" || word == "randtrimwrite") {
    section.Refuse(*rw.from, "trims of blocks that are written next");
  } else if (rw.from != nullptr) {
    section.Fail(*rw.from,
                 "is none of read, write, trim, randread, randwrite, randtrim, rw, randrw");
  }
}

struct EngineWord {
  const char* word;
  v1::Engine engine;
  bool one_by_one;
};
// fio's sync and psync differ in how they pass the offset (lseek(2), pread(2)), pvsync and pvsync2
// in the system call. A job has one engine for each pair.
constexpr EngineWord kEngines[] = {
    {"psync", v1::ENGINE_SYNC, true},         {"sync", v1::ENGINE_SYNC, true},
    {"pvsync", v1::ENGINE_PREADV2, true},     {"pvsync2", v1::ENGINE_PREADV2, true},
    {"mmap", v1::ENGINE_MMAP, true},          {"libaio", v1::ENGINE_LIBAIO, false},
    {"io_uring", v1::ENGINE_IO_URING, false}, {"null", v1::ENGINE_NULL, false},
    {"libiscsi", v1::ENGINE_ISCSI, false},
};

// False if Lockstep has no such engine.
bool ChooseEngine(const SectionReader& section, Job* job) {
  const Value<std::string> engine = section.Text("ioengine", "psync");
  const auto* const found =
      std::find_if(std::begin(kEngines), std::end(kEngines),
                   [&](const EngineWord& each) { return engine.value == each.word; });
  if (found == std::end(kEngines)) {
    section.Refuse(*engine.from, absl::StrCat("the engine '", engine.value, "'"));
    return false;
  }
  v1::Workload& w = job->workload;
  w.set_engine(found->engine);
  job->origins["engine"] = OriginOf(engine, "ioengine=psync");
  job->null_engine = found->engine == v1::ENGINE_NULL;
  job->iscsi = found->engine == v1::ENGINE_ISCSI;
  const Value<int64_t> depth = section.Count("iodepth", 1, kMaxDepth);
  if (depth.value == 0) section.Fail(*depth.from, "is 0: nothing would be in flight");
  // A workload without a depth has one I/O in flight: a depth of 1 needs no field.
  if (!found->one_by_one && depth.value > 1) {
    w.set_queue_depth(static_cast<uint32_t>(depth.value));
    job->origins["queue_depth"] = depth.from->where;
  } else if (depth.value > 1) {
    section.Remark(*depth.from, absl::StrCat("has no effect: the engine ", engine.value,
                                             " has one I/O in flight"));
  }
  return true;
}

// direct and buffered are one option, of which the last one holds.
void ReadDirect(const SectionReader& section, Job* job) {
  Value<bool> direct = section.Flag("direct", Otherwise::kOff);
  const Value<bool> buffered = section.Flag("buffered", Otherwise::kOn);
  if (buffered.from != nullptr &&
      (direct.from == nullptr || direct.from->order < buffered.from->order)) {
    direct = {!buffered.value, buffered.from};
  }
  // Neither libiscsi nor null goes through the page cache of this host.
  job->buffered = !direct.value && !job->iscsi && !job->null_engine;
  if (job->iscsi || job->null_engine) return;
  const bool is_mmap = job->workload.engine() == v1::ENGINE_MMAP;
  // A mapping is made of pages of the page cache, which O_DIRECT passes by.
  if (is_mmap && direct.value) section.Fail(*direct.from, "a mapped file has no direct I/O");
  job->workload.set_direct(direct.value);
  job->origins["direct"] = OriginOf(direct, "buffered");
  const Value<bool> invalidate = section.Flag("invalidate", Otherwise::kOn);
  // fio drops the pages of its own file (posix_fadvise(2)). A worker can only drop all of them,
  // for which a job that only writes is no reason.
  job->drop_caches = job->buffered && job->reads && invalidate.value;
  job->drop_caches_origin = OriginOf(invalidate, "invalidate=1");
}

// Lists of NUMA nodes, as fio writes them: 0-1,3. False after an error.
bool ReadNodes(const SectionReader& section, const Option& option, const std::string& text,
               google::protobuf::RepeatedField<uint32_t>* nodes) {
  const auto numbers = ParseNumbers(text);
  const bool is_list = numbers && std::all_of(numbers->begin(), numbers->end(),
                                              [](uint32_t node) { return node <= kMaxNode; });
  if (!is_list || numbers->size() > 1000) {
    section.Fail(option, "is no list of NUMA nodes; write 0-1,3");
    return false;
  }
  nodes->Add(numbers->begin(), numbers->end());
  return true;
}

void ReadNuma(const SectionReader& section, Job* job) {
  v1::EngineOptions* o = job->workload.mutable_engine_options();
  if (const Value<std::string> cpus = section.Text("numa_cpu_nodes", ""); cpus.from != nullptr) {
    if (!o->cpus().empty()) {
      return section.Fail(*cpus.from, "cannot stand beside cpus_allowed, in fio neither");
    }
    // A workload without nodes runs on all of them.
    if (cpus.value != "all" && ReadNodes(section, *cpus.from, cpus.value, o->mutable_cpu_nodes())) {
      job->origins["engine_options.cpu_nodes"] = cpus.from->where;
    }
  }
  const Value<std::string> numa = section.Text("numa_mem_policy", "");
  if (numa.from == nullptr) return;
  const std::vector<std::string> parts = absl::StrSplit(numa.value, absl::MaxSplits(':', 1));
  const auto node = parts.size() == 2 && parts[0] == "bind" ? ParseInteger(parts[1]) : std::nullopt;
  if (node && *node >= 0 && *node <= kMaxNode) {
    o->set_numa_node(static_cast<uint32_t>(*node));
    job->origins["engine_options.numa_node"] = numa.from->where;
  } else if (parts.size() == 2 && parts[0] == "interleave") {
    if (ReadNodes(section, *numa.from, parts[1], o->mutable_interleave_nodes())) {
      job->origins["engine_options.interleave_nodes"] = numa.from->where;
    }
  } else if (parts[0] != "default" && parts[0] != "local") {
    section.Refuse(*numa.from,
                   "memory that may come from several nodes; bind:N and interleave:N,M are "
                   "translated");
  }
}

void ReadEngineOptions(const SectionReader& section, Job* job) {
  v1::EngineOptions* o = job->workload.mutable_engine_options();
  const bool uring = job->workload.engine() == v1::ENGINE_IO_URING;
  const auto note = [&](const char* field, const Option* from) {
    job->origins[absl::StrCat("engine_options.", field)] = from->where;
  };
  // fio sends each I/O by itself unless the file says otherwise; the worker chooses then.
  const int64_t depth = std::max<int64_t>(1, job->workload.queue_depth());
  const auto up_to_depth = [&](const char* option, const char* field, const auto& set) {
    const Value<int64_t> number = section.Count(option, 0, 1 << 20);
    // With one I/O in flight there is nothing to batch.
    if (number.from == nullptr || number.value == 0 || depth == 1) return;
    set(static_cast<uint32_t>(std::min(number.value, depth)));
    note(field, number.from);
  };
  up_to_depth("iodepth_batch", "batch", [&](uint32_t n) { o->set_batch(n); });
  up_to_depth("iodepth_batch_complete_min", "wait", [&](uint32_t n) { o->set_wait(n); });
  const auto polls = [&](const char* option, const char* field, const auto& set) {
    const Value<bool> flag = section.Flag(option, Otherwise::kOff, SectionReader::Bare::kMeansTrue);
    if (!flag.value) return;
    // Leaving the option out would measure interrupts in place of polling.
    if (!uring) return section.Refuse(*flag.from, "io_uring; other engines do not poll");
    set();
    note(field, flag.from);
  };
  polls("sqthread_poll", "submission_polling", [&] { o->set_submission_polling(true); });
  polls("hipri", "completion_polling", [&] { o->set_completion_polling(true); });
  // The worker registers buffers and files by itself. Only the wish to do without needs a field.
  for (const char* option : {"fixedbufs", "registerfiles"}) {
    const Value<bool> flag = section.Flag(option, Otherwise::kOn, SectionReader::Bare::kMeansTrue);
    if (flag.value || !uring) continue;
    o->set_unregistered(true);
    note("unregistered", flag.from);
  }
  if (const Value<std::string> cpus = section.Text("cpus_allowed", ""); cpus.from != nullptr) {
    const auto numbers = ParseNumbers(cpus.value);
    if (!numbers || numbers->size() > 1000) {
      section.Fail(*cpus.from, "is no list of processors; write 0-3,8");
    } else {
      for (const uint32_t cpu : *numbers) o->add_cpus(cpu);
      note("cpus", cpus.from);
    }
  }
  ReadNuma(section, job);
  if (const Value<std::string> memory = section.Text("mem", "malloc"); memory.from != nullptr) {
    if (absl::StartsWith(memory.value, "mmaphuge") || absl::StartsWith(memory.value, "shmhuge")) {
      o->set_huge_pages(true);
      note("huge_pages", memory.from);
    } else if (absl::StartsWith(memory.value, "cuda")) {
      section.Refuse(*memory.from, "memory of a GPU");
    } else {
      section.Remark(*memory.from, "left out; the worker chooses the memory of its buffers");
    }
  }
  // An empty message would stand in the job as a field without a value.
  if (o->ByteSizeLong() == 0) job->workload.clear_engine_options();
}

}  // namespace

Origin DefaultOrigin(const std::string& option) { return {"", 0, "fio's default: " + option}; }

void ReadEngine(const SectionReader& section, Job* job) {
  job->is_engine_known = ChooseEngine(section, job);
  // The options of an engine that is missing are not worth a message of their own.
  if (!job->is_engine_known) return;
  CheckOptions(section);
  ReadDirect(section, job);
  ReadEngineOptions(section, job);
  // fio ends a job at its first error by default, where a workload goes on: the limit must be
  // written down.
  const Value<std::string> errors = section.Text("continue_on_error", "none");
  if (errors.value == "none" || errors.value == "0") {
    job->workload.set_error_limit(1);
    job->origins["error_limit"] = OriginOf(errors, "continue_on_error=none");
  } else if (errors.value == "all" || errors.value == "1" || errors.value == "io") {
    section.Remark(*errors.from, "a thread goes on until 1,000 of its I/Os have failed");
  } else {
    section.Refuse(*errors.from, "errors that are tolerated by their kind");
  }
}

Job ReadJob(const SectionReader& section) {
  Job job;
  job.name = section.name();
  job.where = section.section().where;
  if (job.name.size() > 100) section.Fail("its name is longer than 100 bytes");
  if (job.name.empty()) section.Fail("has no name");
  ReadDirection(section, &job);
  ReadEngine(section, &job);
  if (!job.is_engine_known) return job;
  // The order matters: patterns and priorities look at the block sizes, syncs at the direction,
  // rates at the sizes again.
  ReadBlocks(section, &job);
  ReadPattern(section, &job);
  ReadPriorities(section, &job);
  ReadWriting(section, &job);
  ReadPace(section, &job);
  ReadFlow(section, &job);
  ReadZones(section, &job);
  job.clones = section.Count("numjobs", 1, kMaxClones);
  if (job.clones.value == 0) {
    section.Fail(*job.clones.from, "is 0: fio would run no clone; leave the job out");
    job.clones.value = 1;
  }
  return job;
}

}  // namespace lockstep::frontends::fio
