// A job file, as a person could write it, through reading, checking and planning.

#include <string>

#include "controller/cli/job_file.h"
#include "controller/plan/assign.h"
#include "controller/plan/next_phase.h"
#include "controller/plan/validate.h"
#include "proto/fields.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  // The first line may be a --set.
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> sets;
  std::string source = text;
  if (text.compare(0, 6, "--set ") == 0) {
    const size_t end = std::min(text.find('\n'), text.size());
    sets.push_back(text.substr(6, end - 6));
    source = text.substr(end);
  }
  cli::JobFile file = cli::ParseJobFile("fuzz.yaml", source, sets);
  (void)controller::ExpandHostNames(text, 1000);
  if (!file.errors.empty() || !controller::CheckLimits(file.job).empty()) return 0;
  controller::FillJob(&file.job);
  if (!controller::Validate(file.job).empty()) return 0;
  (void)controller::Warnings(file.job);
  (void)controller::Unrolled(file.job);
  return 0;
}
