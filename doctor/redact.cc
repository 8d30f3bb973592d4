#include "doctor/redact.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace lockstep::doctor {
namespace {

constexpr size_t kMinSecret = 6;
// Texts come from logs and from others. Nothing looks further than this for what belongs together,
// so that no text takes the square of its length.
constexpr size_t kMaxLine = 1024;
constexpr size_t kMaxName = 128;
// The shortest part of a secret that is looked for elsewhere: shorter ones are words, too.
constexpr size_t kMinPart = 8;
// Any other character may be a password's.
constexpr char kWordEnds[] = " \t\r\n\"'";

struct TextRange {
  size_t begin = 0, end = 0;
};

bool IsKeyCharacter(char c) {
  return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// From an opening quote to its end; a backslash keeps the next character within, and so do two
// single quotes (YAML, SQL).
size_t EndOfQuoted(const std::string& text, size_t open) {
  for (size_t i = open + 1; i < text.size(); ++i) {
    const bool is_end = text[i] == text[open];
    const bool is_double =
        is_end && text[i] == '\'' && i > open + 1 && i + 1 < text.size() && text[i + 1] == '\'';
    if (text[i] == '\\' || is_double) {
      ++i;
    } else if (is_end) {
      return i;
    }
  }
  return text.size();
}

// From an opening bracket to the end of what is in it: a list or an object of JSON or YAML.
size_t EndOfBrackets(const std::string& text, size_t open) {
  size_t depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++depth;
    if ((text[i] == ']' || text[i] == '}') && --depth == 0) return i + 1;
    if (text[i] == '"' || text[i] == '\'') i = EndOfQuoted(text, i);
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

// The begin of the line that has `at`. A line of hostile length is not read again for each of its
// words.
size_t BeginOfLine(const std::string& text, size_t at) {
  const size_t first = at > kMaxLine ? at - kMaxLine : 0;
  while (at > first && text[at - 1] != '\n') --at;
  return at;
}

// The end of the value of `key: value`: in YAML a line has one value, but for {a: 1, b: 2}.
const char* EndsAfterColon(const std::string& text, size_t at) {
  const size_t line = BeginOfLine(text, at);
  return absl::StrContains(absl::string_view(text).substr(line, at - line), '{') ? "\r\n,}"
                                                                                 : "\r\n";
}

// The column of a key that is the first of its line (after "- " of a list), as in YAML; npos of
// others.
size_t ColumnOf(const std::string& text, size_t key) {
  const size_t line = BeginOfLine(text, key);
  for (size_t i = line; i < key; ++i) {
    if (!IsBlank(text[i]) && text[i] != '-' && text[i] != '"' && text[i] != '\'') {
      return std::string::npos;
    }
  }
  const bool is_quoted = key > line && (text[key - 1] == '"' || text[key - 1] == '\'');
  return key - line - (is_quoted ? 1 : 0);
}

// The end of the lines that belong to a value of YAML which began in the line of `at`: those that
// are deeper than its key, and the items of a list below the key where `is_list`.
size_t EndOfDeeperLines(const std::string& text, size_t at, size_t column, bool is_list) {
  size_t end = std::min(text.find('\n', at), text.size());
  while (end < text.size()) {
    const size_t next = std::min(text.find('\n', end + 1), text.size());
    const size_t word = std::min(text.find_first_not_of(" \t\r", end + 1), next);
    const size_t indent = word - end - 1;
    const bool is_item = is_list && indent == column && text.compare(word, 2, "- ") == 0;
    if (word != next && indent <= column && !is_item) break;
    end = next;
  }
  return end;
}

bool IsJsonLiteral(absl::string_view value) {
  value = value.substr(0, value.find_first_of(" \t\r\n,]}"));
  return value == "true" || value == "false" || value == "null" ||
         (!value.empty() && std::all_of(value.begin(), value.end(), [](unsigned char c) {
           return isdigit(c) != 0 || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
         }));
}

// The secret that the key at [begin, end) announces; an empty range where there is none.
TextRange ValueOfKey(const std::string& text, size_t begin, size_t end) {
  size_t at = end;
  while (at < text.size() && (text[at] == '"' || text[at] == '\'' || text[at] == '\\')) ++at;
  while (at < text.size() && IsBlank(text[at])) ++at;
  const bool is_flag = text.compare(begin, 2, "--") == 0;
  const bool has_sign = at < text.size() && (text[at] == '=' || text[at] == ':');
  if (!has_sign && !(is_flag && at > end)) return {};
  const bool colon = has_sign && text[at] == ':';
  const bool is_json = colon && end < text.size() && text[end] == '"';
  if (has_sign) ++at;
  while (at < text.size() && IsBlank(text[at])) ++at;
  if (!colon) return ValueAt(text, at, kWordEnds);
  // A number of JSON is a count of tokens, say, and no secret.
  if (is_json && IsJsonLiteral(absl::string_view(text).substr(at, kMaxLine))) return {};
  if (at < text.size() && (text[at] == '[' || text[at] == '{')) {
    return {at, EndOfBrackets(text, at)};
  }
  TextRange value = ValueAt(text, at, EndsAfterColon(text, end));
  const size_t column = ColumnOf(text, begin);
  const bool is_quoted = at < text.size() && value.begin != at;
  if (column == std::string::npos || is_quoted) return value;
  const bool is_empty = at >= text.size() || text[at] == '\n' || text[at] == '\r';
  value.end = std::max(value.end, EndOfDeeperLines(text, at, column, is_empty));
  return value;
}

// The word after a key that ends at `at`: password of `name: "password"`.
std::string WordAfter(const std::string& text, size_t at) {
  const std::string near = text.substr(at, kMaxName);
  size_t begin = near.find_first_not_of("\"'\\ \t");
  if (begin == std::string::npos || (near[begin] != ':' && near[begin] != '=')) return "";
  begin = near.find_first_not_of("\"'\\ \t", begin + 1);
  if (begin == std::string::npos) return "";
  size_t end = begin;
  while (end < near.size() && IsKeyCharacter(near[end])) ++end;
  return near.substr(begin, end - begin);
}

// Values after a key that names a secret: password=x, "password": "x", password: x, --password x;
// and those of {name: password, value: x}.
void FindKeyed(const std::string& text, std::vector<TextRange>* found) {
  size_t named_until = 0;  // as far as a "value" is that of a name which names a secret
  for (size_t i = 0; i < text.size();) {
    if (!IsKeyCharacter(text[i])) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && IsKeyCharacter(text[i])) ++i;
    const std::string key = text.substr(begin, i - begin);
    if (absl::EqualsIgnoreCase(key, "name") || absl::EqualsIgnoreCase(key, "key")) {
      if (NamesSecret(WordAfter(text, i))) named_until = i + kMaxName;
      continue;
    }
    const bool is_named = begin < named_until && absl::EqualsIgnoreCase(key, "value");
    if (!is_named && !NamesSecret(key)) continue;
    const TextRange value = ValueOfKey(text, begin, i);
    if (value.end <= value.begin) continue;
    found->push_back(value);
    i = value.end;
  }
}

// scheme://user:password@host
void FindUrlPasswords(const std::string& text, std::vector<TextRange>* found) {
  for (size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const size_t begin = at + 3;
    absl::string_view url = absl::string_view(text).substr(begin, kMaxLine);
    url = url.substr(0, url.find_first_of(" \t\r\n\"'<>"));
    // A password may hold a slash that nobody has escaped: the last @ before the text's end counts.
    const size_t host = url.rfind('@');
    if (host == absl::string_view::npos) continue;
    // iscsi://user%password@portal
    const size_t colon = url.find_first_of(":%");
    // https://token@host: what takes a token there wants no user.
    const bool is_web = at >= 4 && absl::EndsWithIgnoreCase(text.substr(at - 4, 4), "http");
    const bool is_secure = at >= 5 && absl::EndsWithIgnoreCase(text.substr(at - 5, 5), "https");
    if (colon < host) {
      found->push_back({begin + colon + 1, begin + host});
    } else if ((is_web || is_secure) && url.find('/') > host) {
      found->push_back({begin, begin + host});
    }
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

// The word that begins at or after `at`, in the same line.
TextRange NextWord(const std::string& text, size_t at) {
  while (at < text.size() && IsBlank(text[at])) ++at;
  return ValueAt(text, at, kWordEnds);
}

// Whether a word stands at `at`, and not within another.
bool IsWordAt(const std::string& text, size_t at, const std::string& word) {
  return text.compare(at, word.size(), word) == 0 &&
         (at == 0 || IsBlank(text[at - 1]) || text[at - 1] == '\n') &&
         at + word.size() < text.size() && IsBlank(text[at + word.size()]);
}

// sshpass -p x, curl -u user:x, and "login user password x" of .netrc
void FindCommandWords(const std::string& text, std::vector<TextRange>* found) {
  for (size_t at = text.find("sshpass "); at != std::string::npos;
       at = text.find("sshpass ", at + 1)) {
    const TextRange flag = NextWord(text, at + 8);
    if (text.compare(flag.begin, 2, "-p") != 0) continue;
    found->push_back(flag.end == flag.begin + 2 ? NextWord(text, flag.end)
                                                : TextRange{flag.begin + 2, flag.end});
  }
  for (const std::string option : {"-u", "--user"}) {
    for (size_t at = text.find(option); at != std::string::npos; at = text.find(option, at + 1)) {
      if (!IsWordAt(text, at, option)) continue;
      const TextRange user = NextWord(text, at + option.size());
      const size_t colon =
          absl::string_view(text).substr(user.begin, user.end - user.begin).find(':');
      if (colon != absl::string_view::npos) {
        found->push_back({user.begin + colon + 1, user.end});
      }
    }
  }
  for (size_t at = text.find("login "); at != std::string::npos; at = text.find("login ", at + 1)) {
    const size_t after = text.find_first_not_of(" \t\n", NextWord(text, at + 6).end);
    if (after == std::string::npos || !IsWordAt(text, after, "password")) continue;
    found->push_back(NextWord(text, after + 8));
  }
}

// A token that is signed (JSON Web Token): three parts in base64url, of which the first is an
// object of JSON, and so begins with {".
void FindSignedTokens(const std::string& text, std::vector<TextRange>* found) {
  for (size_t at = text.find("eyJ"); at != std::string::npos;) {
    size_t end = at;
    while (end < text.size() && IsKeyCharacter(text[end])) ++end;
    const auto word = absl::string_view(text).substr(at, end - at);
    if (std::count(word.begin(), word.end(), '.') >= 2) found->push_back({at, end});
    at = text.find("eyJ", end);
  }
}

std::vector<TextRange> FindSecrets(const std::string& text) {
  std::vector<TextRange> found;
  FindPem(text, &found);
  FindUrlPasswords(text, &found);
  FindKeyed(text, &found);
  FindHeaders(text, &found);
  FindCommandWords(text, &found);
  FindSignedTokens(text, &found);
  std::erase_if(found, [](const TextRange& range) { return range.end <= range.begin; });
  std::sort(found.begin(), found.end(),
            [](const TextRange& a, const TextRange& b) { return a.begin < b.begin; });
  return found;
}

// The longest of the texts with which `text` begins; 0 where it begins with none. In the set's
// order, a text comes before those that it is a prefix of.
size_t LongestPrefix(const std::set<std::string, std::less<>>& texts, absl::string_view text) {
  while (!text.empty()) {
    auto next = texts.upper_bound(text);
    if (next == texts.begin()) return 0;
    const std::string& before = *--next;
    const size_t most = std::min(before.size(), text.size());
    size_t same = 0;
    while (same < most && before[same] == text[same]) ++same;
    if (same == before.size()) return same;
    text = text.substr(0, same);
  }
  return 0;
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
        "apikey", "private_key", "access_key", "encryption_key", "signing_key", "authorization",
        "cookie", "mark_key"}) {
    if (absl::StrContains(lower, part)) return true;
  }
  // SSHPASS, db_pass
  const bool is_pass = absl::EndsWith(lower, "pass") && !absl::EndsWith(lower, "bypass") &&
                       !absl::EndsWith(lower, "compass");
  return is_pass || lower == "auth";
}

void Redactor::AddSecret(const std::string& secret) {
  // A number is a size or a time elsewhere. Taking it out everywhere would make figures unreadable.
  if (secret.size() < kMinSecret || IsPlainNumber(secret)) return;
  // JSON writes some characters in another way, and a secret may have been found in either.
  const std::vector<std::pair<const absl::string_view, absl::string_view>> escapes = {
      {"\\", "\\\\"}, {"\"", "\\\""}, {"<", "\\u003c"}, {">", "\\u003e"}};
  std::vector<std::pair<absl::string_view, absl::string_view>> back;
  for (const auto& [plain, escaped] : escapes) back.emplace_back(escaped, plain);
  std::string decoded;
  for (size_t i = 0; i < secret.size(); ++i) {
    const std::string digits = secret[i] == '%' ? secret.substr(i + 1, 2) : "";
    const bool is_code = digits.size() == 2 &&
                         isxdigit(static_cast<unsigned char>(digits[0])) != 0 &&
                         isxdigit(static_cast<unsigned char>(digits[1])) != 0;
    decoded += is_code ? static_cast<char>(std::stoi(digits, nullptr, 16)) : secret[i];
    if (is_code) i += 2;
  }
  for (const std::string& text : {secret, decoded}) {
    for (const std::string& form :
         {text, absl::StrReplaceAll(text, escapes), absl::StrReplaceAll(text, back)}) {
      if (form.size() < kMinSecret) continue;
      secrets_.insert(form);
      begins_.insert(form.substr(0, kMinSecret));
    }
  }
}

void Redactor::AddSecretFile(const std::string& content) {
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    const std::string plain(absl::StripAsciiWhitespace(line));
    if (plain.empty() || absl::StartsWith(plain, "-----")) continue;
    AddSecret(plain);
    std::istringstream words(plain);
    for (std::string word; words >> word;) {
      // A target's name is no secret. A user's may be one: the two look alike.
      if (!absl::StartsWith(word, "iqn.")) AddSecret(word);
    }
  }
}

void Redactor::Learn(const std::string& text) {
  for (const TextRange& range : FindSecrets(text)) {
    const std::string secret(
        absl::StripAsciiWhitespace(text.substr(range.begin, range.end - range.begin)));
    // A PEM block, a list or a block of YAML is taken out as a whole; its lines may stand alone
    // elsewhere.
    if (absl::StartsWith(secret, "-----") || absl::StrContains(secret, '\n')) {
      AddSecretFile(secret);
      continue;
    }
    AddSecret(secret);
    // ?password=x&sslmode=require, and what stands in brackets.
    for (const absl::string_view part :
         absl::StrSplit(secret, absl::ByAnyChar("&;,[]{}\"' "), absl::SkipEmpty())) {
      if (part.size() < secret.size() && part.size() >= kMinPart) AddSecret(std::string(part));
    }
  }
}

std::string Redactor::Redact(const std::string& text) const {
  std::vector<TextRange> ranges = FindSecrets(text);
  // Every place of every known secret: where two overlap, neither's rest may stay.
  for (size_t i = 0; !secrets_.empty() && i + kMinSecret <= text.size(); ++i) {
    const absl::string_view rest = absl::string_view(text).substr(i);
    if (!begins_.contains(rest.substr(0, kMinSecret))) continue;
    const size_t longest = LongestPrefix(secrets_, rest);
    if (longest > 0) ranges.push_back({i, i + longest});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const TextRange& a, const TextRange& b) { return a.begin < b.begin; });
  std::string out;
  size_t at = 0;
  bool is_first = true;
  for (const TextRange& range : ranges) {
    if (range.end <= at && !is_first) continue;
    // One that goes on from another's end or middle is part of the same gap.
    if (is_first || range.begin >= at) {
      out.append(text, at, range.begin - at);
      out += kRedacted;
    }
    is_first = false;
    at = range.end;
  }
  out.append(text, at);
  return out;
}

}  // namespace lockstep::doctor
