#include "controller/cli/translated_job.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/limits.h"
#include "proto/fields.h"

namespace lockstep::cli {
namespace {

constexpr char kOwnLanguage[] = "lockstep";

std::optional<std::string> ReadIncluded(const std::string& path) {
  auto text = common::ReadFile(path, static_cast<size_t>(limits::kJobBytes));
  return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
}

std::optional<std::string> FindVariable(const std::string& name) {
  const char* value = getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

// The job of a text that is not read, because its writer knows what a reader would find.
JobFile WrittenJobFile(const std::string& name, frontends::JobText text) {
  JobFile file;
  file.name = name;
  if (const std::string refused = RefusedSource(name, text.yaml); !refused.empty()) {
    file.errors.push_back(refused);
  }
  file.source = std::move(text.yaml);
  file.job = std::move(text.job);
  file.lines = std::move(text.lines);
  return file;
}

std::optional<int64_t> FindSize(const std::string& path) {
  struct stat file;
  // The size of a device's node says nothing of the device.
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return std::nullopt;
  return file.st_size;
}

}  // namespace

std::optional<frontends::FrontEnd> ChooseFrontEnd(const frontends::SourceFile& file,
                                                  const std::string& language) {
  if (language == kOwnLanguage) return std::nullopt;
  if (language.empty()) return frontends::FindFrontEnd(file);
  for (const frontends::FrontEnd& front_end : frontends::FrontEnds()) {
    if (language == front_end.name) return front_end;
  }
  return std::nullopt;
}

std::vector<std::string> Languages() {
  std::vector<std::string> languages{kOwnLanguage};
  for (const frontends::FrontEnd& front_end : frontends::FrontEnds()) {
    languages.emplace_back(front_end.name);
  }
  return languages;
}

JobFile TranslateJob(const frontends::FrontEnd& front_end,
                     const std::vector<frontends::SourceFile>& files, const TranslateFlags& flags,
                     const std::vector<std::string>& sets, std::vector<std::string>* remarks) {
  frontends::Request request;
  request.files = files;
  request.hosts = flags.hosts;
  request.directory = flags.directory;
  request.target = flags.target;
  request.read_included = &ReadIncluded;
  request.find_variable = &FindVariable;
  request.find_size = &FindSize;
  const auto pages = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page_size = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  // fio replaces $pagesize, $mb_memory and $ncpus in its files by values of the machine.
  request.machine["pagesize"] = absl::StrCat(page_size);
  request.machine["mb_memory"] = absl::StrCat(pages * page_size >> 20);
  request.machine["ncpus"] = absl::StrCat(sysconf(_SC_NPROCESSORS_ONLN));
  for (const std::string& disk : flags.disks) {
    // A name may have a = itself. A path begins with /.
    const size_t middle = disk.find("=/");
    if (middle == 0 || middle == std::string::npos) {
      JobFile file;
      file.name = files[0].name;
      file.errors.push_back(absl::StrCat("--disk ", disk, ": write NAME=/dev/… or NAME=/PATH"));
      return file;
    }
    request.disks[disk.substr(0, middle)] = disk.substr(middle + 1);
  }
  return JobFileOf(frontends::Translate(front_end, request), files[0].name, sets, remarks);
}

JobFile JobFileOf(const frontends::Translation& translation, const std::string& name,
                  const std::vector<std::string>& sets, std::vector<std::string>* remarks) {
  for (const frontends::Message& remark : translation.remarks) {
    remarks->push_back(frontends::MessageText(remark));
  }
  JobFile file;
  file.name = name;
  for (const frontends::Message& error : translation.errors) {
    file.errors.push_back(frontends::MessageText(error));
  }
  if (!file.errors.empty()) return file;
  frontends::JobText text = frontends::WriteJob(translation, name);
  std::map<int, std::string> origins;
  for (const auto& [line, origin] : text.origins) {
    origins[line] = frontends::MessageText({origin, ""});
  }
  // Overrides change the text, which is read for them.
  file = sets.empty() ? WrittenJobFile(name, std::move(text)) : ParseJobFile(name, text.yaml, sets);
  file.is_translated = true;
  file.origins = std::move(origins);
  if (!sets.empty()) return file;
  // A reader refuses numbers out of their range.
  for (const v1::FieldProblem& wrong : v1::CheckFields(file.job)) {
    v1::Problem problem;
    problem.set_path(wrong.path);
    problem.set_message(wrong.message);
    file.errors.push_back(file.Locate(problem));
  }
  return file;
}

}  // namespace lockstep::cli
