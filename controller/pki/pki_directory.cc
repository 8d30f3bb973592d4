#include "controller/pki/pki_directory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/certificate_request.h"
#include "common/limits.h"
#include "common/text.h"

namespace lockstep::pki {
namespace {

constexpr mode_t kSecret = 0600;
constexpr mode_t kPublic = 0644;
// No holder's name begins so (CheckName()).
constexpr char kUnnamed[] = ".new-";

absl::Status MakeDirectory(const std::string& path) {
  return mkdir(path.c_str(), 0700) == 0 ? absl::OkStatus() : common::ErrnoStatus(errno, path);
}

// A file that was not there. A file that could not be written as a whole is removed.
absl::Status Create(const std::string& path, const std::string& content, mode_t mode) {
  // The mode comes with the file: chmod(2) afterwards would leave a moment in which others can open
  // it. umask(2) can only take bits away.
  const common::FileDescriptor fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd.valid()) return common::ErrnoStatus(errno, path);
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t put = write(fd.get(), content.data() + written, content.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    written += static_cast<size_t>(put);
  }
  if (written == content.size() && fsync(fd.get()) == 0) return absl::OkStatus();
  const int error = errno;
  unlink(path.c_str());
  return common::ErrnoStatus(error, path);
}

// A program that reads at the same time gets the old or the new file, whole.
absl::Status Replace(const std::string& path, const std::string& content) {
  if (absl::Status status = common::WriteFileAtomically(path, content); !status.ok()) return status;
  return chmod(path.c_str(), kPublic) == 0 ? absl::OkStatus() : common::ErrnoStatus(errno, path);
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  return common::ReadRegularFile(path, static_cast<size_t>(limits::kCertificateBytes));
}

absl::StatusOr<std::string> ReadRevocations(const std::string& path) {
  return common::ReadRegularFile(path, static_cast<size_t>(limits::kRevocationBytes));
}

absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  struct stat facts;
  if (lstat(path.c_str(), &facts) != 0) return common::ErrnoStatus(errno, path);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": must be a file that belongs to you and that only you may read; chmod 600 it"));
  }
  return ReadPem(path);
}

// flock(2) ends with the descriptor, and so with the process.
absl::StatusOr<common::FileDescriptor> Lock(const std::string& path) {
  common::FileDescriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return common::ErrnoStatus(errno, path);
  while (flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return common::ErrnoStatus(errno, path);
  }
  return fd;
}

// Directories get their name when all is in them, so that one which was killed on the way has no
// half of one under the name. Beside its name, since rename(2) needs one file system.
absl::StatusOr<std::string> MakeUnnamed(const std::string& prefix) {
  std::string path = prefix + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return common::ErrnoStatus(errno, path);
  return path;
}

absl::Status GiveName(const std::string& made, const std::string& path) {
  struct stat facts;
  if (lstat(path.c_str(), &facts) == 0) return common::ErrnoStatus(EEXIST, path);
  // Replaces nothing but an empty directory, should one have come since.
  return rename(made.c_str(), path.c_str()) == 0 ? absl::OkStatus()
                                                 : common::ErrnoStatus(errno, path);
}

// Removes files that could not be finished, and that have no name yet.
void RemoveUnnamed(const std::string& directory) {
  for (const char* name : {"/key.pem", "/cert.pem", "/ca.pem", "/crl.pem", "/ca.key"}) {
    unlink((directory + name).c_str());
  }
  rmdir((directory + "/issued").c_str());
  rmdir(directory.c_str());
}

// Removes the files of a process that was killed: the holder of the lock is alone.
void RemoveAllUnnamed(const std::string& path) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kUnnamed)) RemoveUnnamed(entry.path().string());
  }
}

}  // namespace

