// What did the devices of an observe phase do, of each host and together, and whose I/O was it?

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/device_sums.h"
#include "controller/analysis/devices.h"
#include "controller/analysis/fairness.h"
#include "measure/report_states.h"

namespace lockstep::controller {
namespace {

// A fleet's devices are many, and each sentence is a row. The table of devices has all.
constexpr int kMaxSentences = 1000;
constexpr int kMaxShared = 64;

// "120 reads/s of 16 KiB in 1.2 ms"; empty where there were none.
std::string RateOf(const char* what, double per_second, double bytes, double ms) {
  if (!(per_second > 0)) return "";
  return absl::StrCat(common::FormatCount(per_second), " ", what, "/s of ",
                      common::FormatSize(std::round(bytes)), " in ",
                      common::FormatDuration(ms * 1e6));
}

std::string SentenceOf(const v1::DeviceReport& d) {
  std::vector<std::string> parts;
  for (std::string& part : std::vector<std::string>{
           RateOf("reads", d.reads_per_second(), d.read_request_bytes(), d.read_await_ms()),
           RateOf("writes", d.writes_per_second(), d.write_request_bytes(), d.write_await_ms()),
           RateOf("discards", d.discards_per_second(), d.discard_request_bytes(),
                  d.discard_await_ms())}) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  if (d.flushes_per_second() > 0) {
    parts.push_back(absl::StrCat(common::FormatCount(d.flushes_per_second()), " flushes/s in ",
                                 common::FormatDuration(d.flush_await_ms() * 1e6)));
  }
  if (parts.empty()) return absl::StrCat(d.name(), ": no requests");
  const double bytes = d.read_bytes_per_second() + d.write_bytes_per_second();
  return absl::StrCat(
      d.name(), ": ", absl::StrJoin(parts, ", "), "; ", common::FormatThroughput(bytes),
      absl::StrFormat(", queue %.2f, busy %.0f %%", d.queue_size(), 100 * d.busy_ratio()));
}

void AddSentence(measure::ObservedKind kind,
                 const google::protobuf::RepeatedPtrField<std::string>& hosts,
                 const std::string& device, std::string text, v1::ObservedReport* observed) {
  if (observed->sentences_size() >= kMaxSentences) return;
  v1::ObservedSentence* sentence = observed->add_sentences();
  sentence->set_kind(Text(kind));
  *sentence->mutable_hosts() = hosts;
  sentence->set_device(device);
  sentence->set_sentence(std::move(text));
}

// The time in which devices were sampled, in place of the window in which all hosts had load.
void SetTimes(const PhaseView& view, v1::PhaseReport* report) {
  double begin = std::numeric_limits<double>::infinity();
  double end = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::WorkerSeries& series = view.series().Of(worker.worker_index);
    begin = std::min(begin, series.first_measured_seconds);
    end = std::max(end, series.last_measured_seconds);
  }
  const double seconds = std::max(0.0, end - begin);
  report->mutable_observed()->set_seconds(seconds);
  report->set_duration_seconds(seconds);
  if (!(seconds > 0)) return;
  report->set_window_begin_seconds(begin);
  report->set_window_end_seconds(end);
  report->set_window_seconds(seconds);
  report->set_points_begin_seconds(begin);
}

// How evenly the hosts used the devices, in all, and each device that several of them share.
void AddFairness(const std::vector<DeviceSum>& hosts,
                 const std::map<std::string, std::vector<DeviceOnHost>>& by_key,
                 v1::PhaseReport* report) {
  // Jain's index of a single host is 1, which says nothing.
  if (hosts.size() < 2) return;
  std::vector<double> iops;
  std::vector<double> bytes;
  for (const DeviceSum& host : hosts) {
    iops.push_back(host.iops());
    bytes.push_back(host.bytes());
  }
  // The first entry is the one that tables show.
  *report->add_fairness() = FairnessOf("device IOPS over hosts", iops);
  *report->add_fairness() = FairnessOf("device bytes over hosts", bytes);
  int shared = 0;
  for (const auto& [key, seen] : by_key) {
    if (seen.size() < 2 || ++shared > kMaxShared) continue;
    std::vector<double> values;
    for (const DeviceOnHost& device : seen) values.push_back(device.sum.iops());
    *report->add_fairness() = FairnessOf(absl::StrCat("IOPS on ", key, " over hosts"), values);
  }
}

// The operations of the client of each mount of a server. The kernel counts operations of NFS
// alone.
void AddMounts(const PhaseView& view, v1::PhaseReport* report) {
  v1::ObservedReport* observed = report->mutable_observed();
  std::set<std::pair<std::string, std::string>> seen;  // by kernel
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const measure::RunWorker* self = view.WorkerOf(worker.worker_index);
    const v1::ObservedDevices* sees = self == nullptr ? nullptr : view.ObservedBy(*self);
    if (sees == nullptr) continue;
    for (const v1::ObservedMount& mount : sees->mounts()) {
      // The first one of a kernel samples it. If that one is lost, nobody knows.
      if (!seen.emplace(self->boot_id, mount.mount_point()).second || !worker.has_result) continue;
      observed->set_mounts(observed->mounts() + 1);
      const std::string name = absl::StrCat(mount.kind(), " on ", mount.mount_point());
      std::vector<std::string> parts;
      for (const v1::NfsReport& nfs : report->nfs()) {
        const auto& workers = nfs.workers();
        if (nfs.mount() != mount.mount_point() ||
            std::find(workers.begin(), workers.end(), worker.worker_index) == workers.end()) {
          continue;
        }
        if (!nfs.not_rated().empty()) {
          parts.assign({absl::StrCat("no rates: ", nfs.not_rated())});
          continue;
        }
        parts.push_back(absl::StrCat(common::FormatCount(nfs.per_second()), " ", nfs.operation(),
                                     "/s in ", common::FormatDuration(nfs.execution_ms() * 1e6),
                                     " (", common::FormatDuration(nfs.round_trip_ms() * 1e6),
                                     " to the server and back)"));
      }
      const bool is_counted = absl::StartsWith(mount.kind(), "nfs");
      google::protobuf::RepeatedPtrField<std::string> hosts;
      *hosts.Add() = self->host;
      AddSentence(measure::ObservedKind::kMount, hosts, "",
                  absl::StrCat(name, ": ",
                               !parts.empty() ? absl::StrJoin(parts, ", ")
                               : is_counted   ? "no operations"
                                              : "its client counts no operations"),
                  observed);
    }
  }
}

