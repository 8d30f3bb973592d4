#pragma once

namespace lockstep::common {

inline constexpr char kSoftwareVersion[] = "0.1.0";

}  // namespace lockstep::common
