// Which files and devices a job uses, and how its clones share them.

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "frontends/fio/job.h"
#include "frontends/fio/regions.h"

namespace lockstep::frontends::fio {
namespace {

constexpr int64_t kMaxFiles = 65536;
// Clones that go sequentially through one file are a workload each, of which a phase has 64.
constexpr int64_t kMaxApart = 64;
// A null target without a size.
constexpr int64_t kNullBytes = 1 << 30;

std::string BaseName(const std::string& path) {
  const std::string base = path.substr(path.rfind('/') + 1);
  return base.empty() ? "target" : base.substr(0, 60);
}

class FilePlanner {
 public:
  FilePlanner(const SectionReader& section, const Request& request, uint32_t hosts, Job* job)
      : section_(section), request_(request), hosts_(hosts), job_(*job) {}

  FilePlan Plan() {
    file_size_ = FileSize();
    const Amount size = ReadAmount(section_, "size");
    size_ = {size.bytes, size.from};
    plan_.size = size_;
    fills_ = section_.Flag("fill_device", Otherwise::kOff, SectionReader::Bare::kMeansTrue);
    if (fills_.value && size.is_given()) {
      section_.Remark(*fills_.from, "a file system without the space for size is refused before");
    }
    if (file_size_.value == 0 && size.bytes == 0 && !fills_.value) file_size_ = ExistingSize();
    region_.emplace(section_, job_, file_size_.value, size);
    region_->WriteTo(&plan_);
    files_ = section_.Count("nrfiles", 1, kMaxFiles);
    if (files_.value == 0) files_.value = 1;
    unlink_ = section_.Flag("unlink", Otherwise::kOff).value;
    if (job_.null_engine) {
      PlanNull();
      return std::move(plan_);
    }
    Value<std::string> names = section_.Text("filename", "");
    if (names.value.empty() && !request_.target.empty()) {
      // --target is for jobs that name nothing.
      names.value = absl::StrReplaceAll(request_.target, {{":", "\\:"}});
    }
    if (names.value.empty()) {
      PlanGenerated();
    } else {
      PlanNamed(names);
    }
    return std::move(plan_);
  }

 private:
  // After an error the smallest size stands for the range, so that nothing else fails.
  Value<int64_t> FileSize() const {
    const Value<std::string> text = section_.Text("filesize", "");
    if (!absl::StartsWith(text.value, "(") && text.value.find('-', 1) != std::string::npos) {
      section_.Refuse(*text.from, "files whose sizes are drawn from a range");
    }
    return section_.Bytes("filesize", 0);
  }

  // Without a size fio takes that of the file, which is there already.
  Value<int64_t> ExistingSize() const {
    const Value<std::string> name = section_.Text("filename", "");
    const std::vector<std::string> paths = SplitColons(name.value);
    // The file of that name on this machine says nothing about the files of several hosts, of
    // {host}, or about a device.
    const bool is_file = paths.size() == 1 && absl::StartsWith(paths[0], "/") &&
                         !absl::StartsWith(paths[0], "/dev/") &&
                         !absl::StrContains(paths[0], "{host}");
    if (!is_file || job_.null_engine || job_.iscsi || IsShared() || !request_.find_size) return {};
    const std::optional<int64_t> bytes = request_.find_size(paths[0]);
    if (!bytes || *bytes < kMinFile) return {};
    section_.Remark(*name.from,
                    absl::StrCat("is laid out with the ", *bytes,
                                 " bytes that it has on the machine of this command, as no option "
                                 "gives its size"));
    return {*bytes, name.from};
  }

  // A device, or a LUN, of which the job uses a part.
  template <typename T>
  bool SetPart(int64_t files, T* storage, TargetUse* use) {
    if (region_->is_given() && IsShared()) {
      section_.Refuse(region_->from(),
                      "a region of a device that several hosts share; in fio all hosts would use "
                      "the same bytes");
      return false;
    }
    const int64_t size = SizeOfFile(files);
    if (size == 0) return true;
    if (size < std::max(kMinFile, job_.largest_block)) {
      section_.Fail(*SizeOption(),
                    absl::StrCat("uses ", size, " bytes of the device, which hold no block"));
      return false;
    }
    use->size_origin = SizeOption()->where;
    // A share stays a share: this command does not know the device's size, the worker does.
    if (!region_->has_shares()) {
      storage->set_size_bytes(region_->is_given() ? WholeSlices(region_->EndOf(size)) : size);
    }
    if (region_->has_shares() || region_->is_apart() || file_size_.value == 0) {
      use->reached_bytes = size;
    }
    return true;
  }

