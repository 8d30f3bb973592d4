#include "doctor/redact.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace lockstep::doctor {
namespace {

constexpr size_t kMinSecret = 6;
// Any other character may be a password's.
constexpr char kWordEnds[] = " \t\r\n\"'";

struct TextRange {
  size_t begin = 0, end = 0;
};

bool IsKeyCharacter(char c) {
  return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// From an opening quote to its end; a backslash keeps the next character within.
size_t EndOfQuoted(const std::string& text, size_t open) {
  for (size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[open]) {
      return i;
    }
  }
  return text.size();
}

// The value that begins at `at`: a quoted text without its quotes, or up to one of `ends`.
TextRange ValueAt(const std::string& text, size_t at, const char* ends) {
  if (at >= text.size()) return {at, at};
  // JSON within a string of JSON has its quotes escaped.
  if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] == '"') {
    const size_t end = text.find("\\\"", at + 2);
    return {at + 2, end == std::string::npos ? text.size() : end};
  }
  if (text[at] == '"' || text[at] == '\'') return {at + 1, EndOfQuoted(text, at)};
  const size_t end = text.find_first_of(ends, at);
  return {at, end == std::string::npos ? text.size() : end};
}

// Where the value of `key: value` ends: in YAML a line has one value, but for {a: 1, b: 2}.
const char* EndsAfterColon(const std::string& text, size_t at) {
  const size_t line = text.rfind('\n', at);
  const size_t brace = text.rfind('{', at);
  const bool in_braces = brace != std::string::npos && (line == std::string::npos || brace > line);
  return in_braces ? "\r\n,}" : "\r\n";
}

// Values after a key that names a secret: password=x, "password": "x", password: x, --password x.
void FindKeyed(const std::string& text, std::vector<TextRange>* found) {
  for (size_t i = 0; i < text.size();) {
    if (!IsKeyCharacter(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsKeyCharacter(text[end])) ++end;
    const std::string key = text.substr(i, end - i);
    i = end;
    if (!NamesSecret(key)) continue;
    size_t at = end;
    while (at < text.size() && (text[at] == '"' || text[at] == '\'' || text[at] == '\\')) ++at;
    while (at < text.size() && IsBlank(text[at])) ++at;
    const bool is_flag = key.rfind("--", 0) == 0;
    const bool has_sign = at < text.size() && (text[at] == '=' || text[at] == ':');
    if (!has_sign && !(is_flag && at > end)) continue;
    const bool colon = has_sign && text[at] == ':';
    const bool is_json = colon && end < text.size() && text[end] == '"';
    if (has_sign) ++at;
    while (at < text.size() && IsBlank(text[at])) ++at;
    // A number of JSON is a count of tokens, say, and no secret.
    if (is_json && at < text.size() && text[at] != '"') continue;
    const TextRange value = ValueAt(text, at, colon ? EndsAfterColon(text, end) : kWordEnds);
    if (value.end <= value.begin) continue;
    found->push_back(value);
    i = value.end;
  }
}

// scheme://user:password@host
void FindUrlPasswords(const std::string& text, std::vector<TextRange>* found) {
  for (size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const size_t begin = at + 3;
    size_t end = text.find_first_of(" \t\r\n\"'<>", begin);
    if (end == std::string::npos) end = text.size();
    // A password may hold a slash that nobody has escaped: the last @ before the text's end counts.
    const size_t host = text.rfind('@', end);
    if (host == std::string::npos || host < begin || host >= end) continue;
    // iscsi://user%password@portal
    const size_t colon = text.find_first_of(":%", begin);
    if (colon == std::string::npos || colon >= host) continue;
    found->push_back({colon + 1, host});
  }
}

// The whole of each block: what is a certificate and what is a key is not told apart.
void FindPem(const std::string& text, std::vector<TextRange>* found) {
  constexpr char kBegin[] = "-----BEGIN ";
  constexpr char kEnd[] = "-----END ";
  for (size_t at = text.find(kBegin); at != std::string::npos;) {
    const size_t end = text.find(kEnd, at);
    // A log may be cut within a block.
    const size_t dashes = end == std::string::npos ? end : text.find("-----", end + 9);
    const size_t after = dashes == std::string::npos ? text.size() : dashes + 5;
    found->push_back({at, after});
    at = text.find(kBegin, after);
  }
}

// "Bearer x", "Basic x"
void FindHeaders(const std::string& text, std::vector<TextRange>* found) {
  const std::string lower = absl::AsciiStrToLower(text);
  for (const std::string word : {"bearer ", "basic "}) {
    for (size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
      const TextRange value = ValueAt(text, at + word.size(), kWordEnds);
      // Sentences have these words, too. Credentials are long, and have digits or capitals.
      const std::string credential = text.substr(value.begin, value.end - value.begin);
      const bool is_one =
          credential.size() >= 12 && std::any_of(credential.begin(), credential.end(), [](char c) {
            return isdigit(static_cast<unsigned char>(c)) != 0 ||
                   isupper(static_cast<unsigned char>(c)) != 0;
          });
      if (is_one) found->push_back(value);
    }
  }
}

std::vector<TextRange> FindSecrets(const std::string& text) {
  std::vector<TextRange> found;
  FindPem(text, &found);
  FindUrlPasswords(text, &found);
  FindKeyed(text, &found);
  FindHeaders(text, &found);
  std::sort(found.begin(), found.end(),
            [](const TextRange& a, const TextRange& b) { return a.begin < b.begin; });
  return found;
}

bool IsPlainNumber(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return isdigit(c) != 0 || c == '.' || c == '-' || c == ':';
  });
}

}  // namespace

