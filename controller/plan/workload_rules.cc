#include "controller/plan/workload_rules.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/plan/copy_rules.h"
#include "controller/plan/loads.h"
#include "controller/plan/order_rules.h"
#include "controller/plan/pace_rules.h"
#include "controller/plan/pattern_rules.h"
#include "controller/plan/target_rules.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

constexpr int64_t kMaxBlock = 67108864;

// ": did you mean 8KiB?" for 8 kB, which users of decimal units write.
std::string BinarySize(int64_t size) {
  for (const auto& [decimal, binary] : {std::pair(int64_t{1000000}, "MiB"), {1000, "KiB"}}) {
    if (size % decimal == 0) return absl::StrCat(": did you mean ", size / decimal, binary, "?");
  }
  return "";
}

// One workload's rules, subject by subject.
class Rules {
 public:
  Rules(const v1::JobSpec& job, const TargetIndex& targets, const v1::RunPhase& run,
        const v1::Workload& w, const Complain& complain)
      : job_(job), targets_(targets), run_(run), w_(w), add_(complain) {}

  void Check() {
    CheckPace(job_, run_, w_, add_);
    CheckTargets();
    CheckSizes();
    CheckPattern(job_, targets_, w_, add_);
    CheckFiles();
    CheckEngine();
    CheckWriting();
    CheckVerify();
    if (w_.has_copy()) CheckCopy(job_, targets_, w_, add_);
  }

 private:
  const v1::Target* TargetAt(int i) const {
    const int index = targets_.Find(w_.targets(i));
    return index < 0 ? nullptr : &job_.targets(index);
  }

  void CheckTargets() {
    if (w_.targets().empty()) add_(".targets", "is empty, and the job has not exactly one target");
    bool null = false;
    bool iscsi = false;
    bool others = false;
    std::set<std::string> names;
    for (int i = 0; i < w_.targets_size(); ++i) {
      const std::string field = TargetField(w_, i);
      const v1::Target* target = TargetAt(i);
      if (!names.insert(w_.targets(i)).second) {
        add_(field, absl::StrCat("'", w_.targets(i), "' is named twice"));
      }
      if (target == nullptr) {
        add_(field, absl::StrCat("no target is named '", w_.targets(i), "'"));
        continue;
      }
      null = null || target->has_null();
      // LUNs are reached over the network from user space: no file descriptor, so no other engine.
      (target->has_iscsi() ? iscsi : others) = true;
      // An I/O must not cross the end of a stripe, because the next one is another worker's.
      if (target->stripe_bytes() != 0 && target->stripe_bytes() < LargestBlock(w_)) {
        add_(field, absl::StrCat("a stripe of ", common::FormatSize(target->stripe_bytes()),
                                 " holds no block of ", common::FormatSize(LargestBlock(w_))));
      }
      // The size of a device or a LUN is found by the workers' inspection, which comes later.
      const int64_t smallest = KnownSizeOf(*target);
      if (smallest < LargestBlock(w_)) {
        add_(field, absl::StrCat(target->has_file() ? "a file of " : "a null target of ",
                                 common::FormatSize(smallest), " holds no block of ",
                                 common::FormatSize(LargestBlock(w_))));
      }
    }
    if (null && w_.targets_size() > 1) {
      add_(".targets", "a null target stands alone: it cannot be mixed with others");
    }
    if (null) CheckNull(*TargetAt(0));
    if (iscsi && others) {
      add_(".targets",
           "iSCSI targets cannot be mixed with others: they have an engine of their own");
    }
    if (iscsi != (w_.engine() == v1::ENGINE_ISCSI)) {
      add_(".engine", iscsi ? "an iSCSI target has engine: iscsi"
                            : "engine iscsi is for iSCSI targets; this workload has others");
    }
    if (!null && w_.engine() == v1::ENGINE_NULL) {
      add_(".engine", "the null engine is for null targets; this workload has others");
    }
  }

