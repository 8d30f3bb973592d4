// Iometer's runs grow by targets, by workers, and by outstanding I/Os. Each kind of growth ends
// when a run would have no more targets than the one before.

#include "frontends/iometer/cycles.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lockstep::frontends::iometer {
namespace {

// No file has so many targets or workers, and the product of two such numbers fits into 64 bits.
constexpr int64_t kMany = 1000000;
constexpr size_t kMaxDepths = 100;  // values of an axis

using Counts = std::vector<std::vector<size_t>>;

// The n-th number, from 0, up to kMany.
int64_t At(const Steps& steps, size_t n) {
  const auto index = static_cast<int64_t>(n);
  if (!steps.is_exponential) {
    // All factors are cut to kMany before they are multiplied: a file has numbers up to 2^40.
    return std::min(kMany, std::min(kMany, steps.start) + index * std::min(kMany, steps.step));
  }
  int64_t number = std::min(kMany, steps.start);
  for (int64_t i = 0; i < index && number > 0 && number < kMany; ++i) {
    number = std::min(kMany, number * std::min(kMany, steps.step));
  }
  return number;
}

size_t Total(const Counts& counts) {
  size_t total = 0;
  for (const auto& workers : counts) {
    total = std::accumulate(workers.begin(), workers.end(), total);
  }
  return total;
}

std::string CountText(int64_t count, const std::string& what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// How many of its targets each worker works on: at most `targets`, of at most `workers` of each
// manager.
Counts Choose(const Config& config, size_t spec, int64_t workers, int64_t targets) {
  Counts counts;
  for (const Manager& manager : config.managers) {
    std::vector<size_t>& own = counts.emplace_back();
    int64_t left = workers;
    for (const Worker& worker : manager.workers) {
      const bool takes_part = IsActive(worker, spec) && !worker.targets.empty() && left > 0;
      own.push_back(takes_part ? std::min(worker.targets.size(), static_cast<size_t>(targets)) : 0);
      // Idle workers take no part in the cycle, and do not count.
      left -= takes_part ? 1 : 0;
    }
  }
  return counts;
}

// So many targets one after the other, down the workers of each manager, or of all of them.
Counts Fill(const Config& config, size_t spec, int64_t targets, bool is_serial) {
  Counts counts;
  auto left = static_cast<size_t>(targets);
  for (const Manager& manager : config.managers) {
    std::vector<size_t>& own = counts.emplace_back();
    if (!is_serial) left = static_cast<size_t>(targets);
    for (const Worker& worker : manager.workers) {
      own.push_back(IsActive(worker, spec) ? std::min(worker.targets.size(), left) : 0);
      left -= own.back();
    }
  }
  return counts;
}

// The runs of `choose` for growing numbers, as long as each has more targets than the one before.
void Grow(const Steps& steps, const std::string& what,
          const std::function<Counts(int64_t number)>& choose, std::vector<Run>* runs) {
  size_t before = 0;
  for (size_t n = 0; n < kMaxRuns && runs->size() <= kMaxRuns; ++n) {
    const int64_t number = At(steps, n);
    Counts counts = choose(number);
    const size_t total = Total(counts);
    // A cycle ends where a run adds nothing to the one before, so that steps of 0 end at once.
    if (total <= before) break;
    before = total;
    runs->push_back({CountText(number, what), std::move(counts)});
  }
}

void GrowWorkersAndTargets(const Config& config, size_t spec, std::vector<Run>* runs) {
  const Steps& workers = config.setup.workers;
  size_t before = 0;
  for (size_t n = 0; n < kMaxRuns && runs->size() <= kMaxRuns; ++n) {
    const int64_t number = At(workers, n);
    const size_t total = Total(Choose(config, spec, number, kMany));
    if (total <= before) break;
    before = total;
    const size_t first = runs->size();
    Grow(
        config.setup.targets, "target",
        [&](int64_t targets) { return Choose(config, spec, number, targets); }, runs);
    for (size_t i = first; i < runs->size(); ++i) {
      (*runs)[i].label = absl::StrCat(CountText(number, "worker"), ", ", (*runs)[i].label);
    }
  }
}

}  // namespace

bool IsActive(const Worker& worker, size_t spec) {
  return spec < worker.specs.size() && !absl::EqualsIgnoreCase(worker.specs[spec].name, "idle");
}

std::vector<Run> RunsFor(const Config& config, size_t spec, Findings* findings) {
  std::vector<Run> runs;
  const Setup& setup = config.setup;
  switch (setup.type) {
    case TestType::kNormal:
    case TestType::kCycleOutstandingIos:
      return {{"", Choose(config, spec, kMany, kMany)}};
    case TestType::kCycleTargets:
    case TestType::kCycleOutstandingIosAndTargets:
      Grow(
          setup.targets, "target",
          [&](int64_t number) { return Choose(config, spec, kMany, number); }, &runs);
      break;
    case TestType::kCycleWorkers:
      Grow(
          setup.workers, "worker",
          [&](int64_t number) { return Choose(config, spec, number, kMany); }, &runs);
      break;
    case TestType::kIncrementTargetsParallel:
    case TestType::kIncrementTargetsSerial: {
      const bool is_serial = setup.type == TestType::kIncrementTargetsSerial;
      Grow(
          setup.targets, "target",
          [&](int64_t number) { return Fill(config, spec, number, is_serial); }, &runs);
      break;
    }
    case TestType::kCycleWorkersAndTargets:
      GrowWorkersAndTargets(config, spec, &runs);
      break;
  }
  const Steps& steps = setup.type == TestType::kCycleWorkers ? setup.workers : setup.targets;
  // The loops above stop one run later than allowed, which shows here.
  if (runs.size() > kMaxRuns) findings->Fail(steps.where, "gives more than 1,000 runs");
  if (runs.empty() && Total(Choose(config, spec, kMany, kMany)) > 0) {
    findings->Fail(steps.where, "begins with 0, so that nothing would run");
  }
  return runs;
}

std::vector<int64_t> DepthsOf(const Setup& setup, Findings* findings) {
  std::vector<int64_t> depths;
  if (setup.type != TestType::kCycleOutstandingIos &&
      setup.type != TestType::kCycleOutstandingIosAndTargets) {
    return depths;
  }
  const Steps& steps = setup.depth;
  // Steps that do not grow never reach their end.
  const bool grows = steps.start > 0 && steps.step > 0;
  for (size_t n = 0; grows && depths.size() <= kMaxDepths; ++n) {
    const int64_t depth = At(steps, n);
    if (depth > steps.end || depth >= kMany) break;
    depths.push_back(depth);
  }
  if (!grows || depths.empty()) {
    findings->Fail(steps.where, "has no number of outstanding I/Os from 1 to its end");
    return {1};
  }
  if (depths.back() > kMaxDepth || depths.size() > kMaxDepths) {
    findings->Fail(steps.where, "goes beyond 4,096 outstanding I/Os, or 100 numbers of them");
  }
  return depths;
}

}  // namespace lockstep::frontends::iometer
