#include "worker/host/signed_text.h"

#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace lockstep::worker {
namespace {

// Bytes as hexadecimal digits; empty for anything else, or for more than a signature has.
std::string FromHex(const std::string& text) {
  const bool hex = text.size() % 2 == 0 && text.size() <= 2 * common::SigningKey::kSignatureBytes &&
                   text.find_first_not_of("0123456789abcdef") == std::string::npos;
  return hex ? absl::HexStringToBytes(text) : "";
}

}  // namespace

void TakeLines(const std::string& text,
               const std::vector<std::pair<std::string, std::string*>>& values) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (const auto& [name, value] : values) {
      // The last one of two lines with one name counts. The writer of a text must therefore keep
      // line breaks out of its values.
      if (line.rfind(name, 0) == 0) *value = line.substr(name.size());
    }
  }
}

absl::StatusOr<std::string> SignText(const std::string& text, const MarkKeys& keys) {
  const auto signature = keys.Sign(text);
  if (!signature.ok()) return signature.status();
  return absl::StrCat(text, "signer ", absl::BytesToHexString(signature->signer), "\nauthority ",
                      absl::BytesToHexString(signature->authority), "\nendorsement ",
                      absl::BytesToHexString(signature->endorsement), "\nsignature ",
                      absl::BytesToHexString(signature->signature), "\n");
}

SignedText ReadSigned(const std::string& all, const MarkKeys& keys) {
  // Only the lines above the proof are read: anybody can add lines below it.
  const size_t end = all.find("\nsigner ");
  if (end == std::string::npos) return {};
  SignedText read;
  read.text = all.substr(0, end + 1);
  MarkSignature signature;
  TakeLines(all.substr(end + 1), {{"signer ", &signature.signer},
                                  {"authority ", &signature.authority},
                                  {"endorsement ", &signature.endorsement},
                                  {"signature ", &signature.signature}});
  for (std::string* part :
       {&signature.signer, &signature.authority, &signature.endorsement, &signature.signature}) {
    *part = FromHex(*part);
  }
  read.trust = keys.Check(read.text, signature);
  return read;
}

}  // namespace lockstep::worker
