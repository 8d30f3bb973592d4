#include "frontends/fio/reader.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/limits.h"
#include "common/text.h"
#include "frontends/fio/options.h"
#include "frontends/fio/values.h"

namespace lockstep::frontends::fio {
namespace {

// fio knows no quotes: `;` and `#` end a line anywhere, also within a file's name.
absl::string_view WithoutComment(absl::string_view line) {
  return absl::StripAsciiWhitespace(line.substr(0, line.find_first_of(";#")));
}

// `lockstep: hosts=a,b` of a comment; empty if it is none of ours.
absl::string_view HostsOfComment(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (line.empty() || (line[0] != ';' && line[0] != '#')) return "";
  line = absl::StripAsciiWhitespace(line.substr(1));
  if (!absl::ConsumePrefix(&line, "lockstep:")) return "";
  line = absl::StripLeadingAsciiWhitespace(line);
  return absl::ConsumePrefix(&line, "hosts=") ? absl::StripAsciiWhitespace(line) : "";
}

class Reader {
 public:
  explicit Reader(const Request& request) : request_(request) {}

  JobFiles Read() {
    size_t bytes = 0;
    // The limit refuses a file that was named by mistake, such as an image of a disk, before it is
    // read as text.
    for (const SourceFile& file : request_.files) bytes += file.text.size();
    if (bytes > static_cast<size_t>(limits::kJobBytes)) {
      Fail({request_.files[0].name, 1, ""},
           absl::StrCat("has ", bytes, " bytes; the maximum is ", limits::kJobBytes));
      return std::move(out_);
    }
    for (const SourceFile& file : request_.files) {
      // A further file begins afresh: [global] of an earlier one does not hold.
      globals_.clear();
      where_ = Within::kNothing;
      begins_file_ = !out_.sections.empty();
      ReadText(file.name, file.text, 0);
      FinishSection();
    }
    if (out_.sections.empty() && out_.errors.empty() && !request_.files.empty()) {
      Fail({request_.files[0].name, 1, ""}, "has no job: a section such as [randread] is missing");
    }
    return std::move(out_);
  }

 private:
  enum class Within { kNothing, kGlobal, kJob };

  void Fail(const Origin& where, const std::string& text) {
    if (out_.errors.size() < kMaxErrors) out_.errors.push_back({where, text});
  }
  bool GivenUp() const { return out_.errors.size() >= kMaxErrors; }

  void ReadText(const std::string& name, absl::string_view text, size_t depth) {
    int number = 0;
    for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
      if (GivenUp()) return;
      ++number;
      if (++lines_ > kMaxLines) {
        Fail({name, number, ""}, absl::StrCat("more than ", kMaxLines, " lines in all"));
        // A full list makes GivenUp() true: each further line would have the same error.
        out_.errors.resize(kMaxErrors, out_.errors.back());
        return;
      }
      if (const absl::string_view hosts = HostsOfComment(raw); !hosts.empty()) {
        out_.hosts = std::string(hosts);
        out_.hosts_origin = {name, number, absl::StrCat("lockstep: hosts=", hosts)};
      }
      const std::string line(WithoutComment(raw));
      if (!line.empty()) ReadLine({name, number, line}, depth);
    }
  }

  void ReadLine(const Origin& where, size_t depth) {
    const std::string& line = where.option;
    if (line.size() > kMaxValueBytes || !common::IsPlainText(line)) {
      return Fail({where.file, where.line, ""},
                  "is longer than 8,192 bytes, or is no text of UTF-8");
    }
    if (line[0] == '[') {
      // An included file continues the section that includes it.
      if (depth > 0) return Fail(where, "a file that another one includes has no sections");
      return BeginSection(where);
    }
    // fio compares the first letters only, and takes the rest of the line for a file's name.
    if (absl::StartsWith(line, "include") && line.size() > 8 &&
        (line[7] == ' ' || line[7] == '\t')) {
      return Include(where, depth);
    }
    if (where_ == Within::kNothing) return Fail(where, "stands outside of a section");
    AddOption(where);
  }

  void BeginSection(const Origin& where) {
    FinishSection();
    const size_t close = where.option.find(']');
    if (close != where.option.size() - 1 || close == 1 || !common::IsPlainLine(where.option)) {
      // The section goes on as a job, so that its options are not reported as standing outside of
      // one.
      where_ = Within::kJob;
      return Fail(where, "is no section: write [NAME] on a line of its own");
    }
    const std::string name = where.option.substr(1, close - 1);
    // Any name that begins with `global` is global.
    where_ = absl::StartsWith(name, "global") ? Within::kGlobal : Within::kJob;
    if (where_ == Within::kGlobal) return;
    if (out_.sections.size() >= kMaxSections) {
      Fail(where, absl::StrCat("a file has at most ", kMaxSections, " jobs"));
      out_.errors.resize(kMaxErrors, out_.errors.back());
      return;
    }
    current_.name = name;
    current_.where = where;
    // A job takes the globals that stand above it. A later [global] does not change it.
    current_.options = globals_;
    is_open_ = true;
  }

