#include "worker/engine/registry.h"

#include <algorithm>

namespace lockstep::worker {
namespace {

// Filled before main() begins, and not changed after.
std::vector<EngineEntry>* Registered() {
  // Constants of other files register in an order that the language leaves open. A local static is
  // there at its first use.
  static auto* const registered = new std::vector<EngineEntry>();
  return registered;
}

}  // namespace

RegisterEngine::RegisterEngine(const EngineEntry& entry) { Registered()->push_back(entry); }

std::vector<EngineEntry> Engines() {
  std::vector<EngineEntry> engines = *Registered();
  std::sort(engines.begin(), engines.end(), [](const EngineEntry& a, const EngineEntry& b) {
    return std::string_view(a.name) < b.name;
  });
  return engines;
}

const EngineEntry* FindEngine(std::string_view name) {
  for (const EngineEntry& entry : *Registered()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace lockstep::worker
