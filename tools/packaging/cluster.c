// The `initdb` of a portable archive: makes a cluster by copying the one that was made when the
// archive was packaged (share/postgresql/template). PostgreSQL's own initdb needs /bin/sh and an
// entry in /etc/passwd; this one needs nothing.
//
//   initdb -D DIRECTORY [-U lockstep] [--auth=trust] [--encoding=UTF8] [--locale=C.UTF-8]
//
// The template has these settings, so that other values are refused. Each cluster gets an
// identifier and a nonce of its own, as from PostgreSQL's initdb. tools/packaging uses two more
// options, which make the template itself the same at each packaging:
//
//   --template DIRECTORY   copy that one
//   --identifier NUMBER    and give it this identifier, and no nonce

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum {
  kControlVersion = 1300,  // of PostgreSQL 13 to 16 (pg_control.h, PG_CONTROL_VERSION)
  kNonceBytes = 32,        // the last field before the checksum
  kSmallestControl = 200,
  kLongHeader = 2,         // XLP_LONG_HEADER (xlog_internal.h)
  kIdentifierInPage = 24,  // of XLogLongPageHeaderData
  kBufferBytes = 1 << 20,
};

static void __attribute__((noreturn)) fail(const char* what, const char* path) {
  fprintf(stderr, "initdb: %s: %s\n", path, what);
  exit(1);
}

static void __attribute__((noreturn)) fail_errno(const char* path) { fail(strerror(errno), path); }

static void join(char* to, const char* directory, const char* name) {
  if (snprintf(to, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX) fail("too long", directory);
}

static void copy_file(const char* from, const char* to) {
  static char buffer[kBufferBytes];
  const int in = open(from, O_RDONLY | O_CLOEXEC);
  if (in < 0) fail_errno(from);
  const int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (out < 0) fail_errno(to);
  ssize_t got;
  while ((got = read(in, buffer, sizeof buffer)) > 0) {
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = write(out, buffer + done, (size_t)(got - done));
      if (put < 0) fail_errno(to);
      done += put;
    }
  }
  if (got < 0) fail_errno(from);
  if (close(out) != 0) fail_errno(to);
  close(in);
}

// PostgreSQL refuses a directory that others may enter, whatever modes the archive was unpacked
// with.
static void copy_tree(const char* from, const char* to) {
  DIR* entries = opendir(from);
  if (entries == NULL) fail_errno(from);
  if (mkdir(to, 0700) != 0) fail_errno(to);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char source[PATH_MAX];
    char copy[PATH_MAX];
    struct stat facts;
    join(source, from, entry->d_name);
    join(copy, to, entry->d_name);
    if (lstat(source, &facts) != 0) fail_errno(source);
    if (S_ISDIR(facts.st_mode)) {
      copy_tree(source, copy);
    } else if (S_ISREG(facts.st_mode)) {
      copy_file(source, copy);
    } else {
      fail("neither a file nor a directory", source);
    }
  }
  closedir(entries);
}

// CRC-32C (Castagnoli), as PostgreSQL computes it.
static uint32_t checksum(const uint8_t* bytes, size_t count) {
  uint32_t crc = ~0U;
  for (size_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
  }
  return ~crc;
}

static void change_file(const char* directory, const char* name, size_t bytes,
                        void (*change)(uint8_t* content, size_t bytes, const char* path)) {
  static uint8_t content[8192];
  char path[PATH_MAX];
  join(path, directory, name);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) fail_errno(path);
  if (pread(file, content, bytes, 0) != (ssize_t)bytes) fail("shorter than expected", path);
  change(content, bytes, path);
  if (pwrite(file, content, bytes, 0) != (ssize_t)bytes) fail_errno(path);
  if (close(file) != 0) fail_errno(path);
}

static uint64_t identifier;
static uint8_t nonce[kNonceBytes];

