#include "controller/cli/archive_file.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "google/protobuf/io/coded_stream.h"

namespace lockstep::cli {

absl::Status ReadArchivePart(google::protobuf::io::ZeroCopyInputStream* in, v1::ArchivePart* part) {
  google::protobuf::io::CodedInputStream coded(in);
  uint32_t size = 0;
  if (!coded.ReadVarint32(&size)) {
    return absl::InvalidArgumentError("not an archive of Lockstep, or cut short");
  }
  // The length is whatever the file says, and a small gzip file can unpack to gigabytes. It is
  // checked before the part is read.
  if (size > limits::kWorkerBytes) {
    return absl::InvalidArgumentError(absl::StrCat("not an archive of Lockstep: a part of ", size,
                                                   " bytes; at most ", limits::kWorkerBytes,
                                                   " are taken"));
  }
  const auto outer = coded.PushLimit(static_cast<int>(size));
  if (!part->ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage() ||
      coded.BytesUntilLimit() != 0) {
    return absl::InvalidArgumentError("not an archive of Lockstep, or cut short");
  }
  coded.PopLimit(outer);
  return absl::OkStatus();
}

}  // namespace lockstep::cli
