// Storages and workloads.

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontends/vdbench/keys.h"
#include "frontends/vdbench/translate.h"
#include "frontends/vdbench/values.h"

namespace lockstep::frontends::vdbench {
namespace {

constexpr int64_t kMinTarget = 4096;
constexpr int64_t kMaxTarget = int64_t{1} << 50;
// A job has at most 256 targets, and each storage becomes one.
constexpr int64_t kMaxStorages = 256;
constexpr size_t kMaxSizes = 64;

// Shares in percent after sizes: (4k,60,8k,40).
void SetWeights(const Parameter& parameter, const std::vector<std::string>& items,
                v1::Workload* workload, Findings* findings) {
  double sum = 0;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const auto size = ParseSize(items[i]);
    const auto share = ParseNumber(items[i + 1]);
    if (!size || !share || *size < kMinBlock || *size > kMaxBlock || *size % 512 != 0) {
      return findings->Fail(
          parameter.where,
          "needs pairs of a size, a multiple of 512 up to 64 MiB, and a percentage");
    }
    v1::WeightedBlockSize* line = workload->add_block_sizes();
    line->set_block_size_bytes(*size);
    line->set_weight(*share);
    sum += *share;
  }
  // Thirds are often written as 33,33,33, so their sum may miss 100 by one. The weights of a job
  // are relative, and need no exact sum.
  if (std::abs(sum - 100) > 1) {
    findings->Fail(parameter.where,
                   absl::StrCat("has percentages of ", sum, " in all, not of 100"));
  }
}

// (min,max,align): any multiple of align in between.
void SetSizeRange(const Parameter& parameter, const std::vector<std::string>& items,
                  v1::Workload* workload, Findings* findings) {
  const auto least = ParseSize(items[0]);
  const auto most = ParseSize(items[1]);
  const auto align = ParseSize(items[2]);
  if (!least || !most || !align || *least < kMinBlock || *most > kMaxBlock || *most < *least ||
      *align % 512 != 0 || *align == 0) {
    return findings->Fail(parameter.where, "is no range of sizes from 512 to 64 MiB");
  }
  // A worker draws multiples of the smallest size: the smallest must therefore be the unit.
  if (*least != *align) {
    return findings->Refuse(parameter.where,
                            "sizes that begin elsewhere than at the unit of the range");
  }
  v1::WeightedBlockSize* line = workload->add_block_sizes();
  line->set_block_size_bytes(*least);
  line->set_up_to_bytes(*most);
}

// The share of reads, or of writes, that was given last.
const Parameter* FindReads(const Statement& statement) {
  const Parameter* last = nullptr;
  for (const char* key : {"rdpct", "readpct", "wrpct", "writepct"}) {
    const Parameter* found = statement.Find(key);
    if (found != nullptr && (last == nullptr || found->order > last->order)) last = found;
  }
  return last;
}

// A percentage of seeks. Words stand for some, and may be cut as keywords may. Nothing if it is
// neither.
std::optional<double> SeeksOf(const std::string& text) {
  if (absl::StartsWith("random", text)) return 100;
  if (absl::StartsWith("sequential", text) || text == "eof") return 0;
  const auto percent = ParseNumber(text);
  return percent && *percent <= 100 ? percent : std::nullopt;
}

// seekpct: 0 and eof are sequential, 100 is random.
void SetOrder(const Statement& statement, Load* load, Findings* findings) {
  const Parameter* seek = statement.Find("seekpct");
  const std::string text = seek == nullptr ? "100" : absl::AsciiStrToLower(seek->value);
  if (seek != nullptr) load->origins["pattern"] = seek->where;
  v1::Workload* w = &load->workload;
  const bool to_end = text == "eof";
  // Its middle may stand behind it: (poisson,3).
  if (absl::StartsWith("poisson", text) || absl::StartsWith(text, "(poisson")) {
    return findings->Refuse(seek->where, "seeks by a Poisson distribution");
  }
  const auto percent = SeeksOf(text);
  if (!percent) {
    return findings->Fail(seek->where, "is no percentage, and none of random, sequential and eof");
  }
  load->seek_percent = *percent;
  if (*percent > 0) {
    w->mutable_pattern()->mutable_random();
    if (*percent < 100) w->set_random_ratio(*percent / 100);
  }
  if (load->stride != nullptr) {
    SetStride(*load->stride, *percent, w, findings);
    if (w->pattern().has_sequential()) load->origins["pattern"] = load->stride->where;
  }
  if (*percent > 0) return;
  // vdbench deals the offsets out to its threads one after the other.
  v1::Sequential* order = w->mutable_pattern()->mutable_sequential();
  if (w->block_sizes().empty()) order->set_shared(true);
  // With eof a run ends at the end of the storage. With 0 vdbench starts there anew.
  if (to_end) w->set_passes(1);
}

void SetTarget(const Request& request, const Statement& statement, const std::string& suffix,
               Storage* storage, Findings* findings) {
  const Parameter* lun = statement.Find("lun");
  if (lun == nullptr) return findings->Fail(statement.where, "has no lun");
  storage->lun_from = lun->where;
  std::string path = lun->value + suffix;
  storage->lun = path;
  // --disk takes the name of the storage or its lun. A lun of Windows is no path on a Linux host,
  // and is awkward to write in a shell.
  for (const std::string& name : {storage->name, path}) {
    const auto mapped = request.disks.find(name);
    if (mapped == request.disks.end()) continue;
    path = mapped->second;
    break;
  }
  if (path[0] != '/') {
    return findings->Fail(
        lun->where, "is no absolute path; --disk 'NAME=/dev/…' says what stands in its place");
  }
  if (absl::StrContains(path + "/", "/../")) {
    return findings->Fail(lun->where, "has .. in its path");
  }
  int64_t bytes = 0;
  if (const Parameter* size = statement.Find("size")) {
    storage->size_from = size->where;
    const auto number = ParseSize(size->value);
    if (!number || *number < kMinTarget || *number > kMaxTarget) {
      return findings->Fail(size->where, "is no size from 4 KiB to 1 PiB");
    }
    bytes = *number;
  }
  storage->target.set_name(storage->name);
  if (absl::StartsWith(path, "/dev/")) {
    storage->target.mutable_device()->set_path(path);
    // A device without a size is used as a whole. Only its host knows how large it is.
    if (bytes > 0) storage->target.mutable_device()->set_size_bytes(bytes);
    // Every host works on all of it.
    storage->target.set_sharing(v1::SHARING_OVERLAPPED);
    return;
  }
  // vdbench takes the size of a file that exists. A translation sees no host, so that it cannot.
  if (bytes == 0) return findings->Fail(lun->where, "is a file, and has no size");
  storage->target.mutable_file()->set_path(path);
  storage->target.mutable_file()->set_size_bytes(bytes);
}

}  // namespace

