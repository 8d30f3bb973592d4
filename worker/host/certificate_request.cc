#include "worker/host/certificate_request.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/certificate_request.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"

namespace lockstep::worker {
namespace {

// Not more of a line than may be in a challenge: whoever writes it decides how long it is.
absl::StatusOr<std::string> ReadChallenge(std::istream* in) {
  std::string line;
  char next = 0;
  while (in->get(next) && next != '\n') {
    line.push_back(next);
    if (line.size() > static_cast<size_t>(limits::kChallengeBytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the challenge has more than ", limits::kChallengeBytes, " bytes"));
    }
  }
  if (line.empty() || common::IsPlainLine(line)) return line;
  return absl::InvalidArgumentError("the challenge is no plain text");
}

}  // namespace

absl::Status RequestCertificate(const std::string& directory, std::istream* in, std::ostream* out) {
  const auto challenge = in == nullptr ? std::string() : ReadChallenge(in);
  if (!challenge.ok()) return challenge.status();
  if (absl::Status made = common::MakePrivateDirectory(directory); !made.ok()) return made;
  const std::string path = directory + "/key.pem";
  struct stat facts;
  // A key may have a certificate already, and be in use.
  if (lstat(path.c_str(), &facts) == 0 || errno != ENOENT) {
    return absl::AlreadyExistsError(absl::StrCat(path, ": exists; nothing was changed"));
  }
  const auto key = common::MakePrivateKey();
  if (!key.ok()) return key.status();
  const auto request = common::MakeCertificateRequest(*key, *challenge);
  if (!request.ok()) return request.status();
  if (absl::Status kept = common::WriteFileAtomically(path, *key); !kept.ok()) return kept;
  *out << *request << std::flush;
  return out->good() ? absl::OkStatus()
                     : absl::DataLossError("the certificate request could not be printed");
}

}  // namespace lockstep::worker
