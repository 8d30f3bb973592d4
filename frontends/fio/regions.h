#pragma once

#include <cstdint>

#include "frontends/fio/job.h"

namespace lockstep::frontends::fio {

// The part of each of its files that a job uses: offset, offset_increment, and a size in percent.
// Percentages of files whose size the job says (filesize) become bytes, those of devices stay.
class FileRegion {
 public:
  // `file_bytes`: of each file, 0 if no option says it. `size`: the job's.
  FileRegion(const SectionReader& section, const Job& job, int64_t file_bytes, const Amount& size);

  bool is_given() const {
    return offset_.is_given() || increment_.is_given() || size_share_.is_given();
  }
  // Whether each clone has a region of its own.
  bool is_apart() const { return increment_.is_given(); }
  bool has_shares() const { return offset_.share > 0 || increment_.share > 0; }
  // An option that says it.
  const Option& from() const;
  // The option of an offset or increment that is a share of a size that is not known; else null.
  const Option* unknown() const;
  int64_t offset_bytes() const { return offset_.bytes; }
  // The size of each file, if the region's size is a percentage of it; else 0.
  int64_t size_bytes() const { return size_share_.bytes; }
  // The end of the last clone's region, where each has `bytes`.
  int64_t EndOf(int64_t bytes) const;
  void WriteTo(FilePlan* plan) const;

 private:
  enum class Round { kUp, kDown };
  int64_t BlockBytes() const;
  Amount InFile(const Amount& amount, Round round) const;
  void KeepInFile();
  void CheckUnits() const;

  const SectionReader& section_;
  const Job& job_;
  const int64_t file_bytes_;
  Amount offset_, increment_, size_share_;
};

// With a skip there must be another offset in so many bytes (0: unknown) to go to.
void CheckFilesRegion(const SectionReader& section, const Job& job, int64_t bytes);
// As many bytes of a device as a host that has it alone may use at least so many of.
int64_t WholeSlices(int64_t bytes);

}  // namespace lockstep::frontends::fio
