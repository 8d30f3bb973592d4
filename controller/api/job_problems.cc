#include "controller/api/job_problems.h"

#include "absl/strings/str_cat.h"

namespace lockstep::controller {

grpc::Status InvalidJob(const std::vector<v1::Problem>& problems) {
  v1::Problems details;
  std::string text;
  for (const v1::Problem& problem : problems) {
    *details.add_problems() = problem;
    absl::StrAppend(&text, text.empty() ? "" : "; ", problem.path(),
                    problem.path().empty() ? "" : ": ", problem.message());
  }
  // The details let a client find each problem in its file. The text is for all other clients.
  return {grpc::StatusCode::INVALID_ARGUMENT, text, details.SerializeAsString()};
}

grpc::Status InvalidField(const std::string& path, const std::string& message) {
  v1::Problem problem;
  problem.set_path(path);
  problem.set_message(message);
  return InvalidJob({problem});
}

}  // namespace lockstep::controller
