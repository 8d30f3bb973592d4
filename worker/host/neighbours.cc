#include "worker/host/neighbours.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/text.h"
#include "worker/host/counter_step.h"
#include "worker/host/process_io.h"

namespace lockstep::worker {
namespace {

// At some 20 µs for each program, so many take 0.4 s.
constexpr size_t kMaxPrograms = 20000;
// Programs that are reported, of those that did I/O.
constexpr size_t kMaxReported = 8;
constexpr uint64_t kMinBytes = 1 << 20;

// The bytes that the running threads of the process have read and written. The process's own
// counters also contain those of ended threads and children.
uint64_t BytesOfThreads(uint32_t pid) {
  uint64_t bytes = 0;
  std::error_code none;
  for (const auto& thread :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), none)) {
    const auto io = ParseProcessIo(common::ReadTrimmed(thread.path() / "io"));
    if (io) bytes += io->read_bytes + Step(io->cancelled_bytes, io->write_bytes);
  }
  return bytes;
}

}  // namespace

ProgramStat ParseProgramStat(const std::string& stat) {
  ProgramStat program;
  // The second field is a name in parentheses, which may hold any.
  const size_t name_begin = stat.find('(');
  const size_t name_end = stat.rfind(')');
  if (name_begin == std::string::npos || name_end < name_begin) return program;
  program.name = stat.substr(name_begin + 1, name_end - name_begin - 1);
  // The third field, the state, is the first here.
  const std::vector<std::string> fields =
      absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
  const auto number = [&](size_t field) {
    return field - 3 < fields.size() ? strtoull(fields[field - 3].c_str(), nullptr, 10) : 0;
  };
  program.parent = static_cast<uint32_t>(number(4));
  program.child_faults = number(11);
  program.started_ticks = number(22);
  return program;
}

bool IsLoopWorker(const ProgramStat& program) {
  constexpr uint32_t kKthreadd = 2;
  if (program.parent != kKthreadd) return false;
  // "loop3" before Linux 5.14, then "kworker/u8:3-loop3", or with a '+' while it works.
  const size_t name = program.name.find_last_of("-+/");
  const std::string last = name == std::string::npos ? program.name : program.name.substr(name + 1);
  return last.size() > 4 && last.starts_with("loop") && isdigit(last[4]) != 0;
}

std::string ProgramName(const ProgramStat& before, const ProgramStat& now, uint64_t own_bytes,
                        uint64_t bytes) {
  std::string name = common::Printable(now.name, 40);
  if (!before.name.empty() && before.name != now.name) {
    name = absl::StrCat(name, " (was ", common::Printable(before.name, 40), ")");
  }
  // A child that was waited for leaves its counters to its parent, and its name to nobody.
  const bool had_children = now.child_faults > before.child_faults;
  if (!had_children || own_bytes >= bytes) return name;
  return own_bytes < bytes / 10 ? "ended children of " + name : name + " and ended children";
}

TcpCounters ParseTcp(const std::string& snmp) {
  // "Tcp: NAME NAME …", then "Tcp: VALUE VALUE …".
  TcpCounters counters;
  std::vector<std::string> names;
  std::istringstream lines(snmp);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("Tcp: ", 0) != 0) continue;
    const std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (names.empty()) {
      names = fields;
      continue;
    }
    for (size_t i = 0; i < std::min(names.size(), fields.size()); ++i) {
      const uint64_t value = strtoull(fields[i].c_str(), nullptr, 10);
      // The columns are found by name: newer kernels have further ones.
      if (names[i] == "OutSegs") counters.segments = value;
      if (names[i] == "RetransSegs") counters.retransmits = value;
    }
    break;
  }
  return counters;
}

