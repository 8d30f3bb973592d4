#include "controller/core/space_ledger.h"

#include <iterator>

namespace lockstep::controller {

void SpaceLedger::Grant(const std::string& run_id, const std::map<std::string, double>& bytes) {
  // A run without files has no account. Its end would count as the end of a grant, and send runs
  // that are being admitted back to the queue.
  if (!bytes.empty()) accounts_[run_id].bytes = bytes;
}

void SpaceLedger::Lose(const std::string& run_id, const std::string& worker_id) {
  const auto found = accounts_.find(run_id);
  if (found != accounts_.end()) found->second.lost.insert(worker_id);
}

bool SpaceLedger::Settle(const std::string& run_id) {
  const auto found = accounts_.find(run_id);
  if (found == accounts_.end()) return false;
  // A run settles when its files are laid out, and again when it ends.
  found->second.settled = true;
  // A lost worker may still be laying out files that the file system's free space does not show.
  if (!found->second.lost.empty()) return false;
  accounts_.erase(found);
  ++ended_;
  return true;
}

bool SpaceLedger::Leave(const std::string& worker_id) {
  const uint64_t before = ended_;
  for (auto account = accounts_.begin(); account != accounts_.end();) {
    account->second.lost.erase(worker_id);
    const bool ends = account->second.settled && account->second.lost.empty();
    ended_ += ends ? 1 : 0;
    account = ends ? accounts_.erase(account) : std::next(account);
  }
  return ended_ != before;
}

SpaceLedger::Others SpaceLedger::GrantedToOthers(const std::string& run_id,
                                                 const std::string& filesystem_id) const {
  Others others;
  for (const auto& [run, account] : accounts_) {
    const auto found = account.bytes.find(filesystem_id);
    if (run == run_id || found == account.bytes.end()) continue;
    if (others.run_id.empty()) others.run_id = run;
    others.bytes += found->second;
  }
  return others;
}

}  // namespace lockstep::controller