void CheckParameters(const Statement& statement, Findings* findings) {
  for (const Rule& rule : RuleOf(statement.kind).keys) {
    const Parameter* parameter = statement.Find(rule.name);
    if (parameter == nullptr || parameter->value == rule.idle) continue;
    ApplyRule(rule, parameter->where, findings);
  }
}

int64_t CountOf(const Parameter& parameter, int64_t least, int64_t most, Findings* findings) {
  int64_t number = 0;
  if (absl::SimpleAtoi(parameter.value, &number) && number >= least && number <= most) {
    return number;
  }
  findings->Fail(parameter.where, absl::StrCat("is no whole number from ", least, " to ", most));
  return least;
}

std::vector<std::string> ListOf(const Parameter& parameter, Findings* findings) {
  // Ranges expand: a short text such as (1-1000000000) is a long list. ParseList() therefore has a
  // limit.
  auto items = ParseList(parameter.value);
  if (items) return *std::move(items);
  findings->Fail(parameter.where, "is no list of at most 1,000 values");
  return {};
}

void SetSizes(const Parameter& xfersize, v1::Workload* workload, Findings* findings) {
  // The xfersize of a run replaces that of its workloads, which may have the other form.
  workload->clear_block_sizes();
  workload->clear_block_size_bytes();
  if (xfersize.value[0] == '(') {
    const std::vector<std::string> items = ListOf(xfersize, findings);
    // Their number tells the two forms apart: three values are a range, pairs are sizes and their
    // shares.
    if (items.size() == 3) return SetSizeRange(xfersize, items, workload, findings);
    if (items.empty() || items.size() % 2 != 0 || items.size() > 2 * kMaxSizes) {
      return findings->Fail(xfersize.where,
                            "is neither a size nor (size,percent,…) nor (min,max,align)");
    }
    return SetWeights(xfersize, items, workload, findings);
  }
  const auto size = ParseSize(xfersize.value);
  if (!size || *size < kMinBlock || *size > kMaxBlock || *size % 512 != 0) {
    return findings->Fail(xfersize.where, "is no multiple of 512 up to 64 MiB");
  }
  workload->set_block_size_bytes(*size);
}

void SetReads(const Parameter& given, v1::Workload* workload, Findings* findings) {
  const auto percent = ParseNumber(given.value);
  if (!percent || *percent > 100) return findings->Fail(given.where, "is no percentage");
  const double share = *percent / 100;
  workload->set_read_ratio(given.key[0] == 'w' ? 1 - share : share);
}

