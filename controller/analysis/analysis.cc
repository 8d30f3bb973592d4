#include "controller/analysis/analysis.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace lockstep::controller {
namespace {

// Filled before main() begins, and not changed after.
std::vector<Analysis>* Registered() {
  static auto* const registered = new std::vector<Analysis>();
  return registered;
}

}  // namespace

RegisterAnalysis::RegisterAnalysis(int order, const char* name,
                                   void (*add)(const PhaseView&, v1::PhaseReport*), About about) {
  Registered()->push_back({order, name, add, about});
}

std::vector<Analysis> Analyses() {
  std::vector<Analysis> analyses = *Registered();
  std::sort(analyses.begin(), analyses.end(), [](const Analysis& a, const Analysis& b) {
    return std::tuple(a.order, std::string_view(a.name)) <
           std::tuple(b.order, std::string_view(b.name));
  });
  return analyses;
}

}  // namespace lockstep::controller