  void PlanNull() {
    TargetUse use;
    use.name = "null";
    v1::NullTarget* null = use.target.mutable_null();
    if (size_.value >= kMinFile) {
      null->set_size_bytes(size_.value);
      use.size_origin = size_.from->where;
    }
    use.path_origin = section_.Find("ioengine")->where;
    if (region_->is_given() || fills_.value) {
      return section_.Fail("has no file: offset, increments and fill_device are of files");
    }
    CheckFilesRegion(section_, job_, size_.value >= kMinFile ? size_.value : kNullBytes);
    plan_.file_bytes = BytesOfFiles(1);
    plan_.shares.push_back({static_cast<uint32_t>(job_.clones.value), {use}});
  }

  // The size of each of a clone's files; 0 if the file says nothing.
  int64_t SizeOfFile(int64_t files) {
    const int64_t each = file_size_.value > 0 ? file_size_.value : size_.value / files;
    // Beside filesize, `size` is no size of files: it only ends the load.
    if (file_size_.value > 0 && size_.value > 0 && size_.value != file_size_.value * files) {
      plan_.io_size = size_;
    }
    return each;
  }
  // The bytes of all files of a clone, from their offsets on; 0 if no option says them.
  int64_t BytesOfFiles(int64_t files) const {
    if (file_size_.value == 0) return size_.value;
    const int64_t each = region_->size_bytes() != 0 ? region_->size_bytes()
                                                    : file_size_.value - region_->offset_bytes();
    return each > INT64_MAX / files ? INT64_MAX : each * files;
  }
  const Option* SizeOption() const { return file_size_.value > 0 ? file_size_.from : size_.from; }

  void SetFile(const std::string& path, int64_t files_of_a_clone, int64_t count, TargetUse* use) {
    v1::FileTarget* file = use->target.mutable_file();
    file->set_path(path);
    for (const absl::string_view part : absl::StrSplit(path, '/')) {
      if (part == "..") {
        return section_.Fail(absl::StrCat("its file ", path, " has .. in its path; write it out"));
      }
    }
    const int64_t size = SizeOfFile(files_of_a_clone);
    const Option* from = SizeOption();
    if (size == 0 && fills_.value) {
      return section_.Refuse(*fills_.from,
                             "a file system that is filled to its last byte: each one keeps a "
                             "reserve, so that nothing else is stopped; give a size. Devices are "
                             "filled without this option");
    }
    if (const Option* unknown = region_->unknown(); unknown != nullptr) {
      return section_.Refuse(*unknown,
                             "the size of the file, of which this is a share; give filesize");
    }
    if (size == 0) {
      return section_.Fail(absl::StrCat("has no size for ", path,
                                        ": a file is laid out, so write size= or filesize="));
    }
    if (size < std::max(kMinFile, job_.largest_block)) {
      section_.Fail(*from,
                    absl::StrCat("makes a file of ", size, " bytes, which holds no block of ",
                                 job_.largest_block, "; a file has at least 4 KiB"));
    }
    // Clones with an increment reach beyond `size`: the file holds the part of the last clone, too.
    file->set_size_bytes(region_->EndOf(size));
    use->size_origin = from->where;
    if (file_size_.value == 0 || !region_->is_apart()) {
      use->reached_bytes = file_size_.value == 0 ? size : size - region_->offset_bytes();
    }
    CheckFilesRegion(section_, job_,
                     region_->size_bytes() != 0 ? region_->size_bytes() : use->reached_bytes);
    if (count > 1) {
      file->set_count(static_cast<uint32_t>(count));
      use->count_origin = files_.value > 1 ? files_.from->where : job_.clones.from->where;
    }
    // fio only allocates what it writes itself, unless it shall overwrite.
    use->needs_data = job_.reads || section_.Flag("overwrite", Otherwise::kOff).value;
    use->unlink = unlink_;
  }

