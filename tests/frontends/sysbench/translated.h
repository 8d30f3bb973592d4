#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/plan/settle.h"
#include "frontends/frontend.h"
#include "frontends/sysbench/sysbench.h"
#include "gtest/gtest.h"
#include "tests/frontends/read_back.h"

namespace lockstep::frontends::sysbench {

inline Request InData(const std::string& hosts = "") {
  Request request;
  request.hosts = hosts;
  request.directory = "/data";
  return request;
}

// `line`: the words behind `sysbench`, split at blanks.
inline Translation TranslationOf(const std::string& line, const Request& request = InData()) {
  return TranslateArguments(absl::StrSplit(line, ' ', absl::SkipEmpty()), request);
}
// A line with `run`, and small files.
inline Translation RunOf(const std::string& options, const Request& request = InData()) {
  return TranslationOf(absl::StrCat("--file-num=4 --file-total-size=16M ", options, " fileio run"),
                       request);
}

inline std::string TextOf(const std::vector<Message>& messages) {
  std::string text;
  for (const Message& message : messages) absl::StrAppend(&text, MessageText(message), "\n");
  return text;
}
inline std::string ErrorsOf(const std::string& options) { return TextOf(RunOf(options).errors); }
inline std::string RemarksOf(const std::string& options, const Request& request = InData()) {
  return TextOf(RunOf(options, request).remarks);
}

// The problems that a plan has with a translated job, as it is read back from its text.
inline std::string PlanProblems(const Translation& translation, v1::JobSpec* job) {
  cli::JobFile file = ReadBack(translation, "sysbench");
  std::string problems;
  for (const std::string& error : file.errors) absl::StrAppend(&problems, error, "\n");
  for (const v1::Problem& problem : controller::SettleJob(&file.job)) {
    absl::StrAppend(&problems, problem.path(), ": ", problem.message(), "\n");
  }
  *job = file.job;
  return problems.empty() ? "" : problems + file.source;
}

// The job with its defaults filled in. It must be one that can be planned.
inline v1::JobSpec JobOf(const Translation& translation) {
  EXPECT_EQ(TextOf(translation.errors), "");
  if (!translation.errors.empty()) return {};
  v1::JobSpec job;
  EXPECT_EQ(PlanProblems(translation, &job), "");
  return job;
}

// The phase of a line with these options.
inline v1::RunPhase PhaseOf(const std::string& options, const Request& request = InData()) {
  const v1::JobSpec job = JobOf(RunOf(options, request));
  return job.phases().empty() ? v1::RunPhase() : job.phases(0).run();
}
inline v1::Workload WorkloadOf(const std::string& options, const Request& request = InData()) {
  const v1::RunPhase phase = PhaseOf(options, request);
  return phase.workloads().empty() ? v1::Workload() : phase.workloads(0);
}

}  // namespace lockstep::frontends::sysbench
