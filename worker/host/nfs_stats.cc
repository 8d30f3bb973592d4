#include "worker/host/nfs_stats.h"

#include <array>
#include <cstdint>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace lockstep::worker {
namespace {

// "device SERVER:/export mounted on /mnt with fstype nfs4 statvers=1.1": the mount point, if it is
// NFS; empty for other lines.
std::string NfsMountIn(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  if (words.size() < 8 || words[0] != "device" || words[2] != "mounted" || words[5] != "with" ||
      !absl::StartsWith(words[7], "nfs")) {
    return "";
  }
  return words[4];
}

// "READ: 10 10 0 1840 10486880 3 120 124 0", times in milliseconds. The last number, errors, is
// missing before Linux 5.3.
std::optional<v1::NfsSample> NfsOperationIn(const std::string& line) {
  std::istringstream fields(line);
  std::string name;
  std::array<uint64_t, 8> value = {};
  if (!(fields >> name) || name.size() < 2 || name.back() != ':') return std::nullopt;
  for (uint64_t& number : value) {
    if (!(fields >> number)) return std::nullopt;
  }
  v1::NfsSample sample;
  sample.set_operation(name.substr(0, name.size() - 1));
  sample.set_operations(value[0]);
  sample.set_transmissions(value[1]);
  sample.set_timeouts(value[2]);
  sample.set_sent_bytes(value[3]);
  sample.set_received_bytes(value[4]);
  sample.set_queue_time_ms(value[5]);
  sample.set_round_trip_ms(value[6]);
  sample.set_execution_ms(value[7]);
  return sample;
}

}  // namespace

NfsCounters ParseMountStats(const std::string& text, const std::set<std::string>& mounts) {
  NfsCounters counters;
  std::string mount;
  bool is_list = false;  // of operations
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (absl::StartsWith(line, "device ")) {
      mount = NfsMountIn(line);
      if (!mounts.contains(mount)) mount.clear();
      is_list = false;
    } else if (absl::StrContains(line, "per-op statistics")) {
      is_list = true;
    } else if (!mount.empty() && is_list) {
      auto operation = NfsOperationIn(line);
      if (!operation) continue;
      operation->set_mount(mount);
      v1::NfsSample& kept = counters[{mount, operation->operation()}];
      kept = *std::move(operation);
    }
  }
  return counters;
}

std::optional<v1::NfsSample> Difference(const v1::NfsSample& earlier, const v1::NfsSample& later) {
  using Get = uint64_t (v1::NfsSample::*)() const;
  using Set = void (v1::NfsSample::*)(uint64_t);
  using Sample = v1::NfsSample;
  static constexpr std::pair<Get, Set> kCounters[] = {
      {&Sample::operations, &Sample::set_operations},
      {&Sample::transmissions, &Sample::set_transmissions},
      {&Sample::timeouts, &Sample::set_timeouts},
      {&Sample::sent_bytes, &Sample::set_sent_bytes},
      {&Sample::received_bytes, &Sample::set_received_bytes},
      {&Sample::queue_time_ms, &Sample::set_queue_time_ms},
      {&Sample::round_trip_ms, &Sample::set_round_trip_ms},
      {&Sample::execution_ms, &Sample::set_execution_ms}};
  v1::NfsSample difference;
  difference.set_mount(later.mount());
  difference.set_operation(later.operation());
  for (const auto& [get, set] : kCounters) {
    // Another mount at the same place begins at 0.
    if ((later.*get)() < (earlier.*get)()) return std::nullopt;
    (difference.*set)((later.*get)() - (earlier.*get)());
  }
  return difference;
}

}  // namespace lockstep::worker
