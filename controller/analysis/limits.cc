// What limited each workload, and how is that known?
//
// The first of these that holds, over the workload's threads and the devices and kernels under
// them: no storage (a null target); think time, rate, flow, fsync: more than half of the threads'
// time went there; page cache: the device served less than half of the bytes; generator CPU: the
// threads were on a processor for more than 90 % of their time; CPU quota: their control groups had
// used it up for more than half of the time; I/O throttle: a limit of a control group that was
// reached; network: an interface to the targets' servers reached its line rate, or lost packets
// while the threads waited; device: its queue was never empty (busy 95 % and at least as many
// requests in it as 4, or 16 per host in all), and the lowest device underneath of which that
// holds, too, or that has nearly all of its requests, is named; queue depth: the queue was full of
// few I/Os, and each waited for the one before; server or network: the threads waited, and NFS
// operations for their replies; device otherwise, where there is one; rate in part: more than half
// of the threads' time went there, but the rate was not kept.
//
// A copy has two sides. The rules look at the devices, the servers and the latencies of the side
// that took most of its I/Os' time, and say so. If neither did, or if I/Os that never completed
// took it, the side is not known.

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/units.h"
#include "controller/analysis/analysis.h"
#include "controller/analysis/busy_processors.h"
#include "controller/analysis/devices.h"
#include "controller/analysis/io_sides.h"
#include "controller/analysis/io_throttles.h"
#include "controller/analysis/kept_rates.h"
#include "controller/analysis/network_limit.h"
#include "controller/analysis/thread_shares.h"
#include "controller/analysis/underneath.h"
#include "controller/plan/loads.h"
#include "measure/report_states.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

using measure::Limit;

constexpr double kMajority = 0.5;
constexpr double kOnProcessor = 0.9;
// A device with so many requests waiting is not starved by the queue depth.
constexpr double kDeepQueue = 4;
// A share of a device's requests: those that wait in one underneath it.
constexpr double kHasAllWaiting = 0.9;
// A share of an I/O's time, and at least so much: less is the way through the kernel.
constexpr double kWaitsAbove = 0.5;
constexpr double kNoticeableMs = 0.2;

void Set(Limit limit, std::string because, v1::WorkloadReport* out) {
  out->set_limited_by(Text(limit));
  out->set_limited_because(std::move(because));
}

// The facts that are known of one workload.
struct LimitEvidence {
  const PhaseView& view;
  const v1::PhaseReport& report;
  const v1::Workload& workload;
  ThreadShares shares;
  Underneath under;
  double queue_full = 0;  // share of the time
  NetworkEvidence network;
  IoSides sides;
  std::optional<CopySide> side;  // of a copy; the devices and the network are this side's

  // Whether the threads had full queues, or waited in I/O, for most of the time.
  bool waits() const { return queue_full > kMajority || shares.io > kMajority; }
};

// Most of the threads' time goes into waits that the job itself asks for. Each of these rules says
// whether it holds, and if so, sets the verdict.
bool HasRate(const v1::Workload& w) {
  return w.has_open_loop() || w.max_iops() > 0 || w.max_throughput_bytes_per_second() > 0 ||
         w.has_read_limit() || w.has_write_limit();
}

bool LimitedByJob(const LimitEvidence& e, v1::WorkloadReport* out) {
  if (e.shares.think > kMajority) {
    Set(Limit::kThinkTime,
        absl::StrFormat("the threads paused for %.0f %% of their time, as the job says",
                        100 * e.shares.think),
        out);
  } else if (e.shares.rate > kMajority && e.workload.flow() > 0 &&
             !(HasRate(e.workload) && KeepsItsRate(e.view, e.workload, *out))) {
    Set(Limit::kFlow,
        absl::StrFormat("the threads waited for %.0f %% of their time, for the workloads that have "
                        "a flow%s, too",
                        100 * e.shares.rate,
                        e.workload.flow_group() == 0
                            ? ""
                            : absl::StrCat(" of group ", e.workload.flow_group())),
        out);
  } else if (e.shares.rate > kMajority && KeepsItsRate(e.view, e.workload, *out)) {
    Set(Limit::kRate,
        absl::StrFormat("the threads waited for their rate for %.0f %% of their time",
                        100 * e.shares.rate),
        out);
  } else if (e.shares.fsync > kMajority) {
    Set(Limit::kFsync,
        absl::StrFormat("the threads had nothing but syncs in flight for %.0f %% of their time",
                        100 * e.shares.fsync),
        out);
  } else if (e.view.HasNullTarget(e.workload)) {
    Set(Limit::kNoStorage,
        "the target is a null target: the load generator's own speed, or its script", out);
  } else {
    return false;
  }
  return true;
}

