#include "web/api.h"

#include <arpa/inet.h>

#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/address.h"
#include "common/limits.h"
#include "google/protobuf/util/json_util.h"
#include "web/compression.h"
#include "web/page_export.h"
#include "web/series_csv.h"

namespace lockstep::web {
namespace {

constexpr auto kCallLimit = std::chrono::seconds(30);
constexpr uint32_t kRunsShown = 50;
constexpr int kMaxCompared = 5;
constexpr size_t kNameLetters = 8;  // of an id
constexpr int kWriters = 2;

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  // Without this, proto3 leaves out zeros and false, and the page could not tell 0 from a field
  // that is missing.
  options.always_print_primitive_fields = true;
  std::string json;
  return google::protobuf::util::MessageToJsonString(message, &json, options).ok() ? json : "{}";
}

int StatusOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::NOT_FOUND:
      return 404;
    case grpc::StatusCode::INVALID_ARGUMENT:
      return 400;
    case grpc::StatusCode::PERMISSION_DENIED:
      return 403;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return 429;
    case grpc::StatusCode::FAILED_PRECONDITION:
      return 422;
    case grpc::StatusCode::DATA_LOSS:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
      return 500;
    default:
      return 503;
  }
}

std::string WordsOf(const grpc::Status& status) {
  return status.error_message().empty()
             ? absl::StrCat("the controller answered with code ",
                            static_cast<int>(status.error_code()), " and says no more")
             : status.error_message();
}

Answer MadeAnswer(std::string body, const std::string& type) {
  Answer answer;
  answer.type = type;
  answer.body = std::make_shared<const std::string>(std::move(body));
  // Nearly every answer can change: runs go on, are labelled and are pruned. An old one from a
  // cache would look current.
  answer.headers = {{"Cache-Control", "no-store"}};
  return answer;
}

// More letters than a UUID's are accepted for `last`. Nothing that is accepted needs an escape, in
// a path or in HTML.
constexpr size_t kUuid = 36;
bool IsRun(absl::string_view text) {
  return !text.empty() && text.size() <= kUuid &&
         text.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz-") == absl::string_view::npos;
}

// A whole number from `least` to `most`; `otherwise` where it is not given. False, with the answer,
// where it is something else.
bool ReadNumber(const Request& request, const char* name, uint32_t least, uint32_t most,
                uint32_t otherwise, uint32_t* number, Answer* wrong) {
  const auto given = request.Get(name);
  *number = otherwise;
  if (!given) return true;
  if (absl::SimpleAtoi(*given, number) && *number >= least && *number <= most) return true;
  *wrong = ErrorAnswer(400, absl::StrCat(name, ": a number from ", least, " to ", most));
  return false;
}

bool ReadFilter(const Request& request, v1::RunFilter* filter, Answer* wrong) {
  for (const auto& [name, value] : request.query) {
    if (value.empty()) continue;
    if (name == "job") {
      filter->set_job_name(value);
    } else if (name == "owner") {
      filter->set_owner(value);
    } else if (name == "host") {
      filter->set_host(value);
    } else if (name == "device") {
      filter->set_device(value);
    } else if (name == "state") {
      filter->set_state(value);
    } else if (name == "since") {
      filter->set_since(value);
    } else if (name == "until") {
      filter->set_until(value);
    } else if (name == "label") {
      const size_t equals = value.find('=');
      if (equals == std::string::npos || equals == 0) {
        *wrong = ErrorAnswer(400, "label: NAME=VALUE");
        return false;
      }
      const std::string label = value.substr(0, equals);
      if (!filter->mutable_labels()->insert({label, value.substr(equals + 1)}).second) {
        *wrong = ErrorAnswer(400, absl::StrCat("label ", label, ": a run has one value of it"));
        return false;
      }
      // A filter with a typing error is refused. Left out, it would list all runs as if they
      // matched.
    } else if (name != "limit" && name != "offset") {
      *wrong = ErrorAnswer(400, absl::StrCat("there is no ", name,
                                             " to filter by: job, owner, host, device, state, "
                                             "since, until, label"));
      return false;
    }
  }
  return true;
}

}  // namespace

