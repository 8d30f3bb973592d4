#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/cli/job_file.h"
#include "frontends/frontend.h"

namespace lockstep::cli {

// The flags of commands that take a file of another tool.
struct TranslateFlags {
  std::string hosts, directory, target;
  std::vector<std::string> disks;  // NAME=PATH
  std::string language;            // empty: known by the file's name or content

  bool IsGiven() const {
    return !hosts.empty() || !directory.empty() || !target.empty() || !disks.empty();
  }
};

// The front end for a file; nothing for a job of Lockstep. `language`: the flag's value, `lockstep`
// or the name of a front end.
std::optional<frontends::FrontEnd> ChooseFrontEnd(const frontends::SourceFile& file,
                                                  const std::string& language);
// The values that --language takes.
std::vector<std::string> Languages();

// Translates the files into a job file with comments, and applies the overrides in `sets` (`--set`)
// to its job. The result has the job, and the errors of the translation. `remarks` gets the places
// where the meaning differs. Reads the files that others include, and the environment.
JobFile TranslateJob(const frontends::FrontEnd& front_end,
                     const std::vector<frontends::SourceFile>& files, const TranslateFlags& flags,
                     const std::vector<std::string>& sets, std::vector<std::string>* remarks);

// A job that overrides have changed, as a job file. The flag stands beside each field that it has
// set, and `origins` beside the others. `comments` stand in front.
frontends::JobText WriteWithSets(const JobFile& changed,
                                 const std::map<std::string, frontends::Origin>& origins,
                                 const std::vector<std::string>& comments);

// A translation as a job file with comments. `name`: of what was translated.
JobFile JobFileOf(const frontends::Translation& translation, const std::string& name,
                  const std::vector<std::string>& sets, std::vector<std::string>* remarks);

}  // namespace lockstep::cli
