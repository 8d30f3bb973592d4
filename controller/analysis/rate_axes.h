#pragma once

#include <optional>
#include <string>

#include "proto/report.pb.h"

namespace lockstep::controller {

// A field along which a sweep says how much is done: the rate of an open loop, or a limit of a
// closed one.
struct RateAxis {
  enum class Unit { kIos, kBytes, kShare };

  bool is_open_loop = false;
  // Of the values: I/Os per second, bytes per second, or shares of a rate in I/Os per second.
  Unit unit = Unit::kIos;
  // The only kind of operation that it is about, as in reports: "read", "write". Empty: all I/Os.
  std::string kind;
  // The workload that it is of; each of them where the field names none.
  std::optional<int> workload;
};

// Nothing for a field that is no rate.
std::optional<RateAxis> RateAxisOf(const std::string& field);

// What was due per second of the workloads that the axis is of, and what they did. Bytes where the
// axis is of bytes, otherwise I/Os.
struct ServedRate {
  double due = 0, done = 0;
};

// Nothing where it is not known: a workload has no rate, or does no such operations at all.
std::optional<ServedRate> ServedRateOf(const RateAxis& axis, const std::string& value,
                                       const v1::PhaseReport& phase);

// "1,000 IOPS", "1,000 reads/s", "150 MiB/s", "150 MiB/s of reads".
std::string ServedText(const RateAxis& axis, double done);

}  // namespace lockstep::controller
