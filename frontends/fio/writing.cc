// The contents that a job writes, when they are made durable, and whether they are read back.

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {
namespace {

void ReadSyncs(const SectionReader& section, Job* job) {
  v1::Fsync fsync;
  const Option* every = nullptr;
  const auto choose = [&](const Option* from, int64_t count, v1::SyncMode mode) {
    // fio counts each kind of syncs by itself. A workload has one kind.
    if (count == 0) return;
    if (every != nullptr) return section.Refuse(*from, "two kinds of syncs in one workload");
    every = from;
    fsync.set_every(static_cast<uint32_t>(count));
    if (mode != v1::SYNC_MODE_FSYNC) fsync.set_mode(mode);
    job->origins["fsync.every"] = from->where;
    if (mode != v1::SYNC_MODE_FSYNC) job->origins["fsync.mode"] = from->where;
  };
  constexpr int64_t kMaxEvery = 1 << 30;
  const Value<int64_t> plain = section.Count("fsync", 0, kMaxEvery);
  choose(plain.from, plain.value, v1::SYNC_MODE_FSYNC);
  const Value<int64_t> data = section.Count("fdatasync", 0, kMaxEvery);
  choose(data.from, data.value, v1::SYNC_MODE_FDATASYNC);
  if (const Value<std::string> range = section.Text("sync_file_range", ""); range.from != nullptr) {
    const std::vector<std::string> parts = absl::StrSplit(range.value, ':');
    const auto count = parts.size() == 2 ? ParseInteger(parts[1]) : std::nullopt;
    if (!count || *count < 0 || *count > kMaxEvery) {
      section.Fail(*range.from, "is not of the form write:32");
    } else {
      choose(range.from, *count, v1::SYNC_MODE_SYNC_FILE_RANGE);
      section.Remark(*range.from, "each sync is of the whole file, and waits for the write-back");
    }
  }
  // fio closes its files at the end of the job: both options are one sync there.
  for (const char* name : {"end_fsync", "fsync_on_close"}) {
    const Value<bool> at_end = section.Flag(name, Otherwise::kOff);
    if (!at_end.value) continue;
    fsync.set_at_end(true);
    job->origins["fsync.at_end"] = at_end.from->where;
  }
  if (fsync.ByteSizeLong() == 0) return;
  // fio counts the writes between two syncs: a job that only reads never syncs.
  if (job->writes) {
    *job->workload.mutable_fsync() = fsync;
    return;
  }
  for (const char* field : {"every", "mode", "at_end"}) {
    job->origins.erase(absl::StrCat("fsync.", field));
  }
}

void ReadWriteThrough(const SectionReader& section, Job* job) {
  const Value<std::string> sync = section.Text("sync", "none");
  if (sync.value == "none" || sync.value == "0") return;
  const bool data = sync.value == "dsync";
  if (!data && sync.value != "sync" && sync.value != "1") {
    return section.Fail(*sync.from, "is none of none, sync, dsync, 0 and 1");
  }
  // O_SYNC and O_DSYNC have no effect on reads (open(2)).
  if (!job->writes) return;
  // Flags of open(2) do not reach pages that are written through a mapping.
  if (job->workload.engine() == v1::ENGINE_MMAP) {
    return section.Refuse(*sync.from, "syncs of a mapped file by msync(2); write fsync");
  }
  job->workload.set_write_through(data ? v1::WRITE_THROUGH_DSYNC : v1::WRITE_THROUGH_SYNC);
  job->origins["write_through"] = sync.from->where;
}

void ReadWorkingSet(const SectionReader& section, bool has_copies, Job* job) {
  const Value<std::string> mode = section.Text("dedupe_mode", "repeat");
  const Value<int64_t> percent = section.Count("dedupe_working_set_percentage", 5, 100);
  const Value<bool> is_global = section.Flag("dedupe_global", Otherwise::kOff);
  if (mode.value != "repeat" && mode.value != "working_set") {
    return section.Fail(*mode.from, "is neither repeat nor working_set");
  }
  const bool is_set = mode.value == "working_set" && has_copies && job->writes;
  for (const Option* option : {percent.from, is_global.from}) {
    if (option != nullptr && !is_set) {
      section.Remark(*option, "has no effect without dedupe_mode=working_set and copies");
    }
  }
  if (!is_set) return;
  job->working_set_percent = {percent.value, percent.from != nullptr ? percent.from : mode.from};
  job->shares_working_set = is_global.value;
}

void ReadContent(const SectionReader& section, Job* job) {
  constexpr auto kBare = SectionReader::Bare::kMeansTrue;
  v1::Content content;
  Origins origins;
  const Value<bool> zeros = section.Flag("zero_buffers", Otherwise::kOff, kBare);
  const Value<bool> fresh = section.Flag("refill_buffers", Otherwise::kOff, kBare);
  const Value<int64_t> compressed = section.Count("buffer_compress_percentage", 0, 100);
  const Value<int64_t> duplicate = section.Count("dedupe_percentage", 0, 100);
  ReadWorkingSet(section, !zeros.value && duplicate.value > 0, job);
  if (zeros.value) {
    content.mutable_zeros();
    origins["content"] = zeros.from->where;
  } else {
    if (fresh.value) {
      content.mutable_random()->set_fresh(true);
      origins["content.random.fresh"] = fresh.from->where;
    }
    if (compressed.value > 0) {
      // fio says what goes, a job what is left.
      content.set_compressed_ratio(
          std::max(0.01, static_cast<double>(100 - compressed.value) / 100));
      origins["content.compressed"] = compressed.from->where;
    }
    if (duplicate.value > 0) {
      content.set_duplicate_ratio(static_cast<double>(duplicate.value) / 100);
      origins["content.duplicate"] = duplicate.from->where;
    }
  }
  if (origins.empty() || !job->writes) return;
  // A verified block is made from its header and a seed. Only so does the reader know each of its
  // bytes.
  if (job->verify) {
    return section.Refuse(zeros.value            ? *zeros.from
                          : fresh.value          ? *fresh.from
                          : compressed.value > 0 ? *compressed.from
                                                 : *duplicate.from,
                          "content of blocks that are verified; verify makes it itself");
  }
  *job->workload.mutable_content() = content;
  job->origins.merge(origins);
}

void ReadVerify(const SectionReader& section, Job* job) {
  static const auto* const kChecksums = new std::set<std::string>{
      "md5",    "crc64",  "crc32", "crc32c",   "crc32c-intel", "crc16",    "crc7",     "xxhash",
      "sha256", "sha512", "sha1",  "sha3-224", "sha3-256",     "sha3-384", "sha3-512", "meta"};
  const Value<std::string> verify = section.Text("verify", "0");
  const Value<bool> reads_back = section.Flag("do_verify", Otherwise::kOn);
  // verify=null is of fio's own tests: it pretends to check.
  if (verify.from == nullptr || verify.value == "0" || verify.value == "null") return;
  if (verify.value == "pattern" || verify.value == "pattern_hdr") {
    return section.Refuse(*verify.from, "a pattern as the content of blocks");
  }
  // Blocks get Lockstep's checksum, whichever is named. The names are looked up to find mistakes in
  // writing.
  if (!kChecksums->contains(verify.value)) {
    return section.Fail(*verify.from, "is no checksum that fio has");
  }
  // Nothing comes back from the null engine: each block would be wrong.
  if (job->null_engine) return section.Refuse(*verify.from, "storage that keeps something");
  if (job->trims) return section.Refuse(*verify.from, "blocks that are not trimmed");
  if (job->workload.block_size_bytes() == 0 || job->workload.block_size_bytes() % 512 != 0) {
    return section.Refuse(*verify.from,
                          "blocks of one size that is a multiple of 512: a header begins each");
  }
  if (job->workload.pattern().sequential().skip_bytes() % job->smallest_block != 0) {
    return section.Refuse(*verify.from, "blocks that begin at multiples of their size");
  }
  job->verify = true;
  // With do_verify=0 a job only writes the headers. A later job may check them.
  job->reads_back = job->writes && reads_back.value;
  job->workload.set_verify(true);
  job->origins["verify"] = verify.from->where;
  section.Remark(*verify.from,
                 "blocks carry Lockstep's own header and checksum, whichever fio's is");
}

}  // namespace

void ReadWriting(const SectionReader& section, Job* job) {
  ReadSyncs(section, job);
  ReadWriteThrough(section, job);
  // Verified blocks have a content of their own, so that ReadContent() must know whether there are
  // any.
  ReadVerify(section, job);
  ReadContent(section, job);
}

}  // namespace lockstep::frontends::fio
