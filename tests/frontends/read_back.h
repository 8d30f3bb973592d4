#pragma once

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "controller/cli/job_file.h"
#include "frontends/frontend.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace lockstep::frontends {

// The text of a translation, read as a job file. It must be the job that the writer of the text has
// said, to the last bit, with each field on the line that it has said: commands run that job, and
// do not read the text.
inline cli::JobFile ReadBack(const Translation& translation, const std::string& name) {
  const JobText text = WriteJob(translation, name);
  cli::JobFile file = cli::ParseJobFile("a.yaml", text.yaml, {});
  for (const std::string& error : file.errors) ADD_FAILURE() << error << "\n" << text.yaml;
  if (!file.errors.empty()) return file;
  google::protobuf::util::MessageDifferencer differ;
  std::string differences;
  differ.ReportDifferencesToString(&differences);
  EXPECT_TRUE(differ.Compare(file.job, text.job)) << differences << text.yaml;
  const std::vector<std::string> lines = absl::StrSplit(text.yaml, '\n');
  for (const auto& [path, line] : text.lines) {
    const auto read = file.lines.find(path);
    if (read == file.lines.end()) {
      ADD_FAILURE() << path << " has no line\n" << text.yaml;
      continue;
    }
    // A field without a value is where the parser has looked for one.
    const std::string& there = lines[static_cast<size_t>(line - 1)];
    const bool is_empty = absl::EndsWith(there.substr(0, there.find("  #")), ":");
    EXPECT_TRUE(read->second == line || is_empty) << path << "\n" << text.yaml;
  }
  return file;
}

}  // namespace lockstep::frontends
