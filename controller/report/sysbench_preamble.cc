#include "controller/report/sysbench_preamble.h"

#include <algorithm>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/timing.h"

namespace lockstep::controller {
namespace {

// The options of a line that its label has, else sysbench's defaults.
class Label {
 public:
  Label(const v1::JobSpec& job, const std::string& phase) {
    const auto found = job.labels().find("sysbench." + phase);
    if (found == job.labels().end()) return;
    is_line_ = true;
    for (const absl::string_view part : absl::StrSplit(found->second, ' ')) {
      const std::pair<std::string, std::string> option =
          absl::StrSplit(part, absl::MaxSplits('=', 1));
      options_.insert(option);
    }
  }

  bool is_line() const { return is_line_; }
  std::string Text(const std::string& name, const std::string& otherwise) const {
    const auto found = options_.find(name);
    return found == options_.end() ? otherwise : found->second;
  }
  int64_t Number(const std::string& name, int64_t otherwise) const {
    int64_t number = 0;
    // A person may have changed the label.
    return absl::SimpleAtoi(Text(name, ""), &number) && number >= 0 ? number : otherwise;
  }

 private:
  bool is_line_ = false;
  std::map<std::string, std::string> options_;
};

// sysbench's sizes: five digits, with the largest unit that leaves at least 1.
std::string SizeText(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (; unit + 1 < std::size(units) && bytes >= 1024; ++unit) bytes /= 1024;
  return absl::StrFormat("%.5g%s", bytes, units[unit]);
}

// How a line of sysbench would say what a workload does.
struct Described {
  double ratio = 1.5;
  int64_t frequency = 0;
  int64_t merged = 0;
  bool all = false, end = false, sync = false, dsync = false;
};

Described DescribedBy(const v1::Workload& w, const Label& label) {
  Described d;
  // sysbench's ratio is reads for each write, so a workload without writes has none. Trims are
  // neither.
  const double writes = (1 - w.read_ratio()) * (1 - w.trim_ratio());
  if (writes > 0) d.ratio = w.read_ratio() / writes;
  d.frequency = w.fsync().every_ios();
  d.all = w.fsync().every() == 1;
  d.end = w.fsync().at_end();
  d.merged = w.merge();
  d.sync = w.write_through() == v1::WRITE_THROUGH_SYNC;
  d.dsync = w.write_through() == v1::WRITE_THROUGH_DSYNC;
  if (!label.is_line()) return d;
  // A line that only reads has these options, too, and sysbench prints them.
  d.frequency = label.Number("file-fsync-freq", 100);
  d.merged = label.Number("file-merged-requests", 0);
  d.all = label.Text("file-fsync-all", "off") == "on";
  d.end = label.Text("file-fsync-end", "on") == "on";
  if (!absl::SimpleAtod(label.Text("file-rw-ratio", "1.5"), &d.ratio)) d.ratio = 1.5;
  for (const absl::string_view flag : absl::StrSplit(label.Text("file-extra-flags", ""), ',')) {
    d.sync = d.sync || flag == "sync";
    d.dsync = d.dsync || flag == "dsync";
  }
  return d;
}

std::string ModeText(const v1::Workload& w) {
  const bool is_random = !w.pattern().has_sequential();
  if (w.read_ratio() >= 1) return is_random ? "random read" : "sequential read";
  if (w.read_ratio() > 0 || w.mix() == v1::MIX_EXACT)
    return is_random ? "random r/w" : "sequential r/w";
  if (is_random) return "random write";
  return w.create() ? "sequential write (creation)" : "sequential rewrite";
}

std::string EngineText(const v1::Workload& w) {
  // sysbench's own spelling: programs that read its output look for it.
  if (w.engine() == v1::ENGINE_MMAP) return "fast mmaped";
  const bool is_async = w.engine() == v1::ENGINE_LIBAIO || w.queue_depth() > 1;
  return is_async ? "asynchronous" : "synchronous";
}

std::string Options(const v1::JobSpec& job, const v1::RunPhase& run, const v1::Workload& w,
                    const Label& label, uint32_t workers) {
  // sysbench knows one machine only: the threads of all hosts are shown as its threads.
  std::string text = absl::StrCat("Running the test with following options:\nNumber of threads: ",
                                  w.threads() * std::max<uint32_t>(1, workers), "\n");
  if (w.has_open_loop()) {
    absl::StrAppendFormat(&text, "Target transaction rate: %.0f/sec\n",
                          w.open_loop().rate_per_second());
  }
  if (const int64_t interval = label.Number("report-interval", 0); interval > 0) {
    absl::StrAppend(&text, "Report intermediate results every ", interval, " second(s)\n");
  }
  if (w.verify()) text += "Validation checks: on.\n\n";
  const int64_t seed = label.Number("rand-seed", 0);
  text += seed > 0
              ? absl::StrCat("Initializing random number generator from seed (", seed, ").\n\n")
              : "Initializing random number generator from current time\n\n";
  // Only a line that asks for it has another deadline than a job's default.
  const int64_t drain = job.deadlines().drain_ns() / timing::kSecond;
  if (label.is_line() && drain != 60 && run.duration_ns() > 0) {
    absl::StrAppend(&text, "Forcing shutdown in ", run.duration_ns() / timing::kSecond + drain,
                    " seconds\n");
  }
  return text + "\n";
}

std::string Files(const v1::Workload& w, const Described& d, const SysbenchLook& look) {
  std::string flags =
      absl::StrCat(d.sync ? "sync " : "", d.dsync ? "dsync " : "", w.direct() ? "directio" : "");
  if (flags.empty()) flags = "(none)";
  // In a sequential mode merged requests are the blocks of the job.
  const bool is_merged = d.merged > 1 && w.pattern().has_sequential() && w.merge() == 0;
  const int64_t block = is_merged ? w.block_size_bytes() / d.merged : w.block_size_bytes();
  std::string text =
      absl::StrCat("Extra file open flags: ", flags, "\n", look.files, " files, ",
                   SizeText(static_cast<double>(look.file_bytes)), " each\n",
                   SizeText(static_cast<double>(look.file_bytes) * look.files),
                   " total file size\n", "Block size ", SizeText(static_cast<double>(block)), "\n");
  if (d.merged > 0) {
    absl::StrAppend(&text, "Merging requests up to ",
                    SizeText(static_cast<double>(block) * static_cast<double>(d.merged)),
                    " for sequential IO.\n");
  }
  return text;
}

std::string Load(const v1::Workload& w, const Described& d) {
  std::string text;
  if (!w.pattern().has_sequential()) {
    absl::StrAppend(
        &text, "Number of IO requests: ", w.operations(), "\n",
        absl::StrFormat("Read/Write ratio for combined random IO test: %.2f\n", d.ratio));
  }
  if (d.all) {
    text += "Calling fsync() after each write operation.\n";
  } else {
    if (d.frequency > 0) {
      absl::StrAppend(&text, "Periodic FSYNC enabled, calling fsync() each ", d.frequency,
                      " requests.\n");
    }
    if (d.end) text += "Calling fsync() at the end of test, Enabled.\n";
  }
  absl::StrAppend(&text, "Using ", EngineText(w), " I/O mode\n");
  if (w.verify()) text += "Using checksums validation.\n";
  return absl::StrCat(text, "Doing ", ModeText(w), " test\n",
                      "Initializing worker threads...\n\nThreads started!\n\n");
}

const v1::FileTarget* FilesOf(const v1::JobSpec& job, const v1::Workload& w) {
  // sysbench has one set of files, all of the same size.
  if (w.targets_size() > 1) return nullptr;
  for (const v1::Target& target : job.targets()) {
    const bool is_named = w.targets().empty() || w.targets(0) == target.name();
    if (is_named) return target.has_file() ? &target.file() : nullptr;
  }
  return nullptr;
}

}  // namespace

SysbenchLook SysbenchLookOf(const v1::JobSpec& job, const std::string& phase, uint32_t workers) {
  const Label label(job, phase);
  SysbenchLook look;
  look.is_line = label.is_line();
  look.percentile = static_cast<int>(std::min<int64_t>(100, label.Number("percentile", 95)));
  look.report_interval_seconds = label.Number("report-interval", 0);
  const v1::RunPhase* run = nullptr;
  for (const v1::PhaseSpec& spec : job.phases()) {
    if (spec.name() == phase && spec.has_run()) run = &spec.run();
  }
  const v1::Workload none;
  const v1::Workload& w = run != nullptr && run->workloads_size() == 1 ? run->workloads(0) : none;
  if (const v1::FileTarget* file = FilesOf(job, w); file != nullptr) {
    look.files = std::max<uint32_t>(1, file->count());
    look.file_bytes = file->size_bytes();
    if (look.file_bytes == 0) look.file_bytes = file->total_size_bytes() / look.files;
  }
  if (run == nullptr || run->workloads_size() != 1) return look;
  look.syncs_with_writes = w.fsync().every() != 0;
  look.is_paced = w.has_open_loop() && w.queue_depth() <= 1;
  look.operations = w.fsync().shared() ? w.operations() : 0;
  look.has_preamble = look.files > 0 && w.block_size_bytes() > 0 && !w.has_copy();
  if (!look.has_preamble) return look;
  const Described described = DescribedBy(w, label);
  look.preamble = absl::StrCat(Options(job, *run, w, label, workers), Files(w, described, look),
                               Load(w, described));
  return look;
}

}  // namespace lockstep::controller
