// Bytes from files, devices and the wire: the first one says which reader gets the others.

#include <fcntl.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/histogram.h"
#include "controller/plan/block_claims.h"
#include "controller/plan/plan_token.h"
#include "measure/block_runs.h"
#include "measure/target_key.h"
#include "storage/spool.h"
#include "tests/fuzz/directory.h"
#include "worker/targets/marks.h"
#include "worker/workload/block_header.h"

namespace {

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void ReadHistogram(const std::string& bytes) {
  lockstep::common::Histogram histogram;
  if (!histogram.AddEncoded(bytes).ok()) return;
  // An accepted histogram is written and read again as it is.
  lockstep::common::Histogram again;
  if (!again.AddEncoded(histogram.Encode()).ok() || again.Encode() != histogram.Encode()) {
    __builtin_trap();
  }
  (void)histogram.Percentile(99);
}

void ReadBlock(const std::string& bytes) {
  std::string block = bytes;
  block.resize(std::max<size_t>(512, bytes.size() / 512 * 512));
  lockstep::worker::BlockExpectation expected;
  expected.length = static_cast<uint32_t>(block.size());
  (void)lockstep::worker::CheckBlock(block.data(), expected);
  expected.any_run = expected.any_key = true;
  (void)lockstep::worker::CheckBlock(block.data(), expected);
}

void ReadMark(const std::string& bytes) {
  static const Directory directory;
  static const auto guard = lockstep::worker::Guard::Make({directory.path()}, {});
  Write(directory.path() + "/file", "x");
  Write(directory.path() + "/file.lockstep", bytes);
  const auto allowed = guard->Locate(directory.path() + "/file");
  const auto fd = guard->Open(*allowed, O_RDONLY);
  const auto mark = lockstep::worker::ReadMark(*guard, *allowed);
  // No bytes are a mark that this guard's keys have not signed.
  if (mark.ok()) __builtin_trap();
  (void)lockstep::worker::CheckMadeByLockstep(*guard, *allowed, *fd);
}

void ReadSpool(const std::string& bytes) {
  static const Directory directory;
  static const std::string name = [] {
    // A segment as the spool itself names it.
    auto spool = lockstep::storage::FileSpool::Open(directory.path() + "/first", 1 << 20);
    (void)(*spool)->Append({"record"});
    for (const auto& entry : std::filesystem::directory_iterator(directory.path() + "/first")) {
      if (entry.is_regular_file() && entry.file_size() > 0) return entry.path().filename().string();
    }
    std::abort();
  }();
  const std::string own = directory.path() + "/spool";
  std::filesystem::remove_all(own);
  std::filesystem::create_directory(own);
  Write(own + "/" + name, bytes);
  auto spool = lockstep::storage::FileSpool::Open(own, 1 << 20);
  if (!spool.ok()) return;
  while (!(*spool)->empty()) {
    const auto records = (*spool)->Peek(1 << 16);
    if (!records.ok() || records->empty() || !(*spool)->Drop(records->size()).ok()) break;
  }
  (void)(*spool)->Append({"more"});
}

void ReadToken(const std::string& bytes) {
  static const lockstep::controller::PlanTokens tokens("secret");
  (void)tokens.CheckAge(bytes, 1795000000000000000);
  // No bytes are a token that this key has not made.
  if (tokens.IsOf(bytes, {}, {})) __builtin_trap();
}

// A worker's report about blocks reaches its own part alone, whatever it contains.
void ReadBlockWrites(const std::string& bytes) {
  using namespace lockstep;
  static const controller::SettledRun run = [] {
    controller::SettledRun made;
    v1::Target* target = made.job.add_targets();
    target->set_sharing(v1::SHARING_SLICED);
    target->mutable_device()->set_path("/dev/sda");
    for (int i = 0; i < 4; ++i) {
      v1::TargetInspection* found = made.workers.emplace_back().inspection.add_targets();
      found->set_device_identity("naa.600");
      found->set_size_bytes(8 << 20);
    }
    return made;
  }();
  static controller::BlockClaims* const claims = [] {
    auto* made = new controller::BlockClaims(run, controller::BlockClaims::Writers::kNamed);
    made->AddWriter(1, 0);
    return made;
  }();
  v1::BlockWrites writes;
  if (!writes.ParseFromString(bytes)) return;
  if (writes.target_key() % 2 == 0) writes.set_target_key(measure::TargetKey("naa.600"));
  if (!claims->Check(1, writes).ok() || writes.runs().empty()) return;
  const uint64_t block = writes.block_size_bytes();
  (void)measure::ReadBlockRuns(
      writes.runs(), (8 << 20) / block,
      [&](uint64_t first, uint64_t count, uint32_t, measure::BlockContent) {
        if (count == 0) return;
        if (first * block < 2 << 20 || (first + count) * block > 4 << 20) {
          __builtin_trap();
        }
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'h':
      ReadHistogram(bytes);
      break;
    case 'b':
      ReadBlock(bytes);
      break;
    case 'm':
      ReadMark(bytes);
      break;
    case 's':
      ReadSpool(bytes);
      break;
    case 't':
      ReadToken(bytes);
      break;
    case 'w':
      ReadBlockWrites(bytes);
      break;
    default:
      break;
  }
  return 0;
}