// The latencies of I/Os that completed do not explain what the threads waited for.
bool WaitsForUnfinished(const LimitEvidence& e, v1::WorkloadReport* out) {
  if (!e.workload.has_copy() || !e.waits() || e.sides.Explained() >= kMajority) return false;
  Set(Limit::kNotClear,
      absl::StrFormat(
          "I/Os that did not complete took %.0f %% of the time that the threads waited: "
          "whether %s or %s kept them is not known",
          100 * (1 - e.sides.Explained()), e.workload.copy().from(), e.workload.copy().to()),
      out);
  return true;
}

bool ServedFromPageCache(const LimitEvidence& e, v1::WorkloadReport* out) {
  for (const v1::DeviceReport* device : e.under.devices) {
    const double engine = device->engine_read_bytes() + device->engine_write_bytes();
    const v1::CrossCheck& check = device->cross_check();
    // Beside other programs the kernel's count of the load's own reads tells what the device's
    // counters do not.
    const bool is_rated = device->not_rated().empty();  // otherwise they may have missed some
    const bool by_own = check.has_own_read_bytes() && !e.workload.direct() &&
                        (!is_rated || check.own_read_bytes() < device->device_read_bytes());
    const double written = is_rated ? device->device_write_bytes() : device->engine_write_bytes();
    const double moved = written + (by_own ? check.own_read_bytes() : device->device_read_bytes());
    if ((check.verdict() != v1::CrossCheck::VERDICT_PAGE_CACHE && !by_own) ||
        moved >= kMajority * engine) {
      continue;
    }
    Set(Limit::kPageCache,
        absl::StrFormat("%s moved %.0f %% of the engines' bytes%s, memory the rest", device->name(),
                        engine > 0 ? 100 * moved / engine : 0, by_own ? " for them" : ""),
        out);
    return true;
  }
  return false;
}

bool LimitedByGenerator(const LimitEvidence& e, v1::WorkloadReport* out) {
  if (e.shares.cpu <= kOnProcessor) return false;
  Set(Limit::kGeneratorCpu,
      absl::StrFormat("the threads were on a processor for %.0f %% of their time: whether the "
                      "storage does more, a run with more threads or larger blocks can tell",
                      100 * e.shares.cpu),
      out);
  return true;
}

// Whether the host runs the workload.
bool Runs(const v1::HostReport& host, const v1::Workload& workload) {
  return std::any_of(host.workloads().begin(), host.workloads().end(),
                     [&](const auto& part) { return part.name() == workload.name(); });
}

// A thread that its control group keeps from running waits in I/O as far as it can see itself.
bool LimitedByQuota(const LimitEvidence& e, v1::WorkloadReport* out) {
  double sum = 0;
  int hosts = 0;
  for (const v1::HostReport& host : e.report.hosts()) {
    if (host.lost() || !Runs(host, e.workload)) continue;
    sum += host.throttled_ratio();
    ++hosts;
  }
  if (hosts == 0 || sum / hosts <= kMajority) return false;
  Set(Limit::kCpuQuota,
      absl::StrFormat("control groups of the workers had used up their processor quota for %.0f %% "
                      "of the time",
                      100 * sum / hosts),
      out);
  return true;
}

bool LimitedByThrottle(const LimitEvidence& e, v1::WorkloadReport* out) {
  std::string first;
  int limited = 0;
  int hosts = 0;
  for (const v1::HostReport& host : e.report.hosts()) {
    if (host.lost() || !Runs(host, e.workload)) continue;
    ++hosts;
    if (host.throttles().empty()) continue;
    const DirectTimes times = DirectTimesOf(e.view, e.report, host);
    for (const std::string& throttle : host.throttles()) {
      if (!IsOnTarget(throttle, e.report, host.worker_index()) ||
          !HeldMostly(e.view, host, throttle) || !IsReached(throttle, e.report, host, times))
        continue;
      if (first.empty()) first = absl::StrCat(host.host(), ": ", throttle);
      ++limited;
      break;
    }
  }
  // One host of many does not limit the fleet; it is a straggler, which says why.
  if (limited == 0 || limited < kMajority * hosts) return false;
  Set(Limit::kIoThrottle,
      absl::StrFormat("the control groups of %d of %d workers have a limit that was reached (%s)",
                      limited, hosts, first),
      out);
  return true;
}

