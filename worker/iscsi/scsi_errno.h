#pragma once

struct scsi_task;

namespace lockstep::worker {

// Translates a command's status and sense to 0 or an errno, as the kernel's initiator does. EAGAIN
// if the target wants the command again, EBADE for a reservation conflict, ECANCELED if the session
// was lost. `task` may be null.
int ErrnoOf(int status, const scsi_task* task);

// Whether the target says that the LUN may have been replaced, or may have another size than
// before.
bool IsAnotherLun(int status, const scsi_task* task);

// Requested length of an INQUIRY page, bytes.
inline constexpr int kMaxInquiry = 4096;

}  // namespace lockstep::worker
