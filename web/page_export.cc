#include "web/page_export.h"

#include <openssl/sha.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "google/protobuf/util/json_util.h"
#include "web/http.h"
#include "web/page_files.h"

namespace lockstep::web {
namespace {

constexpr auto kCallLimit = std::chrono::seconds(60);
// All phases together have about kPoints points, and each has at least kMinPoints: a file of many
// phases stays small.
constexpr uint32_t kPoints = 300;
constexpr uint32_t kMinPoints = 30;

std::string Content(const std::string& name) {
  for (const common::EmbeddedFile& file : PageFiles()) {
    if (file.name == name) return file.content;
  }
  return "";
}

std::string HashOf(const std::string& content) {
  // A browser hashes the exact text of the element (CSP Level 3). A blank more around it in the
  // file would keep the script from running.
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest);
  return absl::StrCat(
      "'sha256-",
      absl::Base64Escape(std::string(reinterpret_cast<const char*>(digest), sizeof digest)), "'");
}

bool HasSeries(const v1::PhaseReport& phase) {
  return !phase.workloads().empty() || phase.has_observed();
}

class Exporter {
 public:
  Exporter(v1::Controller::Stub* stub, Calls* calls, std::string run_id)
      : stub_(stub), calls_(calls), run_id_(std::move(run_id)) {}

  absl::StatusOr<ExportedPage> Export() {
    v1::Report head;
    absl::Status status = GetReport(v1::ReportRequest::PART_HEAD, 0, "", &head);
    if (!status.ok()) return status;
    if (!head.verdict().over()) {
      return absl::FailedPreconditionError(
          absl::StrCat("run ", head.run().run_id(), " has not ended: it has no report yet"));
    }
    // The page finds its documents by the run's full id, but the caller may have given `last` or
    // the start of an id. The first document is moved to the path that the full id gives.
    const std::string asked = run_id_;
    run_id_ = head.run().run_id();
    if (asked != run_id_) {
      documents_[Path("")] = std::move(documents_[absl::StrCat(kRuns, asked)]);
      documents_.erase(absl::StrCat(kRuns, asked));
    }
    v1::Report environment;
    status = GetReport(v1::ReportRequest::PART_ENVIRONMENT, 0, "/environment", &environment);
    if (status.ok()) status = GetJob();
    const auto loads = std::count_if(head.phases().begin(), head.phases().end(), HasSeries);
    const uint32_t points = std::max<uint32_t>(
        kMinPoints, kPoints / std::max<uint32_t>(1, static_cast<uint32_t>(loads)));
    for (const v1::PhaseReport& phase : head.phases()) {
      if (!status.ok()) return status;
      v1::Report part;
      status = GetReport(v1::ReportRequest::PART_PHASE, phase.index(),
                         absl::StrCat("/phases/", phase.index()), &part);
      if (!status.ok() || !HasSeries(phase)) continue;
      for (const auto& [name, what] : {std::pair("series", v1::SeriesRequest::WHAT_FLEET),
                                       std::pair("hosts", v1::SeriesRequest::WHAT_HOSTS),
                                       std::pair("latency", v1::SeriesRequest::WHAT_LATENCIES)}) {
        const absl::Status got = GetSeries(phase.index(), name, what, points);
        // A phase without I/Os has none. An observe phase has the fleet's alone.
        if (!got.ok() && !absl::IsNotFound(got)) status = got;
      }
    }
    if (!status.ok()) return status;
    return ExportedPage{NameOf(head.run()), Html(head.run())};
  }

 private:
  static constexpr char kRuns[] = "/api/runs/";
  std::string Path(const std::string& rest) const { return absl::StrCat(kRuns, run_id_, rest); }

  // `call` asks the controller.
  template <typename Request, typename Reply, typename Call>
  absl::Status Fetch(const Request& request, const Call& call, const std::string& path,
                     Reply* reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);
    if (calls_ != nullptr && !calls_->Begin(&context)) {
      return absl::UnavailableError("the controller is shutting down");
    }
    const grpc::Status status = call(&context, request, reply);
    if (calls_ != nullptr) calls_->End(&context);
    if (!status.ok()) {
      return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
    }
    // The file may be passed on to anybody. It does not tell where the store is.
    if constexpr (std::is_same_v<Reply, v1::Report>) reply->clear_store();
    google::protobuf::util::JsonPrintOptions options;
    options.always_print_primitive_fields = true;
    std::string json;
    if (!google::protobuf::util::MessageToJsonString(*reply, &json, options).ok()) {
      return absl::InternalError("the answer is no JSON");
    }
    documents_[path] = std::move(json);
    return absl::OkStatus();
  }

