#include "worker/host/mark_keys.h"

#include <sstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/mark_endorsement.h"

namespace lockstep::worker {

using common::SigningKey;

MarkKeys::MarkKeys(SigningKey key, std::string path)
    : key_(std::move(key)), path_(std::move(path)) {}

absl::StatusOr<std::shared_ptr<MarkKeys>> MarkKeys::Load(const std::string& state_directory) {
  const std::string path = state_directory + "/mark-key";
  const auto kept = common::ReadRegularFile(path);
  if (absl::IsNotFound(kept.status())) {
    std::shared_ptr<MarkKeys> made(new MarkKeys(SigningKey::Make(), path));
    common::MutexLock lock(&made->mutex_);
    if (absl::Status status = made->Save(); !status.ok()) return status;
    return made;
  }
  // A key that cannot be read is not replaced: all earlier files of this worker would count as
  // foreign.
  if (!kept.ok()) return kept.status();
  // Lines of hexadecimal digits: the secret, and once a store has endorsed the worker, the store's
  // public key and the endorsement.
  std::string lines[3];
  std::istringstream text(*kept);
  for (std::string& line : lines) std::getline(text, line);
  for (std::string& line : lines) {
    const bool hex = line.find_first_not_of("0123456789abcdef") == std::string::npos;
    line = hex && line.size() % 2 == 0 ? absl::HexStringToBytes(line) : "";
  }
  auto key = SigningKey::FromSecret(lines[0]);
  if (!key.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": not a key (", std::string(key.status().message()),
        "); with a new one (remove the file) this worker's earlier files count as foreign"));
  }
  std::shared_ptr<MarkKeys> loaded(new MarkKeys(*std::move(key), path));
  common::MutexLock lock(&loaded->mutex_);
  // An endorsement that does not fit is dropped without a word: the next Welcome brings one.
  if (common::IsSignedBy(lines[1], common::MarkEndorsementText(loaded->public_key()), lines[2])) {
    loaded->authority_ = lines[1];
    loaded->endorsement_ = lines[2];
  }
  return loaded;
}

std::shared_ptr<MarkKeys> MarkKeys::Temporary() {
  const SigningKey authority = SigningKey::Make();
  std::shared_ptr<MarkKeys> keys(new MarkKeys(SigningKey::Make(), ""));
  (void)keys->SetEndorsement(authority.public_key(),
                             authority.Sign(common::MarkEndorsementText(keys->public_key())));
  return keys;
}

absl::Status MarkKeys::Save() const {
  if (path_.empty()) return absl::OkStatus();
  return common::WriteFileAtomically(
      path_,
      absl::StrCat(absl::BytesToHexString(key_.secret()), "\n", absl::BytesToHexString(authority_),
                   "\n", absl::BytesToHexString(endorsement_), "\n"));
}

absl::Status MarkKeys::SetEndorsement(const std::string& authority,
                                      const std::string& endorsement) {
  if (!common::IsSignedBy(authority, common::MarkEndorsementText(public_key()), endorsement)) {
    return absl::InvalidArgumentError("the controller's endorsement is not of this worker's key");
  }
  common::MutexLock lock(&mutex_);
  // Each Welcome brings the endorsement again. The file is written only when it differs.
  if (authority_ == authority && endorsement_ == endorsement) return absl::OkStatus();
  authority_ = authority;
  endorsement_ = endorsement;
  return Save();
}

absl::StatusOr<MarkSignature> MarkKeys::Sign(const std::string& text) const {
  MarkSignature signature;
  {
    common::MutexLock lock(&mutex_);
    if (endorsement_.empty()) {
      return absl::FailedPreconditionError(
          "this worker has never attached to a controller, so no store knows its marks");
    }
    signature.authority = authority_;
    signature.endorsement = endorsement_;
  }
  signature.signer = public_key();
  signature.signature = key_.Sign(text);
  return signature;
}

MarkKeys::Trust MarkKeys::Check(const std::string& text, const MarkSignature& signature) const {
  if (!common::IsSignedBy(signature.signer, text, signature.signature)) return Trust::kForged;
  // Its own marks as well count only for the store that had endorsed it when it made them: that
  // store's admins and jobs consented to what it wrote then, and this one's did not.
  {
    common::MutexLock lock(&mutex_);
    if (authority_.empty() || signature.authority != authority_) return Trust::kUnknownStore;
  }
  return common::IsSignedBy(signature.authority, common::MarkEndorsementText(signature.signer),
                            signature.endorsement)
             ? Trust::kTrusted
             : Trust::kForged;
}

}  // namespace lockstep::worker