  // The directory that stands in place of fio's own; empty after an error.
  std::string WorkingDirectory(const std::string& what) {
    if (absl::StartsWith(request_.directory, "/")) return request_.directory;
    section_.Fail(absl::StrCat(
        what, ", which fio puts into its working directory: say --directory /DIR, or --target"));
    return "";
  }

  // The directories that `directory` names, absolute.
  std::vector<std::string> Directories() {
    const Value<std::string> text = section_.Text("directory", "");
    directory_from_ = text.from;
    std::vector<std::string> found;
    for (std::string each : SplitColons(text.value)) {
      while (each.size() > 1 && each.back() == '/') each.pop_back();
      if (absl::StrContains(each, "{file}") || absl::StrContains(each, "{worker}")) {
        section_.Fail(*text.from, "may have {host} in it, no other name");
        return {};
      }
      // A worker has no working directory that the user knows.
      if (!absl::StartsWith(each, "/")) {
        const std::string base = WorkingDirectory(absl::StrCat("uses the directory ", each));
        if (base.empty()) return {};
        each = absl::StrCat(base, "/", absl::StartsWith(each, "./") ? each.substr(2) : each);
      }
      found.push_back(each);
    }
    return found;
  }

  bool IsShared() const { return hosts_ > 1; }

  // ---- Files with names of their own (filename=).

  void PlanNamed(const Value<std::string>& names) {
    const std::vector<std::string> paths = SplitColons(names.value);
    const std::vector<std::string> directories = Directories();
    if (paths.empty() || paths.size() > 256) {
      return section_.Fail(*names.from, "names from 1 to 256 files");
    }
    plan_.file_bytes = BytesOfFiles(static_cast<int64_t>(paths.size()));
    Share share;
    for (const std::string& path : paths) {
      TargetUse use;
      use.path_origin = names.from != nullptr ? names.from->where : Origin{"", 0, "--target"};
      if (!AddNamed(path, directories, static_cast<int64_t>(paths.size()), names.from, &use)) {
        return;
      }
      share.uses.push_back(use);
    }
    if (files_.from != nullptr && files_.value != static_cast<int64_t>(paths.size())) {
      section_.Remark(*files_.from, "has no effect beside filename, as in fio");
    }
    const Option* format = section_.Find("filename_format");
    if (format != nullptr && names.from != nullptr) {
      section_.Remark(*format, "has no effect beside filename, as in fio");
    }
    SplitClones(std::move(share));
  }

  bool AddNamed(const std::string& name, const std::vector<std::string>& directories, int64_t files,
                const Option* from, TargetUse* use) {
    const auto fail = [&](const std::string& text) {
      from != nullptr ? section_.Fail(*from, text) : section_.Fail("--target: " + text);
      return false;
    };
    use->name = BaseName(name);
    if (job_.iscsi) {
      use->target.mutable_iscsi()->set_url(name);
      return SetPart(files, use->target.mutable_iscsi(), use);
    }
    for (const char* word : {"{worker}", "{file}"}) {
      if (absl::StrContains(name, word)) return fail("may have {host} in it, no other name");
    }
    if (name == "-" || absl::StrContains(name, "/../")) {
      return fail("names no file that every host can open");
    }
    // Neither is storage. A target without storage makes the same system calls.
    if (name == "/dev/null" || name == "/dev/zero") {
      use->target.mutable_null()->set_device(v1::NULL_DEVICE_ZERO);
      return true;
    }
    // /dev/shm is a tmpfs: its files are files.
    if (absl::StartsWith(name, "/dev/") && !absl::StartsWith(name, "/dev/shm/")) {
      v1::DeviceTarget* device = use->target.mutable_device();
      device->set_path(name);
      if (!SetPart(files, device, use)) return false;
      if (IsShared() && from != nullptr) {
        section_.Remark(*from,
                        "hosts have a part of the device each (sharing: sliced); with fio "
                        "each would use all of it");
      }
      return true;
    }
    std::string path = name;
    if (!absl::StartsWith(name, "/")) {
      std::string base;
      if (!directories.empty()) {
        // The directory may be one that all hosts mount: {host} keeps their files apart.
        base = directories[0] + (IsShared() && !absl::StrContains(name, "{host}") ? "/{host}" : "");
      } else if (base = WorkingDirectory("uses the file " + name); base.empty()) {
        return false;
      } else if (!absl::StrContains(name, "{host}")) {
        base += "/{host}";
      }
      path = absl::StrCat(base, "/", name);
    } else if (IsShared() && !absl::StrContains(name, "{host}")) {
      // Nothing is guessed here: a file of this name may be one that all hosts see.
      return fail("several hosts would write one file; put {host} into the name");
    }
    SetFile(path, files, 1, use);
    return true;
  }

