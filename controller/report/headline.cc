#include "controller/report/headline.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/report_writer.h"
#include "measure/report_states.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using measure::HeadlineKind;
using measure::SweepFigure;

// The size of I/Os, bytes, from which people ask for the throughput.
constexpr double kLargeBytes = 128 * 1024;

struct P99 {
  double ns = 0;  // 0: too few I/Os for one
  bool is_uncertain = false;
};

void SetFigures(double iops, double bytes_per_second, const P99& p99, v1::Headline* headline) {
  headline->set_iops(iops);
  headline->set_bytes_per_second(bytes_per_second);
  if (!(p99.ns > 0)) return;
  headline->set_p99_ns(p99.ns);
  if (p99.is_uncertain) headline->set_is_p99_uncertain(true);
}

std::string P99Part(const v1::Headline& headline) {
  return headline.has_p99_ns() ? absl::StrCat(", ", P99Text(headline)) : "";
}

P99 P99Of(const v1::OperationReport& operation) {
  for (const v1::Percentile& p : operation.percentiles()) {
    if (p.percent() == 99 && p.has_latency_ns()) return {p.latency_ns(), p.is_uncertain()};
  }
  return {};
}

// "queue_depth=16 block_size=4KiB".
std::string PointText(const v1::SweepReport& sweep, const v1::SweepPointReport& point) {
  std::vector<std::string> values;
  for (int a = 0; a < sweep.axes_size() && a < point.indices_size(); ++a) {
    const auto index = static_cast<int>(point.indices(a));
    if (index >= sweep.axes(a).values_size()) continue;
    // A field's path would fill the line: workloads.0.queue_depth.
    const std::string& field = sweep.axes(a).field();
    const size_t dot = field.rfind('.');
    values.push_back(absl::StrCat(dot == std::string::npos ? field : field.substr(dot + 1), "=",
                                  sweep.axes(a).values(index)));
  }
  return absl::StrJoin(values, " ");
}

// The sweep's figure at the point that leads.
std::string FigureText(const v1::SweepReport& sweep, const v1::Headline& headline) {
  const v1::SweepConclusion& conclusion = sweep.conclusion();
  if (Is(conclusion, SweepFigure::kThroughput))
    return common::FormatRate(headline.bytes_per_second());
  if (Is(conclusion, SweepFigure::kP99) && headline.has_p99_ns()) {
    return absl::StrCat(P99Text(headline), " at ", common::FormatCount(headline.iops()), " IOPS");
  }
  return absl::StrCat(common::FormatCount(headline.iops()), " IOPS", P99Part(headline));
}

// The point that is not worse than any. Like the sweep's sentence, it is called the best only of
// the points that it was compared with, and not while another point may be as good.
std::string BestText(const v1::SweepReport& sweep, const std::string& at,
                     const std::string& figure) {
  int alike = 0;
  int compared = 1;
  for (const v1::SweepPointReport& point : sweep.points()) {
    const v1::Standing standing = point.comparison().standing();
    alike += standing == v1::STANDING_NOT_DISTINGUISHABLE;
    compared += standing == v1::STANDING_NOT_DISTINGUISHABLE || standing == v1::STANDING_WORSE;
  }
  const bool is_whole = compared == sweep.points_size();
  const std::string points =
      absl::StrCat(is_whole ? Plural(compared, "point") : Plural(compared, "compared point"),
                   is_whole ? "" : absl::StrCat(" (of ", sweep.points_size(), ")"));
  if (alike == 0) return absl::StrCat("best of ", points, ": ", at, " with ", figure);
  return absl::StrCat(at, " leads ", points, " with ", figure, "; ",
                      Plural(static_cast<double>(alike), "other"), alike == 1 ? " is" : " are",
                      " not distinguishable from it");
}

