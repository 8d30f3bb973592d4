#include "controller/report/text_table.h"

#include <algorithm>
#include <cmath>

namespace lockstep::controller {

size_t DisplayWidth(const std::string& text) {
  size_t width = 0;
  bool escape = false;
  for (unsigned char c : text) {
    if (c == 0x1b) escape = true;
    if (!escape && (c & 0xc0) != 0x80) ++width;
    if (escape && c == 'm') escape = false;
  }
  return width;
}

std::string TextTable::Render(const std::string& indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - DisplayWidth(row[i]), ' ');
      const bool left = std::find(left_.begin(), left_.end(), i) != left_.end();
      if (i > 0) line += "  ";
      line += left ? row[i] + blanks : blanks + row[i];
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
    const double share = scale_to > 0 ? sum / static_cast<double>(end - begin) / scale_to : 0;
    line += kBlocks[std::clamp(static_cast<int>(std::lround(share * 7)), 0, 7)];
  }
  return line;
}

}  // namespace lockstep::controller
