#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontends/findings.h"
#include "frontends/iometer/config.h"

namespace lockstep::frontends::iometer {

// The targets of a job for the disks that a file names.
class TargetTable {
 public:
  // `hosts`: how many take part. Both outlive this.
  TargetTable(const Request& request, uint32_t hosts, const Config& config, Findings* findings);

  // The name of the job's target for this disk, which becomes as large as the worker needs it.
  // Empty after an error.
  std::string Find(const Worker& worker, const Named& disk);

  // After all of them: leaves out what a workload's region says of its one target that holds
  // without it, which is all of it if the region is the whole target.
  void ShortenRegion(v1::Workload* workload) const;

  // Adds the targets to the job, and a phase that lays out the files among them.
  void AddTo(Translation* translation) const;
  bool HasFiles() const;

 private:
  struct Known {
    v1::Target target;
    Origin from, size_from;
  };
  std::string PathOf(const Named& disk);
  std::string FileNameOf(const std::string& disk);
  bool CheckDisk(const Worker& worker, const Named& disk, const std::string& path);

  const Request& request_;
  const uint32_t hosts_;
  Findings* findings_;
  std::set<std::string> disks_;  // that the file names
  std::vector<Known> known_;
  std::map<std::string, size_t> by_path_, by_name_;
  std::map<std::string, std::string> file_names_;  // by disk
  std::set<std::string> taken_files_, names_;
};

}  // namespace lockstep::frontends::iometer
