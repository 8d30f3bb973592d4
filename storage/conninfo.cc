#include "storage/conninfo.h"

#include <libpq-fe.h>

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "storage/pg.h"

namespace lockstep::storage {

bool HasPassword(const std::string& conninfo) {
  // libpq takes a URI and `key=value` alike. A search for the word `password` would miss
  // postgresql://user:secret@host.
  PQconninfoOption* options = PQconninfoParse(conninfo.c_str(), nullptr);
  if (options == nullptr) return false;
  bool has = false;
  for (PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    has = has || (std::string(option->keyword) == "password" && option->val != nullptr);
  }
  PQconninfoFree(options);
  return has;
}

absl::StatusOr<std::string> DeriveReaderConninfo(const std::string& conninfo) {
  char* error = nullptr;
  PQconninfoOption* options = PQconninfoParse(conninfo.c_str(), &error);
  if (options == nullptr) {
    const std::string words = error == nullptr ? "not a connection string" : error;
    PQfreemem(error);
    return absl::InvalidArgumentError(absl::StrCat("--store: ", words));
  }
  std::string reader = "user=lockstep_reader";
  for (PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    // Only the server's location is taken over, nothing that is the controller's own.
    static const std::set<std::string> kLocation = {"host", "hostaddr", "port", "dbname",
                                                    "sslmode"};
    if (option->val == nullptr || !kLocation.contains(option->keyword)) continue;
    // In a quoted value of libpq a backslash stands before a quote and before itself.
    absl::StrAppend(&reader, " ", option->keyword, "='",
                    absl::StrReplaceAll(option->val, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
  }
  absl::StrAppend(&reader, " ", kReaderOptions);
  PQconninfoFree(options);
  return reader;
}

std::string AddressText(const std::string& conninfo) {
  PQconninfoOption* options = PQconninfoParse(conninfo.c_str(), nullptr);
  if (options == nullptr) return "postgresql://?";
  std::map<std::string, std::string> values;
  for (PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) values[option->keyword] = option->val;
  }
  PQconninfoFree(options);
  // The text is logged and shown, so it has no password. As libpq does it, a database without a
  // name has the user's.
  const std::string database = values["dbname"].empty() ? values["user"] : values["dbname"];
  const std::string host = values["host"].empty() ? values["hostaddr"] : values["host"];
  const std::string port = values["port"].empty() ? "" : ":" + values["port"];
  // A host that begins with a slash is the directory of a Unix socket (libpq, `host`).
  if (host.empty() || host[0] == '/') {
    return absl::StrCat("postgresql:///", database,
                        host.empty() ? "" : absl::StrCat(" (socket in ", host, ")"));
  }
  // An IPv6 address has colons of its own (RFC 3986, 3.2.2).
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return absl::StrCat("postgresql://", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port, "/",
                      database);
}

}  // namespace lockstep::storage
