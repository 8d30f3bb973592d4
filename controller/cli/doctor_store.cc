// The part of doctor that asks the store, with the reading role.

#include <libpq-fe.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/time_limit.h"
#include "common/units.h"
#include "common/version.h"
#include "controller/cli/doctor.h"
#include "controller/cli/store_address.h"

namespace lockstep::cli {
namespace {

constexpr uint64_t kLittleStoreBytes = uint64_t{5} << 30;
constexpr uint64_t kMinStoreBytes = uint64_t{256} << 20;

using StoreConnection = std::unique_ptr<PGconn, void (*)(PGconn*)>;
using StoreResult = std::unique_ptr<PGresult, void (*)(PGresult*)>;

// The first column of the rows, a line each; empty after an error.
std::string AskStore(PGconn* store, const char* sql) {
  const StoreResult result(PQexec(store, sql), PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return "";
  std::string text;
  for (int i = 0; i < PQntuples(result.get()); ++i) {
    absl::StrAppend(&text, i > 0 ? "\n" : "", PQgetvalue(result.get(), i, 0));
  }
  return text;
}

void CheckSchema(PGconn* store, doctor::Findings* findings) {
  const std::string found = AskStore(store, "SELECT max(version) FROM lockstep.schema_migrations");
  const std::string text = absl::StrCat("schema ", found.empty() ? "not known" : found,
                                        ", this program's is ", common::kSchemaVersion);
  if (found == absl::StrCat(common::kSchemaVersion)) {
    findings->Ok("schema", text);
    return;
  }
  findings->Warn("schema", text,
                 {"queries of the documents may not fit, and a controller of this version changes "
                  "an older schema when it starts",
                  "install the same version here and at the controller (lockstep --version "
                  "--json)"});
}

// The reading role must not be able to change results, whoever gave it more rights.
void CheckReader(PGconn* store, doctor::Findings* findings) {
  const std::string user = PQuser(store);
  const std::string writable = AskStore(
      store,
      "SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.rolname = current_user WHERE "
      "c.relnamespace = 'lockstep'::regnamespace AND c.relkind IN ('r', 'p') AND (r.rolsuper OR "
      "has_table_privilege(c.oid, 'INSERT') OR has_table_privilege(c.oid, 'UPDATE') OR "
      "has_table_privilege(c.oid, 'DELETE') OR has_table_privilege(c.oid, 'TRUNCATE'))");
  if (writable == "0") {
    findings->Ok("reader", absl::StrCat(user, " can only read"));
    return;
  }
  findings->Problem(
      "reader",
      writable.empty() ? absl::StrCat("the privileges of ", user, " cannot be read")
                       : absl::StrCat(user, " can change ", writable, " tables of results"),
      {"everybody who may read results can change them, too",
       "REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA lockstep FROM "
       "lockstep_reader (docs/reference/security.md)"});
}

void CheckSpace(PGconn* store, doctor::Findings* findings) {
  const double size = atof(AskStore(store, "SELECT pg_database_size(current_database())").c_str());
  const std::string holds = absl::StrCat("the database has ", common::FormatSize(size));
  const std::string host = PQhost(store) == nullptr ? "" : PQhost(store);
  struct statvfs space;
  // A socket's directory lies beside the cluster in a store of the controller's own. The reading
  // role may not ask the server where its data is.
  if (host.empty() || host[0] != '/' || statvfs(host.c_str(), &space) != 0) {
    findings->Ok("space", absl::StrCat(holds,
                                       "; its server is on another machine, and does not "
                                       "tell readers what is free"));
    return;
  }
  const uint64_t free = uint64_t{space.f_bavail} * space.f_frsize;
  const std::string found =
      absl::StrCat(holds, "; ", common::FormatSize(static_cast<double>(free)), " free at ", host);
  const doctor::Advice advice = {
      "a full store takes no samples: runs go into the spool, and no new phase starts",
      "lockstep prune --samples --older-than 90d, then VACUUM; or a larger file system"};
  if (free < kMinStoreBytes) {
    findings->Problem("space", found, advice);
  } else if (free < kLittleStoreBytes) {
    findings->Warn("space", found, advice);
  } else {
    findings->Ok("space", found);
  }
}

// libpq's messages have several lines, with tabs.
std::string OneLine(const std::string& text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar("\n\t"), absl::SkipEmpty()), " ");
}

// Connects with the reading role, and asks what there is to ask.
void AskConnected(const std::string& conninfo, doctor::Findings* findings, std::string* settings) {
  // The later of two values counts in a connection string.
  const StoreConnection store(PQconnectdb((conninfo + " connect_timeout=5").c_str()), PQfinish);
  if (PQstatus(store.get()) != CONNECTION_OK) {
    findings->Warn("connection",
                   absl::StrCat("the reading role cannot connect from here: ",
                                common::Printable(OneLine(PQerrorMessage(store.get())), 500)),
                   {"lockstep sql does not work here; runs and reports do, through the controller",
                    "write its password into ~/.pgpass, or allow this host in pg_hba.conf "
                    "(lockstep sql --url)"});
    return;
  }
  findings->Ok("connection",
               absl::StrCat("PostgreSQL ", AskStore(store.get(), "SHOW server_version")));
  // A query that waits for a lock must not keep the doctor.
  (void)AskStore(store.get(), "SET statement_timeout = '5s'");
  CheckSchema(store.get(), findings);
  CheckReader(store.get(), findings);
  CheckSpace(store.get(), findings);
  // Settings of this connection say nothing of the server.
  *settings = AskStore(store.get(),
                       "SELECT name || ' = ' || setting FROM pg_settings WHERE source NOT IN "
                       "('default', 'override', 'client', 'session') ORDER BY name");
}

}  // namespace

void CheckStore(v1::Controller::Stub* stub, v1::DoctorReport* report, std::string* settings) {
  doctor::Findings findings(report, "store");
  const auto conninfo = GetStoreAddress(stub);
  if (!conninfo.ok()) {
    findings.Warn("address", std::string(conninfo.status().message()),
                  {"lockstep sql and exports of tables do not work",
                   "read the controller's log about its store"});
    return;
  }
  // libpq reads files of the home directory (~/.pgpass, ~/.postgresql), which may lie on a file
  // server that is unavailable.
  struct Seen {
    v1::DoctorReport report;
    std::string settings;
  };
  const auto seen = std::make_shared<Seen>();
  const absl::Status status =
      common::WithinLimit("the store", limits::kDoctorStoreNs, [conninfo = *conninfo, seen] {
        doctor::Findings asked(&seen->report, "store");
        AskConnected(conninfo, &asked, &seen->settings);
        return absl::OkStatus();
      });
  if (status.ok()) {
    report->MergeFrom(seen->report);
    *settings = seen->settings;
    return;
  }
  findings.Warn("connection", std::string(status.message()),
                {"lockstep sql does not work here; runs and reports do, through the controller",
                 "findmnt -T ~; does the server that is named by lockstep sql --url answer?"});
}

}  // namespace lockstep::cli
