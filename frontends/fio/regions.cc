// Where in its files a job reads and writes: options with bytes or a percentage, and the steps of
// an order.

#include "absl/strings/str_cat.h"
#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {
namespace {

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
    if (length < 2) return;
    v1::Workload& w = job_.workload;
    if (!IsOneSize("sequences")) return;
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
    const int64_t skip = back ? *bytes - 2 * block : *bytes;
    if (skip < 0) {
      return section_.Refuse(*from_, absl::StrCat("I/Os that overlap: a step back of less than "
                                                  "two blocks, ",
                                                  2 * block, " bytes"));
    }
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

void ReadSteps(const SectionReader& section, Job* job) { StepReader(section, job).Read(); }

}  // namespace lockstep::frontends::fio