absl::Status PkiDirectory::Init(const std::string& given, const std::string& name, absl::Time now,
                                absl::Duration life) {
  const std::string path = common::AbsolutePath(given);
  const auto key = common::MakePrivateKey();
  if (!key.ok()) return key.status();
  const auto certificate = MakeAuthority(*key, name, now, now + life);
  if (!certificate.ok()) return certificate.status();
  const auto authority = Authority::Open(*certificate, *key);
  if (!authority.ok()) return authority.status();
  const auto list = authority->Revoke("", {}, now);
  if (!list.ok()) return list.status();
  const auto directory = MakeUnnamed(path + ".");
  if (!directory.ok()) return directory.status();
  absl::Status status = MakeDirectory(*directory + "/issued");
  if (status.ok()) status = Create(*directory + "/crl.pem", *list, kPublic);
  if (status.ok()) status = Create(*directory + "/ca.pem", *certificate, kPublic);
  if (status.ok()) status = Create(*directory + "/ca.key", *key, kSecret);
  // The directory must be new. In one that is there somebody may have left links, or an authority
  // on which a fleet relies.
  if (status.ok()) status = GiveName(*directory, path);
  if (status.ok()) return status;
  RemoveUnnamed(*directory);
  return absl::IsAlreadyExists(status)
             ? absl::AlreadyExistsError(absl::StrCat(path, ": exists; nothing was changed"))
             : status;
}

absl::StatusOr<PkiDirectory> PkiDirectory::Open(const std::string& path) {
  if (absl::Status owner = common::CheckNobodyElses(path); !owner.ok()) return owner;
  struct stat facts;
  if (stat((path + "/ca.key").c_str(), &facts) != 0 && errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat(
        path,
        ": has no ca.key; make an authority with `lockstep pki init`, or name its directory "
        "with --dir"));
  }
  auto lock = Lock(path);
  if (!lock.ok()) return lock.status();
  auto key = ReadSecret(path + "/ca.key");
  if (!key.ok()) return key.status();
  auto certificate = ReadPem(path + "/ca.pem");
  if (!certificate.ok()) return certificate.status();
  auto about = common::ReadCertificate(*certificate);
  auto authority = Authority::Open(*certificate, *key);
  if (!about.ok() || !authority.ok()) {
    const absl::Status& status = about.ok() ? authority.status() : about.status();
    return absl::Status(status.code(), absl::StrCat(path, "/ca.pem: ", status.message()));
  }
  return PkiDirectory(path, *std::move(authority), *std::move(about), *std::move(lock));
}

absl::Status PkiDirectory::Record(const std::string& certificate_pem) const {
  const auto facts = common::ReadCertificate(certificate_pem);
  if (!facts.ok()) return facts.status();
  // Whole or not at all: List() could not go on after half of one, and nothing could be revoked.
  // The serial is unique and random, so no earlier record has this name.
  return Replace(absl::StrCat(path_, "/issued/", facts->serial, ".pem"), certificate_pem);
}

absl::StatusOr<std::string> PkiDirectory::Issue(const Request& request,
                                                const std::optional<std::string>& csr_pem) {
  // The name becomes a path: it is checked before anything else is done with it.
  if (absl::Status name = CheckName(request.name); !name.ok()) return name;
  absl::StatusOr<std::string> key = std::string();
  if (!csr_pem) key = common::MakePrivateKey();
  if (!key.ok()) return key.status();
  const auto certificate =
      csr_pem ? authority_.IssueForCsr(request, *csr_pem) : authority_.IssueForKey(request, *key);
  if (!certificate.ok()) return certificate.status();
  // The list is read before anything is made, so that a list that cannot be read leaves nothing.
  const auto list = ReadRevocations(path_ + "/crl.pem");
  if (!list.ok()) return list.status();
  const std::string named = absl::StrCat(path_, "/", request.name);
  struct stat facts;
  if (lstat(named.c_str(), &facts) == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat(named, ": exists; use `lockstep pki renew`, or another name"));
  }
  RemoveAllUnnamed(path_);
  const auto made = MakeUnnamed(absl::StrCat(path_, "/", kUnnamed));
  if (!made.ok()) return made.status();
  const std::string& directory = *made;
  absl::Status status = Create(directory + "/ca.pem", authority_.certificate(), kPublic);
  if (status.ok() && !csr_pem) status = Create(directory + "/key.pem", *key, kSecret);
  if (status.ok() && request.holder == Holder::kController) {
    status = Create(directory + "/crl.pem", *list, kPublic);
  }
  // A certificate that somebody could use without its being recorded could not be revoked.
  if (status.ok()) status = Record(*certificate);
  if (status.ok()) status = Create(directory + "/cert.pem", *certificate, kPublic);
  if (status.ok()) status = GiveName(directory, named);
  if (status.ok()) return named;
  RemoveUnnamed(directory);
  return status;
}

