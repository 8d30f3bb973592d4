#include "controller/cli/store_address.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"

namespace lockstep::cli {
namespace {

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
    if (!common::IsPlainLine(value) || value.size() > 1000) {
      return refused("it is too long, or has control characters");
    }
    // Within quotes libpq takes a backslash and a quote as themselves only after a backslash.
    // Without this, a value could end its quotes and set another keyword.
    absl::StrAppend(&safe, safe.empty() ? "" : " ", option->keyword, "='",
                    absl::StrReplaceAll(value, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
  }
  if (safe.find("dbname='") == std::string::npos) return refused("it names no database");
  return safe;
}

// RFC 3986: all but unreserved characters.
std::string Encoded(const std::string& text) {
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, static_cast<char>(c)) : absl::StrFormat("%%%02X", c);
  }
  return out;
}

}  // namespace

std::string UrlOf(const std::string& conninfo) {
  std::map<std::string, std::string> values;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
      PQconninfoParse(conninfo.c_str(), nullptr), PQconninfoFree);
  for (const PQconninfoOption* option = parsed.get();
       option != nullptr && option->keyword != nullptr; ++option) {
    if (option->val != nullptr) values[option->keyword] = option->val;
  }
  const auto take = [&](const char* key) {
    const std::string value = values[key];
    values.erase(key);
    return value;
  };
  std::string authority;
  // A socket's directory has slashes, which end the host of a URL.
  if (const auto host = values.find("host");
      host != values.end() && host->second.find_first_of("/,:") == std::string::npos) {
    const std::string user = take("user");
    const std::string port = take("port");
    authority = absl::StrCat(Encoded(user), user.empty() ? "" : "@", Encoded(take("host")),
                             port.empty() ? "" : ":", port);
  }
  std::string url = absl::StrCat("postgresql://", authority, "/", Encoded(take("dbname")));
  const char* before = "?";
  for (const auto& [key, value] : values) {
    absl::StrAppend(&url, before, key, "=", Encoded(value));
    before = "&";
  }
  return url;
}

absl::StatusOr<std::string> GetStoreAddress(v1::Controller::Stub* stub) {
  grpc::ClientContext call;
  v1::StoreAddressReply reply;
  const grpc::Status status = stub->GetStoreAddress(&call, {}, &reply);
  if (!status.ok()) return ToAbsl(status);
  return SafeConninfo(reply.conninfo());
}

}  // namespace lockstep::cli
