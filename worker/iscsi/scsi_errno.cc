#include "worker/iscsi/scsi_errno.h"

#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>

#include <cerrno>

namespace lockstep::worker {

bool IsAnotherLun(int status, const scsi_task* task) {
  if (status != SCSI_STATUS_CHECK_CONDITION || task == nullptr ||
      task->sense.key != SCSI_SENSE_UNIT_ATTENTION) {
    return false;
  }
  // SPC-5: inquiry data, device identifier, reported LUNs or capacity have changed.
  const int code = task->sense.ascq;
  return code == 0x3f03 || code == 0x3f05 || code == 0x3f0e || code == 0x2a09;
}

int ErrnoOf(int status, const scsi_task* task) {
  switch (status) {
    case SCSI_STATUS_GOOD:
    case SCSI_STATUS_CONDITION_MET:
      return 0;
    case SCSI_STATUS_BUSY:
    case SCSI_STATUS_TASK_SET_FULL:
      return EAGAIN;
    case SCSI_STATUS_RESERVATION_CONFLICT:
      // The kernel's own initiator reports a reservation conflict by this errno, too.
      return EBADE;
    case SCSI_STATUS_CANCELLED:
      return ECANCELED;
    case SCSI_STATUS_TIMEOUT:
      return ETIMEDOUT;
    case SCSI_STATUS_CHECK_CONDITION:
      break;
    default:
      return EIO;
  }
  // Sense data of an unknown format says only that the command failed (SPC-5: 70h to 73h).
  if (task == nullptr || task->sense.error_type < 0x70 || task->sense.error_type > 0x73) return EIO;
  switch (task->sense.key) {
    // The command succeeded. RECOVERED ERROR only says that it took the device some trouble.
    case SCSI_SENSE_NO_SENSE:
    case SCSI_SENSE_RECOVERED_ERROR:
      return 0;
    case SCSI_SENSE_UNIT_ATTENTION:
    // SPC-5: the initiator may be able to recover by sending an aborted command again.
    case SCSI_SENSE_COMMAND_ABORTED:
      return EAGAIN;
    case SCSI_SENSE_ILLEGAL_REQUEST:
      return task->sense.ascq == SCSI_SENSE_ASCQ_LBA_OUT_OF_RANGE             ? ENXIO
             : task->sense.ascq == SCSI_SENSE_ASCQ_INVALID_OPERATION_CODE     ? EOPNOTSUPP
             : task->sense.ascq == SCSI_SENSE_ASCQ_LOGICAL_UNIT_NOT_SUPPORTED ? ENODEV
                                                                              : EREMOTEIO;
    case SCSI_SENSE_NOT_READY:
      return ENXIO;
    case SCSI_SENSE_DATA_PROTECTION:
      return EROFS;
    default:
      return EIO;
  }
}

}  // namespace lockstep::worker
