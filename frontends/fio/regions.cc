// The regions of its files that a job reads and writes: options with bytes or a percentage, and the
// steps of an order.

#include "frontends/fio/regions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::frontends::fio {
namespace {

constexpr double kMaxFile = 1.2e18;

class StepReader {
 public:
  StepReader(const SectionReader& section, Job* job) : section_(section), job_(*job) {}

  void Read() {
    const Value<std::string> rw = section_.Text("rw", "read");
    const Value<std::string> sequencer = section_.Text("rw_sequencer", "sequential");
    if (sequencer.value != "sequential" && sequencer.value != "identical") {
      return section_.Fail(*sequencer.from, "is neither sequential nor identical");
    }
    const size_t colon = rw.value.find(':');
    const bool has_number = colon != std::string::npos;
    if (sequencer.from != nullptr && !(has_number && job_.random)) {
      section_.Remark(*sequencer.from, "has no effect: rw has no number of I/Os at an offset");
    }
    if (!has_number) return;
    from_ = rw.from;
    const std::string text = rw.value.substr(colon + 1);
    job_.random ? ReadSequence(text, sequencer) : ReadSkip(text);
  }

 private:
  bool IsOneSize(const char* what) const {
    if (job_.workload.block_size_bytes() != 0) return true;
    section_.Refuse(*from_, absl::StrCat(what, " of several block sizes"));
    return false;
  }

  void ReadSequence(const std::string& text, const Value<std::string>& sequencer) {
    const int64_t length = ParseInteger(text).value_or(-1);
    if (length < 0 || length > 1000000) {
      return section_.Fail(*from_, "has no number of I/Os from 1 to 1,000,000 behind the colon");
    }
    // One I/O at each offset is plain random I/O.
    if (length < 2) return;
    v1::Workload& w = job_.workload;
    if (!IsOneSize("sequences")) return;
    // Sequential I/Os among the random ones would cut sequences into pieces.
    if (w.has_random_ratio()) {
      return section_.Refuse(*from_, "sequences beside a share of random I/Os");
    }
    if (w.pattern().has_shuffled()) {
      w.mutable_pattern()->mutable_random();
      section_.Remark(*from_,
                      "fio begins each sequence at a block that it has not visited yet; here "
                      "offsets are drawn at random");
    }
    w.mutable_sequence()->set_length(static_cast<uint32_t>(length));
    job_.origins["sequence.length"] = from_->where;
    if (sequencer.value != "identical") return;
    w.mutable_sequence()->set_order(v1::SEQUENCE_ORDER_IDENTICAL);
    job_.origins["sequence.order"] = sequencer.from->where;
  }

  // fio adds the number to the end of the last I/O.
  void ReadSkip(const std::string& text) {
    const bool back = !text.empty() && text[0] == '-';
    const auto bytes = section_.BytesOf(*from_, back ? text.substr(1) : text);
    if (!bytes || *bytes == 0 || !IsOneSize("skips")) return;
    v1::Workload& w = job_.workload;
    const int64_t block = w.block_size_bytes();
    // The number counts from the end of the last I/O: back by two blocks is the block before it. A
    // job's skip is the gap beyond that.
    const int64_t skip = back ? *bytes - 2 * block : *bytes;
    if (skip < 0) {
      return section_.Refuse(*from_, absl::StrCat("I/Os that overlap: a step back of less than "
                                                  "two blocks, ",
                                                  2 * block, " bytes"));
    }
    // The skip would move all later I/Os off the sectors, and the kernel would refuse them
    // (EINVAL).
    if (w.direct() && skip % 512 != 0) {
      return section_.Fail(*from_, "direct I/O needs multiples of 512 bytes");
    }
    v1::Sequential* order = w.mutable_pattern()->mutable_sequential();
    if (back) {
      order->set_backwards(true);
      job_.origins["pattern.sequential.backwards"] = from_->where;
      section_.Remark(*from_, "fio does the first block first, and leaves out the last one");
    }
    if (skip == 0) return;
    order->set_skip_bytes(skip);
    job_.origins["pattern.sequential.skip"] = from_->where;
  }

  const SectionReader& section_;
  Job& job_;
  const Option* from_ = nullptr;
};

}  // namespace

Amount ReadAmount(const SectionReader& section, absl::string_view name) {
  const Value<std::string> text = section.Text(name, "");
  if (text.from == nullptr || !text.from->has_value) return {};
  const std::optional<Number> number = ParseBytes(text.value, 1024);
  if (!number || number->mark != '%') {
    return {section.BytesOf(*text.from, text.value).value_or(0), 0, text.from};
  }
  if (number->value >= 0 && number->value <= 100) {
    return {0, static_cast<double>(number->value) / 100, text.from};
  }
  section.Fail(*text.from, "is no percentage from 0 to 100");
  return {0, 0, text.from};
}

void SetIoSize(const SectionReader& section, const FilePlan& plan, Job* job) {
  // All of the files is fio's default.
  if (job->io_size_share == 0 || job->io_size_share >= 1 || job->time_based) return;
  const Option& from = *job->io_size.from;
  if (plan.file_bytes == 0) {
    return section.Refuse(from,
                          "the size of the file or device, of which this is a share; give "
                          "size");
  }
  const double share = job->io_size_share * static_cast<double>(plan.file_bytes);
  auto bytes = static_cast<int64_t>(share);
  // fio takes the share of files that `filesize` made larger, and still ends at `size`.
  if (plan.size.value > 0) bytes = std::min(bytes, plan.size.value);
  if (bytes < job->smallest_block) return section.Fail(from, "is less than a block");
  job->io_size.value = bytes;
}