Api::Api(std::set<std::string> names, v1::Controller::Stub* stub, Calls* calls)
    : names_(std::move(names)), stub_(stub), calls_(calls), file_maker_([this] {
        while (const auto work = files_.Pop()) (*work)();
      }) {
  for (int i = 0; i < kWriters; ++i) {
    writers_.emplace_back([this] {
      while (const auto work = answers_.Pop()) (*work)();
    });
  }
}

Api::~Api() { Stop(); }

void Api::Stop() {
  files_.Close();
  answers_.Close();
  if (file_maker_.joinable()) file_maker_.join();
  for (std::thread& writer : writers_) {
    if (writer.joinable()) writer.join();
  }
}

// A page elsewhere can make its own name resolve to this server (DNS rebinding), and its scripts
// may then read the answers. The Host header still has the foreign name. Addresses pass, since no
// foreign name is involved.
bool Api::IsOurs(const std::string& host_header) const {
  if (host_header.empty()) return false;
  const bool has_port = host_header.rfind(':') != std::string::npos && host_header.back() != ']';
  // Names have no case, and may end with a dot.
  std::string host =
      absl::AsciiStrToLower(common::HostOf(has_port ? host_header : host_header + ":80"));
  if (absl::EndsWith(host, ".")) host.pop_back();
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1 || names_.contains(host);
}

template <typename Ask, typename Reply, typename Call, typename Make>
Api::Result Api::Later(const Ask& request, const Call& call, Make make, const Respond& respond) {
  struct Pending {
    grpc::ClientContext context;
    Ask request;
    Reply reply;
  };
  // gRPC uses the addresses of all three until the callback has run. The callback holds them.
  const auto pending = std::make_shared<Pending>();
  pending->request = request;
  pending->context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
  if (!calls_->Begin(&pending->context)) {
    return ErrorAnswer(503, "the controller is shutting down");
  }
  call(stub_->async(), &pending->context, &pending->request, &pending->reply,
       [this, pending, make, respond = respond](const grpc::Status& status) mutable {
         // This is a thread of gRPC's, which also serves the workers' streams. To write a large
         // report as JSON would hold it up.
         answers_.Push([pending, make = std::move(make), respond = std::move(respond), status] {
           respond(status.ok() ? make(pending->reply)
                               : ErrorAnswer(StatusOf(status.error_code()), WordsOf(status)));
         });
         // End() comes last: until then CancelAll() waits, so `this` and the context still exist.
         // After it, nothing here is used any more.
         calls_->End(&pending->context);
       });
  return {};
}

namespace {

template <typename Reply>
Answer AsJson(const Reply& reply) {
  return MadeAnswer(Json(reply), "application/json");
}

}  // namespace

Api::Result Api::Serve(const Request& request, const Respond& respond) {
  if (request.method != "GET" && request.method != "HEAD") {
    return ErrorAnswer(405, "this page only reads");
  }
  if (!IsOurs(request.host)) {
    return ErrorAnswer(421, "this page is not served under that name; --http-name allows one");
  }
  if (auto asset = assets_.Find(request)) return *std::move(asset);
  if (absl::StartsWith(request.path, "/api/")) {
    if (!request.accepts_gzip) return ServeApi(request, respond);
    // Compressed by the thread that has written the answer. Errors that are known at once are
    // short, and events of a run are sent as they come.
    return ServeApi(request, [respond](Answer answer) { respond(Compressed(std::move(answer))); });
  }
  return ErrorAnswer(404, "there is nothing of that name");
}

