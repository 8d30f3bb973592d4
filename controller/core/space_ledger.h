#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace lockstep::controller {

// Space on file systems that runs in progress are about to fill. What a run will lay out is granted
// when it starts, and settled once its files lie there: from then on the file system's own free
// space says it. A worker that was lost may go on laying out files: the grant stays until it has
// left. Pure; not thread-safe.
class SpaceLedger {
 public:
  // What the run is about to lay out, bytes by file system.
  void Grant(const std::string& run_id, const std::map<std::string, double>& bytes);
  // The worker was lost in the run.
  void Lose(const std::string& run_id, const std::string& worker_id);
  // The run's other workers have laid out its files, or it is over. Whether its grant ends here.
  bool Settle(const std::string& run_id);
  // The worker lays out nothing any more. Whether a grant ends here.
  bool Leave(const std::string& worker_id);
  // How many grants have ended: what was found free before the last one did says too much.
  uint64_t ended() const { return ended_; }
  // What runs other than `run_id` may still lay out on the file system, bytes, and the first of
  // them.
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
