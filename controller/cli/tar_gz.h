#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lockstep::cli {

struct PackedFile {
  std::string path;  // below the archive's directory; at most 90 bytes
  std::string content;
};

// A gzipped tar (ustar) of regular files of mode 0600 in the directory `directory`. Programs that
// unpack it need nothing newer. INVALID_ARGUMENT for a name that does not fit.
absl::StatusOr<std::string> MakeTarGz(const std::string& directory,
                                      const std::vector<PackedFile>& files, int64_t now_s);

// Writes a new file of mode 0600. ALREADY_EXISTS where something has the name, a link too.
absl::Status WriteNewPrivateFile(const std::string& path, const std::string& content);

}  // namespace lockstep::cli
