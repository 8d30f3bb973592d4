#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/host/mark_keys.h"

namespace lockstep::worker {

// Lines of text, and below them lines that prove which worker wrote them: what marks and stamps
// are made of. `text` ends with a line break, and no line of it begins with "signer ". Errors are
// those of MarkKeys::Sign().
absl::StatusOr<std::string> SignText(const std::string& text, const MarkKeys& keys);

// The lines above the proof, and what the proof is worth; kForged where there is none.
struct SignedText {
  std::string text;
  MarkKeys::Trust trust = MarkKeys::Trust::kForged;
};
SignedText ReadSigned(const std::string& all, const MarkKeys& keys);

// Takes the values of lines that begin with one of the names; of several with the same name the
// last.
void TakeLines(const std::string& text,
               const std::vector<std::pair<std::string, std::string*>>& values);

}  // namespace lockstep::worker