bool Neighbours::ReadPrograms(const std::function<bool()>& late, Programs* programs) {
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(opendir("/proc"), closedir);
  if (processes == nullptr) return false;
  const auto self = static_cast<uint32_t>(getpid());
  while (const dirent* entry = readdir(processes.get())) {
    if (isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    if (programs->size() >= kMaxPrograms || late()) return false;
    const auto pid = static_cast<uint32_t>(atoi(entry->d_name));
    if (pid == self) continue;
    // The text is empty for a program of another user, unless this process has CAP_SYS_PTRACE
    // (proc_pid_io(5)).
    const ProcessIoCounters io =
        ParseProcessIo(common::ReadTrimmed(absl::StrCat("/proc/", pid, "/io")))
            .value_or(ProcessIoCounters());
    (*programs)[pid] = {
        io.read_bytes, Step(io.cancelled_bytes, io.write_bytes),
        ParseProgramStat(common::ReadTrimmed(absl::StrCat("/proc/", pid, "/stat")))};
  }
  return true;
}

void Neighbours::Begin(bool with_programs, const std::function<bool()>& late) {
  programs_ns_ = common::SystemClock().MonotonicNs();
  knows_programs_ = with_programs && ReadPrograms(late, &programs_);
  quotas_ = ReadQuotaPeriods();
  const TcpCounters tcp = ParseTcp(common::ReadTrimmed("/proc/net/snmp"));
  segments_ = tcp.segments;
  retransmits_ = tcp.retransmits;
}

void Neighbours::End(double load_seconds, v1::PhaseResult* result) const {
  result->set_throttled_ratio(ThrottledRatio(quotas_, ReadQuotaPeriods(), load_seconds));
  const TcpCounters tcp = ParseTcp(common::ReadTrimmed("/proc/net/snmp"));
  result->set_tcp_segments(Step(segments_, tcp.segments));
  result->set_tcp_retransmits(Step(retransmits_, tcp.retransmits));
  Programs now;
  // Begin() has a limit because the load starts at a fixed time. The load is over by now.
  if (!knows_programs_ || !ReadPrograms([] { return false; }, &now)) return;
  result->set_others_ns(common::SystemClock().MonotonicNs() - programs_ns_);
  // A child that has ended and was waited for leaves its counters to its parent, those from before
  // the load among them.
  std::map<uint32_t, Io> inherited;  // by the parent's process id
  const auto is_same = [](const Io& a, const Io& b) {
    return a.stat.started_ticks == b.stat.started_ticks;
  };
  for (const auto& [pid, io] : programs_) {
    const auto still = now.find(pid);
    if (still != now.end() && is_same(io, still->second)) continue;
    inherited[io.stat.parent].read_bytes += io.read_bytes;
    inherited[io.stat.parent].write_bytes += io.write_bytes;
  }
  std::vector<v1::ProcessIo> busy;
  for (const auto& [pid, io] : now) {
    const auto before = programs_.find(pid);
    // Another process may have taken the number. It has begun since, so that all its I/O counts.
    const bool same = before != programs_.end() && is_same(before->second, io);
    if (IsLoopWorker(io.stat) || (same && IsLoopWorker(before->second.stat))) continue;
    v1::ProcessIo one;
    one.set_pid(pid);
    one.set_read_bytes(same ? Step(before->second.read_bytes, io.read_bytes) : io.read_bytes);
    one.set_write_bytes(same ? Step(before->second.write_bytes, io.write_bytes) : io.write_bytes);
    if (const auto from = inherited.find(pid); same && from != inherited.end()) {
      one.set_read_bytes(Step(from->second.read_bytes, one.read_bytes()));
      one.set_write_bytes(Step(from->second.write_bytes, one.write_bytes()));
    }
    if (one.read_bytes() + one.write_bytes() >= kMinBytes) busy.push_back(std::move(one));
  }
  std::sort(busy.begin(), busy.end(), [](const v1::ProcessIo& a, const v1::ProcessIo& b) {
    return a.read_bytes() + a.write_bytes() > b.read_bytes() + b.write_bytes();
  });
  busy.resize(std::min(busy.size(), kMaxReported));
  for (v1::ProcessIo& one : busy) {
    const auto before = programs_.find(one.pid());
    const Io& io = now[one.pid()];
    const bool same = before != programs_.end() && is_same(before->second, io);
    one.set_command(ProgramName(same ? before->second.stat : ProgramStat(), io.stat,
                                BytesOfThreads(one.pid()), one.read_bytes() + one.write_bytes()));
    *result->add_others() = std::move(one);
  }
}

}  // namespace lockstep::worker
