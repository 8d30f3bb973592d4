#include "controller/analysis/expectations.h"

#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/latency.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

// An expectation of one figure, as it is checked.
struct ExpectedFigure {
  measure::Figure figure;
  double required;
  std::optional<double> value;  // nothing where it is not known
};

double UncopiedBlocks(const v1::PhaseReport& phase) {
  double blocks = 0;
  for (const v1::WorkloadReport& w : phase.workloads()) blocks += w.copy().uncopied();
  return blocks;
}

std::string FoundSteady(const v1::SteadyReport& steady) {
  if (steady.rounds() < steady.window()) return "too few rounds";
  if (!(steady.mean() > 0)) return "not known";
  return steady.has_changed_at_seconds()
             ? absl::StrCat("only until ", common::FormatDigits(steady.changed_at_seconds(), 4),
                            " s")
             : absl::StrFormat("%.1f %%, slope %.1f %%", 100 * steady.range(),
                               100 * steady.slope());
}

// A figure that misses its limit by less than the usual digits show needs more of them: "1,000"
// does not say why 1,000 is not reached.
bool IsClose(double value, double required) {
  constexpr double kClose = 0.005;
  return value != required && std::abs(value - required) < kClose * required;
}

std::string FoundCount(double value, double required) {
  return value < required && IsClose(value, required) ? absl::StrFormat("%.2f", value)
                                                      : common::FormatCount(value);
}

std::string FoundThroughput(double value, double required) {
  std::string found = common::FormatThroughput(value);
  if (value < required && found == common::FormatThroughput(required)) {
    absl::StrAppend(&found, absl::StrFormat(" (%.0f B/s)", value));
  }
  return found;
}

std::string FoundLatency(const v1::Percentile& p, double most) {
  std::string found = common::FormatPercentile(p.latency_ns(), p.is_uncertain());
  if (p.latency_ns() > most && IsClose(p.latency_ns(), most)) {
    absl::StrAppend(&found, " (", common::FormatCount(p.latency_ns()), " ns)");
  }
  return found;
}

template <typename Add>
void CheckFairness(double least, const v1::PhaseReport& phase, const Add& add) {
  // The first entry is the one over the hosts: the analysis `fairness` adds it first, and runs
  // earlier.
  const v1::Fairness hosts = phase.fairness_size() > 0 ? phase.fairness(0) : v1::Fairness();
  // A host that worked alone shared nothing. That it was fair to others is not known.
  const bool is_alone = hosts.count() == 1;
  add(absl::StrFormat("fairness over hosts >= %.3f", least),
      hosts.has_jain() ? absl::StrFormat("%.3f", hosts.jain())
      : is_alone       ? "not known: one host did I/O, with nobody to share with"
                       : "not known",
      hosts.has_jain() && hosts.jain() >= least,
      ExpectedFigure{measure::Figure::kFairness, least,
                     hosts.has_jain() ? std::optional(hosts.jain()) : std::nullopt});
}

}  // namespace

void CheckExpectations(const v1::Expect& expect, PhaseResults results, v1::PhaseReport* phase) {
  const bool complete = results == PhaseResults::kComplete;
  const v1::OperationReport& total = phase->total();
  // Without a single I/O there are no errors either, and Jain's index of equal hosts is 1. Both
  // limits would be met.
  const bool nothing = total.operations() == 0 && total.errors() == 0;
  const auto add = [&](const std::string& text, const std::string& found, bool met,
                       const std::optional<ExpectedFigure>& of) {
    v1::Expectation* line = phase->add_expectations();
    line->set_text(text);
    line->set_found(!complete ? "no complete result" : nothing ? "nothing measured" : found);
    line->set_met(complete && !nothing && met);
    if (!of) return;
    line->set_figure(Text(of->figure));
    line->set_required(of->required);
    if (complete && !nothing && of->value) line->set_value(*of->value);
  };
  const auto known = [](bool has, double value) {
    return has ? std::optional(value) : std::nullopt;
  };
  if (expect.has_iops()) {
    const auto iops = known(total.has_iops(), total.iops());
    add(absl::StrCat("iops >= ", common::FormatCount(expect.iops())),
        iops ? FoundCount(*iops, expect.iops()) : "not known", iops && *iops >= expect.iops(),
        ExpectedFigure{measure::Figure::kIops, expect.iops(), iops});
  }
  if (expect.has_throughput_bytes_per_second()) {
    const double least = expect.throughput_bytes_per_second();
    const auto rate = known(total.has_bytes_per_second(), total.bytes_per_second());
    add(absl::StrCat("throughput >= ", common::FormatThroughput(least)),
        rate ? FoundThroughput(*rate, least) : "not known", rate && *rate >= least,
        ExpectedFigure{measure::Figure::kBytesPerSecond, least, rate});
  }
  const auto latency = [&](const char* name, measure::Figure figure, double percent,
                           int64_t max_ns) {
    const auto most = static_cast<double>(max_ns);
    const v1::Percentile* p = FindPercentile(total, percent);
    // A largest latency that is short enough proves nothing of a percentile beyond it.
    const bool known = p != nullptr && p->has_latency_ns();
    add(absl::StrCat(name, " <= ", common::FormatDuration(most)),
        known          ? FoundLatency(*p, most)
        : p == nullptr ? "no latency"
                       : absl::StrCat("no ", name, " (", p->missing(), ")"),
        known && p->latency_ns() <= most,
        ExpectedFigure{figure, most, known ? std::optional(p->latency_ns()) : std::nullopt});
  };
  if (expect.has_p50_ns()) latency("p50", measure::Figure::kP50, 50, expect.p50_ns());
  if (expect.has_p95_ns()) latency("p95", measure::Figure::kP95, 95, expect.p95_ns());
  if (expect.has_p99_ns()) latency("p99", measure::Figure::kP99, 99, expect.p99_ns());
  if (expect.has_p999_ns()) latency("p99.9", measure::Figure::kP999, 99.9, expect.p999_ns());
  if (expect.has_errors()) {
    const auto most = static_cast<double>(expect.errors());
    add(absl::StrCat("errors <= ", expect.errors()), common::FormatCount(total.errors()),
        total.errors() <= most, ExpectedFigure{measure::Figure::kErrors, most, total.errors()});
  }
  if (expect.complete_copy()) {
    const double uncopied = UncopiedBlocks(*phase);
    add("uncopied blocks <= 0", common::FormatCount(uncopied), uncopied == 0,
        ExpectedFigure{measure::Figure::kUncopiedBlocks, 0, uncopied});
  }
  if (expect.steady()) {
    const v1::SteadyReport& steady = phase->steady();
    add(absl::StrFormat("steady within %.3g %%, slope %.3g %%", 100 * steady.range_limit(),
                        100 * steady.slope_limit()),
        FoundSteady(steady), steady.steady(), std::nullopt);
  }
  if (expect.has_fairness()) {
    CheckFairness(expect.fairness(), *phase, add);
  }
}

