#pragma once

#include <functional>
#include <set>
#include <string>

#include "absl/container/flat_hash_set.h"

namespace lockstep::doctor {

// Takes secrets out of texts, by their form: PEM blocks, passwords in URLs, values of keys that
// name a secret (password, token, …) in JSON, YAML (blocks and lists, too), connection strings and
// command lines, and credentials of HTTP headers. A secret that was seen in one text is taken out
// of every text, in whatever form it stands there. Forms that it does not know stay: whoever sends
// a bundle looks through it. Pure; not thread-safe.
class Redactor {
 public:
  // A secret that is known otherwise: a line of a key file, the value of a variable. Texts of fewer
  // than six characters are ignored, since they stand in many words.
  void AddSecret(const std::string& secret);
  // Every line of a file of secrets, and each of its words.
  void AddSecretFile(const std::string& content);
  // Finds the secrets of a text, for all texts. Call it with each before the first Redact().
  void Learn(const std::string& text);
  // The text without secrets: each is replaced by kRedacted.
  std::string Redact(const std::string& text) const;

  static constexpr char kRedacted[] = "[redacted]";

 private:
  std::set<std::string, std::less<>> secrets_;
  absl::flat_hash_set<std::string> begins_;  // the first characters of each
};

// Whether a key, a label or a variable names a secret: password, db_passwd, API-Token, …. Pure.
bool NamesSecret(const std::string& key);

}  // namespace lockstep::doctor