Api::Result Api::ServeApi(const Request& request, const Respond& respond) {
  if (request.path == "/api/status") {
    return Later<v1::StatusRequest, v1::StatusReply>(
        {}, [](auto* stub, auto... a) { stub->GetStatus(a...); }, AsJson<v1::StatusReply>, respond);
  }
  if (request.path == "/api/devices") {
    return Later<v1::DevicesRequest, v1::DevicesReply>(
        {}, [](auto* stub, auto... a) { stub->GetDevices(a...); }, AsJson<v1::DevicesReply>,
        respond);
  }
  if (request.path == "/api/runs") return ServeHistory(request, respond);
  if (request.path == "/api/compare") return ServeComparison(request, respond);
  absl::string_view rest = request.path;
  if (absl::ConsumePrefix(&rest, "/api/runs/")) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest, absl::MaxSplits('/', 1));
    if (IsRun(parts.first)) {
      return ServeRun(request, std::string(parts.first), std::string(parts.second), respond);
    }
  }
  return ErrorAnswer(404, "there is nothing of that name");
}

Api::Result Api::ServeRun(const Request& request, const std::string& run_id,
                          const std::string& part, const Respond& respond) {
  if (part.empty()) return ServeReport(run_id, v1::ReportRequest::PART_HEAD, 0, respond);
  if (part == "report") return ServeReport(run_id, v1::ReportRequest::PART_WHOLE, 0, respond);
  if (part == "environment") {
    return ServeReport(run_id, v1::ReportRequest::PART_ENVIRONMENT, 0, respond);
  }
  uint32_t phase = 0;
  absl::string_view number = part;
  if (absl::ConsumePrefix(&number, "phases/") && absl::SimpleAtoi(number, &phase)) {
    return ServeReport(run_id, v1::ReportRequest::PART_PHASE, phase, respond);
  }
  if (part == "series" || part == "export.csv") {
    return ServeSeries(request, run_id, v1::SeriesRequest::WHAT_FLEET, respond);
  }
  if (part == "hosts") return ServeSeries(request, run_id, v1::SeriesRequest::WHAT_HOSTS, respond);
  if (part == "latency") {
    return ServeSeries(request, run_id, v1::SeriesRequest::WHAT_LATENCIES, respond);
  }
  const bool is_head = request.method == "HEAD";
  if (is_head && (part == "export.html" || part == "events")) {
    return ErrorAnswer(405, "ask for it with GET: it is made as it is read");
  }
  if (part == "export.html") return ServeFile(run_id, respond);
  if (part == "job") {
    v1::JobRequest ask;
    ask.set_run_id(run_id);
    return Later<v1::JobRequest, v1::JobReply>(
        ask, [](auto* stub, auto... a) { stub->GetJob(a...); }, AsJson<v1::JobReply>, respond);
  }
  if (part == "events") {
    // Feeds are shared by id. The start of an id would make a second feed of the same run, and
    // `last` would be shared by browsers that mean different runs.
    if (run_id.size() != kUuid) return ErrorAnswer(400, "events: of a run's whole id");
    Watch watch;
    watch.run_id = run_id;
    const std::string hosts = request.Get("hosts").value_or("");
    if (!hosts.empty() && hosts != "all") return ErrorAnswer(400, "hosts: all, or left out");
    watch.all_hosts = hosts == "all";
    // An id that is no number of ours means the run's begin, as none does: EventSource could not
    // show an error.
    if (!absl::SimpleAtoi(request.last_event_id, &watch.after)) watch.after = 0;
    return watch;
  }
  return ErrorAnswer(404, "there is nothing of that name");
}

Api::Result Api::ServeHistory(const Request& request, const Respond& respond) {
  v1::HistoryRequest ask;
  Answer wrong;
  uint32_t limit = 0;
  uint32_t offset = 0;
  if (!ReadNumber(request, "limit", 1, limits::kHistoryLimit, kRunsShown, &limit, &wrong) ||
      !ReadNumber(request, "offset", 0, 1U << 30, 0, &offset, &wrong) ||
      !ReadFilter(request, ask.mutable_filter(), &wrong)) {
    return wrong;
  }
  if (ask.filter().ByteSizeLong() == 0) ask.clear_filter();
  ask.set_limit(limit);
  ask.set_offset(offset);
  return Later<v1::HistoryRequest, v1::HistoryReply>(
      ask, [](auto* stub, auto... a) { stub->GetHistory(a...); }, AsJson<v1::HistoryReply>,
      respond);
}