google::protobuf::RepeatedPtrField<v1::FigureLimit> LimitsOf(const v1::RunPhase& load) {
  google::protobuf::RepeatedPtrField<v1::FigureLimit> limits;
  const auto add = [&](measure::Figure figure, double value, const std::string& text) {
    v1::FigureLimit* limit = limits.Add();
    limit->set_figure(Text(figure));
    limit->set_value(value);
    limit->set_text(text);
  };
  const v1::Expect& expect = load.expect();
  if (expect.has_iops()) {
    add(measure::Figure::kIops, expect.iops(),
        absl::StrCat("iops >= ", common::FormatCount(expect.iops())));
  }
  if (expect.has_throughput_bytes_per_second()) {
    const double least = expect.throughput_bytes_per_second();
    add(measure::Figure::kBytesPerSecond, least,
        absl::StrCat("throughput >= ", common::FormatThroughput(least)));
  }
  const auto latency = [&](measure::Figure figure, const char* words, int64_t most) {
    const auto value = static_cast<double>(most);
    add(figure, value, absl::StrCat(words, common::FormatDuration(value)));
  };
  // There is no series of the p95, so that its limit is left out.
  if (expect.has_p50_ns()) latency(measure::Figure::kP50, "p50 <= ", expect.p50_ns());
  if (expect.has_p99_ns()) latency(measure::Figure::kP99, "p99 <= ", expect.p99_ns());
  if (expect.has_p999_ns()) latency(measure::Figure::kP999, "p99.9 <= ", expect.p999_ns());
  if (expect.has_errors()) {
    const auto most = static_cast<double>(expect.errors());
    add(measure::Figure::kErrors, most, absl::StrCat("errors <= ", common::FormatCount(most)));
  }
  if (expect.has_fairness()) {
    add(measure::Figure::kFairness, expect.fairness(),
        absl::StrFormat("fairness over hosts >= %.3f", expect.fairness()));
  }
  const v1::AbortIf& abort = load.abort_if();
  if (abort.p99_ns() != 0) latency(measure::Figure::kP99, "abort_if p99 > ", abort.p99_ns());
  if (abort.device_await_ns() != 0) {
    latency(measure::Figure::kDeviceAwait, "abort_if device_await > ", abort.device_await_ns());
  }
  if (abort.errors() != 0) {
    const auto value = static_cast<double>(abort.errors());
    add(measure::Figure::kErrors, value,
        absl::StrCat("abort_if errors >= ", common::FormatCount(value)));
  }
  return limits;
}

namespace {

void AddExpectations(const PhaseView& view, v1::PhaseReport* report) {
  const bool complete =
      view.phase().phase.state == measure::PhaseState::kDone && report->workers_lost() == 0;
  CheckExpectations(view.load().expect(),
                    complete ? PhaseResults::kComplete : PhaseResults::kIncomplete, report);
  *report->mutable_limits() = LimitsOf(view.load());
}

const RegisterAnalysis kExpectationsRegistered(order::kExpectations, "expectations",
                                               &AddExpectations, About::kDevices);

}  // namespace
}  // namespace lockstep::controller
