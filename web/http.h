#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::web {

// The parts of a request that this server uses.
struct Request {
  std::string method, path;                                // without the query
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  std::string host, if_none_match, last_event_id;
  bool accepts_gzip = false;

  // The first of that name; nothing where there is none.
  std::optional<std::string> Get(const std::string& name) const;
};
// Splits a request's target. False where it is none.
bool ReadTarget(const std::string& target, Request* request);

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::shared_ptr<const std::string> body = std::make_shared<const std::string>();
  std::vector<std::pair<std::string, std::string>> headers;
};
// {"error": words}
Answer ErrorAnswer(int status, const std::string& words);
// As a JSON string, with its quotes.
std::string Quoted(const std::string& words);

// Called once, from any thread.
using Respond = std::function<void(Answer)>;

// Events of a run, as server-sent events.
struct Watch {
  std::string run_id;
  bool all_hosts = false;
  uint64_t after = 0;  // only events with higher numbers
};

}  // namespace lockstep::web
