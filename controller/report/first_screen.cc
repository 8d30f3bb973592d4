#include "controller/report/first_screen.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/observed_text.h"
#include "controller/report/report_writer.h"
#include "controller/report/text_table.h"
#include "controller/report/verdict.h"
#include "measure/report_states.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using common::FormatCount;
using common::FormatDuration;

// The first screen is to fit a terminal. --detail has the rest.
constexpr size_t kEvents = 5;
constexpr size_t kNotes = 10;
constexpr size_t kThingLines = 10;
constexpr size_t kNamedDevices = 4;
constexpr size_t kMaxObservedSentences = 8;
constexpr int kShares = 4;

class FirstScreen : private ReportWriter {
 public:
  FirstScreen(const v1::Report& report, const TextOptions& options)
      : ReportWriter(report, options) {}

  std::string Render() {
    Head();
    Phases();
    Curves(PointDetail::kFigures);
    // Things() has the remarks of all phases, those of the sweeps included.
    Sweeps(PointDetail::kFigures);
    Things();
    Notes(kNotes);
    Events(kEvents);
    // A run without a phase has no details to point at.
    if (report_.phases().empty()) return Take();
    Line("");
    const std::string detail =
        absl::StrCat("lockstep report ", report_.run().run_id().substr(0, 8),
                     " --detail has the workloads, hosts, threads, devices and kernels");
    if (options_.up_command.empty()) {
      Line(Dim(detail + "."));
      return Take();
    }
    // No controller answers any more when this is read.
    Line(Dim(detail + ";"));
    Line(Dim(absl::StrCat("start `", options_.up_command, "` before it.")));
    return Take();
  }

 private:
  void Phases() {
    const std::set<uint32_t> elsewhere = ShownTogether();
    TextTable table({"phase", "", "IOPS", "MiB/s", "p50", "p99", "p99.9", "max", "errors", "Jain",
                     "limited by"},
                    {0, 1, 10}, {0});
    for (const v1::PhaseReport& phase : report_.phases()) {
      if (!elsewhere.contains(phase.index())) Phase(phase, &table);
    }
    if (!table.empty()) {
      // One host shares with nobody, and the room is others'.
      constexpr size_t kJain = 9;
      table.RemoveIfEmpty(kJain);
      Line("");
      out_ += table.Render("  ", width_);
    }
    for (const v1::PhaseReport& phase : report_.phases()) {
      if (elsewhere.contains(phase.index())) continue;
      Steady(phase, phase.name() + " ");
      Promises(phase, phase.name() + ": ");
    }
    for (const std::string& sentence : sentences_) out_ += Wrapped(sentence, "    ", "  ");
    if (!others_.empty()) {
      out_ += Wrapped(absl::StrJoin(others_, "; "), "    ", "  ");
    }
    Devices();
  }

  // The block devices under the load. Here it shows if another disk than the intended one was
  // tested.
  void Devices() {
    std::map<std::string, std::set<std::string>> hosts_of;  // by device
    for (const v1::PhaseReport& phase : report_.phases()) {
      for (const v1::DeviceReport& d : phase.devices()) {
        // Others' devices are none of the load's.
        if (d.engine_read_bytes() + d.engine_write_bytes() + d.engine_trim_bytes() <= 0) continue;
        hosts_of[d.name()].insert(d.hosts().begin(), d.hosts().end());
      }
    }
    if (hosts_of.empty()) return;
    std::vector<std::string> parts;
    for (const auto& [device, hosts] : hosts_of) {
      if (parts.size() == kNamedDevices) break;
      parts.push_back(device);
      if (hosts.empty()) continue;
      absl::StrAppend(&parts.back(), " of ", *hosts.begin());
      if (hosts.size() > 1) {
        absl::StrAppend(&parts.back(), " and ", hosts.size() - 1, " more");
      }
    }
    if (hosts_of.size() > kNamedDevices) {
      parts.push_back(absl::StrCat(hosts_of.size() - kNamedDevices, " more"));
    }
    out_ +=
        Wrapped(absl::StrCat("devices under the load: ", absl::StrJoin(parts, ", ")), "    ", "  ");
  }

  static bool LimitsDiffer(const v1::PhaseReport& phase) {
    return std::any_of(phase.workloads().begin(), phase.workloads().end(), [&](const auto& w) {
      return w.limited_by() != phase.workloads(0).limited_by();
    });
  }

