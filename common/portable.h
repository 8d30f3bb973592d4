#pragma once

#include <string>

namespace lockstep::common {

// The directory of this program. Thread-safe.

// The root of the portable archive (tools/package) that this program was started from. Empty for a
// program that was installed or built otherwise.
std::string PortableRoot();
// The directory with this program, in which those that belong to it lie, too. Empty where the
// system does not tell.
std::string ProgramDirectory();

}  // namespace lockstep::common
