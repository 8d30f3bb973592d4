// Phases over time, as they were merged: written once, read as they are.

#include "storage/timeline.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/histogram.h"
#include "storage/pg_lease.h"
#include "storage/pg_store.h"
#include "storage/sql_values.h"

namespace lockstep::storage {
namespace {

// As a real[] column takes it.
template <typename Values>
std::string RealArray(const Values& values) {
  std::string text = "{";
  for (const auto value : values) {
    absl::StrAppend(&text, text.size() == 1 ? "" : ",",
                    // A real keeps six digits for certain (PostgreSQL, "Numeric Types"). A host
                    // without a value is NaN and not NULL, so that NumbersOf() reads numbers alone.
                    std::isnan(value) ? "NaN" : absl::StrFormat("%.6g", value));
  }
  return text + "}";
}

template <typename Get>
std::string SpanArray(const std::vector<measure::HostTable::Span>& spans, const Get& get) {
  std::string text = "{";
  for (const measure::HostTable::Span& span : spans) {
    absl::StrAppend(&text, text.size() == 1 ? "" : ",", get(span));
  }
  return text + "}";
}

// PostgreSQL's text of an array of numbers without NULLs. Nanoseconds from T are exact in a double
// up to 2^53, which is 104 days.
std::vector<double> NumbersOf(const std::string& array) {
  std::vector<double> numbers;
  if (array.size() <= 2) return numbers;
  const absl::string_view inside = absl::string_view(array).substr(1, array.size() - 2);
  for (const absl::string_view one : absl::StrSplit(inside, ',')) {
    double number = std::nan("");
    if (!absl::SimpleAtod(one, &number)) number = std::nan("");
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<float> FloatsOf(const std::string& array, size_t size) {
  const std::vector<double> numbers = NumbersOf(array);
  std::vector<float> floats(numbers.begin(), numbers.end());
  // The line is indexed by span, whatever length the array in the store has.
  floats.resize(size, std::nanf(""));
  return floats;
}

CopyRows& Key(const v1::PhaseId& phase, CopyRows* rows) {
  return rows->Add(phase.run_id()).Add(phase.phase()).Add(phase.attempt());
}

std::vector<PgParam> KeyOf(const v1::PhaseId& phase) {
  return {phase.run_id(), absl::StrCat(phase.phase()), absl::StrCat(phase.attempt())};
}

// In the order in which WriteTimeline() makes their rows.
constexpr const char* kTimelineTables[] = {"fleet_intervals", "fleet_interval_kinds", "host_spans",
                                           "host_lines", "latency_blocks"};

constexpr char kOfPhase[] = " WHERE run_id = $1 AND phase = $2 AND attempt = $3";

// One histogram serves all points of a timeline: it has 20 KiB, and a timeline has thousands of
// points.
class Encoder {
 public:
  std::string Encode(const common::Buckets& buckets) {
    histogram_.Clear();
    histogram_.Add(buckets);
    return histogram_.Encode();
  }

 private:
  common::Histogram histogram_;
};

void AddPoint(const measure::FleetPoint& point, Encoder* encoder, CopyRows* rows) {
  const measure::FleetPoint::Counts ios = point.Ios();
  rows->Add(point.interval)
      .Add(point.intervals)
      .Add(static_cast<int>(point.interval_class))
      .Add(point.begin_ns)
      .Add(point.end_ns)
      .Add(point.hosts)
      .Add(ios.operations)
      .Add(ios.bytes)
      .Add(ios.errors)
      .Add(point.latency_sum_ns)
      .Add(point.latency_max_ns);
  // The view fleet_timeline gives these columns. To compute them there, SQL would have to decode
  // every histogram.
  for (const double percent : {50.0, 90.0, 99.0, 99.9}) {
    const double latency_ns = point.Percentile(percent);
    rows->AddUnless(latency_ns == 0, latency_ns);
  }
  rows->AddBytes(encoder->Encode(point.latencies)).Add(RealArray(point.host_iops));
  point.jain ? rows->AddExact(*point.jain) : rows->AddNull();
  rows->AddExact(point.devices.seconds)
      .AddExact(point.devices.requests)
      .AddExact(point.devices.bytes)
      .AddExact(point.devices.time_ms)
      .AddExact(point.devices.queue_time_ms)
      .AddExact(point.devices.busy_ms)
      .EndRow();
}

absl::Status Read(const PgResult& rows, int row, measure::FleetPoint* point) {
  point->interval = static_cast<uint32_t>(rows.Int(row, "interval"));
  point->intervals = static_cast<uint32_t>(rows.Int(row, "intervals"));
  point->interval_class = static_cast<v1::IntervalClass>(rows.Int(row, "interval_class"));
  point->begin_ns = rows.Int(row, "begin_ns");
  point->end_ns = rows.Int(row, "end_ns");
  point->hosts = static_cast<uint32_t>(rows.Int(row, "hosts"));
  point->latency_sum_ns = rows.UInt(row, "latency_sum_ns");
  point->latency_max_ns = rows.UInt(row, "latency_max_ns");
  auto buckets = common::DecodeBuckets(absl::HexStringToBytes(rows.Text(row, "latencies")));
  if (!buckets.ok()) {
    return absl::DataLossError(absl::StrCat("latencies of interval ", point->interval,
                                            " are broken: ", buckets.status().message()));
  }
  point->latencies = *std::move(buckets);
  const std::vector<double> quantiles = NumbersOf(rows.Text(row, "host_iops"));
  for (size_t i = 0; i < std::min(quantiles.size(), point->host_iops.size()); ++i) {
    point->host_iops[i] = quantiles[i];
  }
  // Rows that an older version wrote have 1 where nothing was shared.
  const bool is_shared = point->hosts > 1 && point->host_iops.back() > 0;
  if (is_shared && !rows.Null(row, "jain")) point->jain = rows.Real(row, "jain");
  point->devices = {rows.Real(row, "device_requests"), rows.Real(row, "device_bytes"),
                    rows.Real(row, "device_time_ms"),  rows.Real(row, "device_queue_time_ms"),
                    rows.Real(row, "device_busy_ms"),  rows.Real(row, "device_seconds")};
  return absl::OkStatus();
}

absl::Status Missing(const v1::PhaseId& phase) {
  return absl::NotFoundError(absl::StrCat("the store has no timeline of phase ", phase.phase(),
                                          ": it has not ended, moved no I/O, or its samples were "
                                          "pruned before there were timelines"));
}

}  // namespace

absl::Status WriteTimeline(PgConnection* connection, const v1::PhaseId& phase,
                           const measure::Timeline& timeline) {
  if (timeline.empty()) return absl::OkStatus();
  CopyRows points;
  CopyRows kinds;
  Encoder encoder;
  for (const measure::FleetPoint& point : timeline.points()) {
    AddPoint(point, &encoder, &Key(phase, &points));
    for (const auto& [kind, counts] : point.kinds) {
      Key(phase, &kinds)
          .Add(point.interval)
          .Add(static_cast<int>(kind))
          .Add(counts.operations)
          .Add(counts.bytes)
          .Add(counts.errors)
          .EndRow();
    }
  }
  // Each timeline has exactly one row here, whatever hosts it has: WithoutTimelines() looks for it.
  const measure::HostTable& hosts = timeline.hosts();
  CopyRows spans;
  using Span = measure::HostTable::Span;
  Key(phase, &spans)
      .Add(SpanArray(hosts.spans, [](const Span& s) { return static_cast<int>(s.interval_class); }))
      .Add(SpanArray(hosts.spans, [](const Span& s) { return s.begin_ns; }))
      .Add(SpanArray(hosts.spans, [](const Span& s) { return s.end_ns; }))
      .EndRow();
  CopyRows lines;
  for (const auto& [worker, line] : hosts.lines) {
    Key(phase, &lines).Add(worker).Add(RealArray(line.iops)).Add(RealArray(line.p99_ns)).EndRow();
  }
  CopyRows blocks;
  for (size_t block = 0; block < timeline.blocks().size(); ++block) {
    for (const auto& [key, latencies] : timeline.blocks()[block].latencies) {
      Key(phase, &blocks)
          .Add(static_cast<uint32_t>(block))
          .Add(timeline.blocks()[block].intervals)
          .Add(key.first)
          .Add(static_cast<int>(key.second))
          .AddBytes(encoder.Encode(latencies))
          .EndRow();
    }
  }
  const CopyRows* const tables[] = {&points, &kinds, &spans, &lines, &blocks};
  for (size_t i = 0; i < std::size(kTimelineTables); ++i) {
    const char* table = kTimelineTables[i];
    const CopyRows* rows = tables[i];
    if (rows->empty()) continue;
    const absl::Status kept =
        connection->Copy(absl::StrCat("COPY ", table, " FROM STDIN"), rows->rows());
    if (!kept.ok()) return kept;
  }
  return absl::OkStatus();
}

absl::Status PgStore::SaveTimeline(const v1::PhaseId& phase, const measure::Timeline& timeline) {
  return Transaction(kWholeRunLimit, [&](PgConnection* connection) -> absl::Status {
    // COPY has no ON CONFLICT: the rows of an earlier call would make it fail on their keys.
    for (const char* table : kTimelineTables) {
      auto gone = connection->Query(absl::StrCat("DELETE FROM ", table, kOfPhase), KeyOf(phase));
      if (!gone.ok()) return gone.status();
    }
    return WriteTimeline(connection, phase, timeline);
  });
}

absl::StatusOr<StoredPhase> PgStore::PhaseOf(const std::string& run_id, uint32_t phase) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      // Earlier attempts came to nothing; only the last one has a timeline that counts.
      "SELECT attempt, name, kind, state, interval_ns FROM phases WHERE run_id = $1 AND phase = $2 "
      "ORDER BY attempt DESC LIMIT 1",
      {run_id, absl::StrCat(phase)});
  if (!rows.ok()) return rows.status();
  if (rows->rows() == 0) return absl::NotFoundError(absl::StrCat("the run has no phase ", phase));
  StoredPhase stored;
  stored.phase.phase = phase;
  stored.phase.attempt = static_cast<uint32_t>(rows->Int(0, "attempt"));
  stored.phase.name = rows->Text(0, "name");
  stored.phase.kind = rows->Text(0, "kind");
  const auto state = PhaseStateOf(rows->Text(0, "state"));
  if (!state.ok()) return state.status();
  stored.phase.state = *state;
  stored.phase.interval_ns = rows->Int(0, "interval_ns");
  auto hosts =
      (*lease)->Query("SELECT worker_index, host FROM run_workers WHERE run_id = $1", {run_id});
  if (!hosts.ok()) return hosts.status();
  for (int i = 0; i < hosts->rows(); ++i) {
    stored.hosts[static_cast<uint32_t>(hosts->Int(i, "worker_index"))] = hosts->Text(i, "host");
  }
  return stored;
}

absl::StatusOr<std::set<uint32_t>> PgStore::WithoutTimelines(const std::string& run_id) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      "SELECT phase FROM phase_overview p WHERE run_id = $1 AND kind NOT IN ('prepare', 'cleanup') "
      "AND NOT EXISTS (SELECT FROM host_spans h WHERE h.run_id = p.run_id AND h.phase = p.phase "
      "AND h.attempt = p.attempt)",
      {run_id});
  if (!rows.ok()) return rows.status();
  std::set<uint32_t> without;
  for (int i = 0; i < rows->rows(); ++i)
    without.insert(static_cast<uint32_t>(rows->Int(i, "phase")));
  return without;
}

