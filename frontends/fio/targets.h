#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {

// A target of the job, with what its users want of it.
struct KnownTarget {
  TargetUse use;
  Origin first;  // the job that named it first
  std::string name;
};

// A name that is not taken yet.
std::string UniqueName(const std::string& wanted, std::set<std::string>* taken);

// The targets of all jobs. Jobs that use a part of one file or device each share a target that is
// as large as the largest of them.
class TargetBook {
 public:
  explicit TargetBook(Findings* findings) : findings_(*findings) {}

  // The number of the target of this use. `hosts`: how many take part.
  int Find(const SectionReader& reader, const TargetUse& use, uint32_t hosts);
  // A field, and the map that its origin is noted in.
  struct Field {
    Origins* origins;
    std::string name;
  };
  // Notes how far the workload's region reaches into a target. Both outlive EndRegions().
  void NoteReach(int target, const TargetUse& use, v1::Workload* workload, Field size);
  // After the last one, when the size of each target is known: gives a size to each region behind
  // which its target goes on.
  void EndRegions();

  const std::vector<KnownTarget>& all() const { return targets_; }
  const KnownTarget& at(int target) const { return targets_[static_cast<size_t>(target)]; }

 private:
  struct Reach {
    int target;
    int64_t bytes;
    Origin origin;
    v1::Workload* workload;
    Field size;
  };

  bool Join(const TargetUse& use, uint32_t hosts, KnownTarget* known) const;
  bool EndsBefore(const Reach& reach) const;

  Findings& findings_;
  std::vector<KnownTarget> targets_;
  std::map<std::string, int> numbers_;  // by what they are
  std::set<std::string> names_;
  std::vector<Reach> reaches_;
};

}  // namespace lockstep::frontends::fio
