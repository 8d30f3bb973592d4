#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "common/queue.h"
#include "proto/controller.grpc.pb.h"
#include "web/assets.h"
#include "web/calls.h"
#include "web/http.h"

namespace lockstep::web {

// The requests that the page can make (docs/reference/http.md). Thread-safe.
class Api {
 public:
  // `names`: under which the page is served, beside addresses. `stub` and `calls` outlive it.
  Api(std::set<std::string> names, v1::Controller::Stub* stub, Calls* calls);
  ~Api();
  // Ends what is being made; the calls have ended before. `respond`s are not called any more.
  void Stop();

  // An answer at once, the run to be watched, or nothing: then `respond` is called later.
  using Result = std::variant<std::monostate, Answer, Watch>;
  Result Serve(const Request& request, const Respond& respond);

 private:
  bool IsOurs(const std::string& host_header) const;
  Result ServeApi(const Request& request, const Respond& respond);
  Result ServeRun(const Request& request, const std::string& run_id, const std::string& part,
                  const Respond& respond);
  Result ServeHistory(const Request& request, const Respond& respond);
  Result ServeComparison(const Request& request, const Respond& respond);
  Result ServeReport(const std::string& run_id, v1::ReportRequest::Part part, uint32_t phase,
                     const Respond& respond);
  Result ServeSeries(const Request& request, const std::string& run_id,
                     v1::SeriesRequest::What what, const Respond& respond);
  Result ServeFile(const std::string& run_id, const Respond& respond);
  // Queries the controller: `call` begins it, `make` makes the body of what it says.
  template <typename Ask, typename Reply, typename Call, typename Make>
  Result Later(const Ask& request, const Call& call, Make make, const Respond& respond);

  const std::set<std::string> names_;
  v1::Controller::Stub* stub_;
  Calls* calls_;
  const Assets assets_;
  // Answers are written as JSON here, not by the threads that serve the workers.
  common::Queue<std::function<void()>> answers_;
  std::vector<std::thread> writers_;
  // Whole pages are made one at a time.
  common::Queue<std::function<void()>> files_;
  std::atomic<int> files_waiting_{0};
  std::thread file_maker_;
};

}  // namespace lockstep::web
