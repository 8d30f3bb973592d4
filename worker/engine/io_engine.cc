#include "worker/engine/io_engine.h"

#include <cerrno>

namespace lockstep::worker {

ErrorConsequence ConsequenceOf(int error) {
  switch (error) {
    case EINTR:   // a signal came between
    case EAGAIN:  // out of requests
      return ErrorConsequence::kRetry;
    case EIO:        // the medium failed
    case EILSEQ:     // protection information does not match
    case ENODATA:    // unrecoverable read error on some drivers
    case ETIMEDOUT:  // the transport gave up
    case ENOLINK:    // all paths are down, they may come back
    case EREMOTEIO:  // the target failed it
    case EBUSY:
    case ENOMEM:  // the kernel was short of memory for this one
      return ErrorConsequence::kCount;
    // ENOSPC, EDQUOT, EINVAL, ENODEV, ENXIO, ENOTCONN, ECONNABORTED, ESHUTDOWN, EBADF, EROFS,
    // EFBIG, ESTALE, EOPNOTSUPP, …
    default:
      return ErrorConsequence::kStop;
  }
}

}  // namespace lockstep::worker