absl::StatusOr<std::string> PkiDirectory::IssueToHost(const Request& request,
                                                      const std::string& csr_pem,
                                                      const std::string& challenge) {
  if (absl::Status name = CheckName(request.name); !name.ok()) return name;
  // A caller is known by the name in its certificate: a host must not be taken for a person.
  const std::string named = absl::StrCat(path_, "/", request.name, "/cert.pem");
  if (const auto kept = ReadPem(named); kept.ok()) {
    const auto holder = RequestOf(*kept);
    if (request.holder != Holder::kWorker || !holder.ok() || holder->holder != Holder::kWorker) {
      return absl::FailedPreconditionError(absl::StrCat(
          named, ": ", request.name, " is the name of ",
          holder.ok() ? absl::StrCat("a ", HolderName(holder->holder)) : "something else",
          "; a worker cannot have the same name"));
    }
  } else if (!absl::IsNotFound(kept.status())) {
    return kept.status();
  }
  auto certificate = authority_.IssueForCsr(request, csr_pem, challenge);
  if (!certificate.ok()) return certificate.status();
  // A certificate that somebody could use without its being recorded could not be revoked.
  if (absl::Status recorded = Record(*certificate); !recorded.ok()) return recorded;
  return certificate;
}

absl::StatusOr<std::string> PkiDirectory::Renew(const std::string& name, absl::Time now,
                                                std::optional<absl::Duration> life) {
  if (absl::Status status = CheckName(name); !status.ok()) return status;
  const std::string file = absl::StrCat(path_, "/", name, "/cert.pem");
  // Not the newest of the name, which may be of another key, and on another host (IssueToHost()).
  const auto kept = ReadPem(file);
  if (absl::IsNotFound(kept.status())) {
    return absl::NotFoundError(
        absl::StrCat("no certificate was issued to ", name, " that is in ", path_, "/", name));
  }
  if (!kept.ok()) return kept.status();
  const auto facts = common::ReadCertificate(*kept);
  const auto list = List();
  if (!list.ok()) return list.status();
  const auto newest = std::find_if(list->begin(), list->end(), [&](const Issued& one) {
    return facts.ok() && one.facts.name == name && one.facts.key == facts->key;
  });
  if (newest == list->end()) {
    return absl::NotFoundError(absl::StrCat(file, ": was not issued to ", name));
  }
  // It was revoked because of its key, most often, and the new one would have the same.
  if (newest->revoked) {
    return absl::FailedPreconditionError(absl::StrCat("the certificate of ", name,
                                                      " was revoked; move ", path_, "/", name,
                                                      " away and issue a new one, with a new key"));
  }
  auto request = RequestOf(newest->pem);
  if (!request.ok()) return request.status();
  const absl::Duration before = request->not_after - request->not_before;
  request->not_before = now;
  request->not_after = now + life.value_or(before);
  const auto certificate = authority_.Renew(*request, newest->pem);
  if (!certificate.ok()) return certificate.status();
  if (absl::Status status = Record(*certificate); !status.ok()) return status;
  if (absl::Status status = Replace(file, *certificate); !status.ok()) return status;
  return file;
}

absl::StatusOr<size_t> PkiDirectory::Revoke(const std::string& name, const std::string& serial,
                                            absl::Time now) {
  const auto list = List();
  if (!list.ok()) return list.status();
  std::vector<const Issued*> meant;
  for (const Issued& one : *list) {
    const bool is_meant = serial.empty() ? one.facts.name == name && one.facts.not_after > now
                                         : one.facts.serial == absl::AsciiStrToUpper(serial) &&
                                               (name.empty() || one.facts.name == name);
    if (is_meant) meant.push_back(&one);
  }
  if (meant.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "no certificate ", serial.empty() ? "that still counts was issued to " : "has the serial ",
        common::Printable(serial.empty() ? name : serial, 80)));
  }
  return AddToRevocations(*list, meant, now);
}

