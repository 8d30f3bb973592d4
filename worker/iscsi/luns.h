#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/iscsi_url.h"
#include "common/mutex.h"
#include "worker/host/device_content.h"
#include "worker/iscsi/session.h"

namespace lockstep::worker {

// The facts that are needed to reach a LUN again, as Probe() has found them.
struct LunSpec {
  common::IscsiUrl url;      // as the job or the worker's flags have it
  common::IscsiUrl numeric;  // with the portal's address, so that no name is resolved again
  IscsiLogin login;
  LunFacts facts;
  // Writes are durable when they complete.
  bool fua = false;
  // The key under which each session registers. 0: the LUN is not reserved.
  uint64_t reservation_key = 0;
  // How long a lost session may take to come back.
  int64_t reconnect_ns = 0;
};

// The LUNs that this worker reaches through libiscsi. A URL stands for the LUN that was first seen
// there: another one under the same URL is refused for as long as the worker lives. Thread-safe.
class Luns {
 public:
  // `initiator`: this worker's iSCSI name.
  Luns(std::string initiator, IscsiSecrets secrets);

  // Logs in and reads the LUN's facts. NOT_FOUND, UNAVAILABLE, UNAUTHENTICATED and
  // DEADLINE_EXCEEDED name the URL. FAILED_PRECONDITION if it is another LUN than before, if it has
  // no identity, or if another LUN of the target claims the same identity.
  absl::StatusOr<LunSpec> Probe(const common::IscsiUrl& url, int64_t limit_ns);
  // The contents of a LUN, as ContentOf() says. FAILED_PRECONDITION where another LUN answers by
  // now; else as Probe().
  static absl::StatusOr<DeviceContent> WhatIsOn(const LunSpec& lun, ContentDepth depth,
                                                int64_t limit_ns, int64_t read_until_ns);
  // Does `work` in a session with the LUN. FAILED_PRECONDITION where another LUN answers by now;
  // else as Probe(), or what `work` returns.
  using Work = std::function<absl::Status(IscsiSession* session, int64_t deadline_ns)>;
  static absl::Status InSession(const LunSpec& lun, int64_t limit_ns, const Work& work);

 private:
  absl::Status CheckSame(const std::string& url, const std::string& identity);

  const std::string initiator_;
  const IscsiSecrets secrets_;
  common::Mutex mutex_;
  std::map<std::string, std::string> seen_ ABSL_GUARDED_BY(mutex_);  // URL → identity
};

// Reads or writes many bytes, piece by piece. Offsets and lengths are multiples of the LUN's block.
absl::StatusOr<std::string> ReadPieces(IscsiSession* session, uint64_t offset, uint64_t length,
                                       int64_t deadline_ns);
absl::Status WritePieces(IscsiSession* session, uint64_t offset, const std::string& data,
                         int64_t deadline_ns);

}  // namespace lockstep::worker
