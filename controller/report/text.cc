#include "controller/report/text.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/report/detail_writer.h"
#include "controller/report/first_screen.h"
#include "controller/report/host_figures.h"
#include "controller/report/layers_text.h"
#include "controller/report/network_figures.h"
#include "controller/report/observed_text.h"
#include "controller/report/safe_report.h"
#include "controller/report/sweep_text.h"
#include "controller/report/verdict.h"
#include "measure/states.h"

namespace lockstep::controller {
namespace {

using common::FormatSize;
using common::FormatThroughput;

// Longer tables would bury the rest of the phase. --format json has all rows.
constexpr int kSharesInDetail = 64;

class Renderer : private DetailWriter {
 public:
  Renderer(const v1::Report& report, const TextOptions& options) : DetailWriter(report, options) {}

  std::string Render() {
    Head();
    for (const v1::PhaseReport& phase : report_.phases()) {
      if (!ShownTogether().contains(phase.index())) Phase(phase);
    }
    Curves(PointDetail::kAll);
    Sweeps(PointDetail::kAll);
    Notes(std::numeric_limits<size_t>::max());
    Events(std::numeric_limits<size_t>::max());
    return Take();
  }

 private:
  void Phase(const v1::PhaseReport& phase) {
    Rule(absl::StrCat(
        phase.name(), phase.name() == phase.kind() ? "" : absl::StrCat(" (", phase.kind(), ")"),
        phase.duration_seconds() > 0 ? absl::StrFormat(", %.1f s", phase.duration_seconds()) : "",
        measure::Is(phase, measure::PhaseState::kDone) ? "" : absl::StrCat(", ", phase.state())));
    if (phase.has_observed()) {
      Observed(phase);
    } else if (phase.workloads().empty()) {
      Files(phase);
    } else {
      // Without a single result there are no totals. The rows of the hosts still show what they had
      // sent until they were lost.
      const bool any = phase.workers_lost() < phase.workers();
      for (const v1::WorkloadReport& workload : phase.workloads()) {
        if (any) Workload(workload);
      }
      if (any) Window(phase);
      if (any) Steady(phase, "");
      Hosts(phase);
      if (any) Threads(phase);
      if (const std::string time = TimeSpentText(phase.time_spent()); !time.empty()) {
        out_ += Wrapped(time, "      ", "  time: ");
      }
      Settings(phase);
      Devices(phase);
      out_ += RenderInterfaces(phase, width_);
      out_ += RenderNfs(phase, width_);
      Kernels(phase);
      if (const std::string quotas = RenderQuotas(phase); !quotas.empty()) {
        out_ += Wrapped(quotas, "      ", "  CPU quota used up: ");
      }
    }
    for (const v1::Expectation& e : phase.expectations()) {
      Line("  expect  ", e.met() ? Good("met   ") : Bad("FAILED"), "  ", e.text(), "   found ",
           e.found());
    }
    Promises(phase, "");
    if (phase.outage_summary().count() > 0) {
      out_ += Wrapped(phase.outage_summary().sentence(), "    ", "  ! ");
    }
    for (const v1::PromiseReport& promise : phase.promised()) {
      if (promise.exceeded()) out_ += Wrapped(promise.text(), "    ", "  ! ");
    }
    for (const std::string& remark : phase.remarks()) out_ += Wrapped(remark, "    ", "  ! ");
    for (const v1::Omission& omission : phase.omissions()) {
      out_ += Wrapped(omission.sentence(), "    ", "  ! ");
    }
  }

  void Observed(const v1::PhaseReport& phase) {
    out_ += Wrapped(SummaryOf(phase.observed()), "    ", "  ");
    for (const std::string& share : ShareSentencesOf(phase.observed(), kSharesInDetail)) {
      out_ += Wrapped(share, "    ", "  ");
    }
    out_ += Wrapped(
        absl::StrFormat("by the devices' own counters, from %.2f to %.2f s after T; this phase did "
                        "no I/O, so that there are no latencies and errors of an engine",
                        phase.window_begin_seconds(), phase.window_end_seconds()),
        "    ", "  ");
    out_ += RenderObservedHosts(phase.observed(), width_);
    Fairness(phase);
    out_ += RenderObservedDevices(phase, width_);
    for (const v1::DeviceReport& d : phase.devices()) {
      for (const v1::Finding& finding : d.findings()) {
        out_ += Wrapped(Bad(absl::StrCat(d.name(), ": ", finding.sentence())), "    ", "  ! ");
      }
    }
    out_ += RenderInterfaces(phase, width_);
    out_ += RenderNfs(phase, width_);
    Kernels(phase);
  }