// /proc tells how much a program moved, and not on which device. Empty where the observed devices
// of the kernel moved as much as its programs, or can have, and where none is observed.
std::string Elsewhere(const PhaseView& view, const v1::KernelReport& kernel,
                      const v1::PhaseReport& report) {
  constexpr double kTolerance = 1.05;
  constexpr double kSmallBytes = 4 << 20;
  const auto is_its = [&](const std::string& host) {
    return std::count(kernel.hosts().begin(), kernel.hosts().end(), host) > 0;
  };
  double read = 0;
  double written = 0;
  bool has_device = false;
  for (const v1::DeviceReport& d : report.devices()) {
    if (d.hosts().empty() || !is_its(d.hosts(0)) || d.nested()) continue;
    has_device = true;
    if (!d.not_rated().empty()) return "";  // what it moved in this time is not known
    read += d.read_bytes_per_second() * report.duration_seconds();
    written += d.write_bytes_per_second() * report.duration_seconds();
  }
  if (!has_device) return "";
  double programs_read = 0;
  double programs_wrote = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    if (worker.result.others().empty() || !is_its(view.HostOf(worker.worker_index))) continue;
    for (const v1::ProcessIo& program : OthersOf(view, worker)) {
      programs_read += static_cast<double>(program.read_bytes());
      programs_wrote += static_cast<double>(program.write_bytes());
    }
    break;  // every worker of a kernel sees the same programs
  }
  const bool is_more = programs_read > kTolerance * read + kSmallBytes ||
                       programs_wrote > kTolerance * written + kSmallBytes;
  if (!is_more) return "";
  return absl::StrCat("; the observed devices read ", common::FormatSize(std::round(read)),
                      " and wrote ", common::FormatSize(std::round(written)),
                      " in this time: the rest was on other devices or mounts of servers, or is "
                      "still in memory");
}

void AddObserved(const PhaseView& view, v1::PhaseReport* report) {
  if (!view.IsObserve()) return;
  v1::ObservedReport* observed = report->mutable_observed();
  SetTimes(view, report);
  DeviceSum total;
  std::vector<DeviceSum> hosts;
  // devices.cc has added the devices worker by worker, in this order.
  int next = 0;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    const auto& sampled = view.series().Of(worker.worker_index).devices;
    DeviceSum own;
    for (size_t i = 0; i < sampled.size(); ++i) {
      const v1::DeviceReport& d = report->devices(next++);
      if (!d.not_rated().empty()) {
        AddSentence(measure::ObservedKind::kDevice, d.hosts(), d.name(),
                    absl::StrCat(d.name(), ": no rates: ", d.not_rated()), observed);
        continue;
      }
      AddSentence(measure::ObservedKind::kDevice, d.hosts(), d.name(), SentenceOf(d), observed);
      // Rates are of the workers that have a result, as everywhere in the report. Each request
      // counts at one level (ObservedLevels).
      if (!worker.has_result || d.nested()) continue;
      own.Add(d);
      total.Add(d);
    }
    // A worker beside another one of its kernel has no devices to sample.
    if (own.devices() == 0 && worker.has_result) continue;
    v1::ObservedHost* host = observed->add_hosts();
    host->set_host(view.HostOf(worker.worker_index));
    host->set_lost(!worker.has_result);
    if (!worker.has_result) continue;
    *host->mutable_devices() = own.Figures();
    hosts.push_back(own);
  }
  for (const measure::RunWorker* worker : view.Absent()) {
    v1::ObservedHost* host = observed->add_hosts();
    host->set_host(worker->host);
    host->set_lost(true);
  }
  *observed->mutable_total() = total.Figures();
  AddFairness(hosts, ObservedByKey(view, *report, ObservedLayers::kAll), report);
  AddMounts(view, report);
  for (const v1::KernelReport& kernel : report->kernels()) {
    if (kernel.others().empty()) continue;
    AddSentence(
        measure::ObservedKind::kPrograms, kernel.hosts(), "",
        absl::StrCat(absl::StrJoin(kernel.others(), ", "), Elsewhere(view, kernel, *report)),
        observed);
  }
}

const RegisterAnalysis kObservedRegistered(order::kObserved, "observed", &AddObserved,
                                           About::kDevices);

}  // namespace
}  // namespace lockstep::controller
