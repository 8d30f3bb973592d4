#include "controller/cli/store_address.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
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

}  // namespace

absl::StatusOr<std::string> GetStoreAddress(v1::Controller::Stub* stub) {
  grpc::ClientContext call;
  v1::StoreAddressReply reply;
  const grpc::Status status = stub->GetStoreAddress(&call, {}, &reply);
  if (!status.ok()) return ToAbsl(status);
  return SafeConninfo(reply.conninfo());
}

}  // namespace lockstep::cli
