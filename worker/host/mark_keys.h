#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/signing.h"

namespace lockstep::worker {

// Proves that a worker of this fleet wrote a mark. The signer is the worker's own key; the
// authority, the store's key, has endorsed the signer.
struct MarkSignature {
  std::string signer;       // public key of the worker
  std::string authority;    // public key of the store that endorsed it
  std::string endorsement;  // the authority's signature of the signer
  std::string signature;    // the signer's, of the mark's text
};

// Signs this worker's marks, and says whose marks count here: those of workers that the store
// behind the present controller had endorsed when they signed, this one's own among them. A stolen
// worker key forges that worker's marks, and no other's. Thread-safe.
class MarkKeys {
 public:
  // Loads a worker's keys. The worker's own key is kept in `state_directory`/mark-key (mode 0600),
  // made when missing. INVALID_ARGUMENT where the file is not one.
  static absl::StatusOr<std::shared_ptr<MarkKeys>> Load(const std::string& state_directory);
  // A key and an authority of its own, for as long as it lives.
  static std::shared_ptr<MarkKeys> Temporary();

  const std::string& public_key() const { return key_.public_key(); }
  // From Welcome: the store's key, and its signature of this worker's. Kept in the state directory.
  // INVALID_ARGUMENT when the endorsement is not for this worker.
  absl::Status SetEndorsement(const std::string& authority, const std::string& endorsement);
  // FAILED_PRECONDITION while no store has endorsed this worker.
  absl::StatusOr<MarkSignature> Sign(const std::string& text) const;

  enum class Trust {
    kTrusted,
    kForged,        // the signature is not the signer's
    kUnknownStore,  // signed for another store
  };
  Trust Check(const std::string& text, const MarkSignature& signature) const;

 private:
  MarkKeys(common::SigningKey key, std::string path);
  absl::Status Save() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const common::SigningKey key_;
  const std::string path_;  // empty: not kept
  mutable common::Mutex mutex_;
  std::string authority_ ABSL_GUARDED_BY(mutex_);
  std::string endorsement_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep::worker