  void Files(const v1::PhaseReport& phase) {
    std::vector<std::string> parts;
    if (phase.files_made() > 0) {
      parts.push_back(absl::StrCat(
          Plural(phase.files_made(), "file"), " made, ", FormatSize(phase.bytes_written()),
          " written",
          phase.duration_seconds() > 0
              ? absl::StrCat(" at ",
                             FormatThroughput(phase.bytes_written() / phase.duration_seconds()))
              : ""));
    }
    if (phase.files_reused() > 0) {
      parts.push_back(
          absl::StrCat(Plural(phase.files_reused(), "file"), " kept, which fit already"));
    }
    if (phase.files_removed() > 0) {
      parts.push_back(absl::StrCat(Plural(phase.files_removed(), "file"), " removed"));
    }
    const bool done = measure::Is(phase, measure::PhaseState::kDone);
    // A worker that failed or was stopped reports the reason, not what it had done until then.
    const std::string none =
        done ? "there was nothing to do"
        : measure::Is(phase, measure::PhaseKind::kPrepare)
            ? "not done; the workers removed the files that they had made, as far as they could"
            : "not done; how far it came is not known";
    out_ += Wrapped(parts.empty() ? none
                                  : absl::StrCat(absl::StrJoin(parts, "; "),
                                                 done ? "" : "; the others did not finish"),
                    "  ", "  ");
  }

  void Settings(const v1::PhaseReport& phase) {
    for (const v1::SettingReport& s : phase.settings()) {
      // A setting that already had the value changed nothing.
      if (s.before() == s.value()) continue;
      out_ += Wrapped(absl::StrCat(s.thing(), " ", s.name(), " ", s.value(), " instead of ",
                                   s.before(), " on ", absl::StrJoin(s.hosts(), ", "),
                                   s.not_restored().empty() ? "; restored" : Bad("; NOT restored")),
                      "    ", "  setting: ");
    }
  }

  void Devices(const v1::PhaseReport& phase) {
    if (phase.devices().empty()) return;
    out_ += RenderIostat(phase, width_);
    out_ += RenderLayers(phase, width_);
    int shown = 0;
    for (const v1::DeviceReport& d : phase.devices()) CrossCheck(d, ++shown <= kHostsShown);
  }

  // The devices of a large fleet are named only if they do not agree.
  void CrossCheck(const v1::DeviceReport& d, bool shows_agreement) {
    const bool fine = d.cross_check().verdict() == v1::CrossCheck::VERDICT_AGREE;
    if (d.has_cross_check() && (shows_agreement || !fine)) {
      const std::string verdict = CrossCheckText(d.cross_check());
      out_ += Wrapped(
          absl::StrCat(d.name(), " against the engines of ", d.hosts_size(),
                       d.hosts_size() == 1 ? " host: " : " hosts: ",
                       fine ? Good(verdict) : Bad(verdict), " (", d.cross_check().reason(), ")"),
          "    ", "  cross-check: ");
    }
    for (const v1::Finding& finding : d.findings()) {
      out_ += Wrapped(Bad(absl::StrCat(d.name(), ": ", finding.sentence())), "    ", "  ! ");
    }
  }

  void Kernels(const v1::PhaseReport& phase) {
    int shown = 0;
    for (const v1::KernelReport& k : phase.kernels()) {
      if (++shown > kHostsShown) {
        Line("    and ", phase.kernels_size() - kHostsShown,
             " more kernels; --format json lists all");
        break;
      }
      out_ += Wrapped(RenderVmstat(k), "    ", absl::StrCat("  ", HostsOf(k), ": "));
      const std::string memory = RenderMemory(k);
      if (!memory.empty()) out_ += Wrapped(memory, "      ", "    ");
      const std::string per_io = RenderPerIo(phase, k);
      if (!per_io.empty()) Line("    per I/O: " + per_io);
      if (!k.others().empty()) {
        out_ += Wrapped(absl::StrJoin(k.others(), ", "), "      ", "    other programs: ");
      }
    }
  }
};

}  // namespace

std::string RenderText(const v1::Report& report, const TextOptions& options) {
  // A report may come from an archive that somebody else made. A terminal must not obey its texts.
  const v1::Report safe = SafeToShow(report);
  return options.detail ? Renderer(safe, options).Render() : RenderFirstScreen(safe, options);
}

}  // namespace lockstep::controller
