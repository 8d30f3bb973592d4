#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/cli/job_file.h"
#include "controller/plan/settle.h"
#include "frontends/frontend.h"
#include "google/protobuf/util/message_differencer.h"

namespace lockstep::fuzz {

[[noreturn]] inline void Stop(const std::string& what) {
  (void)fprintf(stderr, "%s\n", what.c_str());
  __builtin_trap();
}

// Stops the program where `holds` is false.
inline void Require(bool holds, const std::string& what) {
  if (!holds) Stop(what);
}

// Nobody's files and directories but those that the caller named. `path` is of a target.
inline bool IsNamed(const std::string& path) {
  return absl::StartsWith(path, "/") && !absl::StrContains(path + "/", "/../");
}

// The bytes as a file of the language: an error with its line, or a job that can be planned after
// it was written out and read back.
inline void TranslateAndPlan(const std::string& language, const std::string& name,
                             const uint8_t* data, size_t size) {
  frontends::Request request;
  request.files = {{name, std::string(reinterpret_cast<const char*>(data), size)}};
  request.hosts = size % 2 == 0 ? "1" : "3";
  request.machine = {{"pagesize", "4096"}, {"mb_memory", "2000"}, {"ncpus", "4"}};
  request.read_included = [](const std::string& path) -> std::optional<std::string> {
    if (path == "none") return std::nullopt;
    return "bs=8k\n";
  };
  request.find_variable = [](const std::string&) -> std::optional<std::string> { return "4k"; };
  for (const frontends::FrontEnd& each : frontends::FrontEnds()) {
    if (each.name != language) continue;
    if (each.takes.directory) request.directory = "/data";
    if (each.takes.disks) request.disks = {{"sdb", "/dev/vdb"}, {"C: \"x\"", "/data/c"}};
    const frontends::Translation translation = frontends::Translate(each, request);
    for (const frontends::Message& error : translation.errors) {
      // Errors that concern the whole file, or a flag, have no line.
      Require(error.where.line >= 1 || error.where.file == name || !error.where.option.empty(),
              "no line: " + frontends::MessageText(error));
      Require(!error.text.empty(), "no text: " + frontends::MessageText(error));
    }
    if (!translation.errors.empty()) return;
    const frontends::JobText text = frontends::WriteJob(translation, name);
    cli::JobFile file = cli::ParseJobFile("a.yaml", text.yaml, {});
    for (const std::string& error : file.errors) Stop(error + "\n" + text.yaml);
    // Commands run the job that the writer says, and do not read its text.
    Require(google::protobuf::util::MessageDifferencer::Equals(file.job, text.job), text.yaml);
    for (const v1::Problem& problem : controller::SettleJob(&file.job)) {
      Stop(absl::StrCat(problem.path(), ": ", problem.message(), "\n", text.yaml));
    }
    for (const v1::Target& target : file.job.targets()) {
      if (target.has_file()) Require(IsNamed(target.file().path()), text.yaml);
      if (target.has_device()) Require(IsNamed(target.device().path()), text.yaml);
    }
    Require(file.job.expendable().empty(), "consent: " + text.yaml);
    return;
  }
  Stop("no front end for " + language);
}

}  // namespace lockstep::fuzz
