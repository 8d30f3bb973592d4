#include "storage/active_lock.h"

#include "absl/strings/str_cat.h"

namespace lockstep::storage {
namespace {

constexpr char kKey[] = "hashtextextended('lockstep active controller', 0)";
// A server that hangs does not keep a controller from ending.
const Patience kPatience{absl::Seconds(5)};

}  // namespace

absl::Status ActiveLock::Connect() {
  if (connection_ != nullptr && connection_->healthy()) {
    connection_->BePatient(kPatience);
    return absl::OkStatus();
  }
  held_ = false;
  auto opened = PgConnection::Open(conninfo_, kPatience);
  if (!opened.ok()) return opened.status();
  connection_ = *std::move(opened);
  return absl::OkStatus();
}

absl::StatusOr<bool> ActiveLock::Hold() {
  if (absl::Status status = Connect(); !status.ok()) return status;
  auto answer = connection_->Query(held_ ? "SELECT true" : absl::StrCat("SELECT pg_try_advisory_lock(", kKey, ")"));
  if (!answer.ok()) {
    held_ = false;
    connection_.reset();
    return answer.status();
  }
  held_ = answer->Bool(0, 0);
  return held_;
}

std::string ActiveLock::Holder() {
  if (!Connect().ok()) return "";
  const auto rows = connection_->Query("SELECT holder || ' (epoch ' || epoch || ')' FROM controller_epoch");
  return rows.ok() && rows->rows() == 1 ? rows->Text(0, 0) : "";
}

}  // namespace lockstep::storage
