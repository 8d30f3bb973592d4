#include "controller/api/report_parts.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep::controller {
namespace {

// At most so many stragglers and starvations are in the head, so many hosts of an outage and of a
// group of findings, and so many threads in a phase. A page would not show more, and the head is
// not to grow with the fleet.
constexpr int kNamed = 20;
constexpr int kThreads = 4096;

template <typename List>
void Keep(int max, List* list) {
  if (list->size() > max) list->DeleteSubrange(max, list->size() - max);
}

void DropSeries(v1::PhaseReport* phase) {
  phase->clear_iops_by_interval();
  phase->clear_jain_by_interval();
  for (v1::HostReport& host : *phase->mutable_hosts()) host.clear_iops_by_interval();
}

void CutHead(v1::Report* report) {
  for (v1::PhaseReport& phase : *report->mutable_phases()) {
    phase.set_hosts_count(static_cast<uint32_t>(phase.hosts_size()));
    // Series are a call of their own, GetSeries(), which thins them to as many points as the page
    // draws.
    DropSeries(&phase);
    phase.clear_hosts();
    phase.clear_threads();
    phase.clear_devices();
    phase.clear_kernels();
    phase.clear_interfaces();
    phase.clear_nfs();
    phase.clear_settings();
    if (phase.has_observed()) {
      phase.mutable_observed()->clear_hosts();
      phase.mutable_observed()->clear_sentences();
      Keep(kNamed, phase.mutable_observed()->mutable_shares());
    }
    Keep(kNamed, phase.mutable_stragglers());
    Keep(kNamed, phase.mutable_starvations());
    for (v1::Outage& outage : *phase.mutable_outages()) Keep(kNamed, outage.mutable_hosts());
    for (v1::FindingGroup& group : *phase.mutable_finding_groups()) {
      Keep(kNamed, group.mutable_hosts());
      for (v1::FindingCause& cause : *group.mutable_causes()) Keep(kNamed, cause.mutable_hosts());
    }
  }
  report->clear_events();
  report->clear_environment();
}

// The page shows these percentiles of a host, and how certain they are.
void KeepShownPercentiles(v1::OperationReport* total) {
  v1::OperationReport shown;
  for (v1::Percentile& p : *total->mutable_percentiles()) {
    if (p.percent() == 50 || p.percent() == 99) *shown.add_percentiles() = std::move(p);
  }
  *total = std::move(shown);
}

void CutPhase(v1::PhaseReport* phase) {
  DropSeries(phase);
  phase->set_hosts_count(static_cast<uint32_t>(phase->hosts_size()));
  for (v1::HostReport& host : *phase->mutable_hosts()) {
    if (host.has_total()) KeepShownPercentiles(host.mutable_total());
    host.clear_workloads();
  }
  Keep(kThreads, phase->mutable_threads());
}

}  // namespace

std::string CutTo(const v1::ReportRequest& request, v1::Report* report) {
  switch (request.part()) {
    case v1::ReportRequest::PART_HEAD:
      CutHead(report);
      return "";
    case v1::ReportRequest::PART_PHASE: {
      v1::Report part;
      for (v1::PhaseReport& phase : *report->mutable_phases()) {
        if (phase.index() != request.phase()) continue;
        CutPhase(&phase);
        *part.add_phases() = std::move(phase);
      }
      *report = std::move(part);
      return report->phases().empty() ? absl::StrCat("the run has no phase ", request.phase()) : "";
    }
    case v1::ReportRequest::PART_ENVIRONMENT:
      report->clear_phases();
      report->clear_sweeps();
      report->clear_curves();
      return "";
    default:
      return "";
  }
}

void AddNotes(const std::vector<v1::EventReport>& notes, v1::Report* report) {
  google::protobuf::RepeatedPtrField<v1::EventReport> merged;
  auto next = notes.begin();
  // Events keep their order, that of their storing, in which a later one may have an earlier time.
  for (v1::EventReport& event : *report->mutable_events()) {
    for (; next != notes.end() && next->at() < event.at(); ++next) *merged.Add() = *next;
    *merged.Add() = std::move(event);
  }
  for (; next != notes.end(); ++next) *merged.Add() = *next;
  *report->mutable_events() = std::move(merged);
}

}  // namespace lockstep::controller
