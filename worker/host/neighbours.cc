#include "worker/host/neighbours.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/text.h"

namespace lockstep::worker {
namespace {

// At some 20 µs for each program, so many take 0.4 s.
constexpr size_t kMaxPrograms = 20000;
// Programs that are reported, of those that did I/O.
constexpr size_t kMaxReported = 8;
constexpr uint64_t kMinBytes = 1 << 20;

uint64_t NumberBehind(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  return at == std::string::npos ? 0 : strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

uint64_t Step(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

// The fourth field of proc_pid_stat(5). The second is a name in parentheses, which may hold any.
uint32_t ParentIn(const std::string& stat) {
  const size_t name_end = stat.rfind(')');
  const std::vector<std::string> fields = absl::StrSplit(
      name_end == std::string::npos ? "" : stat.substr(name_end + 1), ' ', absl::SkipEmpty());
  return fields.size() > 1 ? static_cast<uint32_t>(atoi(fields[1].c_str())) : 0;
}

}  // namespace

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
    const std::string io = common::ReadTrimmed(absl::StrCat("/proc/", pid, "/io"));
    // Without the line break, "write_bytes:" would also be found in "cancelled_write_bytes:".
    const uint64_t written = NumberBehind(io, "\nwrite_bytes:");
    // Pages that were dirtied and then truncated never reach storage (proc_pid_io(5)).
    const uint64_t taken_back = NumberBehind(io, "cancelled_write_bytes:");
    (*programs)[pid] = {NumberBehind(io, "\nread_bytes:"), Step(taken_back, written),
                        ParentIn(common::ReadTrimmed(absl::StrCat("/proc/", pid, "/stat")))};
  }
  return true;
}

void Neighbours::Begin(bool with_programs, const std::function<bool()>& late) {
  knows_programs_ = with_programs && ReadPrograms(late, &programs_);
  quotas_ = ReadQuotaPeriods();
  const TcpCounters tcp = ParseTcp(common::ReadTrimmed("/proc/net/snmp"));
  segments_ = tcp.segments;
  retransmits_ = tcp.retransmits;
}

void Neighbours::End(v1::PhaseResult* result) const {
  double throttled = 0;
  for (const auto& [group, now] : ReadQuotaPeriods()) {
    const auto before = quotas_.find(group);
    const QuotaPeriods since = before == quotas_.end() ? QuotaPeriods() : before->second;
    const uint64_t periods = Step(since.periods, now.periods);
    if (periods == 0) continue;
    throttled = std::max(throttled, static_cast<double>(Step(since.throttled, now.throttled)) /
                                        static_cast<double>(periods));
  }
  result->set_throttled_ratio(std::min(1.0, throttled));
  const TcpCounters tcp = ParseTcp(common::ReadTrimmed("/proc/net/snmp"));
  result->set_tcp_segments(Step(segments_, tcp.segments));
  result->set_tcp_retransmits(Step(retransmits_, tcp.retransmits));
  for (const std::string& throttle : IoThrottles()) {
    result->add_throttles(common::Printable(throttle, 200));
  }
  Programs now;
  // Begin() has a limit because the load starts at a fixed time. The load is over by now.
  if (!knows_programs_ || !ReadPrograms([] { return false; }, &now)) return;
  // A child that has ended and was waited for leaves its counters to its parent, those from before
  // the load among them.
  std::map<uint32_t, Io> inherited;  // by the parent's process id
  for (const auto& [pid, io] : programs_) {
    if (now.contains(pid)) continue;
    inherited[io.parent].read_bytes += io.read_bytes;
    inherited[io.parent].write_bytes += io.write_bytes;
  }
  std::vector<v1::ProcessIo> busy;
  for (const auto& [pid, io] : now) {
    const auto before = programs_.find(pid);
    // Another process may have taken the number. It has begun since, so that all its I/O counts.
    const bool same = before != programs_.end() && before->second.read_bytes <= io.read_bytes;
    v1::ProcessIo one;
    one.set_pid(pid);
    one.set_read_bytes(same ? io.read_bytes - before->second.read_bytes : io.read_bytes);
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
  // Only programs that are reported are asked for their names. One that has ended by now has none.
  for (v1::ProcessIo& one : busy) {
    one.set_command(
        common::Printable(common::ReadTrimmed(absl::StrCat("/proc/", one.pid(), "/comm")), 60));
    *result->add_others() = std::move(one);
  }
}

}  // namespace lockstep::worker