std::optional<v1::Headline> OfSweep(const v1::SweepReport& sweep) {
  const v1::SweepConclusion& conclusion = sweep.conclusion();
  // A report may come from an archive that somebody else made: its indices are not trusted.
  if (!conclusion.has_leading() ||
      conclusion.leading() >= static_cast<uint32_t>(sweep.points_size())) {
    return std::nullopt;
  }
  const v1::SweepPointReport& point = sweep.points(static_cast<int>(conclusion.leading()));
  v1::Headline headline;
  headline.set_kind(Text(HeadlineKind::kSweep));
  headline.set_phase(sweep.phase());
  headline.set_at(PointText(sweep, point));
  SetFigures(point.iops(), point.bytes_per_second(), {point.p99_ns(), point.is_p99_uncertain()},
             &headline);
  const std::string figure = FigureText(sweep, headline);
  switch (point.comparison().standing()) {
    case v1::STANDING_BEST:
      headline.set_text(BestText(sweep, headline.at(), figure));
      break;
    case v1::STANDING_ALONE:
      headline.set_text(absl::StrCat(headline.at(), headline.at().empty() ? "" : ": ", figure));
      break;
    default:
      headline.set_text(absl::StrCat(headline.at(), " leads ", Plural(sweep.points_size(), "point"),
                                     " with ", figure,
                                     point.comparison().standing() == v1::STANDING_TOO_FEW_ROUNDS
                                         ? "; too few rounds to call it best"
                                         : "; none of them can be called best"));
  }
  return headline;
}

std::optional<v1::Headline> OfCurve(const v1::CurveReport& curve, const v1::Report& report) {
  // Not the last point: beyond the knee the rate may fall again.
  const auto best =
      std::max_element(curve.points().begin(), curve.points().end(),
                       [](const auto& a, const auto& b) { return a.achieved() < b.achieved(); });
  if (best == curve.points().end() || !(best->achieved() > 0)) return std::nullopt;
  v1::Headline headline;
  headline.set_kind(Text(HeadlineKind::kCurve));
  headline.set_phase(curve.phase());
  headline.set_at(absl::StrFormat("%.4g %% of the load", 100 * best->share()));
  double bytes_per_second = 0;
  for (const v1::PhaseReport& phase : report.phases()) {
    if (phase.index() == best->phase()) bytes_per_second = phase.total().bytes_per_second();
  }
  SetFigures(best->achieved(), bytes_per_second, {best->p99_ns(), best->is_p99_uncertain()},
             &headline);
  headline.set_text(absl::StrCat(common::FormatCount(best->achieved()), " IOPS at ", headline.at(),
                                 P99Part(headline)));
  if (curve.has_knee()) {
    absl::StrAppend(
        headline.mutable_text(), "; knee at ", curve.knee().value(), " (",
        common::FormatCount(curve.knee().iops()), " IOPS, p99 ",
        common::FormatPercentile(curve.knee().p99_ns(), curve.knee().is_p99_uncertain()), ")");
  }
  return headline;
}

std::optional<v1::Headline> OfLoad(const v1::Report& report) {
  const v1::PhaseReport* chosen = nullptr;
  int loads = 0;
  for (const v1::PhaseReport& phase : report.phases()) {
    if (!measure::Is(phase, measure::PhaseKind::kRun) ||
        !(phase.total().operations() + phase.total().errors() > 0)) {
      continue;
    }
    ++loads;
    // The phase of which the job expects something is the one that it is about.
    const bool is_first = chosen == nullptr;
    const bool is_expected =
        chosen != nullptr && chosen->expectations().empty() && !phase.expectations().empty();
    if (is_first || is_expected) chosen = &phase;
  }
  if (chosen == nullptr) return std::nullopt;
  v1::Headline headline;
  headline.set_kind(Text(HeadlineKind::kLoad));
  headline.set_phase(chosen->name());
  SetFigures(chosen->total().iops(), chosen->total().bytes_per_second(), P99Of(chosen->total()),
             &headline);
  const bool is_large = headline.bytes_per_second() >= kLargeBytes * headline.iops();
  headline.set_text(absl::StrCat(
      loads > 1 ? absl::StrCat(chosen->name(), ": ") : "",
      is_large ? absl::StrCat(common::FormatRate(headline.bytes_per_second()), ", ") : "",
      common::FormatCount(headline.iops()), " IOPS", P99Part(headline)));
  return headline;
}

std::string CheckedText(double checked) {
  return absl::StrCat(Plural(checked, "block"), " checked");
}

