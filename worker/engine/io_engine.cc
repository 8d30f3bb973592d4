#include "worker/engine/io_engine.h"

#include <cerrno>

namespace lockstep::worker {

ErrorConsequence ConsequenceOf(int error) {
  switch (error) {
    case EIO:        // the medium failed
    case EILSEQ:     // protection information does not match
    case ENODATA:    // unrecoverable read error on some drivers
    case ETIMEDOUT:  // the transport gave up
    case ENOLINK:    // all paths are down, they may come back
    case EREMOTEIO:  // the target failed it
    case EAGAIN:     // out of requests
    case EINTR:
    case EBUSY:
      return ErrorConsequence::kCount;
    default:  // ENOSPC, EINVAL, ENODEV, ENXIO, EBADF, EROFS, EFBIG, EDQUOT, ESTALE, …
      return ErrorConsequence::kStop;
  }
}

}  // namespace lockstep::worker
