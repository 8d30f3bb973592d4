// sql: psql on the store, with the reading role.

#include <libpq-fe.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/cli/commands.h"
#include "controller/cli/store_address.h"

namespace lockstep::cli {
namespace {

struct SqlFlags {
  std::string command;
  bool csv = false;
  bool url = false;
};

// The reason why the reading role cannot connect. Psql would only say that authentication has
// failed, and there is nobody to ask for the password.
std::string AccessProblem(const std::string& conninfo) {
  if (isatty(0) != 0) return "";  // psql asks
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(conninfo.c_str()),
                                                              PQfinish);
  if (PQstatus(connection.get()) == CONNECTION_OK) return "";
  const bool wants = PQconnectionNeedsPassword(connection.get()) != 0;
  if (!wants && PQconnectionUsedPassword(connection.get()) == 0) return "";  // psql says it
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  return absl::StrCat(
      "the store ", wants ? "wants a password for " : "does not accept the password of ",
      text(PQuser(connection.get())),
      ". Write it into a file that only you read (chmod 600), "
      "~/.pgpass or what PGPASSFILE names, as the line ",
      text(PQhost(connection.get())), ":", text(PQport(connection.get())), ":",
      text(PQdb(connection.get())), ":", text(PQuser(connection.get())), ":PASSWORD");
}

int Sql(const Context& context, const SqlFlags& flags) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  const auto conninfo = GetStoreAddress(stub->get());
  if (!conninfo.ok()) return Fail(conninfo.status());
  if (flags.url) {
    std::cout << UrlOf(*conninfo) << "\n";
    return kOk;
  }
  if (const std::string words = AccessProblem(*conninfo); !words.empty()) return Fail(words);
  // A user's psqlrc could change the output that scripts read. Without ON_ERROR_STOP, psql goes on
  // after an error in its standard input, and ends with status 0.
  std::vector<std::string> words = {"psql", "--no-psqlrc", "-v", "ON_ERROR_STOP=1",
                                    "-d",   *conninfo};
  if (!flags.command.empty()) words.insert(words.end(), {"-P", "pager=off", "-c", flags.command});
  if (flags.csv) words.push_back("--csv");
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  // psql replaces this process, so that it has the terminal, its signals and the exit status.
  execvp("psql", raw.data());
  return Fail("psql is not installed; run tools/install-deps, or use any client with: " +
              *conninfo);
}

}  // namespace

void AddSqlCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<SqlFlags>();
  CLI::App* sql = app->add_subcommand("sql", "psql on the store, read-only");
  sql->add_option("-c,--command", flags->command, "Run this query and end");
  sql->add_flag("--csv", flags->csv, "Print CSV");
  sql->add_flag("--url", flags->url, "Print the store's URL for other clients, without a password");
  sql->footer(
      "Examples:\n  lockstep sql -c 'SELECT phase_name, host, kind, iops FROM host_throughput "
      "WHERE run_id = last_run()'\n"
      "  lockstep sql -c 'SELECT phase_name, kind, p99_ms FROM phase_latency WHERE run_id = "
      "last_run()'\ndocs/reference/sql.md documents the views and functions.");
  sql->callback([=] { *status = Sql(*context, *flags); });
}

}  // namespace lockstep::cli
