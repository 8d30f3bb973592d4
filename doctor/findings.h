#pragma once

#include <string>

#include "proto/doctor.pb.h"

namespace lockstep::doctor {

// Why a finding matters, and how to fix it.
struct Advice {
  std::string why;   // it matters
  std::string help;  // the command, or the step
};

// Adds findings of one area to a report. Not thread-safe.
class Findings {
 public:
  // `report` outlives this.
  Findings(v1::DoctorReport* report, std::string area, std::string subject = "")
      : report_(report), area_(std::move(area)), subject_(std::move(subject)) {}

  void Ok(const std::string& check, const std::string& found);
  // It works, but slower, or not for every job.
  void Warn(const std::string& check, const std::string& found, const Advice& advice);
  // It does not work.
  void Problem(const std::string& check, const std::string& found, const Advice& advice);

 private:
  void Add(const char* severity, const std::string& check, const std::string& found,
           const Advice& advice);

  v1::DoctorReport* const report_;
  const std::string area_, subject_;
};

// Fills in the exit status (0 good, 1 warnings, 2 problems) by the findings, and returns it.
int Conclude(v1::DoctorReport* report);

// One finding for a terminal: one to three lines, which begin with blanks. It holds no control
// characters, whatever the finding holds.
enum class Colour { kNo, kYes };
std::string RenderFinding(const v1::DoctorFinding& finding, Colour colour);

// The report for a terminal: the findings by area and subject, in their order, and the counts. It
// holds no control characters, whatever the findings hold.
std::string RenderDoctor(const v1::DoctorReport& report, Colour colour);

// The report as JSON, with every field.
std::string DoctorJson(const v1::DoctorReport& report);

}  // namespace lockstep::doctor