void SetOpenFlags(const Parameter* flags, v1::Workload* workload, Findings* findings) {
  // vdbench goes through the page cache unless a flag forbids it. A job without the field would
  // not.
  workload->set_direct(false);
  if (flags == nullptr) return;
  for (const std::string& flag : ListOf(*flags, findings)) {
    if (absl::EqualsIgnoreCase(flag, "o_direct") || absl::EqualsIgnoreCase(flag, "directio")) {
      workload->set_direct(true);
    } else if (absl::EqualsIgnoreCase(flag, "o_sync")) {
      workload->set_write_through(v1::WRITE_THROUGH_SYNC);
    } else if (absl::EqualsIgnoreCase(flag, "o_dsync")) {
      workload->set_write_through(v1::WRITE_THROUGH_DSYNC);
    } else {
      findings->Refuse(flags->where, absl::StrCat("the flag ", flag));
    }
  }
}

std::vector<Storage> ReadStorages(const Request& request, const Statement& statement,
                                  Findings* findings) {
  CheckParameters(statement, findings);
  Storage common;
  common.where = statement.where;
  common.range = statement.Find("range");
  if (const Parameter* offset = statement.Find("offset")) {
    const auto bytes = ParseSize(offset->value);
    if (!bytes || *bytes > kMaxTarget || *bytes % 512 != 0) {
      findings->Fail(offset->where, "is no multiple of 512 up to 1 PiB");
    }
    common.offset_bytes = bytes.value_or(0);
    common.offset_from = offset->where;
  }
  common.openflags = statement.Find("openflags");
  if (const Parameter* threads = statement.Find("threads")) {
    common.threads = static_cast<uint32_t>(CountOf(*threads, 1, kMaxThreads, findings));
    common.threads_from = threads->where;
  }
  common.hit_area = statement.Find("hitarea");
  if (common.hit_area != nullptr) {
    const auto bytes = ParseSize(common.hit_area->value);
    if (!bytes || *bytes > kMaxTarget) {
      findings->Fail(common.hit_area->where, "is no size up to 1 PiB");
    }
    common.hit_area_bytes = bytes.value_or(0);
  }
  if (const Parameter* host = statement.Find("host")) common.hosts = ListOf(*host, findings);
  int64_t first = 0;
  int64_t count = 1;
  // With count=(5,8) one statement defines eight storages. Their numbers, from 5 on, are appended
  // to the name and to the lun.
  const Parameter* counted = statement.Find("count");
  if (counted != nullptr) {
    const std::vector<std::string> items = ListOf(*counted, findings);
    const bool is_pair = items.size() == 2 && absl::SimpleAtoi(items[0], &first) &&
                         absl::SimpleAtoi(items[1], &count);
    if (!is_pair || first < 0 || first > 1000000 || count < 1 || count > kMaxStorages) {
      findings->Fail(counted->where, "is no (start,number) of at most 256 storages");
      count = 1;
    }
  }
  std::vector<Storage> storages;
  for (int64_t i = 0; i < count && findings->errors.size() < kMaxErrors; ++i) {
    Storage storage = common;
    const std::string suffix = counted == nullptr ? "" : absl::StrCat(first + i);
    storage.name = statement.name + suffix;
    SetTarget(request, statement, suffix, &storage, findings);
    storages.push_back(std::move(storage));
  }
  return storages;
}

Load ReadLoad(const Statement& statement, Findings* findings) {
  CheckParameters(statement, findings);
  Load load;
  load.name = statement.name;
  load.where = statement.where;
  if (const Parameter* sd = statement.Find("sd")) {
    load.storages = ListOf(*sd, findings);
  } else {
    load.storages = {"*"};
  }
  if (const Parameter* host = statement.Find("host")) load.hosts = ListOf(*host, findings);
  if (const Parameter* size = statement.Find("xfersize")) {
    SetSizes(*size, &load.workload, findings);
    load.origins[load.workload.block_sizes().empty() ? "block_size" : "block_sizes"] = size->where;
  } else {
    load.workload.set_block_size_bytes(4096);
    load.origins["block_size"] = {"", 0, "vdbench's default: xfersize=4k"};
  }
  if (const Parameter* reads = FindReads(statement)) {
    SetReads(*reads, &load.workload, findings);
    load.origins["read"] = reads->where;
  }
  load.stride = statement.Find("stride");
  SetOrder(statement, &load, findings);
  load.read_hits = statement.Find("rhpct");
  load.write_hits = statement.Find("whpct");
  load.range = statement.Find("range");
  load.openflags = statement.Find("openflags");
  load.threads = statement.Find("threads");
  load.skew = statement.Find("skew");
  if (load.skew == nullptr) return load;
  const auto percent = ParseNumber(load.skew->value);
  if (!percent || *percent <= 0 || *percent > 100) {
    findings->Fail(load.skew->where, "is no percentage above 0");
  } else {
    load.skew_percent = *percent;
  }
  return load;
}

}  // namespace lockstep::frontends::vdbench
