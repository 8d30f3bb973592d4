#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::common {

// Text that came from somewhere else, made safe to show. All functions are pure.

// The text as a terminal, a log or a table can show it without being changed by it: control
// characters (escape codes, line breaks, tabs), direction overrides and bytes that are not UTF-8
// become \x1b and the like. A text of more than `max_columns` columns, or four times as many bytes,
// is cut, and ends in "…". Never fails.
std::string Printable(std::string_view text, size_t max_columns = 4000);
// The same, line by line: line breaks and tabs stay.
std::string PrintableLines(std::string_view text, size_t max_per_line = 4000);

// Columns of a terminal; colour codes (ESC [ … m) take none, wide characters two.
size_t DisplayWidth(std::string_view text);

bool IsUtf8(std::string_view text);
// Whether it is valid UTF-8 without NUL and other control characters.
bool IsPlainLine(std::string_view text);
// The same of several lines: line breaks, tabs and a byte order mark may stand in it.
bool IsPlainText(std::string_view text);
// Letters, digits, '.', '_' and '-', at most 253, beginning with a letter or digit: what a host may
// be called.
bool IsHostName(std::string_view text);

// How many bytes must be inserted, removed or replaced to make one text the other.
size_t EditDistance(std::string_view a, std::string_view b);

// The text with each character escaped that HTML or XML would take for markup.
std::string EscapeHtml(const std::string& text);

}  // namespace lockstep::common
