#pragma once

#include <string>
#include <vector>

namespace lockstep::controller {

// Columns of text, aligned: the first to the left, the others to the right unless said otherwise. Widths count what is
// seen: a UTF-8 character is one column, an escape sequence none.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> titles, std::vector<size_t> left = {0}) : left_(std::move(left)) { rows_.push_back(std::move(titles)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  // Every line begins with `indent` and ends without blanks.
  std::string Render(const std::string& indent = "") const;

 private:
  std::vector<size_t> left_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that a text takes on a terminal.
size_t DisplayWidth(const std::string& text);

// One block character per value, `width` at most (neighbours are averaged), from 0 to the largest.
std::string Sparkline(const std::vector<double>& values, size_t width, double scale_to);

}  // namespace lockstep::controller