  absl::Status GetReport(v1::ReportRequest::Part part, uint32_t phase, const std::string& path,
                         v1::Report* report) {
    v1::ReportRequest request;
    request.set_run_id(run_id_);
    request.set_part(part);
    request.set_phase(phase);
    const auto call = [this](auto* context, const auto& ask, auto* reply) {
      return stub_->GetReport(context, ask, reply);
    };
    return Fetch(request, call, Path(path), report);
  }

  absl::Status GetJob() {
    v1::JobRequest request;
    request.set_run_id(run_id_);
    v1::JobReply job;
    const auto call = [this](auto* context, const auto& ask, auto* reply) {
      return stub_->GetJob(context, ask, reply);
    };
    return Fetch(request, call, Path("/job"), &job);
  }

  absl::Status GetSeries(uint32_t phase, const std::string& name, v1::SeriesRequest::What what,
                         uint32_t points) {
    v1::SeriesRequest request;
    request.set_run_id(run_id_);
    request.set_phase(phase);
    request.set_what(what);
    request.set_max_points(what == v1::SeriesRequest::WHAT_FLEET ? points : points * 2 / 3);
    v1::SeriesReply series;
    const auto call = [this](auto* context, const auto& ask, auto* reply) {
      return stub_->GetSeries(context, ask, reply);
    };
    // The page also asks for a number of points after the phase. web/src/file.ts cuts off what
    // follows the first `&`.
    return Fetch(request, call, Path(absl::StrCat("/", name, "?phase=", phase)), &series);
  }

  static std::string NameOf(const v1::RunSummary& run) {
    std::string name = absl::StrCat("lockstep-", run.job_name(), "-", run.run_id().substr(0, 8));
    // The name goes into a header and becomes a file's name. Quotes, line breaks and slashes must
    // not get there.
    for (char& c : name) {
      if (absl::ascii_isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
    }
    return name + ".html";
  }

  std::string Html(const v1::RunSummary& run) const {
    const std::string script = Content("file.js");
    const std::string style = Content("main.css");
    std::string data = absl::StrCat("{\"run\":", Quoted(run.run_id()), ",\"documents\":{");
    bool first = true;
    for (const auto& [path, json] : documents_) {
      absl::StrAppend(&data, first ? "" : ",", Quoted(path), ":", json);
      first = false;
    }
    data += "}}";
    // A `</script>` in a text, such as an event, would end the element. JSON reads \u003c as the
    // same character, and JSON's own syntax has no `<`.
    data = absl::StrReplaceAll(data, {{"<", "\\u003c"}});
    return absl::StrCat(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ",
        HashOf(script), "; style-src ", HashOf(style),
        "; img-src data:; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n<title>",
        common::EscapeHtml(run.job_name()), " – Lockstep</title>\n<style>", style,
        "</style>\n</head>\n<body>\n<header><a href=\"#/\" class=\"brand\">Lockstep</a>"
        "<nav id=\"nav\" aria-label=\"views\"></nav><span id=\"status\"></span>"
        "<span id=\"preferences\"></span></header>\n"
        "<main id=\"main\"><noscript>This report draws itself with its own script, which this "
        "browser does not run.</noscript></main>\n"
        "<script type=\"application/json\" id=\"data\">",
        data, "</script>\n<script>", script, "</script>\n</body>\n</html>\n");
  }

  v1::Controller::Stub* stub_;
  Calls* calls_;
  std::string run_id_;
  std::map<std::string, std::string> documents_;  // by path
};

}  // namespace

absl::StatusOr<ExportedPage> ExportPage(v1::Controller::Stub* stub, Calls* calls,
                                        const std::string& run_id) {
  return Exporter(stub, calls, run_id).Export();
}

}  // namespace lockstep::web
