#include "common/ids.h"

#include <sys/random.h>

#include <cstdlib>

#include "absl/strings/str_format.h"

namespace lockstep::common {

uint64_t RandomSeed() {
  uint64_t value = 0;
  // Once the kernel's pool is initialised, up to 256 bytes come whole and without an interruption
  // (getrandom(2)).
  if (getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}

std::string NewUuid() {
  // The version is 4 and the variant binary 10; all other bits are random (RFC 9562, section 5.4).
  const uint64_t high = (RandomSeed() & ~uint64_t{0xf000}) | 0x4000;
  const uint64_t low = (RandomSeed() & ~(uint64_t{3} << 62)) | (uint64_t{2} << 62);
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", high >> 32, (high >> 16) & 0xffff,
                         high & 0xffff, low >> 48, low & 0xffffffffffff);
}

bool IsUuid(const std::string& text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

uint64_t DeriveSeed(uint64_t seed, uint64_t position) {
  // SplitMix64: neighbouring positions give unrelated seeds. Verification makes blocks again from
  // seeds that are stored in them, so the constants must never change.
  uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace lockstep::common
