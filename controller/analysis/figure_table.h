#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/report_states.h"
#include "proto/comparison.pb.h"

namespace lockstep::controller {

// Which figure of which part of a job.
struct FigureKey {
  uint32_t phase_index = 0;  // for the order; two runs of one job have the same
  std::string phase, workload, kind;
  int figure = 0;  // index of kFigures
  auto operator<=>(const FigureKey&) const = default;
};

enum class FigureRole {
  kResult,   // always judged
  kExplains  // says where the time went: judged on request; left out where it is 0 in all runs
};

// The figures by which comparisons decide; the name is for people, JSON and SQL.
enum class FigureId { kIops, kThroughput, kErrors, kMean, kPercentile, kFairness, kTimeSpent };

struct FigureKind {
  FigureId id;
  const char* name;
  std::optional<measure::Unit> unit;  // Jain's index has none
  v1::Direction direction;
  FigureRole role;
  // Nothing where the row does not have it.
  std::optional<double> (*of)(const v1::PhaseOfRun& phase, const v1::FigureRow& row);
};
extern const FigureKind kFigures[];
extern const int kFigureCount;
// The mean latency of the same I/Os.
FigureKey MeanBeside(FigureKey key);

// Phases are the same that have one name; their order is that of the first run that has them.
class PhaseOrder {
 public:
  FigureKey Of(FigureKey key) {
    // The index is part of the key for the order alone. A job that has gained a phase in front must
    // still find the others' partners.
    key.phase_index = index_.emplace(key.phase, key.phase_index).first->second;
    return key;
  }

 private:
  std::map<std::string, uint32_t> index_;
};

// The rows of a phase whose figures are compared: the whole, and what it is made of if that is two
// or more. They live as long as the phase.
std::vector<const v1::FigureRow*> ComparedRowsOf(const v1::PhaseOfRun& phase);

// All figures of a run that can be compared. If a phase has a single kind of I/O, only the total.
std::map<FigureKey, double> FiguresOf(const v1::RunFigures& run);

// All values are 0.
bool IsNothing(const std::vector<double>& values);

// Why no figure of the run is compared with others: it did not end well. Empty if it did.
std::string WhyUnfit(const v1::RunFigures& run);
// Why the run's loads are not compared with others; empty when they are.
std::string WhyLeftOut(const v1::RunFigures& run);

}  // namespace lockstep::controller