// The latency of direct I/Os, and that of the requests of the devices under them, if the I/Os took
// much longer; otherwise empty.
std::string LongerThanRequests(const LimitEvidence& e, const v1::WorkloadReport& out) {
  // A response time has the wait for a free slot in it, which is above every device.
  if (!e.workload.direct() || measure::Is(out.total(), measure::LatencyMetric::kResponseTime))
    return "";
  // These devices have no requests of I/Os that other devices, a server or a daemon served.
  if (e.under.elsewhere || (e.workload.has_copy() && !e.side)) return "";
  const double latency_ms = (e.side ? e.side->ios.mean_ns() : out.total().latency_avg_ns()) / 1e6;
  const double await_ms = e.under.requests.mean_ms();
  if (!(await_ms > 0) || await_ms >= kWaitsAbove * latency_ms ||
      latency_ms - await_ms < kNoticeableMs) {
    return "";
  }
  return absl::StrFormat("its I/Os took %s on average, the requests of the device under them %s",
                         common::FormatDuration(1e6 * latency_ms),
                         common::FormatDuration(1e6 * await_ms));
}

bool HasMostRequests(const LimitEvidence& e, const v1::WorkloadReport& out) {
  const double seconds =
      e.report.last_done_seconds() - static_cast<double>(e.view.phase().phase.ramp_ns) / 1e9;
  return CanBeMostRequests(e.side ? e.side->ios.ios : out.total().operations(),
                           static_cast<double>(LargestBlock(e.workload)),
                           e.under.requests.per_second * seconds);
}

// If the processors of at least half of the workload's hosts were busy nearly all the time: those
// of the first. Empty otherwise.
std::string BusyProcessors(const LimitEvidence& e) {
  std::string first;
  int busy = 0;
  int hosts = 0;
  for (const v1::HostReport& host : e.report.hosts()) {
    if (host.lost() || !Runs(host, e.workload)) continue;
    ++hosts;
    const std::string text = BusyProcessorsOf(e.view, e.report, host.worker_index());
    if (text.empty()) continue;
    ++busy;
    if (first.empty()) first = text;
  }
  return busy >= kMajority * hosts ? first : "";
}

// Direct I/Os that take much longer than the device's requests wait above it. Then it is not the
// device that limits, whatever the queue depth.
bool WaitsAboveDevice(const LimitEvidence& e, v1::WorkloadReport* out) {
  for (const v1::DeviceReport* device : e.under.devices) {
    if (device->busy_ratio() >= kNeverIdle) return false;
  }
  const std::string longer = LongerThanRequests(e, *out);
  if (!e.waits() || longer.empty() || !HasMostRequests(e, *out)) return false;
  const std::string busy = BusyProcessors(e);
  Set(Limit::kAboveDevice,
      absl::StrCat(longer, ": they waited above it",
                   busy.empty() ? " (a throttle, a lock, another layer, a lack of processor)"
                                : absl::StrCat(", probably for a processor: ", busy)),
      out);
  return true;
}

// The type of a file system proves nothing: its server may be as slow as any device. A line that is
// full does, and so do packets that are lost while the threads wait.
bool LimitedByNetwork(const LimitEvidence& e, v1::WorkloadReport* out) {
  const std::string& because =
      !e.network.line_rate.empty() || !e.waits() ? e.network.line_rate : e.network.losses;
  if (because.empty()) return false;
  Set(Limit::kNetwork, because, out);
  return true;
}

// NFS's own counters tell its client from what is behind it. They do not tell the server from the
// network between both.
bool WaitsForServer(const LimitEvidence& e, v1::WorkloadReport* out) {
  if (e.network.round_trips.empty() || !e.waits()) return false;
  Set(Limit::kServerOrNetwork,
      absl::StrFormat("the threads waited in I/O for %.0f %% of their time; %s%s",
                      100 * e.shares.io, e.network.round_trips,
                      e.network.use.empty() ? "" : absl::StrCat("; ", e.network.use)),
      out);
  return true;
}

// The lowest device underneath `top` of which `holds` says so, or `top` itself.
const v1::DeviceReport* LowestOf(const v1::DeviceReport* top,
                                 const std::vector<const v1::DeviceReport*>& lower,
                                 const std::function<bool(const v1::DeviceReport&)>& holds) {
  const v1::DeviceReport* found = top;
  std::set<const v1::DeviceReport*> seen;
  // Level by level. A device can be underneath several: neither its depth, which is that in the
  // first of their stacks, nor the order of the reports says which one is lower here.
  std::vector<const v1::DeviceReport*> level = {top};
  while (!level.empty()) {
    std::set<std::string> names;
    for (const auto* above : level) {
      names.insert(above->underneath().begin(), above->underneath().end());
    }
    level.clear();
    for (const v1::DeviceReport* device : lower) {
      const bool shares_kernel = device->workers(0) == top->workers(0);
      if (!shares_kernel || !names.contains(device->name()) || !seen.insert(device).second)
        continue;
      level.push_back(device);
    }
    const auto lowest =
        std::find_if(level.begin(), level.end(), [&](const auto* d) { return holds(*d); });
    if (lowest != level.end()) found = *lowest;
  }
  return found;
}

