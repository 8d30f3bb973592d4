// Command lines become phases of one job.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "frontends/findings.h"
#include "frontends/sysbench/workload.h"

namespace lockstep::frontends::sysbench {
namespace {

constexpr int64_t kMaxFiles = 65535;
// Files of a job are laid out in whole pages.
constexpr int64_t kPage = 4096;

class Translator {
 public:
  explicit Translator(const Request& request) : request_(request), findings_(&out_) {}

  Translation Translate(const std::vector<Command>& commands) {
    ChooseHosts();
    CheckDirectory();
    // Even after an error the other lines are read, so that all errors are told at once.
    for (const Command& command : commands) AddLine(Line(command, &findings_));
    out_.job.set_name(NameOfJob());
    AddTarget();
    if (hosts_ > 1) {
      findings_.Remark({"", 0, "--hosts"},
                       absl::StrCat("each of ", hosts_,
                                    " hosts has these threads and files of its own; the report is "
                                    "that of all of them together"));
    }
    return std::move(out_);
  }

 private:
  void ChooseHosts() {
    const bool flag = !request_.hosts.empty();
    const Origin origin =
        flag ? Origin{"", 0, "--hosts"} : Origin{"", 0, "sysbench runs on one host"};
    const std::optional<Hosts> hosts = ParseHosts(flag ? request_.hosts : "1");
    if (!hosts) {
      return findings_.Fail(origin,
                            "is neither a number of hosts nor names: write 4, or node[1-8],db1");
    }
    hosts_ = hosts->count;
    *out_.job.mutable_hosts() = hosts->selector;
    out_.origins[hosts->selector.count() != 0 ? "hosts.count" : "hosts.names"] = origin;
  }

  void CheckDirectory() {
    const std::string& directory = request_.directory;
    const Origin flag{"", 0, "--directory"};
    if (directory.empty()) {
      return findings_.Fail(flag,
                            "is missing: sysbench uses its working directory; name the directory "
                            "for its files on the hosts, as in --directory /mnt/san");
    }
    if (!absl::StartsWith(directory, "/")) return findings_.Fail(flag, "must begin with /");
    for (const absl::string_view part : absl::StrSplit(directory, '/')) {
      if (part == "..") return findings_.Fail(flag, "has .. in it; write it out");
    }
    // The names of the files have {file} already, and {host} keeps the hosts apart. Either name
    // would make other files than sysbench's.
    for (const char* name : {"{file}", "{worker}"}) {
      if (absl::StrContains(directory, name)) {
        return findings_.Fail(flag, "may have {host} in it, no other name");
      }
    }
  }

  void AddLine(const Line& line) {
    if (line.what().empty() || !ReadFiles(line)) return;
    const std::string path = absl::StrCat("phases[", out_.job.phases_size(), "]");
    v1::PhaseSpec* phase = out_.job.add_phases();
    std::string look = "fileio";
    if (line.what() == "prepare") {
      phase->set_name(UniqueName("prepare"));
      phase->mutable_prepare()->mutable_content()->mutable_zeros();
      out_.origins[path + ".prepare.content"] = {"", 0, "sysbench writes zeros"};
    } else if (line.what() == "cleanup") {
      phase->set_name(UniqueName("cleanup"));
      phase->mutable_cleanup();
    } else if (const Mode* mode = ModeOf(line); mode != nullptr) {
      phase->set_name(UniqueName(mode->name));
      const RunParts parts{phase->mutable_run(), &out_.job, file_size_, hosts_,
                           [&](const std::string& field, const Origin& origin) {
                             out_.origins[absl::StrCat(path, ".run.", field)] = origin;
                           }};
      SetRun(line, *mode, parts);
      absl::StrAppend(&look, LookOf(line));
      SetSeed(line);
    }
    // A job without a file is named after its first line.
    if (first_.empty()) first_ = phase->name();
    // `lockstep report --format sysbench` prints the settings of the line, long after it was read.
    // Labels are stored with the run.
    (*out_.job.mutable_labels())[absl::StrCat(kLabelPrefix, phase->name())] = look;
  }

  // All lines of a job have the same files. False after an error.
  bool ReadFiles(const Line& line) {
    const Value<int64_t> count = line.Count("file-num");
    const Value<int64_t> total = line.Size("file-total-size");
    if (count.value < 1 || count.value > kMaxFiles) {
      line.Fail(count.from, "file-num", absl::StrCat("must lie between 1 and ", kMaxFiles));
      return false;
    }
    if (total.value == 0) return false;
    const int64_t exact = total.value / count.value;
    const int64_t size = exact / kPage * kPage;
    if (size == 0) {
      line.Fail(total.from, "file-total-size",
                absl::StrCat("makes files of ", exact, " bytes; a file has at least 4 KiB"));
      return false;
    }
    if (size != exact) {
      line.Remark(total.from, absl::StrCat("makes files of ", exact,
                                           " bytes; these are whole 4 KiB, so they have ", size));
    }
    if (file_size_ == 0) {
      file_size_ = size;
      file_count_ = count.value;
      size_origin_ = line.OriginOf(total.from, "file-total-size");
      count_origin_ = line.OriginOf(count.from, "file-num");
    } else if (size != file_size_ || count.value != file_count_) {
      line.Fail(size != file_size_ ? total.from : count.from, "file-total-size",
                "differs from the first line; all lines of a job have the same files");
      return false;
    }
    return true;
  }

