// tools/simulate: many seeds of a simulated fleet, and one seed's history.

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tests/simulation/safeguard_names.h"
#include "tests/simulation/world.h"

namespace {

using namespace lockstep;

struct Flags {
  uint64_t seeds = 1000;
  uint64_t first = 1;
  int64_t seed = -1;
  std::string without;
  int jobs = 2;
  int print = 3;
};

void Print(uint64_t seed, const simulation::Outcome& outcome, const std::string& without) {
  std::cout << "seed " << seed << ": " << outcome.violations.size() << " violations\n";
  for (const std::string& violation : outcome.violations) std::cout << "  " << violation << "\n";
  std::cout << "replay: tools/simulate --seed " << seed
            << (without.empty() ? "" : " --without " + without) << std::endl;
}

// A share of the seeds; the counts go to `out` as text. 1 when a violation was found.
int RunShare(const Flags& flags, const common::Safeguards& safeguards, int share, int out) {
  std::map<std::string, uint64_t> counts;
  int found = 0;
  for (uint64_t i = static_cast<uint64_t>(share); i < flags.seeds;
       i += static_cast<uint64_t>(flags.jobs)) {
    const uint64_t seed = flags.first + i;
    const simulation::Outcome outcome =
        simulation::Simulate({.seed = seed, .safeguards = safeguards});
    ++counts["seeds"];
    counts["events"] += outcome.events;
    for (const auto& [state, runs] : outcome.ended) {
      counts["run " + state] += static_cast<uint64_t>(runs);
    }
    for (const auto& [fault, times] : outcome.faults) {
      counts["fault " + fault] += static_cast<uint64_t>(times);
    }
    if (outcome.violations.empty()) continue;
    ++counts["violations"];
    if (found++ < flags.print) Print(seed, outcome, flags.without);
    if (!flags.without.empty()) break;
  }
  std::string text;
  for (const auto& [name, count] : counts) text += name + "\t" + std::to_string(count) + "\n";
  return write(out, text.data(), text.size()) == static_cast<ssize_t>(text.size())
             ? (found == 0 ? 0 : 1)
             : 2;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Runs the deciding parts of controller and worker in virtual time, with faults, and checks "
      "that what must hold does.");
  app.add_option("--seeds", flags.seeds, "How many")->capture_default_str();
  app.add_option("--first", flags.first, "The first of them")->capture_default_str();
  app.add_option("--seed", flags.seed, "One seed, with its whole history");
  app.add_option("--without", flags.without,
                 "Leaves one safeguard out: a violation should be found then. Safeguards: " +
                     simulation::SafeguardNames());
  app.add_option("--jobs", flags.jobs, "Processes")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--print", flags.print, "How many violating seeds each process shows")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto safeguard = simulation::SafeguardOf(flags.without);
  if (!safeguard) {
    std::cerr << "no safeguard is named " << flags.without << "; there are "
              << simulation::SafeguardNames() << "\n";
    return 2;
  }
  const common::Safeguards safeguards = common::Safeguards::Without(*safeguard);
  if (flags.seed >= 0) {
    const simulation::Outcome outcome = simulation::Simulate(
        {.seed = static_cast<uint64_t>(flags.seed), .safeguards = safeguards, .print = true});
    Print(static_cast<uint64_t>(flags.seed), outcome, flags.without);
    std::printf("history %016lx after %lu events\n", outcome.history, outcome.events);
    return outcome.violations.empty() ? 0 : 1;
  }
  const auto began = std::chrono::steady_clock::now();
  int pipes[2];
  if (pipe(pipes) != 0) return 2;
  std::vector<pid_t> children;
  for (int share = 0; share < flags.jobs; ++share) {
    const pid_t child = fork();
    if (child == 0) _exit(RunShare(flags, safeguards, share, pipes[1]));
    children.push_back(child);
  }
  close(pipes[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(pipes[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  bool broken = false;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    broken = broken || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  std::map<std::string, uint64_t> counts;
  for (size_t at = 0; at < text.size();) {
    const size_t tab = text.find('\t', at);
    const size_t end = text.find('\n', at);
    counts[text.substr(at, tab - at)] += std::stoull(text.substr(tab + 1, end - tab - 1));
    at = end + 1;
  }
  for (const auto& [name, count] : counts) std::printf("%-40s %12lu\n", name.c_str(), count);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%lu seeds, %lu with violations, %.1f s\n", counts["seeds"], counts["violations"],
              seconds);
  return broken ? 1 : 0;
}
