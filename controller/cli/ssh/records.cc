#include "controller/cli/ssh/records.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"

namespace lockstep::cli {
namespace {

// Lines of a key and a value. No value has a line break: all are checked before the first ssh.
std::string ToText(const FleetRecord& record) {
  std::string text;
  const auto add = [&](const char* key, const std::string& value) {
    absl::StrAppend(&text, key, " ", value, "\n");
  };
  add("token", record.token);
  add("destination", record.destination);
  add("name", record.name);
  add("config", record.config);
  add("directory", record.directory);
  add("control", record.control);
  add("controller", record.controller);
  add("began", absl::StrCat(record.began_s));
  add("pki", record.pki);
  add("serial", record.serial);
  add("valid-to", absl::StrCat(record.valid_to_s));
  add("tls-cert", record.tls_certificate);
  add("tls-key", record.tls_key);
  add("tls-ca", record.tls_authority);
  for (const FleetRecord::Certificate& other : record.other_certificates) {
    add("other-certificate", absl::StrCat(other.serial, " ", other.valid_to_s));
  }
  for (const std::string& path : record.allow) add("allow", path);
  return text;
}

FleetRecord FromText(const std::string& text) {
  FleetRecord record;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    // Keys of a newer version are ignored, so that an older one can still end its fleets.
    const std::string key = line.substr(0, space);
    const std::string value = line.substr(space + 1);
    if (key == "token") record.token = value;
    if (key == "destination") record.destination = value;
    if (key == "name") record.name = value;
    if (key == "config") record.config = value;
    if (key == "directory") record.directory = value;
    if (key == "control") record.control = value;
    if (key == "controller") record.controller = value;
    if (key == "began" && !absl::SimpleAtoi(value, &record.began_s)) record.began_s = 0;
    if (key == "pki") record.pki = value;
    if (key == "serial") record.serial = value;
    if (key == "valid-to" && !absl::SimpleAtoi(value, &record.valid_to_s)) record.valid_to_s = 0;
    if (key == "tls-cert") record.tls_certificate = value;
    if (key == "tls-key") record.tls_key = value;
    if (key == "tls-ca") record.tls_authority = value;
    if (key == "other-certificate") {
      const std::pair<std::string, std::string> parts = absl::StrSplit(value, ' ');
      FleetRecord::Certificate other{parts.first};
      // One whose end cannot be read is revoked later, whenever it ends.
      if (!absl::SimpleAtoi(parts.second, &other.valid_to_s)) other.valid_to_s = INT64_MAX;
      record.other_certificates.push_back(std::move(other));
    }
    if (key == "allow") record.allow.push_back(value);
  }
  return record;
}

}  // namespace

// TOKEN.PID.new, which WriteFileAtomically() has begun in a process that was killed.
void FleetRecords::RemoveUnfinished() const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
    const std::vector<std::string> parts = absl::StrSplit(entry.path().filename().string(), '.');
    int pid = 0;
    if (parts.size() != 3 || parts[2] != "new" || !absl::SimpleAtoi(parts[1], &pid)) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) unlink(entry.path().c_str());
  }
}

absl::Status FleetRecords::Add(const FleetRecord& record) const {
  if (absl::Status made = common::MakePrivateDirectory(directory_); !made.ok()) return made;
  // From the look at the others to the own record, no second command may look. The lock ends with
  // the descriptor, and so with a process that is killed.
  const common::FileDescriptor lock(open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid()) return common::ErrnoStatus(errno, directory_);
  while (flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return common::ErrnoStatus(errno, directory_);
  }
  RemoveUnfinished();
  const auto others = Load();
  if (!others.ok()) return others.status();
  for (const FleetRecord& other : *others) {
    if (other.name != record.name || other.token == record.token) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("another command has begun there since; lockstep fleet list shows it, and "
                     "lockstep fleet down ",
                     record.name, " ends it"));
  }
  return Save(record);
}

absl::Status FleetRecords::Save(const FleetRecord& record) const {
  if (absl::Status made = common::MakePrivateDirectory(directory_); !made.ok()) return made;
  return common::WriteFileAtomically(absl::StrCat(directory_, "/", record.token), ToText(record));
}

absl::Status FleetRecords::Remove(const FleetRecord& record) const {
  const std::string path = absl::StrCat(directory_, "/", record.token);
  // Two commands may take the same host down at once.
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return common::ErrnoStatus(errno, path);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FleetRecord>> FleetRecords::Load() const {
  // A record says what ssh is to run, so that nobody else may have written it.
  if (absl::Status own = common::CheckNobodyElses(directory_); !own.ok()) return own;
  std::vector<FleetRecord> records;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory_, failed)) {
    const auto text = common::ReadRegularFile(entry.path().string());
    // Another command may have removed the record since.
    if (!text.ok()) continue;
    FleetRecord record = FromText(*text);
    // WriteFileAtomically() may have left the beginning of a file under another name.
    if (record.token != entry.path().filename().string()) continue;
    records.push_back(std::move(record));
  }
  std::sort(records.begin(), records.end(), [](const FleetRecord& a, const FleetRecord& b) {
    return a.began_s != b.began_s ? a.began_s < b.began_s : a.name < b.name;
  });
  return records;
}

}  // namespace lockstep::cli
