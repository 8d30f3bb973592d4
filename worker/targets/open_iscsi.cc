// iSCSI targets: LUNs without a kernel initiator. The engine opens a session for each thread.
#include <fcntl.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/iscsi_url.h"
#include "common/limits.h"
#include "worker/host/byte_ranges.h"
#include "worker/targets/openers.h"

namespace lockstep::worker {

absl::Status OpenIscsiTarget(const OpenContext& context, const v1::TargetAssignment& target,
                             OpenTargets* open) {
  const OpenOptions& options = context.options;
  const v1::IscsiTarget& iscsi = target.target().iscsi();
  const auto url = common::ParseIscsiUrl(iscsi.url());
  if (!url.ok()) return url.status();
  v1::BlockDevice facts;
  auto checked = context.guard.CheckLun(*url, UseOf(target, iscsi.identity(), options), &facts);
  if (!checked.ok()) return checked.status();
  auto lun = std::make_shared<LunSpec>(*std::move(checked));
  // There is no open(2) that could take O_SYNC: each write carries FUA instead.
  lun->fua = (options.flags & (O_SYNC | O_DSYNC)) != 0;
  lun->reconnect_ns = iscsi.reconnect_ns();
  const auto bytes = UsableBytes(facts, iscsi.size_bytes(), target.stamp_bytes());
  if (!bytes.ok()) return bytes.status();
  if (options.write && target.reservation().key() != 0) {
    lun->reservation_key = target.reservation().key();
    // The fence opens sessions of its own. Those of the engine end with the load, and the fence
    // only with the run.
    const absl::Status taken =
        options.fences->Take(options.run_id, url->text(), target.reservation(),
                             [spec = *lun] { return NewLunReserver(spec, limits::kProbeNs); });
    if (!taken.ok()) return taken;
  }
  if (options.write) open->ranges.push_back(DiskRange(lun->facts.identity));
  OpenedFile opened;
  // The engine refers to the LUN by a pointer, which opened.lun keeps valid.
  opened.engine_file = {RemoteLun{lun.get()}, target.stamp_bytes() + *bytes};
  opened.path = url->text();
  opened.thing = lun->facts.identity;
  opened.lun = std::move(lun);
  return AddOpened(target, 0, std::move(opened), open);
}

}  // namespace lockstep::worker
