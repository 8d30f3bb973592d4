#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/report/text.h"
#include "controller/report/verdict.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// "12,345 files".
std::string Plural(double count, const char* noun);

// A latency, nanoseconds; a dash for 0, which too few I/Os for a percentile leave.
std::string KnownDuration(double ns);
// A mean time, milliseconds; a dash if there was nothing to take it of.
std::string MillisecondsText(bool is_known, double ms);
// Rates of operations, the second in MiB/s, for tables; a dash if they ran for no part of the
// measured time.
std::string IopsText(const v1::OperationReport& operation);
std::string ThroughputText(const v1::OperationReport& operation);
// Jain's index of a phase over its hosts, for tables. Empty if fewer than two hosts did I/O: a
// single one is always fair.
std::string FairnessText(const v1::PhaseReport& phase);
// A percentile; "~" stands before one that is uncertain.
std::string KnownPercentile(double ns, bool is_uncertain);

// The latency at one of the report's percentiles, with "~" in front where fewer than ten I/Os took
// longer; a dash where none did.
std::string PercentileText(const v1::OperationReport& operation, double percent);
// Its 95 % confidence interval: "1.20 ms to 1.30 ms", "from 1.20 ms"; a dash where there is none.
std::string IntervalText(const v1::OperationReport& operation, double percent);

// A share of time from which on stalls of closed loops can move a p99, so that tables show them.
inline constexpr double kStallsShown = 0.01;
// "for 15.0 % of the threads' time nothing completed; p99 1.10 ms, with the I/Os that are missing
// 60.1 ms"; empty for an open loop.
std::string StallsText(const v1::WorkloadReport& workload);

// The reason that the conclusion ("failed: …") repeats, whole or cut to the length that lists of
// runs have room for; null if there is none. A report has the room, and shows it once.
const std::string* ReasonIn(const std::string& conclusion, const std::vector<std::string>& reasons);
// The conclusion with it. `whole`: what ReasonIn() found.
std::string WithWholeReason(const std::string& conclusion, const std::string* whole);

// The common parts of texts about a run. `report` outlives it, and its texts are safe to show.
class ReportWriter {
 protected:
  ReportWriter(const v1::Report& report, const TextOptions& options)
      : report_(report), options_(options), width_(std::max<size_t>(options.width, kNarrowest)) {}

  std::string Colour(const std::string& text, const char* code) const {
    return options_.colour ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m") : text;
  }
  std::string Bold(const std::string& text) const { return Colour(text, "1"); }
  std::string Good(const std::string& text) const { return Colour(text, "32"); }
  std::string Bad(const std::string& text) const { return Colour(text, "31"); }
  std::string InColourOf(VerdictSeverity severity, const std::string& text) const;
  std::string Dim(const std::string& text) const { return Colour(text, "2"); }
  // `text` broken at blanks to the width, each line begun with `indent`.
  std::string Wrapped(const std::string& text, const std::string& indent,
                      const std::string& first) const;
  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&out_, parts..., "\n");
  }
  void Rule(const std::string& title);

  // The identity of the run, and its verdict with the reasons.
  void Head();
  // Whether the load was steady, where the job asks; `name` stands in front.
  void Steady(const v1::PhaseReport& phase, const std::string& name);
  // How the figures stand to what was promised; those beyond it are warnings. `name` as above.
  void Promises(const v1::PhaseReport& phase, const std::string& name);
  // Phases that a matrix or a curve shows.
  std::set<uint32_t> ShownTogether() const;
  enum class PointDetail { kFigures, kAll };  // kAll: also times, expectations and warnings
  void Sweeps(PointDetail detail);
  void Curves(PointDetail detail);
  // People's notes; at most so many, the last ones.
  void Notes(size_t max);
  // Warnings and errors; at most so many, the last ones.
  void Events(size_t max);

  std::string Take() { return std::move(out_); }

  const v1::Report& report_;
  const TextOptions options_;
  const size_t width_;
  std::string out_;

 private:
  static constexpr size_t kNarrowest = 40;
  void Sweep(const v1::SweepReport& sweep, PointDetail detail);
  // Expectations and warnings of phases that no other part of the text shows.
  void WarningsOfPoints(const std::set<uint32_t>& phases);
  void Knee(const v1::KneeReport& knee);
};

}  // namespace lockstep::controller