  // The settings of a line's report, for which a job has no field.
  std::string LookOf(const Line& line) const {
    const Value<int64_t> percentile = line.Count("percentile");
    if (percentile.value < 0 || percentile.value > 100) {
      line.Fail(percentile.from, "percentile", "must lie between 0 and 100");
    }
    const Value<int64_t> interval = line.Count("report-interval");
    if (interval.value < 0) {
      line.Fail(interval.from, "report-interval", "must not be negative");
    }
    std::string look;
    for (const char* name : {"percentile", "report-interval", "rand-seed", "file-fsync-freq",
                             "file-merged-requests"}) {
      AddLook(name, absl::StrCat(line.Count(name).value), &look);
    }
    for (const char* name : {"file-fsync-all", "file-fsync-end"}) {
      AddLook(name, line.Flag(name).value ? "on" : "off", &look);
    }
    AddLook("file-rw-ratio", absl::StrFormat("%.6g", line.Real("file-rw-ratio").value), &look);
    std::vector<std::string> flags = line.List("file-extra-flags").value;
    std::sort(flags.begin(), flags.end());
    // Flags are a set: a line that names one twice, or in another order, gets the same report.
    flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
    // There are three flags. Others are an error, which the workload reports.
    if (flags.size() <= 3) AddLook("file-extra-flags", absl::StrJoin(flags, ","), &look);
    return look;
  }

  static void AddLook(const char* name, const std::string& value, std::string* look) {
    // The report's writer knows the defaults: labels have only what differs.
    if (value != FindRule(name)->otherwise) absl::StrAppend(look, " ", name, "=", value);
  }

  void SetSeed(const Line& line) {
    const Value<int64_t> seed = line.Count("rand-seed");
    if (seed.value < 0) {
      return line.Fail(seed.from, "rand-seed", "cannot be translated: it is negative");
    }
    // sysbench seeds itself by the time then. A job without a seed gets one, too.
    if (seed.value == 0) return;
    const auto number = static_cast<uint64_t>(seed.value);
    if (out_.job.seed() != 0 && out_.job.seed() != number) {
      return line.Fail(seed.from, "rand-seed", "differs from an earlier line; a job has one seed");
    }
    out_.job.set_seed(number);
    out_.origins["seed"] = seed.from->where;
    line.Remark(seed.from, "seeds Lockstep's offsets, which are others than sysbench's");
  }

  void AddTarget() {
    if (file_size_ == 0) return;
    v1::Target* target = out_.job.add_targets();
    target->set_name("files");
    std::string directory = request_.directory;
    while (absl::EndsWith(directory, "/")) directory.pop_back();
    v1::FileTarget* file = target->mutable_file();
    // Hosts may have mounted one directory: {host} keeps their files apart.
    const char* by_host = absl::StrContains(directory, "{host}") ? "" : "/{host}";
    // The names are sysbench's own.
    file->set_path(absl::StrCat(directory, by_host, "/test_file.{file}"));
    file->set_size_bytes(file_size_);
    file->set_count(static_cast<uint32_t>(file_count_));
    out_.origins["targets[0].file.path"] = {"", 0, "--directory"};
    out_.origins["targets[0].file.size"] = size_origin_;
    out_.origins["targets[0].file.count"] = count_origin_;
  }

  std::string NameOfJob() const {
    std::string name = request_.files.empty() ? "" : request_.files[0].name;
    name = name.substr(name.rfind('/') + 1);
    name = std::string(absl::StripSuffix(absl::StripSuffix(name, ".sysbench"), ".sh"));
    // Standard input is "-", and a line on the command line is "sysbench".
    const bool is_file = !name.empty() && name != "-" && name != "sysbench";
    std::set<std::string> none;
    return is_file ? frontends::UniqueName(name, &none) : absl::StrCat("sysbench ", first_);
  }

  std::string UniqueName(const std::string& wanted) {
    // Phases of a job have different names, and a script may have many lines of one mode.
    const int number = ++names_[wanted];
    return number == 1 ? wanted : absl::StrCat(wanted, " ", number);
  }

  const Request& request_;
  Translation out_;
  Findings findings_;
  uint32_t hosts_ = 1;
  int64_t file_size_ = 0, file_count_ = 0;
  Origin size_origin_, count_origin_;
  std::map<std::string, int> names_;
  std::string first_;  // what the first line does
};

Translation TranslateFile(const Request& request) {
  if (request.files.size() > 1) {
    Translation out;
    out.errors.push_back({{request.files[1].name, 1, ""}, "is a second file; a job has one"});
    return out;
  }
  Script script = ReadScript(request.files[0]);
  if (script.commands.empty() && script.errors.empty()) {
    script.errors.push_back({{request.files[0].name, 1, ""}, "has no line of sysbench"});
  }
  // A line that could not be split would give further errors that say nothing new.
  if (!script.errors.empty()) {
    Translation out;
    out.errors = std::move(script.errors);
    return out;
  }
  Translation out = TranslateCommands(script.commands, request);
  out.remarks.insert(out.remarks.begin(), script.remarks.begin(), script.remarks.end());
  return out;
}

bool Recognizes(const SourceFile& file) {
  return absl::EndsWithIgnoreCase(file.name, ".sysbench") || LooksLikeScript(file.text);
}

const RegisterFrontEnd kRegistered({"sysbench", &Recognizes, &TranslateFile, {.directory = true}});

}  // namespace

Translation TranslateCommands(const std::vector<Command>& commands, const Request& request) {
  return Translator(request).Translate(commands);
}

Translation TranslateArguments(const std::vector<std::string>& arguments, const Request& request) {
  Command command;
  command.where.option = "sysbench";
  for (const std::string& argument : arguments) {
    command.words.push_back({argument, {"", 0, argument}});
  }
  return TranslateCommands({command}, request);
}

}  // namespace lockstep::frontends::sysbench