absl::StatusOr<std::set<std::string>> PkiDirectory::RevokeSerials(
    const std::vector<std::string>& serials, absl::Time now) {
  const auto list = List();
  if (!list.ok()) return list.status();
  std::set<std::string> unknown(serials.begin(), serials.end());
  std::vector<const Issued*> meant;
  for (const Issued& one : *list) {
    if (unknown.erase(one.facts.serial) != 0) meant.push_back(&one);
  }
  const auto added = AddToRevocations(*list, meant, now);
  if (!added.ok()) return added.status();
  return unknown;
}

absl::StatusOr<size_t> PkiDirectory::AddToRevocations(
    const std::vector<Issued>& all, const std::vector<const Issued*>& certificates,
    absl::Time now) const {
  std::vector<std::string> revoked;
  for (const Issued* one : certificates) {
    if (!one->revoked) revoked.push_back(one->pem);
  }
  const std::string path = path_ + "/crl.pem";
  const auto before = ReadRevocations(path);
  if (!before.ok()) return before.status();
  const auto after = authority_.Revoke(*before, revoked, now);
  if (!after.ok()) return after.status();
  if (after->size() > static_cast<size_t>(limits::kRevocationBytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": would have more than ", limits::kRevocationBytes,
                     " bytes, which controllers refuse; begin anew with `lockstep pki init`"));
  }
  if (absl::Status status = Replace(path, *after); !status.ok()) return status;
  // Controllers that read their directory here have it at once.
  for (const Issued& one : all) {
    const std::string copy = absl::StrCat(path_, "/", one.facts.name, "/crl.pem");
    if (one.holder != Holder::kController || access(copy.c_str(), F_OK) != 0) continue;
    if (absl::Status status = Replace(copy, *after); !status.ok()) return status;
  }
  return revoked.size();
}

absl::StatusOr<std::vector<Issued>> PkiDirectory::List() const {
  const auto text = ReadRevocations(path_ + "/crl.pem");
  if (!text.ok()) return text.status();
  const auto revoked = common::RevocationList::Parse(*text, authority_.certificate());
  if (!revoked.ok()) return revoked.status();
  std::vector<Issued> list;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path_ + "/issued", error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".pem") continue;
    auto pem = ReadPem(entry->path().string());
    if (!pem.ok()) return pem.status();
    const auto facts = common::ReadCertificate(*pem);
    const auto request = RequestOf(*pem);
    if (!facts.ok() || !request.ok()) {
      return absl::DataLossError(absl::StrCat(
          entry->path().string(), ": is no certificate that `lockstep pki` has issued"));
    }
    list.push_back({request->holder, *facts, revoked->Contains(*facts), false, *std::move(pem)});
  }
  if (error) return common::ErrnoStatus(error.value(), path_ + "/issued");
  std::map<std::string, std::string> kept;  // what NAME/cert.pem has, by name
  for (const Issued& one : list) {
    if (kept.contains(one.facts.name)) continue;
    const auto pem = ReadPem(absl::StrCat(path_, "/", one.facts.name, "/cert.pem"));
    const auto facts = common::ReadCertificate(pem.ok() ? *pem : "");
    kept[one.facts.name] = facts.ok() ? facts->serial : "";
  }
  // Newest first within a name: Renew() takes the first one. Dates have whole seconds. Of two
  // certificates of one second, the holder keeps the newer one.
  const auto order = [&](const Issued& a) {
    return std::tuple(a.facts.serial != kept[a.facts.name], -absl::ToUnixSeconds(a.facts.not_after),
                      a.facts.serial);
  };
  std::sort(list.begin(), list.end(), [&](const Issued& a, const Issued& b) {
    return std::tie(a.facts.name, b.facts.not_before) <
               std::tie(b.facts.name, a.facts.not_before) ||
           (a.facts.name == b.facts.name && a.facts.not_before == b.facts.not_before &&
            order(a) < order(b));
  });
  // A host's worker may have several keys at a time, of which none takes another's place.
  std::set<std::pair<std::string, std::string>> seen;
  for (Issued& one : list) {
    one.replaced = !seen.emplace(one.facts.name, one.facts.key).second;
  }
  return list;
}

}  // namespace lockstep::pki
