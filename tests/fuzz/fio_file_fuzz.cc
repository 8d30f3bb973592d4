// A job file of fio, as a person could write it, through translating, checking and planning.

#include "tests/fuzz/translation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::TranslateAndPlan("fio", "a.fio", data, size);
  return 0;
}
