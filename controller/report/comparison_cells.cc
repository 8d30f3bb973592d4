#include "controller/report/comparison_cells.h"

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "measure/report_states.h"

namespace lockstep::controller {

using measure::Unit;

std::string ValueText(const std::string& unit, double value) {
  // Only Jain's index has no unit (figure_table.cc). It is close to 1, so its last digits matter.
  if (unit.empty()) return absl::StrFormat("%.4f", value);
  // A newer controller's report may have a unit that this program does not know.
  switch (measure::Parse<measure::Unit>(unit).value_or(Unit::kPerSecond)) {
    case Unit::kNanoseconds:
      return common::FormatDuration(value);
    case Unit::kRatio:
      return absl::StrFormat("%.3g %%", 100 * value);
    case Unit::kBytesPerSecond:
      return common::FormatRate(value);
    case Unit::kBytes:
      return common::FormatSize(std::round(value));
    case Unit::kRequests:
      return absl::StrFormat("%.2f", value);
    case Unit::kPerIo:
    case Unit::kBytesPerByte:
      return common::FormatPerIo(value);
    case Unit::kPerSecond:
      break;
  }
  return common::FormatCount(value);
}

std::string SignedShare(double share) {
  const std::string text = absl::StrFormat("%+.1f", 100 * share);
  return text == "+0.0" || text == "-0.0" ? "0.0" : text;
}

uint64_t PairsOf(const v1::ComparedFigure& figure, int set) {
  return uint64_t{figure.values(0).runs()} * figure.values(set).runs();
}

std::string ChangeTitle(const ComparedFigures& figures, int set) {
  std::set<uint64_t> pairs;
  for (const v1::ComparedFigure& figure : figures) {
    if (figure.values(set).has_change()) pairs.insert(PairsOf(figure, set));
  }
  if (pairs.empty() || *pairs.rbegin() <= 1) return "change";
  return pairs.size() > 1 ? "change of pairs [95 %]"
                          : absl::StrCat("change of ", *pairs.begin(), " pairs [95 %]");
}

std::string ChangeCell(const v1::ComparedValue& value) {
  if (!value.has_change()) return "-";
  const std::string change = absl::StrCat(SignedShare(value.change()), " %");
  return value.has_interval() ? absl::StrCat(change, " [", SignedShare(value.change_low()), " ",
                                             SignedShare(value.change_high()), "]")
                              : change;
}

const std::string& TitleOf(const v1::ComparedSet& set) {
  return set.title().empty() ? set.name() : set.title();
}

}  // namespace lockstep::controller
