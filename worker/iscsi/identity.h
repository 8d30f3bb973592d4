#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace lockstep::worker {

// The identity of a LUN from its device identification page (VPD 0x83, SPC-5 7.7.6), the whole
// page: naa.6…, eui.…, t10.…, or a SCSI name string. It is the one that Linux gives the same LUN in
// /sys/block/*/device/wwid (scsi_vpd_lun_id() in drivers/scsi/scsi_lib.c): of designators of the
// logical unit, the kind that is least likely to be given twice. Empty where there is none, or the
// page is broken. Pure.
std::string LunIdentity(absl::Span<const uint8_t> page);

}  // namespace lockstep::worker
