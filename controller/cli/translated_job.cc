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

// The path of the nearest field above that has a line of the text; empty if none has.
std::string LineAbove(const frontends::JobText& text, std::string path) {
  while (!path.empty() && !text.lines.contains(path)) {
    const size_t cut = path.find_last_of(".[");
    path = cut == std::string::npos ? "" : path.substr(0, cut);
  }
  return path;
}

// Gives the fields of an override the flag as their origin. `text`: the job with its overrides.
void MarkSet(const frontends::JobText& text, const std::string& path, const std::string& set,
             std::map<std::string, frontends::Origin>* origins) {
  const frontends::Origin flag{"", 0, "--set " + set};
  // An origin below would be one of a value that the override has replaced.
  std::erase_if(*origins, [&](const auto& origin) { return IsWithin(origin.first, path); });
  bool is_shown = false;
  for (const auto& [written, line] : text.lines) {
    if (!IsWithin(written, path)) continue;
    (*origins)[written] = flag;
    is_shown = true;
  }
  if (is_shown) return;
  // A field of an item that has one line, or one whose value is the default and not written. The
  // line above keeps its own origin, too.
  const std::string above = LineAbove(text, path);
  if (above.empty()) return;
  const auto [known, is_new] = origins->emplace(above, flag);
  if (!is_new) known->second.option = absl::StrCat(flag.option, ", ", known->second.option);
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

// "mixed.fio:14: bs=4k: " by the lines of the text.
std::map<int, std::string> OriginsOf(const frontends::JobText& text) {
  std::map<int, std::string> origins;
  for (const auto& [line, origin] : text.origins) {
    origins[line] = frontends::MessageText({origin, ""});
  }
  return origins;
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

frontends::JobText WriteWithSets(const JobFile& changed,
                                 const std::map<std::string, frontends::Origin>& origins,
                                 const std::vector<std::string>& comments) {
  frontends::Translation translation;
  translation.job = changed.job;
  translation.origins = origins;
  // Only a text shows which fields have lines.
  const frontends::JobText plain = frontends::WriteJob(translation, comments);
  for (const auto& [path, set] : changed.sets) MarkSet(plain, path, set, &translation.origins);
  return frontends::WriteJob(translation, comments);
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
  std::vector<std::pair<std::string, std::string>> applied;
  if (!sets.empty()) {
    // Overrides are of fields as a job file has them: the text is read for them.
    JobFile changed = ParseJobFile(name, text.yaml, sets);
    if (!changed.errors.empty()) {
      changed.is_translated = true;
      changed.origins = OriginsOf(text);
      return changed;
    }
    text = WriteWithSets(changed, translation.origins, frontends::CommentsOf(translation, name));
    applied = std::move(changed.sets);
  }
  std::map<int, std::string> origins = OriginsOf(text);
  file = WrittenJobFile(name, std::move(text));
  file.is_translated = true;
  file.origins = std::move(origins);
  file.sets = std::move(applied);
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
