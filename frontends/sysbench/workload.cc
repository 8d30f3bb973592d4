// A line with `run`: the workload, and when it ends.

#include "frontends/sysbench/workload.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/timing.h"

namespace lockstep::frontends::sysbench {
namespace {

using timing::kSecond;
constexpr int64_t kMinBlock = 512;
constexpr int64_t kMaxBlock = 67108864;

constexpr Mode kModes[] = {
    {"seqwr", false, true, false}, {"seqrewr", false, true, false}, {"seqrd", true, false, false},
    {"rndrd", true, false, true},  {"rndwr", false, true, true},    {"rndrw", true, true, true},
};

class RunLine {
 public:
  RunLine(const Line& line, const Mode& mode, const RunParts& parts)
      : line_(line), mode_(mode), parts_(parts), w_(*parts.run->add_workloads()) {}

  void Set() {
    // Each step may look at fields that the steps before it have set: flags at the engine and the
    // block size, syncs and content at the mode.
    SetMode();
    SetBlocks();
    SetEngine();
    SetFlags();
    SetMix();
    SetSyncs();
    SetContent();
    SetEnd();
    SetRate();
  }

 private:
  void Says(const std::string& field, const Word* from, absl::string_view option) const {
    parts_.set("workloads[0]." + field, line_.OriginOf(from, option));
  }

  // A whole number of an option that must lie in a range.
  int64_t CountIn(const Value<int64_t>& count, const char* option, int64_t least,
                  int64_t most) const {
    if (count.value >= least && count.value <= most) return count.value;
    line_.Fail(count.from, option, absl::StrCat("must lie between ", least, " and ", most));
    return least;
  }

  void SetMode() {
    const Word* from = line_.Text("file-test-mode").from;
    Says("pattern", from, "file-test-mode");
    Says("read", from, "file-test-mode");
    if (mode_.is_random) {
      w_.mutable_pattern()->mutable_random();
    } else {
      // The threads of sysbench share one position.
      w_.mutable_pattern()->mutable_sequential()->set_shared(true);
    }
    w_.set_read_ratio(mode_.reads ? 1 : 0);
    // seqwr alone begins with empty files. The other modes need those of `prepare`.
    if (absl::string_view(mode_.name) == "seqwr") {
      w_.set_create(true);
      Says("create", from, "file-test-mode");
    }
    const Value<int64_t> threads = line_.CountOr("threads", "num-threads");
    w_.set_threads(static_cast<uint32_t>(CountIn(threads, "threads", 1, 1024)));
    Says("threads", threads.from, "threads");
  }

  void SetBlocks() {
    const Value<int64_t> size = line_.Size("file-block-size");
    const Value<int64_t> merged = line_.Count("file-merged-requests");
    const int64_t merge = CountIn(merged, "file-merged-requests", 0, 1024);
    if (size.value == 0) return;
    int64_t block = size.value;
    if (block < kMinBlock || block > kMaxBlock) {
      return line_.Fail(size.from, "file-block-size", "must lie between 512 bytes and 64 MiB");
    }
    if (merge > 1 && mode_.is_random) {
      line_.Remark(merged.from, "left out; sysbench merges only sequential requests");
    } else if (merge > 1) {
      block *= merge;
    }
    const bool is_merged = block != size.value;
    if (block > kMaxBlock) {
      return line_.Fail(merged.from, "file-merged-requests", "makes I/Os of more than 64 MiB");
    }
    if (block > parts_.file_size) {
      return line_.Fail(
          size.from, "file-block-size",
          absl::StrCat("makes I/Os of ", block, " bytes; a file has ", parts_.file_size));
    }
    if (parts_.file_size % block != 0) {
      line_.Remark(size.from,
                   absl::StrCat("of each file the last ", parts_.file_size % block,
                                " bytes are left out, in which sysbench does a shorter I/O"));
    }
    w_.set_block_size_bytes(block);
    Says("block_size", is_merged ? merged.from : size.from, "file-block-size");
  }

  void SetEngine() {
    const Value<std::string> io = line_.Text("file-io-mode");
    Says("engine", io.from, "file-io-mode");
    // The default is the page cache; --file-extra-flags may change it.
    w_.set_direct(false);
    if (io.value == "sync") {
      w_.set_engine(v1::ENGINE_SYNC);
    } else if (io.value == "async") {
      // The async mode is Linux AIO, with as many I/Os in flight for each thread.
      w_.set_engine(v1::ENGINE_LIBAIO);
      const Value<int64_t> backlog = line_.Count("file-async-backlog");
      w_.set_queue_depth(static_cast<uint32_t>(CountIn(backlog, "file-async-backlog", 1, 4096)));
      Says("queue_depth", backlog.from, "file-async-backlog");
      line_.Remark(io.from,
                   "latencies are those of whole I/Os; sysbench has those of their submission");
    } else if (io.value == "mmap") {
      w_.set_engine(v1::ENGINE_MMAP);
      if (w_.create()) {
        line_.Fail(io.from, "file-io-mode",
                   "cannot be translated: seqwr begins with empty files, which cannot be mapped");
      }
    } else {
      line_.Fail(io.from, "file-io-mode", "is none of sync, async and mmap");
    }
  }