// global/pg_control begins with the identifier and the version of its layout. The offset of its
// checksum depends on the layout; only at that offset it is right.
static void change_control(uint8_t* content, size_t bytes, const char* path) {
  uint32_t version;
  memcpy(&version, content + sizeof identifier, sizeof version);
  if (version != kControlVersion) fail("of a version that this program does not know", path);
  for (size_t at = kSmallestControl; at + sizeof(uint32_t) <= bytes && at < 512; at += 4) {
    uint32_t stored;
    memcpy(&stored, content + at, sizeof stored);
    if (stored != checksum(content, at)) continue;
    memcpy(content, &identifier, sizeof identifier);
    memcpy(content + at - kNonceBytes, nonce, kNonceBytes);
    const uint32_t fresh = checksum(content, at);
    memcpy(content + at, &fresh, sizeof fresh);
    return;
  }
  fail("its checksum is wrong", path);
}

// PostgreSQL refuses a log whose first page names another cluster.
static void change_log(uint8_t* content, size_t bytes, const char* path) {
  uint16_t flags;
  (void)bytes;
  memcpy(&flags, content + 2, sizeof flags);
  if ((flags & kLongHeader) == 0) fail("does not begin like a log of PostgreSQL", path);
  memcpy(content + kIdentifierInPage, &identifier, sizeof identifier);
}

static void change_logs(const char* directory) {
  char logs[PATH_MAX];
  join(logs, directory, "pg_wal");
  DIR* entries = opendir(logs);
  if (entries == NULL) fail_errno(logs);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    if (strlen(entry->d_name) == 24) change_file(logs, entry->d_name, 64, change_log);
  }
  closedir(entries);
}

// As PostgreSQL's initdb makes it: by the time and the process.
static void make_identity(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  identifier =
      (uint64_t)now.tv_sec << 32 | (uint64_t)now.tv_usec << 12 | ((uint64_t)getpid() & 0xfff);
  if (getrandom(nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce) fail_errno("getrandom");
}

// The loader leaves the name of this program, ROOT/lib/programs/initdb (common/portable.cc).
static void find_template(char* path) {
  const char* self = (const char*)getauxval(AT_EXECFN);
  if (self == NULL || strlen(self) >= PATH_MAX - 64) fail("where does it lie?", "initdb");
  strcpy(path, self);
  for (int i = 0; i < 3; ++i) {
    char* slash = strrchr(path, '/');
    if (slash == NULL) fail("is not part of a portable archive", self);
    *slash = 0;
  }
  strcat(path, "/share/postgresql/template");
}

static int is_settled(const char* option) {
  static const char* const kSettled[] = {"--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"};
  for (size_t i = 0; i < sizeof kSettled / sizeof kSettled[0]; ++i) {
    if (strcmp(option, kSettled[i]) == 0) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  const char* directory = NULL;
  char template[PATH_MAX] = "";
  make_identity();
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (is_settled(argv[i])) continue;
    ++i;
    if (strcmp(argv[i - 1], "-D") == 0) {
      directory = value;
    } else if (strcmp(argv[i - 1], "--template") == 0 && strlen(value) < PATH_MAX) {
      strcpy(template, value);
    } else if (strcmp(argv[i - 1], "--identifier") == 0) {
      identifier = strtoull(value, NULL, 10);
      memset(nonce, 0, sizeof nonce);
    } else if (strcmp(argv[i - 1], "-U") != 0 || strcmp(value, "lockstep") != 0) {
      fail("the cluster of the archive has other settings; this one is not known", argv[i - 1]);
    }
  }
  if (directory == NULL || *directory == 0) fail("give the directory of the cluster", "-D");
  if (template[0] == 0) find_template(template);
  umask(077);
  copy_tree(template, directory);
  change_file(directory, "global/pg_control", 8192, change_control);
  change_logs(directory);
  const int made = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (made < 0 || syncfs(made) != 0) fail_errno(directory);
  return 0;
}