  void CheckNull(const v1::Target& target) {
    const v1::NullTarget& null = target.null();
    const bool zero = null.device() == v1::NULL_DEVICE_ZERO;
    const bool scripted =
        null.latency_ns() != 0 || null.stall_every_ns() != 0 || null.stall_ns() != 0;
    if (zero && w_.engine() == v1::ENGINE_NULL) {
      add_(".engine", "the null engine does no system calls: its target's device is nop, not zero");
    }
    // Only io_uring has a request that does nothing (IORING_OP_NOP), and only the null engine needs
    // no kernel at all.
    if (scripted && w_.engine() != v1::ENGINE_NULL) {
      add_(".engine", absl::StrCat("does not keep the latencies that the target '", target.name(),
                                   "' scripts; write engine: null"));
    } else if (!zero && w_.engine() != v1::ENGINE_NULL && w_.engine() != v1::ENGINE_IO_URING) {
      add_(".engine", absl::StrCat("cannot run on the null target '", target.name(),
                                   "': write engine: null or io_uring, or give the target "
                                   "device: zero"));
    }
    if (zero && w_.engine() == v1::ENGINE_MMAP) {
      add_(".engine", "/dev/zero cannot be mapped and shared; choose another engine");
    }
    if (w_.verify()) add_(".verify", "a null target keeps nothing that could be verified");
    if (Trims(w_) && zero) add_(".trim", "/dev/zero has nothing to trim");
  }

  void CheckSize(const std::string& field, int64_t size, int64_t up_to) {
    if (size < 512 || size > kMaxBlock) {
      return add_(field + "block_size", "must lie between 512 and 64MiB");
    }
    if (up_to != 0 && (up_to < size || up_to > kMaxBlock)) {
      add_(field + "up_to", "must lie between block_size and 64MiB");
    }
    // Direct I/O must be aligned to the device's logical block (open(2)), at least 512 bytes.
    if (w_.direct() && size % 512 != 0) {
      add_(field + "block_size",
           absl::StrCat(size, " is not a multiple of 512, which O_DIRECT requires",
                        BinarySize(size), "; or set direct: false"));
    }
  }

  void CheckSizes() {
    if (!w_.block_sizes().empty() && !w_.access().empty()) {
      add_(".access", "cannot stand beside block_sizes; give each line its sizes");
    }
    if ((!w_.block_sizes().empty() || !w_.access().empty()) && w_.block_size_bytes() != 0) {
      add_(".block_size", "cannot stand beside block_sizes or access");
    }
    if (w_.block_sizes().empty() && w_.access().empty()) CheckSize(".", w_.block_size_bytes(), 0);
    for (int i = 0; i < w_.block_sizes_size(); ++i) {
      CheckSize(absl::StrCat(".block_sizes[", i, "]."), w_.block_sizes(i).block_size_bytes(),
                w_.block_sizes(i).up_to_bytes());
    }
    for (int i = 0; i < w_.access_size(); ++i) {
      const v1::AccessLine& line = w_.access(i);
      const std::string field = absl::StrCat(".access[", i, "].");
      CheckSize(field, line.block_size_bytes(), line.up_to_bytes());
      if (line.align_bytes() != 0 && line.align_bytes() < 512) {
        add_(field + "align", "must be at least 512");
      }
      if (w_.direct() && line.align_bytes() % 512 != 0) {
        add_(field + "align", "is not a multiple of 512, which O_DIRECT requires");
      }
    }
    if (!w_.access().empty() &&
        (w_.read_ratio() != 1 || w_.trim_ratio() != 0 || w_.random_ratio() != 1)) {
      add_(".access", "gives each line its own read and random shares; leave the workload's out");
    }
    if (w_.merge() > 1024) add_(".merge", "must be at most 1024");
    if (w_.merge() > 1 && (!w_.access().empty() || !w_.block_sizes().empty())) {
      add_(".merge", "needs one block size");
    }
    const bool neighbours = w_.pattern().has_sequential() || w_.random_ratio() < 1;
    if (w_.merge() > 1 && !neighbours) {
      add_(".merge",
           "joins neighbouring I/Os, and a random pattern has none: it needs the pattern "
           "sequential, or a random share below 100%");
    }
    if (LargestBlock(w_) > kMaxBlock) {
      add_(".merge", absl::StrCat("makes I/Os of up to ", common::FormatSize(LargestBlock(w_)),
                                  "; the largest is 64 MiB"));
    }
  }

