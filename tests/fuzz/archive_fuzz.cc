// The parts of an archive, as `lockstep import` reads them from what its gzip stream unpacks to.

#include "common/limits.h"
#include "controller/cli/archive_file.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  // In pieces, as a file comes.
  google::protobuf::io::ArrayInputStream in(data, static_cast<int>(size), 7);
  v1::ArchivePart part;
  int64_t before = 0;
  while (cli::ReadArchivePart(&in, &part).ok()) {
    if (in.ByteCount() <= before) __builtin_trap();  // it goes on, and ends
    before = in.ByteCount();
    if (part.ByteSizeLong() > static_cast<size_t>(limits::kWorkerBytes)) __builtin_trap();
    part.Clear();
  }
  return 0;
}
