// Starts a program of a portable archive with the archive's own loader and libraries. Statically
// linked and without a C library, so that it needs nothing of the machine: no shell, no loader, no
// /proc.
//
// Built once for each program (tools/packaging/native.py):
//   PROGRAM  the program, from the root of the archive: "lib/programs/lockstep"
//   TITLE    the name that ps(1) and pgrep(1) show: "lockstep"
//   DEPTH    how many directories below the root the starter lies: 1 for bin/lockstep
//   LOCALES  defined for a program that needs the archive's locales
//
// It runs  ROOT/lib/start/TITLE --inhibit-cache --library-path ROOT/lib --preload
// ROOT/lib/isolate.so --argv0 ARGV0 ROOT/PROGRAM ARGUMENTS…  where lib/start/TITLE is a link to the
// loader: the kernel names a process after the file that it was asked to execute.

#define PATH_BYTES 4096
#define MAX_WORDS 65536
#define MAX_LINKS 40

typedef unsigned long word;

enum { SYS_WRITE = 1, SYS_EXECVE = 59, SYS_EXIT = 60, SYS_GETCWD = 79, SYS_READLINK = 89 };
enum { AT_NULL = 0, AT_EXECFN = 31 };

static long call(long number, const void* a, const void* b, const void* c) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}

static word length(const char* text) {
  word bytes = 0;
  while (text[bytes] != 0) ++bytes;
  return bytes;
}

static int begins(const char* text, const char* with) {
  while (*with != 0 && *text == *with) ++text, ++with;
  return *with == 0;
}

static void fail(const char* what, const char* name) {
  const char* parts[] = {TITLE ": ", what, name, "\n"};
  for (int i = 0; i < 4; ++i) {
    call(SYS_WRITE, (const void*)2, parts[i], (const void*)length(parts[i]));
  }
  call(SYS_EXIT, (const void*)127, 0, 0);
}

// Appends `more` to the text in `path`.
static void append(char* path, const char* more) {
  const word had = length(path);
  const word bytes = length(more);
  if (had + bytes >= PATH_BYTES) fail("a path is too long: ", more);
  for (word i = 0; i <= bytes; ++i) path[had + i] = more[i];
}

static void copy(char* path, const char* from) {
  path[0] = 0;
  append(path, from);
}

// Removes the last part of a path. "/a/b" becomes "/a", and "/a" becomes "".
static void cut(char* path) {
  word end = length(path);
  while (end > 0 && path[end - 1] != '/') --end;
  while (end > 0 && path[end - 1] == '/') --end;
  path[end] = 0;
}

// The target of a link in `target`; 0 where `path` is no link.
static int follow(const char* path, char* target) {
  const long bytes = call(SYS_READLINK, path, target, (const void*)(PATH_BYTES - 1));
  if (bytes <= 0) return 0;
  target[bytes] = 0;
  return 1;
}

static void make_absolute(char* path) {
  char whole[PATH_BYTES];
  if (path[0] == '/') return;
  if (call(SYS_GETCWD, whole, (const void*)PATH_BYTES, 0) <= 0) {
    fail("the working directory has no path", "");
  }
  append(whole, "/");
  append(whole, path);
  copy(path, whole);
}

// Finds the directory of this program. Without /proc the path that it was started by names it,
// whose links are followed: a link in /usr/local/bin is a usual way to install an archive.
static void find_self(const word* auxiliary, char* path) {
  char target[PATH_BYTES];
  if (follow("/proc/self/exe", path)) return;
  for (; auxiliary[0] != AT_NULL; auxiliary += 2) {
    if (auxiliary[0] == AT_EXECFN) break;
  }
  if (auxiliary[0] == AT_NULL) fail("cannot tell where this program lies; mount /proc", "");
  copy(path, (const char*)auxiliary[1]);
  make_absolute(path);
  for (int i = 0; i < MAX_LINKS && follow(path, target); ++i) {
    if (target[0] == '/') {
      copy(path, target);
    } else {
      cut(path);
      append(path, "/");
      append(path, target);
    }
  }
}

// Whether the setting would load the machine's libraries, locales or modules into the program.
static int is_dropped(const char* setting) {
  return begins(setting, "LD_") || begins(setting, "GCONV_PATH=") ||
         begins(setting, "GLIBC_TUNABLES=") || begins(setting, "LOCPATH=");
}

static char root[PATH_BYTES], loader[PATH_BYTES], libraries[PATH_BYTES], isolate[PATH_BYTES],
    program[PATH_BYTES];
#ifdef LOCALES
static char locales[PATH_BYTES];
#endif
static const char* arguments[MAX_WORDS];
static const char* settings[MAX_WORDS];

static void under_root(char* path, const char* name) {
  copy(path, root);
  append(path, name);
}

// `stack` is as the kernel leaves it: the count, the arguments, 0, the environment, 0, and the
// auxiliary vector (System V ABI, AMD64, "Process Initialization").
__attribute__((used, noreturn)) static void start(const word* stack) {
  const word count = stack[0];
  const char* const* given = (const char* const*)(stack + 1);
  const char* const* environment = given + count + 1;
  word kept = 0;
  for (; *environment != 0; ++environment) {
    if (is_dropped(*environment)) continue;
    if (kept + 2 >= MAX_WORDS) fail("the environment is too large", "");
    settings[kept++] = *environment;
  }
  find_self((const word*)(environment + 1), root);
  for (int i = 0; i <= DEPTH; ++i) cut(root);
  under_root(loader, "/lib/start/" TITLE);
  under_root(libraries, "/lib");
  under_root(isolate, "/lib/isolate.so");
  under_root(program, "/" PROGRAM);
#ifdef LOCALES
  copy(locales, "LOCPATH=");
  append(locales, root);
  append(locales, "/share/locale");
  settings[kept++] = locales;
#endif
  const char* begin[] = {
      loader,      "--inhibit-cache", "--library-path", libraries,
      "--preload", isolate,           "--argv0",        count > 0 ? given[0] : TITLE,
      program};
  const word words = sizeof begin / sizeof begin[0];
  if (words + count >= MAX_WORDS) fail("too many arguments", "");
  for (word i = 0; i < words; ++i) arguments[i] = begin[i];
  for (word i = 1; i < count; ++i) arguments[words + i - 1] = given[i];
  call(SYS_EXECVE, loader, arguments, settings);
  fail("cannot be started; the archive is incomplete here, or its file system is mounted noexec: ",
       loader);
  __builtin_unreachable();
}

__asm__(
    ".globl _start\n"
    "_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call start\n");
