// A configuration of Iometer, as a person could write it, through translating, checking and
// planning.

#include "tests/fuzz/translation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::TranslateAndPlan("iometer", "a.icf", data, size);
  return 0;
}
