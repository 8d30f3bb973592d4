#include "controller/analysis/rate_axes.h"

#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/units.h"
#include "controller/analysis/latency.h"

namespace lockstep::controller {
namespace {

// The rates of a workload, by their fields.
const std::map<std::string, RateAxis>& AxesOfWorkload() {
  // Never destroyed, so that no destructor at exit takes it from a thread that still reads it.
  static const auto* const kAxes = [] {
    const std::string read = KindText(v1::OPERATION_KIND_READ);
    const std::string write = KindText(v1::OPERATION_KIND_WRITE);
    return new std::map<std::string, RateAxis>{
        {"open_loop.rate", {true, RateAxis::Unit::kIos, "", {}}},
        {"open_loop.measured.share", {true, RateAxis::Unit::kShare, "", {}}},
        {"max_iops", {false, RateAxis::Unit::kIos, "", {}}},
        {"max_throughput", {false, RateAxis::Unit::kBytes, "", {}}},
        {"read_limit.iops", {false, RateAxis::Unit::kIos, read, {}}},
        {"read_limit.throughput", {false, RateAxis::Unit::kBytes, read, {}}},
        {"write_limit.iops", {false, RateAxis::Unit::kIos, write, {}}},
        {"write_limit.throughput", {false, RateAxis::Unit::kBytes, write, {}}},
    };
  }();
  return *kAxes;
}

// The workload's figures that the axis is about; null if it has none.
const v1::OperationReport* FiguresOfAxis(const RateAxis& axis, const v1::WorkloadReport& workload) {
  const v1::OperationReport* figures = axis.kind.empty() ? &workload.total() : nullptr;
  for (const v1::OperationReport& operation : workload.operations()) {
    if (!axis.kind.empty() && operation.kind() == axis.kind) figures = &operation;
  }
  return figures != nullptr && figures->has_iops() ? figures : nullptr;
}

// A value of the axis as a number. Nothing if it is none.
std::optional<double> RateValueOf(const RateAxis& axis, const std::string& value) {
  // As in a job: 1k I/Os are 1,000, and 1k bytes are 1,024.
  if (axis.unit == RateAxis::Unit::kBytes) {
    const auto bytes = common::ParseSize(std::string(absl::StripSuffix(value, "/s")));
    return bytes.ok() ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
  }
  const auto number =
      axis.unit == RateAxis::Unit::kShare ? common::ParseRatio(value) : common::ParseCount(value);
  return number.ok() ? std::optional(*number) : std::nullopt;
}

}  // namespace

std::optional<RateAxis> RateAxisOf(const std::string& field) {
  absl::string_view rest = field;
  std::optional<int> workload;
  if (absl::ConsumePrefix(&rest, "workloads.")) {
    const size_t dot = rest.find('.');
    int index = 0;
    if (dot == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(0, dot), &index)) {
      return std::nullopt;
    }
    workload = index;
    rest.remove_prefix(dot + 1);
  }
  const auto found = AxesOfWorkload().find(std::string(rest));
  if (found == AxesOfWorkload().end()) return std::nullopt;
  RateAxis axis = found->second;
  axis.workload = workload;
  return axis;
}

std::optional<ServedRate> ServedRateOf(const RateAxis& axis, const std::string& value,
                                       const v1::PhaseReport& phase) {
  const std::optional<double> limit = RateValueOf(axis, value);
  ServedRate rate;
  for (int w = 0; w < phase.workloads_size(); ++w) {
    if (axis.workload && *axis.workload != w) continue;
    const v1::WorkloadReport& workload = phase.workloads(w);
    const v1::OperationReport* figures = FiguresOfAxis(axis, workload);
    if (figures == nullptr || !limit) return std::nullopt;
    // A limit says itself what is due. The rate of an open loop is due by its schedule.
    const double due = axis.is_open_loop ? workload.due_per_second() : *limit;
    if (!(due > 0)) return std::nullopt;
    rate.due += due;
    rate.done +=
        axis.unit == RateAxis::Unit::kBytes ? figures->bytes_per_second() : figures->iops();
  }
  return rate.due > 0 ? std::optional(rate) : std::nullopt;
}

std::string ServedText(const RateAxis& axis, double done) {
  if (axis.unit == RateAxis::Unit::kBytes) {
    return absl::StrCat(common::FormatRate(done),
                        axis.kind.empty() ? "" : absl::StrCat(" of ", axis.kind, "s"));
  }
  return absl::StrCat(common::FormatCount(done),
                      axis.kind.empty() ? " IOPS" : absl::StrCat(" ", axis.kind, "s/s"));
}

}  // namespace lockstep::controller
