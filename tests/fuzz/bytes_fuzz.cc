// Bytes from files, devices and the wire: the first one says which reader gets the others.

#include <fcntl.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/histogram.h"
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
  // What was taken is written and read again as it is.
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
  expected.any_run = expected.any_place = true;
  (void)lockstep::worker::CheckBlock(block.data(), expected);
}

void ReadMark(const std::string& bytes) {
  static const Directory directory;
  static const auto guard = lockstep::worker::Guard::Make({directory.path()}, {});
  Write(directory.path() + "/file", "x");
  Write(directory.path() + "/file.lockstep", bytes);
  const auto place = guard->Locate(directory.path() + "/file");
  const auto fd = guard->Open(*place, O_RDONLY);
  const auto mark = lockstep::worker::ReadMark(*guard, *place);
  if (!mark || !fd.ok()) return;
  // Only the true inode and birth make a file ours; no bytes do by chance.
  if (lockstep::worker::IsOf(*mark, *fd) &&
      bytes.find(lockstep::worker::IdentityOf(*fd)) == std::string::npos) {
    __builtin_trap();
  }
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
    default:
      break;
  }
  return 0;
}
