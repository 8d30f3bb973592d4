#include "worker/doctor/host_checks.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/units.h"
#include "worker/host/time_limit.h"

namespace lockstep::worker {
namespace {

using doctor::Findings;

// 64 I/Os in flight of 64 KiB each, on 16 threads.
constexpr uint64_t kEnoughMemlock = 64 << 20;
// libaio takes a context of the queue depth for each thread: 64 threads of 128, twice.
constexpr uint64_t kEnoughAio = 16384;
constexpr uint64_t kEnoughFiles = 4096;
constexpr double kMuchSteal = 0.01;
constexpr uint64_t kMinStateBytes = 64 << 20;
constexpr int kCapIpcLock = 14;
constexpr int kCapSysAdmin = 21;

std::string Size(uint64_t bytes) { return common::FormatSize(static_cast<double>(bytes)); }

std::optional<uint64_t> Number(const std::string& text) {
  uint64_t value = 0;
  return absl::SimpleAtoi(text, &value) ? std::optional(value) : std::nullopt;
}

// "Seccomp:\t2" of /proc/self/status.
std::string StatusField(const std::string& root, const std::string& key) {
  std::istringstream lines(common::ReadTrimmed(root + "/proc/self/status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + ":", 0) != 0) continue;
    const size_t begin = line.find_first_not_of(" \t", key.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

bool HasCapability(const std::string& root, int number) {
  const std::string hex = StatusField(root, "CapEff");
  uint64_t set = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), set, 16);
  // The effective set counts: a capability that is only permitted must be raised first
  // (capabilities(7)).
  return ((set >> number) & 1) != 0;
}

// The soft limit of a line of /proc/self/limits; UINT64_MAX for "unlimited".
std::optional<uint64_t> SoftLimit(const std::string& root, const std::string& name) {
  std::istringstream lines(common::ReadTrimmed(root + "/proc/self/limits"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name, 0) != 0) continue;
    std::istringstream words(line.substr(name.size()));
    std::string soft;
    words >> soft;
    return soft == "unlimited" ? std::optional(UINT64_MAX) : Number(soft);
  }
  return std::nullopt;
}

// The reason why this process has no io_uring, and the operator's remedy.
doctor::Advice WhyNoRing(const std::string& root, int error, std::string* reason) {
  const std::string disabled = common::ReadTrimmed(root + "/proc/sys/kernel/io_uring_disabled");
  const std::string effect =
      "jobs that allow it use libaio instead, at more processor time per I/O; others fail";
  // 1 leaves io_uring to CAP_SYS_ADMIN and to one group, 2 to nobody
  // (Documentation/admin-guide/sysctl/kernel.rst).
  if (disabled == "2" || (disabled == "1" && !HasCapability(root, kCapSysAdmin))) {
    *reason = absl::StrCat("kernel.io_uring_disabled is ", disabled);
    return {effect, disabled == "2" ? "sysctl kernel.io_uring_disabled=0"
                                    : "sysctl kernel.io_uring_disabled=0, or put the worker's user "
                                      "into the group of kernel.io_uring_group"};
  }
  // Before Linux 5.12 a ring counts as locked memory; since then the control group has it.
  if (error == ENOMEM) {
    *reason = "there is no memory for it (limit of locked memory, or of the control group)";
    return {effect, "ulimit -l unlimited; with systemd LimitMEMLOCK=infinity"};
  }
  // A filter answers with the error that it likes: its presence is the only trace of it.
  if (StatusField(root, "Seccomp") == "2") {
    *reason = "a seccomp filter of a container or of a service refuses it";
    return {effect,
            "give the container a profile that allows io_uring_setup, io_uring_enter and "
            "io_uring_register; with systemd SystemCallFilter=@system-service"};
  }
  *reason = absl::StrCat("this kernel has none (",
                         common::ReadTrimmed(root + "/proc/sys/kernel/osrelease"), ")");
  return {effect,
          "use kernel 5.1 or newer (6.1 for all of its features), or engine: libaio in jobs"};
}

void CheckRing(const std::string& root, const RingAttempt& ring, Findings* findings) {
  if (ring.setup_error != 0) {
    std::string reason;
    const doctor::Advice advice = WhyNoRing(root, ring.setup_error, &reason);
    findings->Warn(
        "io_uring",
        absl::StrCat("no ring can be set up: ", common::ErrnoText(ring.setup_error), "; ", reason),
        advice);
    return;
  }
  findings->Ok("io_uring", absl::StrCat("a ring of ", kRingEntries, " entries was set up, kernel ",
                                        common::ReadTrimmed(root + "/proc/sys/kernel/osrelease")));
  if (ring.register_error != 0) {
    findings->Warn("io_uring_buffers",
                   absl::StrCat("a buffer of ", Size(kRingBufferBytes),
                                " cannot be registered: ", common::ErrnoText(ring.register_error)),
                   {"the kernel then maps the buffer at each I/O, which costs processor time",
                    "ulimit -l unlimited; with systemd LimitMEMLOCK=infinity"});
  }
}

void CheckMemlock(const std::string& root, Findings* findings) {
  if (HasCapability(root, kCapIpcLock)) {
    // The kernel does not compare a process with this capability to its limit.
    findings->Ok("memlock", "not limited (CAP_IPC_LOCK)");
    return;
  }
  const auto limit = SoftLimit(root, "Max locked memory");
  if (!limit) return;
  if (*limit >= kEnoughMemlock) {
    findings->Ok("memlock", *limit == UINT64_MAX ? "not limited" : Size(*limit) + " may be locked");
    return;
  }
  findings->Warn("memlock", Size(*limit) + " may be locked",
                 {"io_uring's registered buffers count as locked (threads × queue depth × block "
                  "size); beyond the limit they are not registered, which costs processor time",
                  "ulimit -l unlimited; with systemd LimitMEMLOCK=infinity"});
}

void CheckAio(const std::string& root, bool ring_works, Findings* findings) {
  // The limit is one for all processes of the machine: the contexts of others count, too.
  const auto max = Number(common::ReadTrimmed(root + "/proc/sys/fs/aio-max-nr"));
  const auto used = Number(common::ReadTrimmed(root + "/proc/sys/fs/aio-nr"));
  if (!max || !used) {
    const doctor::Advice advice = {"jobs with engine: libaio fail",
                                   "use engine: io_uring or sync, or a kernel with CONFIG_AIO"};
    if (ring_works) {
      findings->Warn("aio-max-nr", "this kernel has no libaio", advice);
    } else {
      findings->Problem("aio-max-nr", "this kernel has neither io_uring nor libaio", advice);
    }
    return;
  }
  const uint64_t left = *max > *used ? *max - *used : 0;
  const std::string found = absl::StrCat(left, " of fs.aio-max-nr = ", *max, " are free");
  if (left >= kEnoughAio) {
    findings->Ok("aio-max-nr", found);
    return;
  }
  findings->Warn("aio-max-nr", found,
                 {"libaio takes the queue depth of each thread from it, and fails without",
                  "sysctl fs.aio-max-nr=1048576"});
}

void CheckFiles(const std::string& root, Findings* findings) {
  const auto limit = SoftLimit(root, "Max open files");
  if (!limit) return;
  const std::string found =
      *limit == UINT64_MAX ? "not limited" : absl::StrCat(*limit, " files may be open");
  if (*limit >= kEnoughFiles) {
    findings->Ok("nofile", found);
    return;
  }
  findings->Warn("nofile", found,
                 {"each file of a target is open during a phase: a job with more of them fails",
                  "ulimit -n 65536; with systemd LimitNOFILE=65536"});
}

void CheckClock(const std::string& root, WallClock wall, Findings* findings) {
  const std::string folder = root + "/sys/devices/system/clocksource/clocksource0/";
  const std::string source = common::ReadTrimmed(folder + "current_clocksource");
  const std::string available = common::ReadTrimmed(folder + "available_clocksource");
  // These need a system call, or an access to a device, for each reading.
  const std::vector<std::string> slow = {"acpi_pm",         "hpet", "jiffies", "pit",
                                         "refined-jiffies", "xen"};
  if (std::find(slow.begin(), slow.end(), source) != slow.end()) {
    const std::vector<std::string> names = absl::StrSplit(available, ' ');
    const bool has_tsc = std::find(names.begin(), names.end(), "tsc") != names.end();
    findings->Warn("clocksource", source,
                   {"each I/O reads the clock twice, and this one takes about a microsecond",
                    has_tsc ? "echo tsc > /sys/devices/system/clocksource/clocksource0/"
                              "current_clocksource"
                            : "dmesg | grep -i -e tsc -e clocksource says why the kernel left a "
                              "faster one"});
  } else if (!source.empty()) {
    findings->Ok("clocksource", source);
  }
  if (wall == WallClock::kSynchronised) findings->Ok("wall_clock", "synchronised (NTP or PTP)");
  if (wall == WallClock::kNotSynchronised) {
    findings->Warn("wall_clock", "the kernel counts it as not synchronised",
                   {"phases start together all the same, but times in logs and reports of several "
                    "hosts do not match, and certificates may count as expired",
                    "timedatectl set-ntp true, or start chronyd"});
  }
}

void CheckProcessors(const std::string& root, uint32_t cpus, Findings* findings) {
  std::istringstream text(common::ReadTrimmed(root + "/proc/stat"));
  std::string name;
  // user nice system idle iowait irq softirq steal (proc_stat(5)); guest time is within user's.
  uint64_t values[8] = {};
  text >> name;
  uint64_t sum = 0;
  for (uint64_t& value : values) {
    text >> value;
    sum += value;
  }
  if (name == "cpu" && sum > 0) {
    const double steal = static_cast<double>(values[7]) / static_cast<double>(sum);
    const std::string found =
        absl::StrFormat("%.1f %% of the processors' time since the boot was stolen", steal * 100);
    if (steal > kMuchSteal) {
      findings->Warn("steal", found,
                     {"the hypervisor runs others on these processors: latencies include pauses "
                      "that are not the storage's",
                      "move the machine, or give it processors of its own; reports show the steal "
                      "of each phase"});
    } else {
      findings->Ok("steal", found);
    }
  }
  double load = 0;
  const std::string loads = common::ReadTrimmed(root + "/proc/loadavg");
  if (!absl::SimpleAtod(loads.substr(0, loads.find(' ')), &load)) return;
  const std::string found = absl::StrFormat("load %.1f on %d processors", load, cpus);
  // A load above the number of processors says that threads wait, of which an I/O thread may be
  // one.
  if (load > cpus) {
    findings->Warn(
        "load", found,
        {"others use the processors that a load needs", "top; end what is not under test"});
  } else {
    findings->Ok("load", found);
  }
}

}  // namespace

RingAttempt TryRing() {
  RingAttempt attempt;
  io_uring_params parameters = {};
  // The plain system calls: a library's own set-up would show its own workarounds, not the
  // kernel's answer.
  const common::FileDescriptor ring(
      static_cast<int>(syscall(SYS_io_uring_setup, kRingEntries, &parameters)));
  if (!ring.valid()) {
    attempt.setup_error = errno;
    return attempt;
  }
  void* const memory =
      mmap(nullptr, kRingBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // No memory for the buffer is no answer about registering it.
  if (memory == MAP_FAILED) return attempt;
  const iovec buffer = {memory, kRingBufferBytes};
  if (syscall(SYS_io_uring_register, ring.get(), IORING_REGISTER_BUFFERS, &buffer, 1) != 0) {
    attempt.register_error = errno;
  }
  munmap(memory, kRingBufferBytes);
  return attempt;
}

WallClock ReadWallClock() {
  timex question = {};  // modes 0: nothing is changed
  const int state = adjtimex(&question);
  if (state < 0) return WallClock::kUnknown;
  return state == TIME_ERROR || (question.status & STA_UNSYNC) != 0 ? WallClock::kNotSynchronised
                                                                    : WallClock::kSynchronised;
}

void CheckHost(const std::string& root, const HostProbes& probes, Findings* findings) {
  CheckRing(root, probes.ring, findings);
  CheckMemlock(root, findings);
  CheckAio(root, probes.ring.setup_error == 0, findings);
  CheckFiles(root, findings);
  CheckClock(root, probes.wall_clock, findings);
  CheckProcessors(root, probes.cpus, findings);
}

void CheckStateDirectory(const std::string& path, uint64_t outbox_bytes, Findings* findings) {
  struct Seen {
    std::string existing;
    struct statvfs space = {};
    bool writable = false;
  };
  auto seen = std::make_shared<Seen>();
  const absl::Status status = WithinLimit(path, limits::kProbeNs, [path, seen] {
    // The worker makes it when it starts: what counts until then is the nearest one above.
    seen->existing = path;
    while (access(seen->existing.c_str(), F_OK) != 0 && errno == ENOENT &&
           seen->existing.size() > 1) {
      const size_t slash = seen->existing.rfind('/');
      seen->existing =
          slash == 0 || slash == std::string::npos ? "/" : seen->existing.substr(0, slash);
    }
    if (statvfs(seen->existing.c_str(), &seen->space) != 0) {
      return common::ErrnoStatus(errno, seen->existing);
    }
    seen->writable = access(seen->existing.c_str(), W_OK | X_OK) == 0;
    return absl::OkStatus();
  });
  if (!status.ok()) {
    findings->Problem("state_directory", std::string(status.message()),
                      {"the worker keeps its identity and its outbox there, and does not start",
                       "give --state-dir a directory on a local disk"});
    return;
  }
  if (!seen->writable) {
    findings->Problem("state_directory",
                      absl::StrCat(path, ": this user may not write to ", seen->existing),
                      {"the worker keeps its identity and its outbox there, and does not start",
                       "give --state-dir a directory of yours"});
    return;
  }
  const uint64_t free = uint64_t{seen->space.f_bavail} * seen->space.f_frsize;
  const std::string found = absl::StrCat(path, ": ", Size(free), " free");
  const doctor::Advice advice = {
      absl::StrCat("samples that no controller has taken yet go there (--outbox-disk-mib ",
                   outbox_bytes >> 20, "); when it is full, the phase is stopped"),
      "free some space, or give --state-dir another file system: df -h"};
  if (free < std::min(kMinStateBytes, outbox_bytes)) {
    findings->Problem("state_directory", found, advice);
  } else if (free < outbox_bytes) {
    findings->Warn("state_directory", found, advice);
  } else {
    findings->Ok("state_directory", found);
  }
}

}  // namespace lockstep::worker