  void CheckFiles() {
    uint64_t files = 0;
    bool only_files = true;
    for (int i = 0; i < w_.targets_size(); ++i) {
      const v1::Target* target = TargetAt(i);
      if (target == nullptr) continue;
      only_files = only_files && target->has_file();
      files += target->has_file() ? target->file().count() : 1;
    }
    const bool in_turn =
        w_.file_order() == v1::FILE_ORDER_ROUND_ROBIN || w_.file_order() == v1::FILE_ORDER_RANDOM;
    if (in_turn && !w_.pattern().has_random() && !w_.pattern().has_sequential()) {
      add_(".file_order", "taking turns needs the pattern random or sequential");
    }
    // A shared position counts blocks over all files, in their order.
    if (in_turn && w_.pattern().sequential().shared()) {
      add_(".file_order", "a shared sequential position goes through the files together");
    }
    if (w_.files_per_thread() && files < w_.threads()) {
      add_(".files_per_thread",
           absl::StrCat("there are ", files, " files for ", w_.threads(), " threads"));
    }
    // The engines number the files of a workload with 16 bits.
    if (files > 65535) {
      add_(".targets", absl::StrCat(files, " files; a workload has at most 65,535"));
    }
    // CheckCopy() has the rules for a copy that creates its destination.
    if (!w_.create() || w_.has_copy()) return;
    if (!only_files) add_(".create", "is for file targets");
    if (!w_.pattern().has_sequential() || Reads(w_) || Trims(w_)) {
      add_(".create", "needs a sequential pattern that only writes (read: 0%)");
    }
    for (int i = 0; i < w_.targets_size(); ++i) {
      const v1::Target* target = TargetAt(i);
      if (target != nullptr && target->sharing() != v1::SHARING_PRIVATE) {
        add_(".create", absl::StrCat("target '", target->name(),
                                     "' is shared; each worker creates files of its own"));
      }
    }
  }

  void CheckEngine() {
    const v1::EngineOptions& o = w_.engine_options();
    const bool uring = w_.engine() == v1::ENGINE_IO_URING;
    const bool one_by_one = w_.engine() == v1::ENGINE_SYNC || w_.engine() == v1::ENGINE_PREADV2 ||
                            w_.engine() == v1::ENGINE_MMAP;
    if (one_by_one && w_.queue_depth() > 1) {
      add_(".queue_depth", "this engine has one I/O in flight per thread; raise threads instead");
    }
    if (w_.engine() == v1::ENGINE_MMAP && w_.direct()) {
      add_(".direct", "mapped files go through the page cache; set direct: false");
    }
    // mmap(2) refuses a length of 0, and access to a page behind the end of a file raises SIGBUS.
    if (w_.engine() == v1::ENGINE_MMAP && w_.create()) {
      add_(".create", "a file that is empty cannot be mapped; choose another engine");
    }
    if (!uring && (o.submission_polling() || o.completion_polling())) {
      add_(".engine_options", "polling is io_uring's; choose engine: io_uring");
    }
    if (!uring && (o.unregistered() || o.task_work() != v1::TASK_WORK_UNSPECIFIED)) {
      add_(".engine_options", "unregistered and task_work are io_uring's");
    }
    // A ring with IORING_SETUP_IOPOLL needs files opened with O_DIRECT (io_uring_setup(2)). It
    // refuses requests that cannot be polled, such as fsync.
    if (o.completion_polling() && !w_.direct()) {
      add_(".engine_options.completion_polling", "needs direct: true");
    }
    if (o.completion_polling() && (Trims(w_) || Syncs(w_))) {
      add_(".engine_options.completion_polling", "a polled ring can neither trim nor fsync");
    }
    // io_uring_setup(2) refuses IORING_SETUP_SQPOLL together with the COOP_TASKRUN and
    // DEFER_TASKRUN flags.
    if (o.submission_polling() &&
        (o.task_work() == v1::TASK_WORK_DEFERRED || o.task_work() == v1::TASK_WORK_COOPERATIVE)) {
      add_(".engine_options.task_work", "a kernel thread that submits has plain task work");
    }
    if (o.batch() > w_.queue_depth()) {
      add_(".engine_options.batch",
           absl::StrCat("is larger than the queue depth, ", w_.queue_depth()));
    }
    if (o.wait() > w_.queue_depth()) {
      add_(".engine_options.wait",
           absl::StrCat("is larger than the queue depth, ", w_.queue_depth()));
    }
    if (w_.has_io_priority() &&
        (w_.engine() == v1::ENGINE_ISCSI || w_.engine() == v1::ENGINE_NULL)) {
      add_(".io_priority", "is the kernel's, and this engine's I/Os do not pass its block layer");
    }
    CheckLinePriorities();
    if (!o.cpus().empty() && !o.cpu_nodes().empty()) {
      add_(".engine_options.cpu_nodes", "stands beside cpus; give one");
    }
    if (o.has_numa_node() && !o.interleave_nodes().empty()) {
      add_(".engine_options.interleave_nodes", "stands beside numa_node; give one");
    }
    if (one_by_one && w_.submission_latency()) {
      add_(".submission_latency",
           "an engine of one I/O at a time completes in the submission; its service time is all "
           "there is");
    }
  }

