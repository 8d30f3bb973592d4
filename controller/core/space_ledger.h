#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace lockstep::controller {

// Keeps account of the space that runs in progress are about to use on file systems. A run is
// granted what it will lay out when it starts. The grant ends once its files are laid out: from
// then on the file system's own free space shows them. A lost worker may still be laying out files,
// so that the grant stays until that worker is idle. Pure; not thread-safe.
class SpaceLedger {
 public:
  // Notes the bytes that the run is about to lay out, by file system.
  void Grant(const std::string& run_id, const std::map<std::string, double>& bytes);
  // The worker was lost in the run.
  void Lose(const std::string& run_id, const std::string& worker_id);
  // The workers that were not lost have laid out the run's files, or the run has ended. Returns
  // whether the grant ends with this.
  bool Settle(const std::string& run_id);
  // The worker is idle. Returns whether a grant ends with this.
  bool Leave(const std::string& worker_id);
  // How many grants have ended. Free space measured before the last one ended may be too high.
  uint64_t ended() const { return ended_; }
  // The bytes that runs other than `run_id` may still lay out on the file system, and the first of
  // these runs.
  struct Others {
    double bytes = 0;
    std::string run_id;
  };
  Others GrantedToOthers(const std::string& run_id, const std::string& filesystem_id) const;

 private:
  struct Account {
    std::map<std::string, double> bytes;  // by file system
    std::set<std::string> lost;           // workers
    bool settled = false;                 // but for those
  };
  std::map<std::string, Account> accounts_;  // by run
  uint64_t ended_ = 0;
};

}  // namespace lockstep::controller
