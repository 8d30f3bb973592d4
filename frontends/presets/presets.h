#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lockstep::frontends {

// Jobs that Lockstep brings along, in the files *.yaml of this directory. A preset is a job file
// with three additions: /dev/sdx and /mnt/test stand for what the caller names; a line that ends
// with `# with --device`, `# with --directory` or `# with --purge` belongs to the job only with
// this flag; the number in a line that ends with `# times hosts` is that of one host. Pure, and
// safe to call from any thread.

struct Preset {
  std::string name;
  std::string summary;  // the first sentence of its comment
  std::string text;
  bool takes_device = false, takes_directory = false, takes_purge = false;
};
// All of them, by name.
const std::vector<Preset>& Presets();
// Null if there is none of that name.
const Preset* FindPreset(absl::string_view name);

// The device, or the directory, that a preset works on.
struct PresetUse {
  std::string device;     // below /dev
  std::string directory;  // absolute; each host has a directory of its name in it
  std::string hosts;      // as ParseHosts() takes it; empty: one host
  bool purge = false;     // discard the whole device first
};
// The preset as a job file. INVALID_ARGUMENT if it cannot be used so.
absl::StatusOr<std::string> FillPreset(const Preset& preset, const PresetUse& use);

}  // namespace lockstep::frontends
