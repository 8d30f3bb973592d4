#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/certificate.h"
#include "common/files.h"
#include "controller/pki/authority.h"

namespace lockstep::pki {

// A certificate that was issued, as it is now.
struct Issued {
  Holder holder = Holder::kViewer;
  common::CertificateFacts facts;
  bool revoked = false;
  bool replaced = false;  // the same name has a newer one of the same key
  std::string pem;
};

// A directory with an authority and what it has issued:
//
//   ca.key ca.pem crl.pem        the authority, its certificate and what it has revoked
//   issued/SERIAL.pem            every certificate
//   NAME/cert.pem key.pem ca.pem what one holder gets; a controller's has crl.pem, too
//
// Only this user enters it. Files are made with O_EXCL, those with keys with mode 0600. One process
// at a time changes it: others wait. A directory has its name once all is in it; .new-… is what a
// process that was killed has left, and goes with the next certificate. Errors name the path.
class PkiDirectory {
 public:
  // Makes the directory with a new authority. ALREADY_EXISTS where something is there.
  static absl::Status Init(const std::string& given, const std::string& name, absl::Time now,
                           absl::Duration life);
  // NOT_FOUND where no authority is there; FAILED_PRECONDITION where others may read its key, or
  // replace the directory.
  static absl::StatusOr<PkiDirectory> Open(const std::string& path);

  // Signs and writes what the holder gets. With `csr_pem` it gets no key: the key stays where the
  // request was made. ALREADY_EXISTS where the name has something. Returns the directory's path.
  absl::StatusOr<std::string> Issue(const Request& request,
                                    const std::optional<std::string>& csr_pem);
  // Signs a worker's key that was made on another host, which has proved that it is the one asked
  // by `challenge`. Returns the certificate. Nothing is kept under the name, which may get a
  // certificate of this kind many times: Renew() does not know it. FAILED_PRECONDITION where the
  // name is that of a controller or a user.
  absl::StatusOr<std::string> IssueToHost(const Request& request, const std::string& csr_pem,
                                          const std::string& challenge);
  // Signs the certificate in the name's directory anew, with the same key, roles and addresses, and
  // for as long as before unless `life` is given. FAILED_PRECONDITION where it was revoked. Returns
  // the file's path.
  absl::StatusOr<std::string> Renew(const std::string& name, absl::Time now,
                                    std::optional<absl::Duration> life);
  // Revokes every certificate of the name that has not expired, or the one with the serial number
  // `serial`. How many are newly revoked; NOT_FOUND where there is none.
  absl::StatusOr<size_t> Revoke(const std::string& name, const std::string& serial, absl::Time now);
  // Revokes at once those certificates with these serial numbers that it has issued. Returns the
  // serial numbers that it has not: another authority's, perhaps one that was here before.
  absl::StatusOr<std::set<std::string>> RevokeSerials(const std::vector<std::string>& serials,
                                                      absl::Time now);

  // By name, the newest first.
  absl::StatusOr<std::vector<Issued>> List() const;
  const common::CertificateFacts& authority() const { return facts_; }
  const std::string& authority_pem() const { return authority_.certificate(); }

 private:
  PkiDirectory(std::string path, Authority authority, common::CertificateFacts facts,
               common::FileDescriptor lock)
      : path_(std::move(path)),
        authority_(std::move(authority)),
        facts_(std::move(facts)),
        lock_(std::move(lock)) {}
  absl::Status Record(const std::string& certificate_pem) const;
  // Adds those among `certificates` that do not count as revoked yet. How many these are. `all` is
  // List().
  absl::StatusOr<size_t> AddToRevocations(const std::vector<Issued>& all,
                                          const std::vector<const Issued*>& certificates,
                                          absl::Time now) const;

  std::string path_;
  Authority authority_;
  common::CertificateFacts facts_;
  common::FileDescriptor lock_;
};

}  // namespace lockstep::pki
