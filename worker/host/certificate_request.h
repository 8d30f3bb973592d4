#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace lockstep::worker {

// Makes a key in `directory` (key.pem, mode 0600, in a directory of mode 0700), and prints a
// request for its certificate, in PEM. The key goes nowhere else. The first line of `in`, which may
// be null, becomes the request's challenge. ALREADY_EXISTS where there is a key, INVALID_ARGUMENT
// for a challenge that is no plain text of at most limits::kChallengeBytes. DATA_LOSS if the
// request could not be printed: the key stays, and the next call gives ALREADY_EXISTS.
absl::Status RequestCertificate(const std::string& directory, std::istream* in, std::ostream* out);

}  // namespace lockstep::worker
