#pragma once

#include <cstdint>
#include <string>

namespace lockstep::common {

// A random UUID (RFC 9562, version 4) in its usual text form. Thread-safe.
std::string NewUuid();
// 64 random bits from the kernel. Thread-safe.
uint64_t RandomSeed();
// Whether `text` is a UUID's usual text form in lower case.
bool IsUuid(const std::string& text);
// A well-mixed seed from a seed and a position (splitmix64). Pure.
uint64_t DeriveSeed(uint64_t seed, uint64_t position);

}  // namespace lockstep::common
