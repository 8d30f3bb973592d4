#include "storage/finding_rows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

// The word of a cross-check's verdict; empty where engines and device agree.
std::string Disagreement(v1::CrossCheck::Verdict verdict) {
  switch (verdict) {
    case v1::CrossCheck::VERDICT_PAGE_CACHE:
      return "page cache";
    case v1::CrossCheck::VERDICT_COALESCED:
      return "coalesced";
    case v1::CrossCheck::VERDICT_AMPLIFIED:
      return "amplified";
    case v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE:
      return "not attributable";
    default:
      return "";
  }
}

}  // namespace

void FindingRows::Add(const v1::PhaseReport& phase) {
  phase_ = phase.index();
  number_ = 0;
  for (const v1::Outage& outage : phase.outages()) {
    Row("outage", outage.hosts(), "");
    rows_.AddExact(outage.begin_seconds()).AddExact(outage.end_seconds());
    rows_.AddExact(outage.end_seconds() - outage.begin_seconds());
    rows_.AddNull().Add("").Add(phase.outage_summary().sentence()).EndRow();
  }
  for (const v1::Omission& omission : phase.omissions()) {
    Row("omission", omission.hosts(), "");
    rows_.AddNull().AddNull().AddNull().AddExact(omission.stalled_ratio()).Add("");
    rows_.Add(omission.sentence()).EndRow();
  }
  for (const v1::LevelChange& change : phase.level_changes()) {
    Row("change", Names(), "");
    rows_.AddExact(change.at_seconds()).AddNull().AddNull();
    change.before() > 0 ? rows_.AddExact(change.after() / change.before()) : rows_.AddNull();
    rows_.Add("");
    rows_.Add(change.sentence()).EndRow();
  }
  for (const v1::Straggler& s : phase.stragglers()) {
    Row("straggler", Hosts(s.host()), "");
    rows_.AddExact(s.begin_seconds()).AddExact(s.end_seconds()).AddExact(s.slow_seconds());
    rows_.AddExact(s.share()).Add(s.cause()).Add(s.reason()).EndRow();
  }
  for (const v1::Starvation& s : phase.starvations()) {
    Row("starvation", Hosts(s.host()), "");
    rows_.AddExact(s.begin_seconds()).AddExact(s.end_seconds());
    rows_.AddExact(s.end_seconds() - s.begin_seconds());
    s.others_iops() > 0 ? rows_.AddExact(s.iops() / s.others_iops()) : rows_.AddNull();
    rows_.Add("");
    rows_
        .Add(absl::StrFormat("%.3g IOPS where the others' median was %.3g", s.iops(),
                             s.others_iops()))
        .EndRow();
  }
  for (const v1::WorkloadReport& w : phase.workloads()) {
    if (w.copy().sentence().empty()) continue;
    Row("copy", Names(), "");
    rows_.AddNull().AddNull().AddNull();
    w.copy().blocks() > 0 ? rows_.AddExact(w.copy().uncopied() / w.copy().blocks())
                          : rows_.AddNull();
    rows_.Add(w.copy().cause()).Add(absl::StrCat(w.name(), ": ", w.copy().sentence())).EndRow();
  }
  for (const v1::PromiseReport& promise : phase.promised()) {
    if (!promise.exceeded()) continue;
    Row("promise", Names(), "");
    rows_.AddNull().AddNull().AddNull().AddExact(promise.ratio());
    rows_.Add(promise.cause()).Add(promise.text()).EndRow();
  }
  for (const v1::DeviceReport& device : phase.devices()) Add(device);
  for (const v1::ObservedSentence& s : phase.observed().sentences()) {
    Row(s.kind(), s.hosts(), s.device());
    rows_.AddNull().AddNull().AddNull().AddNull().Add("").Add(s.sentence()).EndRow();
  }
  for (const v1::ObservedShare& s : phase.observed().shares()) {
    Row("share", s.hosts(), s.device());
    rows_.AddNull().AddNull().AddNull();
    s.has_share() ? rows_.AddExact(s.share()) : rows_.AddNull();
    rows_.Add("").Add(s.sentence()).EndRow();
  }
}

FindingRows::Names FindingRows::Hosts(const std::string& host) {
  Names names;
  *names.Add() = host;
  return names;
}

void FindingRows::Add(const v1::DeviceReport& device) {
  const std::string check = Disagreement(device.cross_check().verdict());
  if (!check.empty()) {
    Row(check, device.hosts(), device.name());
    rows_.AddNull().AddNull().AddNull();
    const bool known =
        device.engine_read_bytes() + device.engine_write_bytes() + device.engine_trim_bytes() > 0;
    known ? rows_.AddExact(device.cross_check().factor()) : rows_.AddNull();
    rows_.Add("");
    rows_.Add(device.cross_check().reason()).EndRow();
  }
  for (const v1::Finding& finding : device.findings()) {
    Row(finding.kind(), device.hosts(), device.name());
    if (finding.seconds() > 0) {
      rows_.AddExact(finding.begin_seconds()).AddExact(finding.end_seconds());
      rows_.AddExact(finding.seconds());
    } else {
      rows_.AddNull().AddNull().AddNull();
    }
    rows_.AddNull().Add("").Add(finding.sentence()).EndRow();
  }
}

void FindingRows::Row(const std::string& kind, const Names& hosts, const std::string& device) {
  // The number completes the key: one host may have several findings of a kind.
  rows_.Add(run_id_).Add(phase_).Add(number_++).Add(kind).Add(TextArray(hosts)).Add(device);
}

}  // namespace lockstep::storage
