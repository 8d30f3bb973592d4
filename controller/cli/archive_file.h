#pragma once

#include "absl/status/status.h"
#include "google/protobuf/io/zero_copy_stream.h"
#include "proto/controller.pb.h"

namespace lockstep::cli {

// Reads an archive's next part: its length as a varint, then the message. `in` is what the gzip
// stream of `lockstep export --output` unpacks to. INVALID_ARGUMENT where it ends, is no part, or
// is a part that no controller would take (limits::kWorkerBytes): whatever the file says, no more
// than that is in memory.
absl::Status ReadArchivePart(google::protobuf::io::ZeroCopyInputStream* in, v1::ArchivePart* part);

}  // namespace lockstep::cli
