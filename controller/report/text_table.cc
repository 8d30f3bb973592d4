#include "controller/report/text_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lockstep::controller {

namespace {

constexpr size_t kNarrowest = 8;

// Cuts a text to the width. A text that is cut loses its colours, because the code that ends them
// could be cut off.
std::string Cut(const std::string& text, size_t width) {
  if (DisplayWidth(text) <= width) return text;
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '\x1b' ? text.find('m', at) : std::string::npos;
    if (end == std::string::npos) {
      plain += text[at++];
    } else {
      at = end + 1;
    }
  }
  return common::Printable(plain, width);
}

}  // namespace

void TextTable::RemoveIfEmpty(size_t column) {
  for (size_t row = 1; row < rows_.size(); ++row) {
    if (column < rows_[row].size() && !rows_[row][column].empty()) return;
  }
  for (auto& row : rows_) {
    if (column < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
  for (std::vector<size_t>* columns : {&left_, &names_}) {
    std::erase(*columns, column);
    for (size_t& each : *columns) each -= each > column ? 1 : 0;
  }
}

std::string TextTable::Render(const std::string& indent, size_t width) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  const auto holds = [](const std::vector<size_t>& columns, size_t column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  const auto is_left = [&](size_t column) { return holds(left_, column); };
  const auto total = [&] {
    size_t sum = DisplayWidth(indent) + (widths.empty() ? 0 : 2 * (widths.size() - 1));
    for (size_t w : widths) sum += w;
    return sum;
  };
  // Names give way only when all other texts are at their smallest. In each step the widest column
  // loses one character, so that none is sacrificed for another.
  for (const bool names : {false, true}) {
    while (width != 0 && total() > width) {
      size_t widest = widths.size();
      for (size_t i = 0; i < widths.size(); ++i) {
        if (is_left(i) && (names || !holds(names_, i)) && widths[i] > kNarrowest &&
            (widest == widths.size() || widths[i] > widths[widest])) {
          widest = i;
        }
      }
      if (widest == widths.size()) break;
      --widths[widest];
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = Cut(row[i], widths[i]);
      const std::string blanks(widths[i] - DisplayWidth(cell), ' ');
      if (i > 0) line += "  ";
      line += is_left(i) ? cell + blanks : blanks + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string Sparkline(const std::vector<double>& values, size_t width, double scale_to) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string line;
  const size_t columns = std::min(width, values.size());
  for (size_t c = 0; c < columns; ++c) {
    const size_t begin = values.size() * c / columns;
    const size_t end = std::max(begin + 1, values.size() * (c + 1) / columns);
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += values[i];
    // Of a time in which some value is not known there is no mean, and no block for it.
    if (std::isnan(sum)) {
      line += ' ';
      continue;
    }
    // The scale begins at 0. If it began at the smallest value, noise would look like a collapse.
    const double share = scale_to > 0 ? sum / static_cast<double>(end - begin) / scale_to : 0;
    line += kBlocks[std::clamp(static_cast<int>(std::lround(share * 7)), 0, 7)];
  }
  return line;
}

}  // namespace lockstep::controller