bool NamesSecret(const std::string& key) {
  const std::string lower = absl::StrReplaceAll(absl::AsciiStrToLower(key), {{"-", "_"}});
  for (const char* const part :
       {"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "api_key",
        "apikey", "private_key", "access_key", "authorization", "cookie", "mark_key"}) {
    if (absl::StrContains(lower, part)) return true;
  }
  return absl::EndsWith(lower, "_pass") || lower == "pass" || lower == "auth";
}

void Redactor::AddSecret(const std::string& secret) {
  // A number is a size or a time elsewhere. Taking it out everywhere would make figures unreadable.
  if (secret.size() < kMinSecret || IsPlainNumber(secret)) return;
  // JSON writes some characters in another way, and a secret may have been found in either.
  const std::vector<std::pair<const absl::string_view, absl::string_view>> escapes = {
      {"\\", "\\\\"}, {"\"", "\\\""}, {"<", "\\u003c"}, {">", "\\u003e"}};
  std::vector<std::pair<absl::string_view, absl::string_view>> back;
  for (const auto& [plain, escaped] : escapes) back.emplace_back(escaped, plain);
  secrets_.insert(secret);
  secrets_.insert(absl::StrReplaceAll(secret, escapes));
  secrets_.insert(absl::StrReplaceAll(secret, back));
}

void Redactor::AddSecretFile(const std::string& content) {
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    const std::string plain(absl::StripAsciiWhitespace(line));
    if (plain.empty() || absl::StartsWith(plain, "-----")) continue;
    AddSecret(plain);
    std::istringstream words(plain);
    for (std::string word; words >> word;) {
      // A target's name and a user are no secrets. A short word could be either.
      if (word.size() >= 8 && !absl::StartsWith(word, "iqn.")) AddSecret(word);
    }
  }
}

void Redactor::Learn(const std::string& text) {
  for (const TextRange& range : FindSecrets(text)) {
    const std::string secret(
        absl::StripAsciiWhitespace(text.substr(range.begin, range.end - range.begin)));
    // A PEM block is taken out as a whole; its lines may stand alone elsewhere.
    if (absl::StartsWith(secret, "-----")) {
      AddSecretFile(secret);
    } else {
      AddSecret(secret);
    }
  }
}

std::string Redactor::Redact(const std::string& text) const {
  std::string out;
  size_t at = 0;
  for (const TextRange& range : FindSecrets(text)) {
    if (range.end <= at) continue;
    out.append(text, at, std::max(range.begin, at) - at);
    out += kRedacted;
    at = range.end;
  }
  out.append(text, at);
  // The longest first: one secret may be the beginning of another.
  std::vector<std::string> known(secrets_.begin(), secrets_.end());
  std::sort(known.begin(), known.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  for (const std::string& secret : known) {
    out = absl::StrReplaceAll(out, {{secret, kRedacted}});
  }
  return out;
}

}  // namespace lockstep::doctor
