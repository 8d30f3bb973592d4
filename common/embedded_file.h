#pragma once

#include <string>

namespace lockstep::common {

// A file that the build wrote into the binary. Immutable after start; safe to read from any thread.
struct EmbeddedFile {
  std::string name;     // path within its folder, with '/' separators
  std::string content;  // the file's bytes
};

}  // namespace lockstep::common
