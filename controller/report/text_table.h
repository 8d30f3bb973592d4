#pragma once

#include <string>
#include <vector>

#include "common/text.h"

namespace lockstep::controller {

// Columns of text, aligned: the first to the left, the others to the right unless said otherwise.
// Widths count what is seen: wide characters are two columns, a colour code none. Cells hold texts
// that are safe to show (common::Printable).
class TextTable {
 public:
  // `names`: columns by which people know what a line is of; they are cut after all others.
  explicit TextTable(std::vector<std::string> titles, std::vector<size_t> left = {0},
                     std::vector<size_t> names = {})
      : left_(std::move(left)), names_(std::move(names)) {
    rows_.push_back(std::move(titles));
  }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  // Takes a column out if no row has a text in it.
  void RemoveIfEmpty(size_t column);
  // Every line begins with `indent` and ends without blanks. No line is wider than `width` (0: as
  // wide as it needs) as long as the texts on the left can be cut, which then end in "…".
  std::string Render(const std::string& indent = "", size_t width = 0) const;

 private:
  std::vector<size_t> left_, names_;
  std::vector<std::vector<std::string>> rows_;
};

using common::DisplayWidth;

// One block character per value, `width` at most (neighbours are averaged), from 0 to the largest.
std::string Sparkline(const std::vector<double>& values, size_t width, double scale_to);

}  // namespace lockstep::controller
