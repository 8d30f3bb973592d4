// audit

#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "controller/cli/commands.h"
#include "controller/report/json.h"
#include "controller/report/text_table.h"
#include "proto/fields.h"

namespace lockstep::cli {
namespace {

struct AuditFlags {
  v1::AuditRequest request;
  uint32_t limit = 100;
  std::string format = "text";
};

int ShowAudit(const Context& context, AuditFlags flags) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  flags.request.set_limit(flags.limit);
  grpc::ClientContext call;
  v1::AuditReply reply;
  const grpc::Status status = (*stub)->GetAuditLog(&call, flags.request, &reply);
  if (!status.ok()) return Fail(status);
  if (flags.format == "json") {
    std::cout << controller::ToJson(reply);
    return kOk;
  }
  // The log holds texts of callers that were refused. A terminal must not obey control characters
  // in them.
  v1::CleanTexts(&reply);
  controller::TextTable table(
      {"when (UTC)", "who", "role", "from", "action", "about", "answer", "details"},
      {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 4});
  for (const v1::AuditEntry& entry : reply.entries()) {
    table.Add({entry.at(), entry.principal(), entry.role(), entry.peer(), entry.action(),
               entry.subject(), entry.answer(), entry.details()});
  }
  std::cout << table.Render("", context.Width());
  return kOk;
}

}  // namespace

void AddAuditCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<AuditFlags>();
  CLI::App* audit = app->add_subcommand(
      "audit",
      "Changes and refused calls, with their callers, newest first: kept for 400 days (admin)");
  audit->add_option("--limit", flags->limit, "The maximum number of entries")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  audit->add_option("--principal", *flags->request.mutable_principal(), "Only of this caller");
  audit->add_option(
      "--action", *flags->request.mutable_action(),
      "Only this action: submit, stop, label, note, prune, forget, import, enroll, release");
  audit->add_option("--format", flags->format, "How to print")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  audit->footer("Example:\n  lockstep audit --action stop");
  audit->callback([=] { *status = ShowAudit(*context, *flags); });
}

}  // namespace lockstep::cli
