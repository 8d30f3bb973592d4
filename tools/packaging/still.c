// Time stands still, and chance always gives zeros: preloaded into PostgreSQL while the template
// cluster is made, so that two packagings of one commit make the same one.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static time_t epoch(void) {
  const char* text = getenv("SOURCE_DATE_EPOCH");
  return text == NULL ? 0 : (time_t)strtoll(text, NULL, 10);
}

time_t time(time_t* now) {
  if (now != NULL) *now = epoch();
  return epoch();
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  now->tv_sec = epoch();
  now->tv_usec = 0;
  return 0;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  (void)clock;
  now->tv_sec = epoch();
  now->tv_nsec = 0;
  return 0;
}

int RAND_bytes(unsigned char* bytes, int count) {
  memset(bytes, 0, (size_t)count);
  return 1;
}