  void FinishSection() {
    if (!is_open_) return;
    current_.begins_file = std::exchange(begins_file_, false);
    out_.sections.push_back(std::move(current_));
    current_ = {};
    is_open_ = false;
  }

  void Include(const Origin& where, size_t depth) {
    const std::string name(absl::StripAsciiWhitespace(where.option.substr(8)));
    if (depth >= kMaxIncludes) {
      // A file that includes itself would be read forever.
      return Fail(where, absl::StrCat("includes are nested more than ", kMaxIncludes, " deep"));
    }
    if (!request_.read_included) return Fail(where, "no other files can be read here");
    std::optional<std::string> text = request_.read_included(name);
    std::string found = name;
    // A name that is no path from here is one from the including file's directory.
    if (const size_t slash = where.file.rfind('/'); !text && slash != std::string::npos) {
      found = where.file.substr(0, slash + 1) + name;
      text = request_.read_included(found);
    }
    if (!text) return Fail(where, "the file cannot be read");
    included_bytes_ += text->size();
    if (included_bytes_ > static_cast<size_t>(limits::kJobBytes)) {
      return Fail(where, "makes the files too large, of which at most 1 MiB is read");
    }
    ReadText(found, *text, depth + 1);
  }

  // Replaces ${VAR}. A variable that is not set is empty.
  std::string WithVariables(const std::string& line) {
    std::string text;
    size_t at = 0;
    while (at < line.size()) {
      const size_t begin = line.find("${", at);
      const size_t end = begin == std::string::npos ? begin : line.find('}', begin);
      text.append(line, at, (end == std::string::npos ? line.size() : begin) - at);
      if (end == std::string::npos) break;
      // The value of a variable is not searched for further ones.
      if (request_.find_variable) {
        text += request_.find_variable(line.substr(begin + 2, end - begin - 2)).value_or("");
      }
      at = end + 1;
      if (text.size() > kMaxValueBytes) break;
    }
    return text;
  }

  // Replaces $pagesize and its like, and computes the rest of such a line, as bc(1) does. False
  // after an error.
  bool ReplaceFacts(const Origin& where, std::string* value) {
    bool found = false;
    for (const char* word : {"$pagesize", "$mb_memory", "$ncpus"}) {
      const auto fact = request_.machine.find(word + 1);
      for (size_t at = value->find(word); at != std::string::npos; at = value->find(word)) {
        // The numbers are those of the machine that translates, as fio takes those of its own
        // machine.
        if (fact == request_.machine.end() || value->size() > kMaxValueBytes) {
          Fail(where, absl::StrCat(word, " is not known here; write the number"));
          return false;
        }
        value->replace(at, absl::string_view(word).size(), fact->second);
        found = true;
      }
    }
    if (!found) return true;
    const std::optional<double> result = Evaluate(*value, Units::kNone, 1024);
    if (!result || *result > 9e18 || *result < -9e18) {
      Fail(where, "cannot be computed; write the number");
      return false;
    }
    *value = absl::StrCat(static_cast<int64_t>(*result));
    return true;
  }

  void AddOption(Origin where) {
    const std::string line = WithVariables(where.option);
    if (line.size() > kMaxValueBytes || !common::IsPlainText(line)) {
      return Fail(where, "becomes too long by its variables, or no text of UTF-8");
    }
    auto option = std::make_shared<Option>();
    const size_t equals = line.find('=');
    const std::string name(absl::StripAsciiWhitespace(line.substr(0, equals)));
    option->has_value = equals != std::string::npos;
    // A blank behind the `=` stays: fio then overlooks the unit of a number.
    if (option->has_value) option->value = line.substr(equals + 1);
    where.option = line;
    if (!ReplaceFacts(where, &option->value)) return;
    // An option and its alias are one: the last of both holds.
    option->name = CanonicalName(name);
    option->order = static_cast<int>(lines_);
    option->where = where;
    if (option->has_value && option->value.empty()) return Fail(where, "has no value");
    if (!common::IsPlainLine(option->value)) return Fail(where, "has a tab within its value");
    Options& into = where_ == Within::kGlobal ? globals_ : current_.options;
    // The last line of an option holds.
    into[option->name] = option;
    if (into.size() > kMaxOptions) {
      Fail(where, absl::StrCat("a job has at most ", kMaxOptions, " options"));
      out_.errors.resize(kMaxErrors, out_.errors.back());
    }
  }

  const Request& request_;
  JobFiles out_;
  Options globals_;
  Section current_;
  bool is_open_ = false;
  bool begins_file_ = false;
  Within where_ = Within::kNothing;
  size_t lines_ = 0;
  size_t included_bytes_ = 0;
};

}  // namespace

JobFiles ReadJobFiles(const Request& request) { return Reader(request).Read(); }

bool LooksLikeJobFile(absl::string_view text) {
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    const absl::string_view line = WithoutComment(raw);
    if (line.empty()) continue;
    // A list of YAML or JSON may stand in brackets, too. It has commas.
    return line.size() > 2 && line.front() == '[' && line.back() == ']' &&
           line.find(',') == absl::string_view::npos;
  }
  return false;
}

}  // namespace lockstep::frontends::fio