  void SetFlags() {
    const Value<std::vector<std::string>> flags = line_.List("file-extra-flags");
    bool sync = false;
    bool dsync = false;
    for (const std::string& flag : flags.value) {
      sync = sync || flag == "sync";
      dsync = dsync || flag == "dsync";
      if (flag == "direct") w_.set_direct(true);
      if (flag != "sync" && flag != "dsync" && flag != "direct") {
        line_.Fail(flags.from, "file-extra-flags", "has others than sync, dsync and direct");
      }
    }
    parts_.set("workloads[0].direct", w_.direct()
                                          ? flags.from->where
                                          : Origin{"", 0, "sysbench goes through the page cache"});
    const bool is_mapped = w_.engine() == v1::ENGINE_MMAP;
    if (is_mapped && !flags.value.empty()) {
      return line_.Fail(flags.from, "file-extra-flags",
                        "cannot be translated: these flags have no effect on a mapped file");
    }
    // The kernel refuses other sizes of direct I/Os with EINVAL (open(2)).
    if (w_.direct() && w_.block_size_bytes() % 512 != 0) {
      line_.Fail(flags.from, "file-extra-flags",
                 "direct needs a --file-block-size that is a multiple of 512");
    }
    if (!sync && !dsync) return;
    if (!mode_.writes) {
      return line_.Remark(flags.from, "sync and dsync are left out; this line only reads");
    }
    // O_SYNC includes O_DSYNC (open(2)).
    w_.set_write_through(sync ? v1::WRITE_THROUGH_SYNC : v1::WRITE_THROUGH_DSYNC);
    Says("write_through", flags.from, "file-extra-flags");
  }

  void SetMix() {
    const Value<double> ratio = line_.Real("file-rw-ratio");
    if (ratio.value < 0) return line_.Fail(ratio.from, "file-rw-ratio", "must not be negative");
    if (!mode_.reads || !mode_.writes) return;
    // A share of reads is written with ten digits.
    constexpr double kMinRatio = 0.0001;
    constexpr double kMaxRatio = 100000;
    if (ratio.value != 0 && (ratio.value < kMinRatio || ratio.value > kMaxRatio)) {
      return line_.Fail(ratio.from, "file-rw-ratio",
                        "cannot be translated: it is neither 0 nor from 0.0001 to 100000");
    }
    // The ratio is that of reads to writes.
    w_.set_read_ratio(ratio.value / (1 + ratio.value));
    Says("read", ratio.from, "file-rw-ratio");
    if (ratio.value == 0) return;
    // sysbench draws no numbers for it: the next I/O is a read as long as (reads + 1) / (writes +
    // 1) is below the ratio.
    w_.set_mix(v1::MIX_EXACT);
    parts_.set("workloads[0].mix", Origin{"", 0, "sysbench keeps the ratio from I/O to I/O"});
    const Value<std::string> io = line_.Text("file-io-mode");
    if (io.value == "async" || w_.threads() > 1) {
      line_.Remark(ratio.from != nullptr ? ratio.from : line_.Text("file-test-mode").from,
                   "the ratio is kept when I/Os start; sysbench keeps it when they complete, so "
                   "that its order depends on their timing");
    }
  }

  void SetSyncs() {
    const Value<bool> all = line_.Flag("file-fsync-all");
    const Value<bool> end = line_.Flag("file-fsync-end");
    const Value<int64_t> frequency = line_.Count("file-fsync-freq");
    const Value<std::string> how = line_.Text("file-fsync-mode");
    if (frequency.value < 0) {
      line_.Fail(frequency.from, "file-fsync-freq", "must not be negative");
    }
    if (how.value != "fsync" && how.value != "fdatasync") {
      line_.Fail(how.from, "file-fsync-mode", "is neither fsync nor fdatasync");
    }
    const bool in_rows = frequency.value > 0;
    // sysbench syncs only in modes that write.
    if (!mode_.writes || !(all.value || end.value || in_rows)) return;
    v1::Fsync* fsync = w_.mutable_fsync();
    if (how.value == "fdatasync") {
      fsync->set_mode(v1::SYNC_MODE_FDATASYNC);
      Says("fsync.mode", how.from, "file-fsync-mode");
    }
    if (all.value) {
      // sysbench overlooks the other two then.
      fsync->set_every(1);
      Says("fsync.every", all.from, "file-fsync-all");
      return line_.Remark(all.from,
                          "each sync has a latency of its own; in sysbench it is part of the "
                          "write's");
    }
    // A sync of sysbench goes through all its files, one after the other.
    fsync->set_all_files(true);
    if (in_rows) {
      fsync->set_every_ios(static_cast<uint32_t>(frequency.value));
      // sysbench counts the I/Os of all threads together.
      fsync->set_shared(true);
      Says("fsync.every_ios", frequency.from, "file-fsync-freq");
    }
    if (end.value) {
      fsync->set_at_end(true);
      Says("fsync.at_end", end.from, "file-fsync-end");
    }
  }