  // Clones that share files. Those that go through them in order each begin at the start.
  void SplitClones(Share share) {
    const int64_t clones = job_.clones.value;
    share.clones = static_cast<uint32_t>(clones);
    share.own_regions = region_->is_apart();
    // Random clones draw from the whole file each, as the threads of one workload do.
    if (job_.random || clones == 1 || share.own_regions) {
      return plan_.shares.push_back(std::move(share));
    }
    if (clones > kMaxApart) {
      return section_.Fail(*job_.clones.from,
                           "clones that go through one file in order are a workload each; a phase "
                           "has at most 64");
    }
    share.clones = 1;
    for (int64_t i = 0; i < clones; ++i) plan_.shares.push_back(share);
  }

  // ---- Files whose names fio makes.

  void PlanGenerated() {
    if (job_.iscsi) return section_.Fail("names no LUN: filename=iscsi\\://HOST/IQN/LUN");
    std::vector<std::string> directories = Directories();
    const bool working = directory_from_ == nullptr;
    if (working) {
      const std::string base = WorkingDirectory("makes files of its own");
      if (!base.empty()) directories = {base};
    }
    if (directories.empty()) return;
    const Value<std::string> format = section_.Text("filename_format", "$jobname.$jobnum.$filenum");
    const int64_t files = files_.value;
    if (files > 1 && !absl::StrContains(format.value, "$filenum")) {
      return section_.Fail(*format.from, "gives all files one name: $filenum is missing");
    }
    // Without the clone's number in the name all clones share their files.
    const bool own = absl::StrContains(format.value, "$jobnum");
    if (absl::StrContains(format.value, "{file}") || absl::StrContains(format.value, "{worker}")) {
      return section_.Fail(*format.from, "may have {host} in it, no other name");
    }
    CheckOpenFiles(files);
    plan_.file_bytes = BytesOfFiles(files);
    const int64_t clones = job_.clones.value;
    const auto dealt =
        own ? std::min(clones, static_cast<int64_t>(directories.size())) : int64_t{1};
    if (dealt > 1 && region_->is_apart()) {
      return section_.Refuse(region_->from(), "increments of clones in several directories");
    }
    for (int64_t d = 0; d < dealt; ++d) {
      // Clone i is dealt to directory i mod n.
      const int64_t here = own ? clones / dealt + (d < clones % dealt ? 1 : 0) : clones;
      Share share;
      share.clones = static_cast<uint32_t>(here);
      share.own_files = own && here > 1;
      const int64_t count = own ? here * files : files;
      if (count > kMaxFiles) return section_.Fail("has more than 65,536 files");
      TargetUse use;
      use.name = dealt > 1 ? absl::StrCat(job_.name, " ", d) : job_.name;
      use.path_origin = format.from != nullptr       ? format.from->where
                        : directory_from_ != nullptr ? directory_from_->where
                                                     : Origin{"", 0, "--directory"};
      std::string path = PathOf(format.value, own ? here : 1, files);
      const bool by_host = absl::StrContains(path, "{host}");
      path = absl::StrCat(directories[static_cast<size_t>(d)],
                          (working || IsShared()) && !by_host ? "/{host}/" : "/", path);
      SetFile(path, files, count, &use);
      share.uses.push_back(std::move(use));
      if (share.own_files) {
        plan_.shares.push_back(std::move(share));
      } else {
        SplitShare(std::move(share), own);
      }
    }
  }

