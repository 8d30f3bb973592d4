#include "frontends/iometer/targets.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace lockstep::frontends::iometer {
namespace {

constexpr int64_t kMinFile = 4096;
constexpr size_t kMaxTargets = 256;

// Whether two hosts have different files there.
bool DiffersByHost(const std::string& path) {
  return absl::StrContains(path, "{host}") || absl::StrContains(path, "{worker}");
}

bool IsDevice(const std::string& path) { return absl::StartsWith(path, "/dev/"); }

// 0: the whole device.
int64_t SizeOf(const v1::Target& target) {
  return target.has_file() ? target.file().size_bytes() : target.device().size_bytes();
}

void SetSize(int64_t bytes, v1::Target* target) {
  if (target->has_file()) {
    target->mutable_file()->set_size_bytes(bytes);
  } else {
    target->mutable_device()->set_size_bytes(bytes);
  }
}

}  // namespace

TargetTable::TargetTable(const Request& request, uint32_t hosts, const Config& config,
                         Findings* findings)
    : request_(request), hosts_(hosts), findings_(findings) {
  for (const Manager& manager : config.managers) {
    for (const Worker& worker : manager.workers) {
      for (const Named& disk : worker.targets) disks_.insert(disk.name);
    }
  }
}

// `C: "System"` becomes `C_System`.
std::string TargetTable::FileNameOf(const std::string& disk) {
  const auto found = file_names_.find(disk);
  if (found != file_names_.end()) return found->second;
  std::string name;
  for (const char c : disk) {
    const bool is_plain =
        absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
    // Disks of Windows have colons, quotes, blanks and backslashes, some of which a shell or a path
    // takes for its own.
    if (is_plain) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
    if (name.size() >= 64) break;
  }
  while (!name.empty() && (name.back() == '_' || name.back() == '.')) name.pop_back();
  // A file whose name begins with a dot would be hidden.
  if (name.empty() || name[0] == '.') name.insert(0, "disk");
  std::string unique = UniqueName(name, &taken_files_);
  for (char& c : unique) c = c == ' ' ? '_' : c;
  file_names_[disk] = unique;
  return unique;
}

std::string TargetTable::PathOf(const Named& disk) {
  const auto mapped = request_.disks.find(disk.name);
  if (mapped != request_.disks.end()) return mapped->second;
  if (!request_.directory.empty()) {
    return absl::StrCat(request_.directory, "/{host}/", FileNameOf(disk.name));
  }
  // --target stands for one disk: with several it would be ambiguous.
  if (!request_.target.empty() && disks_.size() == 1) return request_.target;
  findings_->Fail(
      disk.where,
      absl::StrCat("is a disk of the machine of that test. Say what stands in its "
                   "place: --disk '",
                   common::Printable(disk.name, 64), "=/dev/…', or --directory for files"));
  return "";
}

// Whether the path may stand in place of the disk as the worker uses it.
bool TargetTable::CheckDisk(const Worker& worker, const Named& disk, const std::string& path) {
  const bool is_device = IsDevice(path);
  const Origin& size_from = worker.size_from.line > 0 ? worker.size_from : worker.where;
  if (path[0] != '/') {
    findings_->Fail(disk.where, absl::StrCat("has a path that is not absolute: ", path));
  } else if (!is_device && hosts_ > 1 && !DiffersByHost(path)) {
    findings_->Fail(disk.where, absl::StrCat("would be one file of several hosts, ", path,
                                             "; put {host} into its path"));
  } else if (!is_device && worker.max_sectors == 0) {
    findings_->Fail(size_from, "has no maximum disk size, which a file in place of a disk needs");
  } else if (worker.max_sectors > 0 && worker.end() < kMinFile) {
    findings_->Fail(size_from, "is less than 4 KiB");
  } else {
    return true;
  }
  return false;
}

std::string TargetTable::Find(const Worker& worker, const Named& disk) {
  const std::string path = PathOf(disk);
  if (path.empty() || !CheckDisk(worker, disk, path)) return "";
  const auto [found, is_new] = by_path_.emplace(path, known_.size());
  if (is_new) {
    v1::Target target;
    target.set_name(UniqueName(disk.name, &names_));
    if (IsDevice(path)) {
      target.mutable_device()->set_path(path);
      // In Iometer every worker uses all of a disk.
      target.set_sharing(v1::SHARING_OVERLAPPED);
    } else {
      target.mutable_file()->set_path(path);
    }
    by_name_[target.name()] = known_.size();
    known_.push_back({target, disk.where, worker.size_from});
    if (known_.size() == kMaxTargets + 1) {
      findings_->Fail(disk.where, "is beyond the 256 targets of a job");
    }
  }
  Known& known = known_[found->second];
  // The worker that reaches furthest says how much of the disk is used. Iometer fills a file from
  // its first sector up to there, too.
  const int64_t bytes = SizeOf(known.target);
  const bool is_further = bytes > 0 && (worker.end() == 0 || worker.end() > bytes);
  if (is_new || is_further) {
    SetSize(worker.end(), &known.target);
    known.size_from = worker.size_from;
  }
  return known.target.name();
}

void TargetTable::ShortenRegion(v1::Workload* workload) const {
  const auto found = by_name_.find(workload->targets(0));
  if (found == by_name_.end() || !workload->has_region()) return;
  v1::Region* region = workload->mutable_region();
  const int64_t end = region->offset_bytes() + region->size_bytes();
  // A region that ends with its target needs no size, and one that begins with it, too, is all of
  // it.
  if (end == SizeOf(known_[found->second].target)) region->clear_size_bytes();
  if (region->offset_bytes() == 0 && region->size_bytes() == 0) workload->clear_region();
}

bool TargetTable::HasFiles() const {
  for (const Known& known : known_) {
    if (known.target.has_file()) return true;
  }
  return false;
}

void TargetTable::AddTo(Translation* translation) const {
  translation->disks = disks_;
  for (size_t i = 0; i < known_.size(); ++i) {
    const Known& known = known_[i];
    *translation->job.add_targets() = known.target;
    const std::string field =
        absl::StrCat("targets[", i, "].", known.target.has_file() ? "file" : "device");
    translation->origins[field + ".path"] = known.from;
    if (known.size_from.line > 0) translation->origins[field + ".size"] = known.size_from;
  }
  // Devices have contents of their own: only files must be laid out.
  if (!HasFiles()) return;
  v1::PhaseSpec* prepare = translation->job.add_phases();
  prepare->set_name("prepare drives");
  prepare->mutable_prepare();
}

}  // namespace lockstep::frontends::iometer
