#pragma once

namespace lockstep::common {

inline constexpr char kSoftwareVersion[] = "0.1.0";
// The number of the newest file in storage/schema. A test compares them.
inline constexpr int kSchemaVersion = 38;

}  // namespace lockstep::common
