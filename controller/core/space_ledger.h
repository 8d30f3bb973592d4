#pragma once

#include <map>
#include <string>

namespace lockstep::controller {

// Space on file systems that runs in progress are about to fill. What a run will lay out is granted
// when it starts, and settled once its files lie there: from then on the file system's own free
// space says it. Pure; not thread-safe.
class SpaceLedger {
 public:
  // What the run is about to lay out, bytes by file system.
  void Grant(const std::string& run_id, const std::map<std::string, double>& bytes);
  // The run has laid out its files, or is over. False when it had been granted nothing.
  bool Settle(const std::string& run_id);
  // What runs other than `run_id` may still lay out on the file system, bytes, and the first of
  // them.
  struct Others {
    double bytes = 0;
    std::string run_id;
  };
  Others GrantedToOthers(const std::string& run_id, const std::string& filesystem_id) const;

 private:
  std::map<std::string, std::map<std::string, double>> granted_;  // by run, then file system
};

}  // namespace lockstep::controller