absl::StatusOr<std::vector<measure::FleetPoint>> PgStore::FleetTimeline(const v1::PhaseId& phase) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto rows = (*lease)->Query(
      absl::StrCat(
          "SELECT interval, intervals, interval_class, begin_ns, end_ns, hosts, "
          "latency_sum_ns, latency_max_ns, encode(latencies, 'hex') AS latencies, host_iops, jain, "
          "device_seconds, device_requests, device_bytes, device_time_ms, "
          "device_queue_time_ms, device_busy_ms FROM fleet_intervals",
          kOfPhase, " ORDER BY interval"),
      KeyOf(phase));
  if (!rows.ok()) return rows.status();
  if (rows->rows() == 0) return Missing(phase);
  std::vector<measure::FleetPoint> points(static_cast<size_t>(rows->rows()));
  std::map<uint32_t, size_t> places;
  for (int i = 0; i < rows->rows(); ++i) {
    measure::FleetPoint& point = points[static_cast<size_t>(i)];
    if (absl::Status status = Read(*rows, i, &point); !status.ok()) return status;
    places[point.interval] = static_cast<size_t>(i);
  }
  auto kinds = (*lease)->Query(
      absl::StrCat("SELECT interval, kind, operations, bytes, errors FROM fleet_interval_kinds",
                   kOfPhase),
      KeyOf(phase));
  if (!kinds.ok()) return kinds.status();
  for (int i = 0; i < kinds->rows(); ++i) {
    const auto place = places.find(static_cast<uint32_t>(kinds->Int(i, "interval")));
    // The two statements have no common snapshot, and SaveTimeline() may replace the rows between
    // them.
    if (place == places.end()) continue;
    points[place->second].kinds[static_cast<v1::OperationKind>(kinds->Int(i, "kind"))] = {
        kinds->UInt(i, "operations"), kinds->UInt(i, "bytes"), kinds->UInt(i, "errors")};
  }
  return points;
}

