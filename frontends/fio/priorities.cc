// Priorities of single I/Os: a share of a job's I/Os, or of those of one size.

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {
namespace {

// The priority of a part of the I/Os of one direction.
struct Prioritized {
  int64_t size = 0;  // 0: of any size
  int64_t percent = 0;
  int64_t kind = 1, level = 0;  // as ioprio_set(2) has them; fio's defaults
};
using Priorities = std::vector<Prioritized>;

class PriorityReader {
 public:
  PriorityReader(const SectionReader& section, Job* job) : section_(section), job_(*job) {}

  void Read() {
    const Option* percentage = section_.Find("cmdprio_percentage");
    const Option* split = section_.Find("cmdprio_bssplit");
    from_ = split != nullptr ? split : percentage;
    if (from_ == nullptr) {
      for (const char* name : {"cmdprio_class", "cmdprio"}) {
        const Option* option = section_.Find(name);
        if (option != nullptr) section_.Remark(*option, "has no effect without a share of I/Os");
      }
      return;
    }
    if (split != nullptr && percentage != nullptr) {
      return section_.Fail(*percentage, "cannot stand beside cmdprio_bssplit, in fio neither");
    }
    // In fio only these engines give a priority to a single I/O.
    const v1::Engine engine = job_.workload.engine();
    if (engine != v1::ENGINE_LIBAIO && engine != v1::ENGINE_IO_URING) {
      return section_.Fail(*from_, "is an option of libaio and io_uring");
    }
    const Priorities reads = Of(Direction::kRead);
    const Priorities writes = Of(Direction::kWrite);
    if (is_wrong_) return;
    if (!HasAny(reads, job_.reads) && !HasAny(writes, job_.writes)) {
      return section_.Remark(*from_, "has no effect: no I/O of the job has a share in it");
    }
    // The kernel makes the requests of buffered I/O itself, without the priority of the single I/O.
    if (!job_.workload.direct()) {
      return section_.Remark(*from_, "has no effect: the page cache sends buffered I/O");
    }
    if (const char* need = Need(); need != nullptr) return section_.Refuse(*from_, need);
    Divide(reads, writes);
  }

 private:
  enum class Direction { kRead, kWrite };

  static bool HasAny(const Priorities& list, bool is_done) {
    bool any = false;
    for (const Prioritized& each : list) any = any || each.percent > 0;
    return any && is_done;
  }

  // A single value is that of both directions.
  std::string PartOf(const Option& option, Direction direction) const {
    const std::vector<std::string> parts = absl::StrSplit(option.value, ',');
    return direction == Direction::kWrite && parts.size() > 1 ? parts[1] : parts[0];
  }

  int64_t NumberOf(const Option& option, const std::string& text, int64_t most) {
    const auto number = ParseInteger(text);
    if (number && *number >= 0 && *number <= most) return *number;
    // The option is read once for each direction: its error is reported once.
    if (!is_wrong_) section_.Fail(option, absl::StrCat("has no number from 0 to ", most));
    is_wrong_ = true;
    return 0;
  }

  int64_t NumberOf(const char* name, Direction direction, int64_t otherwise, int64_t most) {
    const Option* option = section_.Find(name);
    if (option == nullptr || !option->has_value) return otherwise;
    return NumberOf(*option, PartOf(*option, direction), most);
  }

  Priorities Of(Direction direction) {
    Prioritized common;
    common.kind = NumberOf("cmdprio_class", direction, 1, 3);
    common.level = NumberOf("cmdprio", direction, 0, 7);
    if (from_->name == "cmdprio_percentage") {
      common.percent = NumberOf(*from_, PartOf(*from_, direction), 100);
      return {common};
    }
    Priorities list;
    for (const absl::string_view entry :
         absl::StrSplit(PartOf(*from_, direction), ':', absl::SkipEmpty())) {
      const std::vector<std::string> parts = absl::StrSplit(entry, '/');
      // Two parts take class and level from cmdprio_class and cmdprio. Four have their own.
      if (parts.size() != 2 && parts.size() != 4) {
        if (!is_wrong_) section_.Fail(*from_, "is not of the form 64k/20:1m/10/1/0");
        is_wrong_ = true;
        return {};
      }
      Prioritized one = common;
      const auto size = section_.BytesOf(*from_, parts[0]);
      is_wrong_ = is_wrong_ || !size;
      one.size = size.value_or(0);
      one.percent = NumberOf(*from_, parts[1], 100);
      if (parts.size() == 4) {
        one.kind = NumberOf(*from_, parts[2], 3);
        one.level = NumberOf(*from_, parts[3], 7);
      }
      list.push_back(one);
    }
    return list;
  }

  // The part of the job that the lines of an access specification cannot express; null if none.
  const char* Need() const {
    const v1::Workload& w = job_.workload;
    const v1::Sequential& order = w.pattern().sequential();
    if (w.has_sequence()) return "priorities of single I/Os of a sequence";
    if (order.skip_bytes() != 0 || order.backwards()) {
      return "priorities of single I/Os beside skips";
    }
    return nullptr;
  }

  // The workload's I/Os as lines of one direction each.
  std::vector<v1::AccessLine> Lines() const {
    const v1::Workload& w = job_.workload;
    // A workload with lines has its share of reads in them.
    if (!w.access().empty()) return {w.access().begin(), w.access().end()};
    std::vector<v1::AccessLine> lines;
    const auto add = [&](int64_t size, int64_t up_to, double weight) {
      for (const bool is_read : {true, false}) {
        const double share = is_read ? w.read_ratio() : 1 - w.read_ratio();
        if (!(share > 0)) continue;
        v1::AccessLine line;
        line.set_block_size_bytes(size);
        if (up_to != 0) line.set_up_to_bytes(up_to);
        line.set_weight(weight * share);
        line.set_read_ratio(is_read ? 1 : 0);
        line.set_random_ratio(!job_.random ? 0 : w.has_random_ratio() ? w.random_ratio() : 1);
        lines.push_back(line);
      }
    };
    for (const v1::WeightedBlockSize& size : w.block_sizes()) {
      add(size.block_size_bytes(), size.up_to_bytes(), size.has_weight() ? size.weight() : 1);
    }
    if (lines.empty()) add(w.block_size_bytes(), 0, 100);
    return lines;
  }

  void AddLine(v1::AccessLine line, double percent, const Prioritized* priority) {
    if (!(percent > 0)) return;
    line.set_weight(line.weight() * percent / 100);
    if (priority != nullptr) {
      v1::IoPriority* to = line.mutable_io_priority();
      to->set_class_(priority->kind == 2   ? v1::IO_PRIORITY_CLASS_BEST_EFFORT
                     : priority->kind == 3 ? v1::IO_PRIORITY_CLASS_IDLE
                                           : v1::IO_PRIORITY_CLASS_REALTIME);
      if (priority->kind != 3) to->set_level(static_cast<uint32_t>(priority->level));
    }
    *job_.workload.add_access() = std::move(line);
  }

  void Divide(const Priorities& reads, const Priorities& writes) {
    v1::Workload& w = job_.workload;
    const std::vector<v1::AccessLine> lines = Lines();
    w.clear_access();
    for (const v1::AccessLine& line : lines) {
      // Shares add up to 100 % within each line. The rest keeps the priority of its thread.
      int64_t left = 100;
      for (const Prioritized& each : line.read_ratio() > 0 ? reads : writes) {
        // A size with a priority is one size: it does not match a range.
        if (each.size != 0 && (each.size != line.block_size_bytes() || line.up_to_bytes() != 0)) {
          continue;
        }
        left -= each.percent;
        // Class 0 stands for no priority, as in ioprio_set(2): the thread's own holds.
        AddLine(line, static_cast<double>(each.percent), each.kind == 0 ? nullptr : &each);
      }
      if (left < 0) section_.Fail(*from_, "has more than 100 % of the I/Os of one size");
      AddLine(line, static_cast<double>(left), nullptr);
    }
    // The lines say all of it. The workload's own fields would be refused beside them.
    w.clear_block_size_bytes();
    w.clear_block_sizes();
    w.clear_read_ratio();
    w.clear_random_ratio();
    for (const char* field : {"block_size", "block_sizes", "read", "random"}) {
      job_.origins.erase(field);
    }
    job_.origins["access"] = from_->where;
    if (w.pattern().has_shuffled()) {
      section_.Remark(*from_,
                      "fio visits each block once; with priorities offsets are drawn at random");
    }
    // Lines have their own shares of random I/Os.
    if (w.pattern().has_shuffled() || w.pattern().has_sequential()) {
      w.mutable_pattern()->mutable_random();
    }
  }

  const SectionReader& section_;
  Job& job_;
  const Option* from_ = nullptr;
  bool is_wrong_ = false;
};

}  // namespace

void ReadPriorities(const SectionReader& section, Job* job) { PriorityReader(section, job).Read(); }

}  // namespace lockstep::frontends::fio
