#include "controller/core/space_ledger.h"

namespace lockstep::controller {

void SpaceLedger::Grant(const std::string& run_id, const std::map<std::string, double>& bytes) {
  if (!bytes.empty()) granted_[run_id] = bytes;
}

bool SpaceLedger::Settle(const std::string& run_id) { return granted_.erase(run_id) > 0; }

SpaceLedger::Others SpaceLedger::GrantedToOthers(const std::string& run_id,
                                                 const std::string& filesystem_id) const {
  Others others;
  for (const auto& [run, bytes] : granted_) {
    const auto found = bytes.find(filesystem_id);
    if (run == run_id || found == bytes.end()) continue;
    if (others.run_id.empty()) others.run_id = run;
    others.bytes += found->second;
  }
  return others;
}

}  // namespace lockstep::controller