std::optional<v1::Headline> OfVerify(const v1::Report& report) {
  v1::Headline headline;
  headline.set_kind(Text(HeadlineKind::kVerify));
  for (const v1::PhaseReport& phase : report.phases()) {
    if (!measure::Is(phase, measure::PhaseKind::kVerify) || phase.workloads().empty()) continue;
    headline.set_phase(phase.name());
    double checked = 0;
    for (const v1::WorkloadReport& w : phase.workloads()) checked += w.verification().checked();
    headline.set_text(CheckedText(checked));
    return headline;
  }
  return std::nullopt;
}

std::optional<v1::Headline> OfObserved(const v1::Report& report) {
  for (const v1::PhaseReport& phase : report.phases()) {
    if (!phase.has_observed()) continue;
    const v1::ObservedFigures& f = phase.observed().total();
    v1::Headline headline;
    headline.set_kind(Text(HeadlineKind::kObserve));
    headline.set_phase(phase.name());
    if (f.devices() == 0) {
      headline.set_text(
          absl::StrCat("observed ", Plural(phase.observed().mounts(), "mount"), " of servers"));
      return headline;
    }
    headline.set_text(absl::StrCat(
        "observed ", Plural(f.devices(), "device"), ": ", common::FormatCount(f.reads_per_second()),
        " reads/s, ", common::FormatCount(f.writes_per_second()), " writes/s, ",
        common::FormatRate(f.read_bytes_per_second() + f.write_bytes_per_second()),
        f.busiest().empty()
            ? ""
            : absl::StrFormat("; %s busy %.0f %% of the time", f.busiest(), 100 * f.busy_ratio())));
    return headline;
  }
  return std::nullopt;
}

std::optional<v1::Headline> OfFiles(const v1::Report& report) {
  v1::Headline headline;
  headline.set_kind(Text(HeadlineKind::kFiles));
  double made = 0;
  double bytes = 0;
  double removed = 0;
  for (const v1::PhaseReport& phase : report.phases()) {
    if (phase.files_made() + phase.files_removed() > 0 && headline.phase().empty()) {
      headline.set_phase(phase.name());
    }
    made += phase.files_made();
    removed += phase.files_removed();
    bytes += phase.bytes_written();
  }
  if (made + removed == 0) return std::nullopt;
  std::vector<std::string> parts;
  if (made > 0) {
    parts.push_back(
        absl::StrCat(Plural(made, "file"), " made, ", common::FormatSize(bytes), " written"));
  }
  if (removed > 0) parts.push_back(absl::StrCat(Plural(removed, "file"), " removed"));
  headline.set_text(absl::StrJoin(parts, "; "));
  return headline;
}

}  // namespace

std::optional<v1::Headline> HeadlineOf(const v1::Report& report) {
  std::optional<v1::Headline> headline;
  // The points of sweeps and curves are loads, too. What the job is about comes first.
  for (const v1::SweepReport& sweep : report.sweeps()) {
    if (!headline) headline = OfSweep(sweep);
  }
  for (const v1::CurveReport& curve : report.curves()) {
    if (!headline) headline = OfCurve(curve, report);
  }
  if (!headline) headline = OfLoad(report);
  if (!headline) headline = OfVerify(report);
  if (!headline) headline = OfObserved(report);
  if (!headline) headline = OfFiles(report);
  if (!headline) return std::nullopt;
  double checked = 0;
  bool is_verified = false;
  for (const v1::PhaseReport& phase : report.phases()) {
    for (const v1::WorkloadReport& w : phase.workloads()) {
      is_verified = is_verified || w.has_verification();
      checked += w.verification().checked();
    }
  }
  // A verify phase that checked nothing has 0 blocks. The conclusion must say so, not stay silent.
  if (is_verified || Is(*headline, HeadlineKind::kVerify)) headline->set_checked_blocks(checked);
  return headline;
}

const v1::PhaseReport* PhaseOf(const v1::Headline& headline, const v1::Report& report) {
  // The points of sweeps and curves are many phases, whose names begin with the job's.
  if (!Is(headline, HeadlineKind::kLoad) && !Is(headline, HeadlineKind::kVerify)) return nullptr;
  for (const v1::PhaseReport& phase : report.phases()) {
    if (phase.name() == headline.phase()) return &phase;
  }
  return nullptr;
}

std::string P99Text(const v1::Headline& headline) {
  return absl::StrCat("p99 ",
                      common::FormatPercentile(headline.p99_ns(), headline.is_p99_uncertain()));
}

}  // namespace lockstep::controller
