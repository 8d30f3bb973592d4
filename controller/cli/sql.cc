// sql: psql on the store, with the reading role.

#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "controller/cli/commands.h"

namespace lockstep::cli {
namespace {

struct Flags {
  std::string command;
  bool csv = false;
};

// Only what says where a server is and who asks: whoever answers as a controller must not make psql
// read or write files here, or run anything.
constexpr const char* kKeywords[] = {"host",
                                     "hostaddr",
                                     "port",
                                     "dbname",
                                     "user",
                                     "sslmode",
                                     "options",
                                     "connect_timeout",
                                     "application_name"};

// The connection string, taken apart and written anew. INVALID_ARGUMENT when it is none, or says
// more than where to connect.
absl::StatusOr<std::string> SafeConninfo(const std::string& answer) {
  const auto refused = [&](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat("the controller's address of the store is not used: ", why, ": '",
                     common::Printable(answer, 200), "'"));
  };
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
      PQconninfoParse(answer.c_str(), &error), PQconninfoFree);
  if (parsed == nullptr) {
    PQfreemem(error);
    return refused("it is not a connection string");
  }
  std::string safe;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string value = option->val;
    if (std::find(std::begin(kKeywords), std::end(kKeywords), std::string(option->keyword)) ==
        std::end(kKeywords)) {
      return refused(absl::StrCat("it sets ", option->keyword));
    }
    // libpq would take a dbname with '=' or '://' for another connection string.
    const bool is_name = std::all_of(value.begin(), value.end(), [](unsigned char c) {
      return isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
    });
    if ((std::string(option->keyword) == "dbname" || std::string(option->keyword) == "user") &&
        (!is_name || value.empty())) {
      return refused(absl::StrCat("its ", option->keyword, " is not a plain name"));
    }
    if (!common::IsPlainText(value, false) || value.size() > 1000) {
      return refused("it is too long, or has control characters");
    }
    absl::StrAppend(&safe, safe.empty() ? "" : " ", option->keyword, "='",
                    absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
  }
  if (safe.find("dbname='") == std::string::npos) return refused("it names no database");
  return safe;
}

int Sql(const Context& context, const Flags& flags) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::StoreAddressReply reply;
  const grpc::Status status = (*stub)->GetStoreAddress(&call, {}, &reply);
  if (!status.ok()) return Fail(status);
  const auto conninfo = SafeConninfo(reply.conninfo());
  if (!conninfo.ok()) return Fail(conninfo.status());
  std::vector<std::string> words = {"psql", "--no-psqlrc", "-v", "ON_ERROR_STOP=1",
                                    "-d",   *conninfo};
  if (!flags.command.empty()) words.insert(words.end(), {"-P", "pager=off", "-c", flags.command});
  if (flags.csv) words.push_back("--csv");
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  execvp("psql", raw.data());
  return Fail("psql is not installed; run tools/install-deps, or use any client with: " +
              *conninfo);
}

}  // namespace

void AddSqlCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<Flags>();
  CLI::App* sql = app->add_subcommand("sql", "psql on the store, read-only");
  sql->add_option("-c,--command", flags->command, "Run this query and end");
  sql->add_flag("--csv", flags->csv, "Print CSV");
  sql->footer(
      "Examples:\n  lockstep sql -c 'SELECT phase_name, host, kind, iops FROM host_throughput "
      "WHERE run_id = last_run()'\n"
      "  lockstep sql -c 'SELECT phase_name, kind, p99_ms FROM phase_latency WHERE run_id = "
      "last_run()'\ndocs/sql.md documents the views and functions.");
  sql->callback([=] { *status = Sql(*context, *flags); });
}

}  // namespace lockstep::cli
