// Sizes of I/Os, their mix and their order.

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {
namespace {

// The limits of a job (proto/load.proto). They are checked here so that the message names fio's
// option and its line.
constexpr int64_t kMinBlock = 512;
constexpr int64_t kMaxBlock = 64 << 20;
constexpr size_t kMaxSizes = 64;

struct Size {
  int64_t from = 4096, to = 4096;
  double weight = 100;
  bool operator==(const Size&) const = default;
};
using Sizes = std::vector<Size>;

// The value of an option for the directions of the job, `a` of `a,b,c` if it only reads. A job has
// one for all of them, so the option is refused if they differ, and the first one is taken.
std::string OneForAll(const SectionReader& section, const Job& job, const Option& option,
                      const char* need) {
  const Directions parts = SplitDirections(option.value);
  const std::string& first = job.reads ? parts.read : job.writes ? parts.write : parts.trim;
  if ((job.writes && parts.write != first) || (job.trims && parts.trim != first)) {
    section.Refuse(option, need);
  }
  return first;
}

class BlockReader {
 public:
  BlockReader(const SectionReader& section, Job* job) : section_(section), job_(job) {}

  void Read() {
    ReadMix();
    Choose();
    const Sizes read = SizesOf(0);
    const Sizes write = SizesOf(1);
    const Sizes trim = SizesOf(2);
    Sizes used;
    if (job_->reads) used.insert(used.end(), read.begin(), read.end());
    if (job_->writes) used.insert(used.end(), write.begin(), write.end());
    if (job_->trims) used.insert(used.end(), trim.begin(), trim.end());
    if (used.empty()) return;
    // The smallest block decides the alignment of offsets, the largest one whether a file holds a
    // block at all.
    job_->smallest_block = INT64_MAX;
    for (const Size& size : used) {
      Check(size);
      job_->smallest_block = std::min(job_->smallest_block, size.from);
      job_->largest_block = std::max(job_->largest_block, size.to);
    }
    const bool mixed = job_->reads && job_->writes;
    const Origin origin = from_ != nullptr ? from_->where : DefaultOrigin("bs=4k");
    // Block sizes of a workload have one share of reads. Lines of an access specification have one
    // each.
    if (mixed && read != write) return AddLines(read, write, origin);
    AddSizes(job_->reads ? read : job_->writes ? write : trim, origin);
  }

 private:
  // fio takes the last one of rwmixread and rwmixwrite; both are shares of the same whole.
  void ReadMix() {
    v1::Workload& w = job_->workload;
    const Value<std::string> rw = section_.Text("rw", "read");
    const Origin direction = OriginOf(rw, "rw=read");
    // A trim is an I/O that is no read: with a share of reads of 0 it takes all of them.
    if (job_->trims) {
      w.set_trim_ratio(1);
      job_->origins["trim"] = direction;
    }
    if (!(job_->reads && job_->writes)) {
      w.set_read_ratio(job_->reads ? 1 : 0);
      job_->origins["read"] = direction;
      return;
    }
    Value<int64_t> read = section_.Count("rwmixread", 50, 100);
    const Value<int64_t> write = section_.Count("rwmixwrite", 50, 100);
    if (write.from != nullptr && (read.from == nullptr || read.from->order < write.from->order)) {
      read = {100 - write.value, write.from};
    }
    w.set_read_ratio(static_cast<double>(read.value) / 100);
    job_->origins["read"] = OriginOf(read, "rwmixread=50");
    if (!job_->random) {
      section_.Remark(*rw.from, "reads and writes share one position; in fio each has its own");
    }
  }

  // bssplit holds before bsrange, and that before bs, in whatever order they stand.
  void Choose() {
    for (const char* name : {"bssplit", "bsrange", "bs"}) {
      from_ = section_.Find(name);
      if (from_ != nullptr) break;
    }
    if (from_ == nullptr) return;
    if (!from_->has_value) {
      section_.Fail(*from_, "has no value");
      from_ = nullptr;
      return;
    }
    const Directions parts = SplitDirections(from_->value);
    parts_[0] = parts.read;
    parts_[1] = parts.write;
    parts_[2] = parts.trim;
  }

  Sizes SizesOf(int direction) {
    // A direction that the list leaves out (`bs=,8k`) keeps fio's default of 4 KiB.
    if (from_ == nullptr) return {Size{}};
    const std::string& text = parts_[direction];
    if (text.empty()) return {Size{}};
    if (from_->name == "bssplit") return SplitOf(text);
    if (from_->name == "bs") {
      const int64_t size = section_.BytesOf(*from_, text).value_or(4096);
      return {Size{size, size}};
    }
    const std::vector<std::string> ends = absl::StrSplit(text, '-');
    if (ends.size() != 2) {
      section_.Fail(*from_, "is no range of sizes; write 4k-64k");
      return {Size{}};
    }
    // fio, too, takes the ends in either order.
    const int64_t least = section_.BytesOf(*from_, ends[0]).value_or(4096);
    const int64_t most = section_.BytesOf(*from_, ends[1]).value_or(4096);
    return {Size{std::min(least, most), std::max(least, most)}};
  }

  Sizes SplitOf(const std::string& text) {
    const auto parts = ParseParts(text);
    if (!parts || parts->size() > kMaxSizes) {
      section_.Fail(*from_, "is no split of at most 64 sizes and 100 %; write 4k/70:64k/30");
      return {Size{}};
    }
    Sizes sizes;
    double sum = 0;
    for (const Part& part : *parts) {
      const int64_t size = section_.BytesOf(*from_, part.text).value_or(4096);
      sizes.push_back({size, size, part.percent});
      sum += part.percent;
    }
    // The rest of the 100 % goes to the last size, as in fio.
    if (sum < 99.999) sizes.back().weight += 100 - sum;
    return sizes;
  }

  void Check(const Size& size) {
    // fio's own default lies within the limits: only an option can break them.
    if (from_ == nullptr) return;
    if (size.from < kMinBlock || size.to > kMaxBlock) {
      section_.Fail(*from_, absl::StrCat("an I/O has from 512 bytes to 64 MiB in a job; this has ",
                                         size.from < kMinBlock ? size.from : size.to));
    } else if (job_->workload.direct() && (size.from % 512 != 0 || size.to % 512 != 0)) {
      section_.Fail(*from_, "direct I/O needs multiples of 512 bytes");
    }
  }

  // Offsets of fio are multiples of blockalign, by default of the smallest size.
  std::optional<int64_t> Alignment() {
    Value<int64_t> align = {job_->smallest_block, section_.Find("ba")};
    if (align.from != nullptr && align.from->has_value) {
      const std::string text =
          OneForAll(section_, *job_, *align.from, "an alignment for each direction");
      if (!text.empty()) align.value = section_.BytesOf(*align.from, text).value_or(align.value);
    }
    // Sequential I/O begins where the last one ended: fio aligns random offsets alone.
    if (align.from == nullptr || !job_->random || align.value == job_->smallest_block) return {};
    if (align.value < kMinBlock || align.value > kMaxBlock ||
        (job_->workload.direct() && align.value % 512 != 0)) {
      section_.Fail(*align.from, "must lie between 512 bytes and 64 MiB");
      return {};
    }
    return align.value;
  }

  void AddSizes(const Sizes& sizes, const Origin& origin) {
    v1::Workload& w = job_->workload;
    // Only lines have an alignment, so that a single size becomes a line, too. AddLine() makes no
    // line of trims.
    if (const std::optional<int64_t> align = Alignment(); align && !job_->trims) {
      for (const Size& size : sizes) AddLine(size, 1, w.read_ratio(), align);
      job_->origins["access"] = section_.Find("ba")->where;
      w.clear_read_ratio();
      job_->origins.erase("read");
      return;
    }
    if (sizes.size() == 1 && sizes[0].from == sizes[0].to) {
      w.set_block_size_bytes(sizes[0].from);
      job_->origins["block_size"] = origin;
      return;
    }
    for (const Size& size : sizes) {
      v1::WeightedBlockSize* to = w.add_block_sizes();
      to->set_block_size_bytes(size.from);
      if (size.to != size.from) to->set_up_to_bytes(size.to);
      if (sizes.size() > 1) to->set_weight(size.weight);
    }
    job_->origins["block_sizes"] = origin;
    if (job_->random && from_ != nullptr) {
      section_.Remark(*from_,
                      "offsets are multiples of each I/O's own size; in fio of the "
                      "smallest one");
    }
  }

  // Reads and writes of different sizes.
  void AddLines(const Sizes& read, const Sizes& write, const Origin& origin) {
    v1::Workload& w = job_->workload;
    const double share = w.read_ratio();
    const std::optional<int64_t> align = Alignment();
    for (const Size& size : read) AddLine(size, share, 1, align);
    for (const Size& size : write) AddLine(size, 1 - share, 0, align);
    // Each line has its own share of reads: the workload's would be refused beside it.
    w.clear_read_ratio();
    job_->origins["access"] = origin;
    job_->origins.erase("read");
  }

  void AddLine(const Size& size, double share, double read, std::optional<int64_t> align) {
    v1::AccessLine* line = job_->workload.add_access();
    line->set_block_size_bytes(size.from);
    if (size.to != size.from) line->set_up_to_bytes(size.to);
    line->set_weight(size.weight * share);
    line->set_read_ratio(read);
    line->set_random_ratio(job_->random ? 1 : 0);
    if (align) line->set_align_bytes(*align);
  }

  const SectionReader& section_;
  Job* job_;
  const Option* from_ = nullptr;
  std::string parts_[3];
};

bool AddZones(const SectionReader& section, const Option& option, const std::string& text,
              v1::Pattern* pattern) {
  const auto parts = ParseParts(text);
  double io = 0;
  double size = 0;
  v1::HotZones* zones = pattern->mutable_hot_zones();
  bool good = parts.has_value();
  for (const Part& part : good ? *parts : std::vector<Part>{}) {
    // The part's name is the share of the I/Os; its percentage the share of the target.
    const std::optional<double> share = ParseReal(part.text);
    good = good && share && *share > 0 && *share <= 100 && part.percent > 0;
    if (!good) break;
    v1::HotZone* zone = zones->add_zones();
    zone->set_io_ratio(*share / 100);
    zone->set_size_ratio(part.percent / 100);
    io += *share;
    size += part.percent;
  }
  if (good && io > 99.999 && io < 100.001 && size > 99.999) return true;
  section.Fail(option,
               "zones are shares of the I/Os and of the size, which add up to 100 each; "
               "write zoned:60/10:40/90");
  pattern->mutable_random();
  return false;
}

// Sets another distribution than the uniform one; false for the uniform one, and after errors.
bool SetDistribution(const SectionReader& section, const Value<std::string>& text,
                     v1::Pattern* pattern) {
  const std::vector<std::string> parts = absl::StrSplit(text.value, absl::MaxSplits(':', 1));
  const std::string& kind = parts[0];
  if (kind == "random") return false;
  if (text.value.find(',') != std::string::npos) {
    section.Refuse(*text.from, "orders for each direction");
    return false;
  }
  const std::string rest = parts.size() > 1 ? parts[1] : "";
  if (kind == "zoned") return AddZones(section, *text.from, rest, pattern);
  if (kind == "zoned_abs") {
    section.Refuse(*text.from, "zones of a size in bytes");
    return false;
  }
  const std::vector<std::string> numbers = absl::StrSplit(rest, absl::MaxSplits(':', 1));
  if (numbers.size() > 1) {
    section.Refuse(*text.from, "a center of the distribution");
    return false;
  }
  const double otherwise = kind == "zipf" ? 1.1 : kind == "pareto" ? 0.2 : 0;
  const auto number = rest.empty() ? std::optional<double>(otherwise) : ParseReal(rest);
  // fio refuses a theta of 1, too: its generator divides by 1 - theta.
  if (kind == "zipf" && number && *number >= 0.01 && *number <= 100 && *number != 1) {
    pattern->mutable_zipf()->set_theta(*number);
  } else if (kind == "pareto" && number && *number >= 0.001 && *number <= 0.999) {
    pattern->mutable_pareto()->set_h(*number);
  } else if ((kind == "normal" || kind == "gauss") && number && *number >= 0.01 && *number <= 100) {
    pattern->mutable_normal()->set_deviation_ratio(*number / 100);
  } else {
    section.Fail(*text.from,
                 "is none of random, zipf:1.2, pareto:0.2, normal:10 and zoned:60/10:40/90");
    return false;
  }
  return true;
}

Value<int64_t> RandomPercent(const SectionReader& section, const Job& job) {
  const Option* option = section.Find("percentage_random");
  // Sequential jobs have none, whatever it says.
  if (option == nullptr || !option->has_value || !job.random) return {100, option};
  const std::string text =
      OneForAll(section, job, *option, "a share of random I/Os for each direction");
  const int64_t percent = text.empty() ? 100 : ParseInteger(text).value_or(-1);
  if (percent >= 0 && percent <= 100) return {percent, option};
  section.Fail(*option, "is not a whole number from 0 to 100");
  return {100, option};
}

void ChooseOrder(const SectionReader& section, Job* job) {
  v1::Workload& w = job->workload;
  const Value<int64_t> random = RandomPercent(section, *job);
  const Value<std::string> distribution = section.Text("random_distribution", "random");
  const Value<bool> no_map =
      section.Flag("norandommap", Otherwise::kOff, SectionReader::Bare::kMeansTrue);
  const Value<std::string> rw = section.Text("rw", "read");
  v1::Pattern* pattern = w.mutable_pattern();
  if (!job->random) {
    pattern->mutable_sequential();
    // Lines of an access specification have their own share of random I/Os.
    if (!w.access().empty()) pattern->mutable_random();
    job->origins["pattern"] = OriginOf(rw, "rw=read");
    return;
  }
  if (SetDistribution(section, distribution, pattern)) {
    job->origins["pattern"] = distribution.from->where;
  } else if (no_map.value) {
    pattern->mutable_random();
    job->origins["pattern"] = no_map.from->where;
    // A job's shuffled order is one of blocks of one size.
  } else if (w.block_size_bytes() == 0 || random.value < 100) {
    pattern->mutable_random();
    job->origins["pattern"] = rw.from->where;
    section.Remark(*rw.from,
                   "fio visits each block once; with several sizes, or a share of sequential I/Os, "
                   "offsets are drawn at random");
  } else {
    pattern->mutable_shuffled();
    job->origins["pattern"] = rw.from->where;
  }
  if (random.value == 100) return;
  if (!w.access().empty()) return section.Refuse(*random.from, "one share for several lines");
  w.set_random_ratio(static_cast<double>(random.value) / 100);
  job->origins["random"] = random.from->where;
}

}  // namespace

void ReadBlocks(const SectionReader& section, Job* job) { BlockReader(section, job).Read(); }

void ReadPattern(const SectionReader& section, Job* job) {
  ChooseOrder(section, job);
  ReadSteps(section, job);
}

}  // namespace lockstep::frontends::fio