// The busy time counts the time with at least one request in flight. A device that serves many at
// once is 100 % busy long before its limit (iostat(1), %util), so that its queue must be deep, too.
bool IsNeverIdle(const v1::DeviceReport& device) {
  return device.queue_size() >= kDeepQueue && device.busy_ratio() >= kNeverIdle;
}

bool DeviceNeverIdle(const LimitEvidence& e, v1::WorkloadReport* out) {
  for (const v1::DeviceReport* top : e.under.devices) {
    if (!IsNeverIdle(*top)) continue;
    // The topmost device is never idle either while it waits for one of its disks. The busy time of
    // such a disk may be too short: from Linux 5.0 to 6.9 the time before the start of a request
    // was not counted, even if others were in flight (update_io_ticks()).
    const v1::DeviceReport* device =
        LowestOf(top, e.under.lower, [&](const v1::DeviceReport& lower) {
          return IsNeverIdle(lower) || (lower.queue_size() >= kDeepQueue &&
                                        lower.queue_size() >= kHasAllWaiting * top->queue_size());
        });
    const std::string where =
        device == top ? "" : absl::StrCat(", which lies underneath ", top->name(), ",");
    Set(Limit::kDevice,
        IsNeverIdle(*device)
            ? absl::StrFormat("%s%s had %.1f requests in its queue on average and was never idle "
                              "(busy %.0f %%)",
                              device->name(), where, device->queue_size(),
                              100 * device->busy_ratio())
            : absl::StrFormat("%s%s had %.1f requests in its queue on average, of the %.1f in that "
                              "of %s, which was never idle (busy %.0f %%)",
                              device->name(), where, device->queue_size(), top->queue_size(),
                              top->name(), 100 * top->busy_ratio()),
        out);
    return true;
  }
  return false;
}

// A buffered write ends in memory until the dirty pages reach vm.dirty_ratio; then the kernel makes
// the writer write back itself (Documentation/admin-guide/sysctl/vm.rst). Time in such writes
// therefore proves nothing about the device. Reads beside them wait for it.
bool WaitsForWriteBack(const LimitEvidence& e, v1::WorkloadReport* out) {
  const v1::Workload& w = e.workload;
  const bool buffered_writes =
      !w.direct() && Writes(w) && w.write_through() <= v1::WRITE_THROUGH_NONE;
  if (!buffered_writes || !e.waits() || e.sides.ReadShare() >= kMajority) return false;
  if (w.has_copy() && !e.side) return false;
  Set(Limit::kPageCache,
      absl::StrFormat(
          "the threads were in buffered writes for %.0f %% of their time, the longest took %s: "
          "such writes end in memory, unless the kernel makes the writer wait for write-back",
          100 * e.shares.io * (1 - e.sides.ReadShare()),
          common::FormatDuration(e.sides.writes.longest_ns)),
      out);
  return true;
}

bool LimitedByQueueDepth(const LimitEvidence& e, v1::WorkloadReport* out) {
  // With many I/Os in flight a full queue shows a slow device rather than a shallow queue.
  const double in_flight = e.shares.threads * static_cast<double>(e.workload.queue_depth());
  const auto hosts = static_cast<double>(std::max<size_t>(1, e.view.phase().workers.size()));
  if (e.queue_full <= kMajority || in_flight > kDeepQueue * hosts) return false;
  Set(Limit::kQueueDepth,
      absl::StrFormat(
          "all %d I/Os that a thread may have in flight were, for %.0f %% of the "
          "time, and each waited for one before it; whether a greater queue_depth or "
          "more threads give more, only a run with them can tell%s",
          e.workload.queue_depth(), 100 * e.queue_full,
          e.network.round_trips.empty() ? "" : absl::StrCat("; ", e.network.round_trips)),
      out);
  return true;
}

