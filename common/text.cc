#include "common/text.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace lockstep::common {
namespace {

constexpr uint32_t kInvalid = 0xffffffff;
// The longest name that DNS can carry: 255 bytes with the lengths of its parts (RFC 1035).
constexpr size_t kHostNameLimit = 253;

// The character that begins at `at`, and how many bytes it has; kInvalid, of 1 byte, where there is
// none.
uint32_t Decode(std::string_view text, size_t at, size_t* bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  *bytes = 1;
  const uint8_t first = byte(at);
  if (first < 0x80) return first;
  // 0xc0 and 0xc1 could only begin a longer form of an ASCII character, which no text may have.
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || at + length > text.size()) return kInvalid;
  uint32_t code = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return kInvalid;
    code = code << 6 | (byte(at + i) & 0x3f);
  }
  // Longer forms than needed would hide a control character from checks of single bytes (RFC 3629).
  constexpr uint32_t kMinCode[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kMinCode[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    return kInvalid;
  }
  *bytes = length;
  return code;
}

// Characters that do something to a terminal instead of being shown, or to the order of those
// around them.
bool IsControl(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
         (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe0fff);
}

// East Asian wide and fullwidth characters and emoji take two columns, combining marks none.
// wcwidth(3) depends on the locale, and these programs may run in any.
size_t WidthOf(uint32_t code) {
  if ((code >= 0x300 && code <= 0x36f) || (code >= 0x1ab0 && code <= 0x1aff) ||
      (code >= 0x20d0 && code <= 0x20ff) || (code >= 0xfe00 && code <= 0xfe0f)) {
    return 0;
  }
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0xffe0 && code <= 0xffe6) || (code >= 0x1f300 && code <= 0x1faff) ||
                    (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

// Whether all characters are valid, and none is a control character but those that are `allowed`.
template <typename Allowed>
bool HasNoControl(std::string_view text, Allowed allowed) {
  for (size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    const uint32_t code = Decode(text, at, &bytes);
    if (code == kInvalid || (IsControl(code) && !allowed(code))) return false;
  }
  return true;
}

std::string Escaped(std::string_view text, size_t at, size_t bytes) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) {
    out += absl::StrFormat("\\x%02x", static_cast<uint8_t>(text[at + i]));
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text, size_t max_columns) {
  // Nearly all texts are short ones of plain ASCII, in which a byte is a column. Long job files
  // have thousands of them.
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (text.size() <= max_columns && std::all_of(text.begin(), text.end(), is_plain)) {
    return std::string(text);
  }
  constexpr size_t kMaxBytesAColumn = 4;
  std::string out;
  size_t width = 0;
  size_t fits = 0;  // bytes of `out` before which an ellipsis still has room
  for (size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    const uint32_t code = Decode(text, at, &bytes);
    const bool shown = code != kInvalid && !IsControl(code);
    const std::string piece =
        shown ? std::string(text.substr(at, bytes)) : Escaped(text, at, bytes);
    width += shown ? WidthOf(code) : piece.size();
    // Combining marks take no column: without a limit of bytes a text of them would have no end.
    if (width > max_columns || out.size() + piece.size() > kMaxBytesAColumn * max_columns) {
      return out.substr(0, fits) + "…";
    }
    out += piece;
    if (width < max_columns) fits = out.size();
  }
  return out;
}

std::string PrintableLines(std::string_view text, size_t max_per_line) {
  std::string out;
  while (true) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    // Printable() would escape a tab, so it only gets the text between two of them.
    for (size_t tab = line.find('\t'); tab != std::string_view::npos; tab = line.find('\t')) {
      out += Printable(line.substr(0, tab), max_per_line) + "\t";
      line.remove_prefix(tab + 1);
    }
    out += Printable(line, max_per_line);
    if (end == std::string_view::npos) return out;
    out += "\n";
    text.remove_prefix(end + 1);
  }
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    const uint32_t code = Decode(text, at, &bytes);
    if (code == 0x1b) {
      // The escapes that set colours end with an m, and take no column.
      const size_t end = text.find('m', at);
      bytes = end == std::string_view::npos ? text.size() - at : end + 1 - at;
    } else {
      width += code == kInvalid ? 1 : IsControl(code) ? 0 : WidthOf(code);
    }
  }
  return width;
}

bool IsUtf8(std::string_view text) {
  for (size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    if (Decode(text, at, &bytes) == kInvalid) return false;
  }
  return true;
}

bool IsPlainLine(std::string_view text) {
  return HasNoControl(text, [](uint32_t) { return false; });
}

bool IsPlainText(std::string_view text) {
  return HasNoControl(text, [](uint32_t code) {
    // Files that were written on Windows have CR LF, and may begin with a byte order mark.
    return code == '\n' || code == '\t' || code == '\r' || code == 0xfeff;
  });
}

bool IsHostName(std::string_view text) {
  // A name that begins with `-` could be taken for an option, and `..` for a directory.
  if (text.empty() || text.size() > kHostNameLimit ||
      !absl::ascii_isalnum(static_cast<uint8_t>(text[0]))) {
    return false;
  }
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<uint8_t>(c)) || c == '.' || c == '_' || c == '-';
  });
}

std::string EscapeHtml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      // The text may also stand in an attribute, which either kind of quote would end.
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    // One row of the matrix is enough: a cell needs its left, upper and upper left neighbours only.
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace lockstep::common
