#include "frontends/fio/working_sets.h"

#include <algorithm>

namespace lockstep::frontends::fio {
namespace {

// The limit of a job (proto/load.proto).
constexpr double kMaxBlocks = 1e12;

}  // namespace

const Origin* WorkingSets::Add(const SectionReader& reader, const Job& job, int64_t bytes,
                               double clones, v1::Workload* workload) {
  const Value<int64_t>& percent = job.working_set_percent;
  if (percent.from == nullptr) return nullptr;
  if (bytes == 0) {
    reader.Refuse(*percent.from, "the size of the file, of which this is a share");
    return nullptr;
  }
  // fio's set is a share of the file. A job counts its blocks, so that it does not depend on the
  // size.
  const double share = static_cast<double>(bytes) * static_cast<double>(percent.value) / 100;
  const double blocks =
      std::max(1.0, share / static_cast<double>(std::max<int64_t>(1, job.smallest_block)));
  const double all = static_cast<double>(static_cast<int64_t>(blocks)) * clones;
  workload->mutable_content()->set_duplicate_blocks(
      static_cast<uint64_t>(std::min(all, kMaxBlocks)));
  if (job.shares_working_set) {
    shared_.push_back(workload);
    return &percent.from->where;
  }
  // All sets of a job begin with the same blocks, so that the smaller one lies within the larger
  // one.
  if (has_own_) {
    reader.Remark(*percent.from,
                  "the blocks of a smaller working set are those of a larger one, too");
  }
  has_own_ = true;
  return &percent.from->where;
}

void WorkingSets::Join() {
  // dedupe_global makes one set of those of all jobs: each draws from as many blocks as all have
  // together.
  double blocks = 0;
  for (const v1::Workload* w : shared_) {
    blocks += static_cast<double>(w->content().duplicate_blocks());
  }
  for (v1::Workload* w : shared_) {
    w->mutable_content()->set_duplicate_blocks(static_cast<uint64_t>(std::min(blocks, kMaxBlocks)));
  }
}

}  // namespace lockstep::frontends::fio
