#pragma once

#include <string>
#include <string_view>

namespace lockstep::common {

// The text that a store's key signs to endorse a worker's key. A prefix keeps the signature from
// meaning anything else.
inline std::string MarkEndorsementText(std::string_view worker_public_key) {
  return "lockstep mark signer 1\n" + std::string(worker_public_key);
}

}  // namespace lockstep::common