  void SetContent() {
    const Value<bool> validate = line_.Flag("validate");
    if (!validate.value) {
      if (!mode_.writes) return;
      w_.mutable_content()->mutable_zeros();
      return parts_.set("workloads[0].content", Origin{"", 0, "sysbench writes zeros"});
    }
    if (!mode_.writes) {
      return line_.Fail(validate.from, "validate",
                        "cannot be translated: this line only reads, and Lockstep checks what the "
                        "run itself has written");
    }
    if (w_.block_size_bytes() % 512 != 0) {
      return line_.Fail(validate.from, "validate",
                        "needs a --file-block-size that is a multiple of 512");
    }
    w_.set_verify(true);
    Says("verify", validate.from, "validate");
    line_.Remark(validate.from,
                 "blocks that the run has written are checked; sysbench also checks those that "
                 "`prepare --validate` wrote");
  }

  void SetEnd() {
    // 32,000,000 s are the longest run of a job.
    const Value<int64_t> time = line_.CountOr("time", "max-time");
    const int64_t seconds = CountIn(time, "time", 0, 32000000);
    if (seconds > 0) {
      parts_.run->set_duration_ns(seconds * kSecond);
      parts_.set("duration", line_.OriginOf(time.from, "time"));
    }
    const Value<int64_t> events = line_.CountOr("events", "max-requests");
    if (events.value < 0) return line_.Fail(events.from, "events", "must not be negative");
    if (events.value == 0) {
      if (seconds == 0) line_.Fail(time.from, "time", "has no end: give --time or --events");
      return;
    }
    // The number is that of one host's I/Os. A workload has it for the whole fleet.
    w_.set_operations(static_cast<uint64_t>(events.value) * parts_.hosts);
    Says("operations", events.from, "events");
    Multiplied(events.from);
  }

  void SetRate() {
    const Value<int64_t> rate = line_.CountOr("rate", "tx-rate");
    if (rate.value < 0) return line_.Fail(rate.from, "rate", "must not be negative");
    if (rate.value == 0) return;
    w_.mutable_open_loop()->set_rate_per_second(static_cast<double>(rate.value) * parts_.hosts);
    // sysbench draws the time between two events from an exponential distribution.
    w_.mutable_open_loop()->set_arrival(v1::ARRIVAL_POISSON);
    Says("open_loop.rate", rate.from, "rate");
    Multiplied(rate.from);
    if (w_.has_fsync()) {
      line_.Remark(rate.from,
                   "paces reads and writes; in sysbench a sync counts against the rate, too");
    }
  }

  void Multiplied(const Word* from) const {
    if (parts_.hosts <= 1) return;
    line_.Remark(from, absl::StrCat("is of each host; the job has it times ", parts_.hosts));
  }

  const Line& line_;
  const Mode& mode_;
  const RunParts& parts_;
  v1::Workload& w_;
};

// --forced-shutdown: how long I/Os in flight are waited for.
void SetDrain(const Line& line, const RunParts& parts) {
  const Value<std::string> after = line.Text("forced-shutdown");
  if (after.value == "off") return;
  int64_t seconds = 0;
  if (after.value.empty()) {
    // sysbench takes a twentieth of the time.
    seconds = std::max<int64_t>(1, parts.run->duration_ns() / kSecond / 20);
  } else if (!absl::SimpleAtoi(after.value, &seconds)) {
    seconds = 0;
  }
  if (seconds < 1 || seconds > 86400) {
    return line.Fail(after.from, "forced-shutdown",
                     "is neither off nor a number of seconds from 1 to 86400");
  }
  parts.job->mutable_deadlines()->set_drain_ns(seconds * kSecond);
}

void CheckRandom(const Line& line) {
  const Value<std::string> type = line.Text("rand-type");
  if (type.from == nullptr) return;
  // No offset depends on the name. sysbench refuses an unknown one, and so does this.
  for (const char* known : {"uniform", "gaussian", "special", "pareto"}) {
    if (type.value != known) continue;
    if (type.value != "uniform") {
      line.Remark(type.from, "left out; fileio draws offsets uniformly, whatever --rand-type says");
    }
    return;
  }
  line.Fail(type.from, "rand-type", "is none of uniform, gaussian, special and pareto");
}

}  // namespace

const Mode* ModeOf(const Line& line) {
  const Value<std::string> name = line.Text("file-test-mode");
  for (const Mode& mode : kModes) {
    if (name.value == mode.name) return &mode;
  }
  // The mode has no default in sysbench either.
  line.Fail(name.from, "file-test-mode",
            name.from == nullptr ? "is missing: seqwr, seqrewr, seqrd, rndrd, rndwr or rndrw"
                                 : "is none of seqwr, seqrewr, seqrd, rndrd, rndwr and rndrw");
  return nullptr;
}

void SetRun(const Line& line, const Mode& mode, const RunParts& parts) {
  RunLine(line, mode, parts).Set();
  SetDrain(line, parts);
  CheckRandom(line);
}

}  // namespace lockstep::frontends::sysbench
