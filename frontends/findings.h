#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "frontends/frontend.h"

namespace lockstep::frontends {

// Errors beyond this are not told.
inline constexpr size_t kMaxErrors = 20;

// Collects what is said about a translation.
struct Findings {
  std::vector<Message> remarks;
  std::vector<Message> errors;

  // A remark on one line of a file is made once, however many parts of the job have it from there.
  void Remark(const Origin& where, const std::string& text);
  // Keeps the first error of each line, and at most kMaxErrors in all.
  void Fail(const Origin& where, const std::string& text);
  // An error: what the option asks for has no field in a job. `need`: what a job would need.
  void Refuse(const Origin& where, const std::string& need);
  // Sorts the errors by line, file by file in the order of their first errors. Moves all to the
  // translation.
  void MoveTo(Translation* translation);

 private:
  std::set<std::string> said_;
};

// A name that is not in `taken` yet, which it joins: `name`, or with a number behind it. Control
// characters are escaped, and at most 120 bytes are left.
std::string UniqueName(const std::string& name, std::set<std::string>* taken);

}  // namespace lockstep::frontends