void ReadSteps(const SectionReader& section, Job* job) { StepReader(section, job).Read(); }

FileRegion::FileRegion(const SectionReader& section, const Job& job, int64_t file_bytes,
                       const Amount& size)
    : section_(section), job_(job), file_bytes_(file_bytes) {
  offset_ = InFile(ReadAmount(section_, "offset"), Round::kUp);
  increment_ = InFile(ReadAmount(section_, "offset_increment"), Round::kUp);
  // The first clone begins at the offset.
  if (job_.clones.value == 1) increment_ = {};
  // All of the file needs no region.
  if (size.share > 0 && size.share < 1) size_share_ = InFile(size, Round::kDown);
  KeepInFile();
  CheckUnits();
}

int64_t FileRegion::BlockBytes() const { return std::max<int64_t>(512, job_.smallest_block); }

// A share becomes bytes, whole blocks, if it is one of a file whose size is known.
Amount FileRegion::InFile(const Amount& amount, Round round) const {
  if (amount.share == 0 || file_bytes_ == 0) return amount;
  const auto bytes = static_cast<int64_t>(
      amount.share * static_cast<double>(std::min(file_bytes_, int64_t{1} << 60)));
  const int64_t blocks = (bytes + (round == Round::kUp ? BlockBytes() - 1 : 0)) / BlockBytes();
  // A size is at least one block. An offset may be 0.
  return {std::max<int64_t>(round == Round::kUp ? 0 : 1, blocks) * BlockBytes(), 0, amount.from};
}

// In fio a share of a file's size ends with the file.
void FileRegion::KeepInFile() {
  if (file_bytes_ == 0) return;
  // As doubles: the product of an increment and its clones may not fit into 64 bits.
  const double begin =
      static_cast<double>(offset_.bytes) +
      static_cast<double>(increment_.bytes) * static_cast<double>(job_.clones.value - 1);
  const double left = static_cast<double>(file_bytes_) - begin;
  if (begin > 0 && left < static_cast<double>(std::max(kMinFile, job_.largest_block))) {
    section_.Fail(from(), "leaves no block of the file");
    offset_ = increment_ = {};
  } else if (size_share_.bytes > 0) {
    size_share_.bytes = std::min(size_share_.bytes, static_cast<int64_t>(left));
  }
}

void FileRegion::CheckUnits() const {
  for (const Amount* amount : {&offset_, &increment_}) {
    if (job_.workload.direct() && amount->bytes % 512 != 0) {
      section_.Fail(*amount->from, "direct I/O needs multiples of 512 bytes");
    } else if (job_.verify && amount->bytes % BlockBytes() != 0) {
      section_.Refuse(*amount->from, "verified blocks that begin at no multiple of their size");
    } else if (job_.workload.block_size_bytes() == 0 && amount->bytes % BlockBytes() != 0) {
      section_.Remark(*amount->from, "I/Os of several sizes begin at multiples of their size");
    }
  }
}

const Option& FileRegion::from() const {
  return *(increment_.is_given() ? increment_ : offset_.is_given() ? offset_ : size_share_).from;
}

const Option* FileRegion::unknown() const {
  for (const Amount* amount : {&offset_, &increment_, &size_share_}) {
    if (amount->share > 0) return amount->from;
  }
  return nullptr;
}

int64_t FileRegion::EndOf(int64_t bytes) const {
  // With filesize, regions lie within the file.
  if (file_bytes_ > 0 || !is_given()) return bytes;
  const int64_t clones = job_.clones.value - 1;
  const double end = static_cast<double>(offset_.bytes) +
                     static_cast<double>(increment_.bytes) * static_cast<double>(clones) +
                     static_cast<double>(bytes);
  // The sum is computed as a double before, in which it cannot overflow.
  if (end <= kMaxFile) return offset_.bytes + increment_.bytes * clones + bytes;
  section_.Fail(from(), "leads beyond the largest file or device of a job");
  return bytes;
}

void FileRegion::WriteTo(FilePlan* plan) const {
  const auto note = [&](const Amount& amount, const std::string& field) {
    if (!amount.is_given()) return;
    plan->region_origins[absl::StrCat("region.", field, amount.share > 0 ? "_share" : "")] =
        amount.from->where;
  };
  v1::Region& region = plan->region;
  region.set_offset_bytes(offset_.bytes);
  region.set_offset_share_ratio(offset_.share);
  region.set_size_bytes(size_share_.bytes);
  region.set_size_share_ratio(size_share_.share);
  region.set_increment_bytes(increment_.bytes);
  region.set_increment_share_ratio(increment_.share);
  note(offset_, "offset");
  note(size_share_, "size");
  note(increment_, "increment");
}

void CheckFilesRegion(const SectionReader& section, const Job& job, int64_t bytes) {
  const v1::Sequential& order = job.workload.pattern().sequential();
  if (order.skip_bytes() == 0 || bytes == 0) return;
  // Two I/Os may lie in front of the first skip.
  const int64_t skip = order.skip_after_bytes() >= 2 * job.largest_block ? 0 : order.skip_bytes();
  if (bytes - 2 * job.largest_block >= skip) return;
  const Option* zones = section.Find("zonesize");
  section.Fail(order.skip_after_bytes() != 0 ? *zones : *section.Find("rw"),
               "skips all of the file behind the first I/O");
}

// A host's slice of a device is whole MiB, except of less than one.
int64_t WholeSlices(int64_t bytes) {
  constexpr int64_t kSlice = 1 << 20;
  return bytes <= INT64_MAX - kSlice ? (bytes + kSlice - 1) / kSlice * kSlice : bytes;
}

}  // namespace lockstep::frontends::fio
