#pragma once

struct scsi_task;

namespace lockstep::worker {

// What a command's status and sense mean, as the kernel's initiator says it: 0, or an errno. EAGAIN
// where the target asks for the command again, EBADE for a reservation's conflict, ECANCELED where
// the session was lost. `task` may be null.
int ErrnoOf(int status, const scsi_task* task);

// Whether the target says that the LUN may be another one, or have another size, than before.
bool IsAnotherLun(int status, const scsi_task* task);

// The most bytes that are asked of an inquiry page.
inline constexpr int kMaxInquiry = 4096;

}  // namespace lockstep::worker