  void SplitShare(Share share, bool own) {
    if (own) return plan_.shares.push_back(std::move(share));
    SplitClones(std::move(share));
  }

  // fio's name with the numbers that it has; {file} numbers them through where it needs two.
  std::string PathOf(const std::string& format, int64_t clones, int64_t files) const {
    const bool both = clones > 1 && files > 1;
    if (both && section_.Find("nrfiles") != nullptr) {
      section_.Remark(
          *section_.Find("nrfiles"),
          "the files of all clones are numbered through, in place of fio's two numbers");
    }
    return absl::StrReplaceAll(
        // The name of a job is no path: its slashes and braces must not become directories or
        // placeholders.
        format, {{"$jobname", absl::StrReplaceAll(job_.name, {{"/", "."}, {"{", "("}, {"}", ")"}})},
                 {"$jobnum", clones > 1 ? "{file}" : "0"},
                 {"$filenum", files > 1 && clones == 1 ? "{file}" : "0"},
                 {"$clientuid", "{host}"}});
  }

  void CheckOpenFiles(int64_t files) {
    const Value<int64_t> open = section_.Count("openfiles", files, 1 << 30);
    if (open.from != nullptr && open.value > 0 && open.value < files) {
      section_.Refuse(*open.from, "files that are opened and closed during the load");
    }
  }

  const SectionReader& section_;
  const Request& request_;
  const uint32_t hosts_;
  const Job& job_;
  FilePlan plan_;
  Value<int64_t> size_, file_size_, files_;
  Value<bool> fills_;
  std::optional<FileRegion> region_;
  bool unlink_ = false;
  const Option* directory_from_ = nullptr;
};

// Which of several files is next. fio takes them in turn.
void ChooseFileOrder(const SectionReader& section, bool several, Job* job) {
  const Value<std::string> order = section.Text("file_service_type", "roundrobin");
  const std::string kind = order.value.substr(0, order.value.find(':'));
  v1::Workload& w = job->workload;
  if (kind != "roundrobin" && kind != "random" && kind != "sequential") {
    if (order.from != nullptr) {
      section.Refuse(*order.from, "files that are chosen by a distribution");
    }
    return;
  }
  // The number is that of I/Os to a file before the next one; fio's default is 1.
  const bool each = kind.size() == order.value.size() || order.value == kind + ":1";
  if (!each && kind != "sequential" && several) {
    return section.Refuse(*order.from, "several I/Os to a file before the next one");
  }
  if (!several || kind == "sequential") return;
  const v1::Pattern& pattern = w.pattern();
  // Workers take files in turn only in these orders. The others go over the blocks of all files
  // together.
  const bool in_turn = (pattern.has_random() && !w.has_sequence()) ||
                       (pattern.has_sequential() && !pattern.sequential().backwards() &&
                        pattern.sequential().skip_bytes() == 0);
  if (!in_turn) {
    const Option* from = order.from != nullptr ? order.from : section.Find("rw");
    if (from != nullptr) {
      section.Remark(*from, "the order is over all files together; fio takes the files in turn");
    }
    return;
  }
  w.set_file_order(kind == "random" ? v1::FILE_ORDER_RANDOM : v1::FILE_ORDER_ROUND_ROBIN);
  job->origins["file_order"] = OriginOf(order, "file_service_type=roundrobin");
}

}  // namespace

FilePlan PlanFiles(const SectionReader& section, const Request& request, uint32_t hosts, Job* job) {
  FilePlan plan = FilePlanner(section, request, hosts, job).Plan();
  bool several = false;
  for (const Share& share : plan.shares) {
    const v1::Target* first = share.uses.empty() ? nullptr : &share.uses[0].target;
    const uint32_t files = first == nullptr ? 0 : std::max(1U, first->file().count());
    // If clones have files of their own, the count is that of all clones: a thread has several
    // only if there are more files than clones.
    several =
        several || share.uses.size() > 1 || (share.own_files ? files > share.clones : files > 1);
  }
  if (!job->null_engine) ChooseFileOrder(section, several, job);
  return plan;
}

}  // namespace lockstep::frontends::fio
