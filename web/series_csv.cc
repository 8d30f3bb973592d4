#include "web/series_csv.h"

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lockstep::web {

std::string SeriesCsv(const v1::SeriesReply& reply) {
  using Column = google::protobuf::RepeatedField<double>;
  const v1::FleetSeries& f = reply.fleet();
  std::vector<std::pair<std::string, const Column*>> columns = {
      {"begin_seconds", &reply.spans().begin_seconds()},
      {"end_seconds", &reply.spans().end_seconds()},
      {"iops", &f.iops()},
      {"bytes_per_second", &f.bytes_per_second()},
      {"errors", &f.errors()},
      {"mean_ns", &f.mean_ns()},
      {"p50_ns", &f.p50_ns()},
      {"p90_ns", &f.p90_ns()},
      {"p99_ns", &f.p99_ns()},
      {"p999_ns", &f.p999_ns()},
      {"max_ns", &f.max_ns()},
      {"host_min", &f.host_min()},
      {"host_p10", &f.host_p10()},
      {"host_median", &f.host_median()},
      {"host_p90", &f.host_p90()},
      {"host_max", &f.host_max()},
      {"jain", &f.jain()},
      {"hosts", &f.hosts()},
      {"await_ns", &f.await_ns()},
      {"queue_size", &f.queue_size()},
      {"request_bytes", &f.request_bytes()},
      {"busy_ratio", &f.busy_ratio()}};
  for (const v1::KindSeries& kind : f.kinds()) {
    columns.emplace_back(kind.kind() + "_iops", &kind.iops());
    columns.emplace_back(kind.kind() + "_bytes_per_second", &kind.bytes_per_second());
  }
  std::string csv;
  for (size_t c = 0; c < columns.size(); ++c) {
    absl::StrAppend(&csv, c == 0 ? "" : ",", columns[c].first);
  }
  csv += "\n";
  // 0 in a column of latencies: no I/O, or none above the percentile.
  const std::set<const Column*> latencies = {&f.mean_ns(), &f.p50_ns(), &f.p90_ns(),  &f.p99_ns(),
                                             &f.p999_ns(), &f.max_ns(), &f.await_ns()};
  for (int row = 0; row < reply.spans().end_seconds_size(); ++row) {
    for (size_t c = 0; c < columns.size(); ++c) {
      absl::StrAppend(&csv, c == 0 ? "" : ",");
      // A column of figures that no host reports, such as those of devices, is empty. Its fields
      // stay empty, so that all rows have the same columns.
      if (row >= columns[c].second->size()) continue;
      const double value = columns[c].second->Get(row);
      if (std::isnan(value)) continue;
      if (value != 0 || !latencies.contains(columns[c].second)) {
        absl::StrAppendFormat(&csv, "%.10g", value);
      }
    }
    csv += "\n";
  }
  return csv;
}

}  // namespace lockstep::web
