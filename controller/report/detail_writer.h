#pragma once

#include <string>
#include <vector>

#include "controller/report/report_writer.h"
#include "proto/report.pb.h"

namespace lockstep::controller {

// Longer tables would bury the rest of the phase. --format json has all rows.
inline constexpr int kHostsShown = 64;

// The larger parts of a phase in the whole text report (TextOptions::detail).
class DetailWriter : protected ReportWriter {
 protected:
  using ReportWriter::ReportWriter;

  // A workload's latencies by kind of operation, what limited it, and what was verified.
  void Workload(const v1::WorkloadReport& workload);
  // Over which time rates are, what kind of time latencies are, and how far apart the hosts began.
  void Window(const v1::PhaseReport& phase);
  // The hosts side by side, with Fairness().
  void Hosts(const v1::PhaseReport& phase);
  // How evenly the hosts shared, and which of them were slow.
  void Fairness(const v1::PhaseReport& phase);
  void Threads(const v1::PhaseReport& phase);

 private:
  // How certain the percentiles of the table above are.
  void Confidence(const v1::WorkloadReport& workload);
  void HostConfidence(const v1::PhaseReport& phase);
  void Verification(const v1::WorkloadReport& workload);
  void Group(const v1::FindingGroup& group);

  // Whether any of the percentiles has a confidence interval.
  static bool HasInterval(const v1::OperationReport& operation);
  // A row of a table: `name`, then the interval of each of the percentiles.
  static std::vector<std::string> Intervals(const std::string& name,
                                            const v1::OperationReport& operation,
                                            const std::vector<double>& percents);
};

}  // namespace lockstep::controller