absl::StatusOr<measure::HostTable> PgStore::HostTimeline(const v1::PhaseId& phase) {
  auto lease = Connect();
  if (!lease.ok()) return lease.status();
  auto spans = (*lease)->Query(
      absl::StrCat("SELECT interval_class, begin_ns, end_ns FROM host_spans", kOfPhase),
      KeyOf(phase));
  if (!spans.ok()) return spans.status();
  if (spans->rows() == 0) return Missing(phase);
  const std::vector<double> classes = NumbersOf(spans->Text(0, "interval_class"));
  const std::vector<double> begins = NumbersOf(spans->Text(0, "begin_ns"));
  const std::vector<double> ends = NumbersOf(spans->Text(0, "end_ns"));
  // An array in SQL may have any length, and the loop below reads all three by one index.
  if (begins.size() != classes.size() || ends.size() != classes.size()) {
    return absl::DataLossError("the spans of hosts are broken");
  }
  measure::HostTable table;
  for (size_t i = 0; i < classes.size(); ++i) {
    table.spans.push_back({static_cast<int64_t>(begins[i]), static_cast<int64_t>(ends[i]),
                           static_cast<v1::IntervalClass>(static_cast<int>(classes[i]))});
  }
  auto lines = (*lease)->Query(
      absl::StrCat("SELECT worker_index, iops, p99_ns FROM host_lines", kOfPhase), KeyOf(phase));
  if (!lines.ok()) return lines.status();
  for (int i = 0; i < lines->rows(); ++i) {
    measure::HostTable::Line& line =
        table.lines[static_cast<uint32_t>(lines->Int(i, "worker_index"))];
    line.iops = FloatsOf(lines->Text(i, "iops"), table.spans.size());
    line.p99_ns = FloatsOf(lines->Text(i, "p99_ns"), table.spans.size());
  }
  return table;
}

}  // namespace lockstep::storage
