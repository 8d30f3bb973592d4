#include "frontends/iometer/entries.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "frontends/iometer/config.h"

namespace lockstep::frontends::iometer {
namespace {

constexpr int kMaxLines = 100000;

// The first version with this format.
constexpr int kOldestDate = 19980521;

// `TEST SETUP ====` becomes `test setup`.
std::string KeyOf(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line.substr(1));
  while (absl::ConsumeSuffix(&line, "=")) {
  }
  // Iometer compares keys without their case.
  return absl::AsciiStrToLower(absl::StripTrailingAsciiWhitespace(line));
}

// Versions were dates until 2006, 1.0 and 1.1 since.
bool IsKnownVersion(absl::string_view version) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripAsciiWhitespace(version), '.');
  int major = 0;
  int minor = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &major) ||
      !absl::SimpleAtoi(parts[1], &minor)) {
    return false;
  }
  if (major < 1000) return major == 1 && minor <= 1;
  int day = 0;
  if (major > 9999 || parts.size() < 3 || !absl::SimpleAtoi(parts[2].substr(0, 2), &day)) {
    return false;
  }
  return major * 10000 + minor * 100 + day >= kOldestDate;
}

}  // namespace

bool LooksLikeConfig(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  const absl::string_view first = text.substr(0, text.find('\n'));
  return absl::StartsWith(first, "Version ") && absl::StrContains(text, "\n'");
}

std::vector<Entry> ReadEntries(const SourceFile& file, Findings* findings) {
  std::vector<Entry> entries;
  bool has_version = false;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(file.text, '\n')) {
    ++number;
    line = absl::StripTrailingAsciiWhitespace(line);
    const Origin here{file.name, number, std::string(absl::StripAsciiWhitespace(line))};
    if (number > kMaxLines) {
      findings->Fail(here, "is beyond the 100,000 lines that are read");
      break;
    }
    if (line.empty()) continue;
    if (!common::IsUtf8({line.data(), line.size()})) {
      // On Windows Iometer writes names in the code page of the system.
      findings->Fail({file.name, number, ""},
                     "is not UTF-8; iconv -f WINDOWS-1252 -t UTF-8 converts the file");
      break;
    }
    // It stands at the file's end once more.
    if (absl::StartsWith(line, "Version ")) {
      has_version = true;
      if (IsKnownVersion(line.substr(8))) continue;
      findings->Fail(here, "is no version whose files are known: 1998.05.21 to 1.1");
      break;
    }
    if (!has_version) {
      findings->Fail(here, "stands where a file of Iometer has its version: Version 1.1.0");
      break;
    }
    if (line[0] == '\'') {
      // A key follows the quote at once. With a blank behind it the line is a remark.
      if (line.size() > 1 && absl::ascii_isspace(static_cast<unsigned char>(line[1]))) continue;
      entries.push_back({KeyOf(line), {file.name, number, here.option.substr(1)}, {}});
    } else if (entries.empty()) {
      findings->Fail(here, "has no key above it, which is a line that begins with '");
      break;
    } else {
      // A key may have several values below it: the lines of a specification, or the targets of a
      // worker.
      entries.back().values.push_back({here.option, number});
    }
  }
  return entries;
}

}  // namespace lockstep::frontends::iometer