  // The page cache sends its I/Os later, with the priority of whoever does it.
  void CheckLinePriorities() {
    const bool is_sent = w_.engine() == v1::ENGINE_IO_URING || w_.engine() == v1::ENGINE_LIBAIO;
    for (int i = 0; i < w_.access_size(); ++i) {
      if (!w_.access(i).has_io_priority() || (is_sent && w_.direct())) continue;
      add_(absl::StrCat(".access[", i, "].io_priority"),
           is_sent ? "needs direct: true"
                   : "needs an engine that sends it with each I/O: io_uring or libaio");
    }
  }

  void CheckWriting() {
    CheckOrder(w_, add_);
    if (w_.trim_ratio() > 0 && w_.read_ratio() >= 1) {
      add_(".trim", "is a share of what is not read; set read below 100%");
    }
    if (w_.content().has_zeros() &&
        (w_.content().compressed_ratio() != 1 || w_.content().duplicate_ratio() > 0)) {
      add_(".content",
           "zeros compress and deduplicate completely; give the shares with random content");
    }
    if (w_.content().duplicate_blocks() != 0 && !(w_.content().duplicate_ratio() > 0)) {
      add_(".content.duplicate_blocks", "needs a share of copies: duplicate");
    }
    // O_SYNC applies to write(2). Stores into a mapping reach the file by msync(2) or write-back.
    if (w_.write_through() > v1::WRITE_THROUGH_NONE && w_.engine() == v1::ENGINE_MMAP) {
      add_(".write_through", "has no effect on a mapped file; use fsync");
    }
    if (w_.write_through() > v1::WRITE_THROUGH_NONE && !Writes(w_)) {
      add_(".write_through", "this workload does not write");
    }
  }

  void CheckVerify() {
    if (!w_.verify()) return;
    // A reader must know where headers lie without knowing which I/O wrote them.
    const bool one_size = w_.access().empty() && w_.block_sizes().empty() && w_.merge() <= 1;
    if (!one_size) add_(".verify", "needs one block size: the header lies at each block's start");
    if (w_.block_size_bytes() % 512 != 0) {
      add_(".verify", "needs a block size that is a multiple of 512");
    }
    // The content of a trimmed block depends on the device (LBPRZ in SCSI, DLFEAT in NVMe).
    if (Trims(w_)) add_(".verify", "trimmed blocks have no content that could be checked");
    if (ChoosesContent(w_)) {
      add_(".content", "verify makes the content of blocks itself; leave content out");
    }
    absl::flat_hash_map<absl::string_view, int> own;  // target → its index in this workload
    for (int i = 0; i < w_.targets_size(); ++i) {
      const v1::Target* target = TargetAt(i);
      if (target == nullptr) continue;  // CheckTargets() says so
      // A map, since the loops below would otherwise compare all targets of all pairs of workloads.
      own.emplace(w_.targets(i), i);
      if (WritesTo(w_, w_.targets(i))) CheckVerifiedWriter(i, *target, w_);
    }
    for (const v1::Workload& other : run_.workloads()) {
      const bool differs = IsOfOtherStaleness(other);
      const bool writes = &other != &w_ && Writes(other);
      if (!differs && !writes) continue;
      for (const std::string& name : other.targets()) {
        const auto shared = own.find(name);
        if (shared == own.end()) continue;
        if (differs) ComplainOfStaleness(other, name);
        if (!writes || !WritesTo(other, name)) continue;
        CheckOtherWriter(shared->second, *TargetAt(shared->second), other);
      }
    }
  }