  void Phase(const v1::PhaseReport& phase, TextTable* table) {
    const std::string state = measure::Is(phase, measure::PhaseState::kDone) ? "" : phase.state();
    // Phases without figures share one line. In the table they would be rows without a value.
    const bool nothing = (phase.workloads().empty() && !phase.has_observed()) ||
                         phase.workers_lost() >= phase.workers();
    if (nothing) {
      std::string what = state.empty() ? "done" : state;
      if (phase.files_made() > 0) what = Plural(phase.files_made(), "file") + " made";
      if (phase.files_removed() > 0) what = Plural(phase.files_removed(), "file") + " removed";
      return others_.push_back(absl::StrCat(phase.name(), ": ", what));
    }
    if (phase.has_observed()) return Observed(phase, state, table);
    std::vector<v1::OperationReport> rows;
    const bool limits_differ = LimitsDiffer(phase);
    std::map<size_t, std::string> limits;  // by row
    for (const v1::WorkloadReport& w : phase.workloads()) {
      for (const v1::OperationReport& o : w.operations()) {
        rows.push_back(o);
        if (phase.workloads_size() > 1) {
          rows.back().set_kind(absl::StrCat(w.name(), " ", o.kind()));
        }
      }
      // Several limits in one row would not fit it, and would not say whose they are.
      if (limits_differ && !w.operations().empty()) limits[rows.size() - 1] = w.limited_by();
    }
    // A single row is the total. A phase without any I/O has no row, and shows its total.
    if (rows.size() != 1) {
      rows.push_back(phase.total());
      rows.back().set_kind("all");
    }
    if (!limits_differ) limits[rows.size() - 1] = phase.workloads(0).limited_by();
    bool first = true;
    for (const v1::OperationReport& o : rows) {
      // Fairness, and a limit of all workloads, are the whole phase's: they stand in its last row.
      const bool last = &o == &rows.back();
      table->Add({first ? phase.name() + (state.empty() ? "" : " (" + state + ")") : "", o.kind(),
                  IopsText(o), ThroughputText(o), PercentileText(o, 50), PercentileText(o, 99),
                  PercentileText(o, 99.9), KnownDuration(o.latency_max_ns()),
                  FormatCount(o.errors()), last ? FairnessText(phase) : "",
                  limits[static_cast<size_t>(&o - rows.data())]});
      first = false;
    }
  }

  // The devices' work. There are no figures of engines.
  void Observed(const v1::PhaseReport& phase, const std::string& state, TextTable* table) {
    const std::string name = phase.name() + (state.empty() ? "" : " (" + state + ")");
    const std::vector<ObservedRow> rows = RowsOf(phase.observed().total());
    for (const ObservedRow& row : rows) {
      table->Add({&row == &rows.front() ? name : "", row.name, FormatCount(row.per_second),
                  absl::StrFormat("%.1f", row.bytes_per_second / 1048576), "–", "–", "–", "–", "–",
                  &row == &rows.back() ? FairnessText(phase) : "", "–"});
    }
    // Mounts of servers alone have no row of a device. Zeros would be figures that nobody measured.
    if (rows.empty()) {
      table->Add({name, "no device", "–", "–", "–", "–", "–", "–", "–", "", "–"});
    }
    sentences_.push_back(absl::StrCat(phase.name(), ": ", SummaryOf(phase.observed())));
    for (const std::string& share : ShareSentencesOf(phase.observed(), kShares)) {
      sentences_.push_back(absl::StrCat(phase.name(), ": ", share));
    }
    for (const v1::ObservedSentence& s : phase.observed().sentences()) {
      const bool is_mount = measure::Is(s, measure::ObservedKind::kMount);
      const bool is_shown = is_mount || measure::Is(s, measure::ObservedKind::kPrograms);
      if (!is_shown || sentences_.size() >= kMaxObservedSentences) continue;
      const std::string host = s.hosts().empty() ? "?" : s.hosts(0);
      sentences_.push_back(absl::StrCat(phase.name(), ": ", is_mount ? "" : "programs on ", host,
                                        ": ", s.sentence()));
    }
  }

  void Things() {
    const std::vector<std::string> things = Warnings(report_);
    if (things.empty()) return;
    Rule("warnings");
    // Warnings() puts the gravest first, so the cut loses the least important ones.
    size_t shown = 0;
    size_t lines = 0;
    for (; shown < things.size(); ++shown) {
      const std::string text = Wrapped(things[shown], "    ", "  ! ");
      lines += static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
      // The first one is shown whatever its length is.
      if (shown > 0 && lines > kThingLines) break;
      out_ += text;
    }
    if (shown < things.size()) Line("  and ", things.size() - shown, " more in --detail");
  }

  std::vector<std::string> others_;     // phases without load, and what they did
  std::vector<std::string> sentences_;  // of observe phases
};

}  // namespace

std::string RenderFirstScreen(const v1::Report& report, const TextOptions& options) {
  return FirstScreen(report, options).Render();
}

}  // namespace lockstep::controller