bool WaitsForDevice(const LimitEvidence& e, v1::WorkloadReport* out) {
  if (!e.waits()) return false;
  if (e.workload.has_copy() && !e.side) {
    const std::string& from = e.workload.copy().from();
    const std::string& to = e.workload.copy().to();
    Set(Limit::kNotClear,
        absl::StrFormat("its reads of %s took %.0f %% of its I/Os' time, its writes of %s the "
                        "rest: which side limits it is not known",
                        from, 100 * e.sides.ReadShare(), to),
        out);
    return true;
  }
  if (const std::string longer = LongerThanRequests(e, *out);
      !longer.empty() && !HasMostRequests(e, *out)) {
    Set(Limit::kNotClear,
        absl::StrCat(longer,
                     "; most of these requests were not its own: whether the device or "
                     "something above it made its I/Os wait is not known"),
        out);
    return true;
  }
  // Without a device on this host nothing tells a server or a daemon from the network.
  const bool is_remote = e.under.devices.empty() && !e.under.remote.empty();
  Set(is_remote ? Limit::kNotClear : Limit::kDevice,
      absl::StrFormat(
          "the threads waited in I/O for %.0f %% of their time, on a processor for %.0f %%, with a "
          "full queue for %.0f %%%s%s",
          100 * e.shares.io, 100 * e.shares.cpu, 100 * e.queue_full,
          is_remote ? absl::StrCat("; the target lies on ", e.under.remote,
                                   ", whose server or daemon this host does not see")
                    : "",
          e.network.use.empty() ? "" : absl::StrCat("; ", e.network.use)),
      out);
  return true;
}

LimitEvidence EvidenceOfLimit(const PhaseView& view, int index, const v1::PhaseReport& report) {
  const v1::Workload& w = view.load().workloads(index);
  const IoSides sides = IoSidesOf(view, index);
  const std::optional<CopySide> side =
      w.has_copy() ? CopySideOf(w, sides) : std::optional<CopySide>();
  const v1::Workload& seen = side ? side->workload : w;
  return {view,
          report,
          w,
          ThreadSharesOf(report, w.name()),
          FindUnderneath(view, seen, report),
          QueueFull(view, index),
          NetworkEvidenceOf(view, report, seen),
          sides,
          side};
}

void Decide(const PhaseView& view, int index, const v1::PhaseReport& report,
            v1::WorkloadReport* out) {
  const LimitEvidence evidence = EvidenceOfLimit(view, index, report);
  const ThreadShares& shares = evidence.shares;
  // Without an I/O there is no evidence, and the shares of the time would name a limit all the
  // same.
  if (shares.threads == 0 || out->total().operations() == 0) return;
  if (LimitedByJob(evidence, out)) return;
  // The order is part of the rules. Pauses that the job asks for come first, since behind them the
  // storage is never seen at its limit. A cache or a busy generator comes before the device: either
  // hides what the device could do. The weakest evidence, time spent waiting, comes last.
  for (const auto rule :
       {WaitsForUnfinished, ServedFromPageCache, LimitedByGenerator, LimitedByQuota,
        LimitedByThrottle, LimitedByNetwork, DeviceNeverIdle, WaitsForWriteBack, WaitsAboveDevice,
        LimitedByQueueDepth, WaitsForServer, WaitsForDevice}) {
    if (!rule(evidence, out)) continue;
    if (evidence.side && rule != WaitsForUnfinished) {
      out->set_limited_because(absl::StrCat(evidence.side->because, "; ", out->limited_because()));
    }
    return;
  }
  const std::string spent =
      absl::StrFormat("in I/O %.0f %%, on a processor %.0f %%, in syncs %.0f %%", 100 * shares.io,
                      100 * shares.cpu, 100 * shares.fsync);
  // The rate held it for most of the time, but what it missed of it is something else's doing.
  if (shares.rate > kMajority) {
    Set(Limit::kRateInPart,
        absl::StrFormat("the threads waited for their rate for %.0f %% of their time and still "
                        "missed more than %.0f %% of it: nothing makes up for the time in which "
                        "something else held them (%s)",
                        100 * shares.rate, 100 * (1 - kKeptRate), spent),
        out);
    return;
  }
  Set(Limit::kNotClear,
      absl::StrFormat("%s, waiting for the rate %.0f %%", spent, 100 * shares.rate), out);
}

void AddLimits(const PhaseView& view, v1::PhaseReport* report) {
  for (int i = 0; i < report->workloads_size(); ++i) {
    Decide(view, i, *report, report->mutable_workloads(i));
  }
}

const RegisterAnalysis kLimitsRegistered(order::kLimits, "limits", &AddLimits);

}  // namespace

}  // namespace lockstep::controller