  static bool IsCached(const v1::Workload& w) {
    return !w.direct() || w.engine() == v1::ENGINE_MMAP;
  }

  // All workloads of a worker share one ledger for a target, with one staleness. It matters to
  // readers only: they wait for others' writes.
  bool IsOfOtherStaleness(const v1::Workload& other) const {
    return other.verify() && other.verify_staleness_ns() != w_.verify_staleness_ns() &&
           !Writes(w_) && !Writes(other);
  }

  void ComplainOfStaleness(const v1::Workload& other, const std::string& target) {
    add_(".verify_staleness", absl::StrCat("workload '", other.name(), "' reads '", target,
                                           "' with another one; give both the same"));
  }

  // If two workers write the same block, neither knows which write came last. Expected contents do
  // not exist then.
  void CheckVerifiedWriter(int i, const v1::Target& target, const v1::Workload& writer) {
    if (target.sharing() != v1::SHARING_OVERLAPPED || job_.hosts().count() == 1 ||
        writer.hosts().count() == 1) {
      return;
    }
    add_(TargetField(w_, i),
         absl::StrCat("several hosts write to the overlapped target with '", writer.name(),
                      "', and none of them knows who was last; set the target's sharing to sliced, "
                      "or let one host write: hosts: {count: 1}"));
  }

  // Another workload writes what this one verifies.
  void CheckOtherWriter(int i, const v1::Target& target, const v1::Workload& other) {
    const std::string at = TargetField(w_, i);
    if (!other.verify()) {
      add_(at, absl::StrCat("workload '", other.name(),
                            "' writes to the same target at the same time, without headers, so "
                            "reads cannot be verified; set verify there, too"));
    } else if (other.block_size_bytes() != w_.block_size_bytes()) {
      add_(at, absl::StrCat("workload '", other.name(),
                            "' writes to the same target at the same time, in blocks of another "
                            "size; verified blocks are of one size"));
    } else if (other.create()) {
      add_(at, absl::StrCat("workload '", other.name(),
                            "' begins with empty files (create) while reads of them are verified; "
                            "verify them in a phase of their own"));
    } else if (target.has_device() && job_.hosts().count() != 1 &&
               (IsCached(w_) || IsCached(other))) {
      add_(at, absl::StrCat("another host's page cache would hide what workload '", other.name(),
                            "' writes to the device during that time; both need direct: true"));
    } else if (WritesTo(w_, w_.targets(i)) && target.sharing() == v1::SHARING_OVERLAPPED) {
      add_(at, absl::StrCat("workload '", other.name(),
                            "' writes to the same overlapped target; let one workload write what "
                            "is verified, or set its sharing to owned"));
    } else {
      CheckVerifiedWriter(i, target, other);
    }
  }

  const v1::JobSpec& job_;
  const TargetIndex& targets_;
  const v1::RunPhase& run_;
  const v1::Workload& w_;
  const Complain& add_;
};

}  // namespace

void CheckWorkload(const v1::JobSpec& job, const TargetIndex& targets, const v1::RunPhase& run,
                   const v1::Workload& workload, const Complain& complain) {
  Rules(job, targets, run, workload, complain).Check();
}

}  // namespace lockstep::controller