Api::Result Api::ServeComparison(const Request& request, const Respond& respond) {
  v1::CompareRequest ask;
  // Runs of one set are joined by dots, which no id has and no address escapes.
  for (const absl::string_view ids :
       absl::StrSplit(request.Get("runs").value_or(""), ',', absl::SkipEmpty())) {
    v1::RunsOf* set = ask.add_sets();
    for (const absl::string_view run : absl::StrSplit(ids, '.', absl::SkipEmpty())) {
      if (!IsRun(run)) {
        return ErrorAnswer(400, "runs: ids, with commas between; those of one set with dots");
      }
      set->add_run_ids(std::string(run));
    }
    if (set->run_ids().empty()) return ErrorAnswer(400, "runs: a set has no run");
    // Sentences about the set name it. They are read.
    set->set_name(set->run_ids(0).substr(0, kNameLetters));
  }
  if (ask.sets_size() < 2 || ask.sets_size() > kMaxCompared) {
    return ErrorAnswer(400, absl::StrCat("runs: 2 to ", kMaxCompared, " sets"));
  }
  return Later<v1::CompareRequest, v1::Comparison>(
      ask, [](auto* stub, auto... a) { stub->Compare(a...); }, AsJson<v1::Comparison>, respond);
}

Api::Result Api::ServeReport(const std::string& run_id, v1::ReportRequest::Part part,
                             uint32_t phase, const Respond& respond) {
  v1::ReportRequest ask;
  ask.set_run_id(run_id);
  ask.set_part(part);
  ask.set_phase(phase);
  return Later<v1::ReportRequest, v1::Report>(
      ask, [](auto* stub, auto... a) { stub->GetReport(a...); }, AsJson<v1::Report>, respond);
}

Api::Result Api::ServeSeries(const Request& request, const std::string& run_id,
                             v1::SeriesRequest::What what, const Respond& respond) {
  const bool csv = absl::EndsWith(request.path, ".csv");
  v1::SeriesRequest ask;
  ask.set_run_id(run_id);
  ask.set_what(what);
  Answer wrong;
  uint32_t phase = 0;
  uint32_t most = 0;
  constexpr uint32_t kMaxPoints = 100000;
  if (!ReadNumber(request, "phase", 0, 1U << 30, 0, &phase, &wrong) ||
      // A CSV is for other programs, which want every interval. The page draws what fits its width;
      // 0 leaves the number to the controller.
      !ReadNumber(request, "bins", 1, kMaxPoints, csv ? kMaxPoints : 0, &most, &wrong)) {
    return wrong;
  }
  ask.set_phase(phase);
  ask.set_max_points(most);
  if (const auto step = request.Get("step")) {
    double seconds = 0;
    if (!absl::SimpleAtod(*step, &seconds)) return ErrorAnswer(400, "step: seconds");
    ask.set_step_seconds(seconds);
  }
  return Later<v1::SeriesRequest, v1::SeriesReply>(
      ask, [](auto* stub, auto... a) { stub->GetSeries(a...); },
      [csv](const v1::SeriesReply& reply) {
        return csv ? MadeAnswer(SeriesCsv(reply), "text/csv; charset=utf-8") : AsJson(reply);
      },
      respond);
}

Api::Result Api::ServeFile(const std::string& run_id, const Respond& respond) {
  if (++files_waiting_ > limits::kPageExports) {
    --files_waiting_;
    return ErrorAnswer(
        429, absl::StrCat(limits::kPageExports, " reports are being exported; try again"));
  }
  files_.Push([this, run_id, respond] {
    const auto file = ExportPage(stub_, calls_, run_id);
    --files_waiting_;
    if (!file.ok()) {
      const auto code = static_cast<grpc::StatusCode>(file.status().code());
      return respond(ErrorAnswer(StatusOf(code), std::string(file.status().message())));
    }
    Answer answer = MadeAnswer(file->html, "text/html; charset=utf-8");
    answer.headers.emplace_back("Content-Disposition",
                                absl::StrCat("attachment; filename=\"", file->name, "\""));
    respond(std::move(answer));
  });
  return {};
}

}  // namespace lockstep::web
