#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/plan/settle.h"
#include "frontends/fio/job.h"
#include "frontends/frontend.h"
#include "gtest/gtest.h"
#include "tests/frontends/read_back.h"

namespace lockstep::frontends::fio {

inline Request RequestOf(const std::string& text) {
  Request request;
  request.files = {{"a.fio", text}};
  request.directory = "/data";
  request.machine = {{"pagesize", "4096"}, {"mb_memory", "2000"}, {"ncpus", "4"}};
  return request;
}

// All errors, a line each.
inline std::string ErrorsOf(const Translation& translation) {
  std::string text;
  for (const Message& error : translation.errors) absl::StrAppend(&text, MessageText(error), "\n");
  return text;
}
inline std::string ErrorsOf(const std::string& text) {
  return ErrorsOf(TranslateFio(RequestOf(text)));
}
inline std::string RemarksOf(const Translation& translation) {
  std::string text;
  for (const Message& remark : translation.remarks) {
    absl::StrAppend(&text, MessageText(remark), "\n");
  }
  return text;
}

// The job as it is after the defaults are filled in. It must be one that can be planned.
inline v1::JobSpec Settled(const Translation& translation) {
  EXPECT_EQ(ErrorsOf(translation), "");
  if (!translation.errors.empty()) return {};
  cli::JobFile file = ReadBack(translation, "a.fio");
  for (const v1::Problem& problem : controller::SettleJob(&file.job)) {
    ADD_FAILURE() << problem.path() << ": " << problem.message() << "\n" << file.source;
  }
  return file.job;
}
inline v1::JobSpec JobOf(const Request& request) { return Settled(TranslateFio(request)); }
inline v1::JobSpec JobOf(const std::string& text) { return JobOf(RequestOf(text)); }

// The run phases of a job.
inline std::vector<v1::RunPhase> RunsOf(const v1::JobSpec& job) {
  std::vector<v1::RunPhase> runs;
  for (const v1::PhaseSpec& phase : job.phases()) {
    if (phase.has_run()) runs.push_back(phase.run());
  }
  return runs;
}
// The first workload of a job with these options, besides a size.
inline v1::Workload WorkloadOf(const std::string& options) {
  const auto runs = RunsOf(JobOf("[j]\nsize=16m\n" + options));
  return runs.empty() || runs[0].workloads().empty() ? v1::Workload() : runs[0].workloads(0);
}

}  // namespace lockstep::frontends::fio
