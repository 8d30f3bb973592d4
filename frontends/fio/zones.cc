// Zones that sequential I/O goes through, with gaps between them.

#include "absl/strings/str_cat.h"
#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {
namespace {

constexpr int64_t kMaxZone = int64_t{1} << 59;

// Why the job's I/Os cannot go through zones; null if they can.
const char* ZoneNeed(const Job& job) {
  const v1::Workload& w = job.workload;
  if (job.random) return "zones that random I/O goes through one after the other";
  if (w.block_size_bytes() == 0) return "zones of I/Os of several block sizes";
  const v1::Sequential& order = w.pattern().sequential();
  if (order.backwards() || order.skip_bytes() != 0) return "skips within zones";
  return nullptr;
}

void SetZones(const SectionReader& section, const Option& from, const Value<int64_t>& size,
              int64_t skip, Job* job) {
  v1::Workload& w = job->workload;
  const int64_t block = w.block_size_bytes();
  if (size.value % block != 0) {
    return section.Refuse(*size.from, "zones that end within a block");
  }
  if (w.direct() && skip % 512 != 0) {
    return section.Fail(from, "direct I/O needs gaps that are multiples of 512 bytes");
  }
  if (job->verify && skip % block != 0) {
    return section.Refuse(from, "verified blocks that begin at no multiple of their size");
  }
  v1::Sequential* order = w.mutable_pattern()->mutable_sequential();
  order->set_skip_bytes(skip);
  order->set_skip_after_bytes(size.value);
  job->origins["pattern.sequential.skip"] = from.where;
  job->origins["pattern.sequential.skip_after"] = size.from->where;
  if (section.Find("size") != nullptr || section.Find("io_size") != nullptr ||
      section.Find("filesize") != nullptr || job->time_based) {
    return;
  }
  section.Remark(from,
                 "the load ends after one pass; fio goes round until it has moved as many bytes "
                 "as the device has, gaps included");
}

}  // namespace

void ReadZones(const SectionReader& section, Job* job) {
  const Value<std::string> mode = section.Text("zonemode", "");
  const Value<int64_t> size = section.Bytes("zonesize", 0);
  const Value<int64_t> range = section.Bytes("zonerange", size.value);
  const Value<int64_t> skip = section.Bytes("zoneskip", 0);
  if (mode.value == "zbd") return section.Refuse(*mode.from, "zones of zoned devices");
  if (mode.value == "none") return;
  if (!mode.value.empty() && mode.value != "strided") {
    return section.Fail(*mode.from, "is none of none, strided, zbd");
  }
  // A size alone means strided zones, too.
  if (size.value == 0) {
    if (mode.from != nullptr) section.Fail(*mode.from, "needs a zonesize");
    return;
  }
  for (const Value<int64_t>* value : {&size, &range, &skip}) {
    if (value->value <= kMaxZone) continue;
    return section.Fail(*value->from, "is larger than any file or device of a job");
  }
  const Option& from = mode.from != nullptr ? *mode.from : *size.from;
  if (const char* need = ZoneNeed(*job); need != nullptr) return section.Refuse(from, need);
  // Each zone is `zonerange` long, of which the job does the first `zonesize` bytes; `zoneskip`
  // bytes lie between two zones.
  const int64_t all = range.value == 0 ? size.value : range.value;
  if (size.value > all) {
    return section.Refuse(*range.from, "zones that are gone over several times");
  }
  const int64_t left_out = all - size.value + skip.value;
  // Zones without a gap are plain sequential I/O.
  if (left_out > 0)
    SetZones(section, skip.from != nullptr ? *skip.from : from, size, left_out, job);
}

}  // namespace lockstep::frontends::fio
