#include "controller/plan/order_rules.h"

#include "proto/workload.h"

namespace lockstep::controller {
namespace {

void CheckMix(const v1::Workload& w, const Complain& complain) {
  // An exact mix is a fixed order. An operation that is drawn, or held by a limit of its own,
  // breaks it.
  if (w.mix() != v1::MIX_EXACT) return;
  if (w.has_copy()) complain(".mix", "a copy writes what it has read; leave mix out");
  if (!w.access().empty()) {
    complain(".mix", "each line of access has a share of reads of its own, which is drawn");
  }
  if (w.trim_ratio() > 0) complain(".mix", "orders reads and writes; trims are drawn");
  if (w.has_read_limit() && w.has_write_limit()) {
    complain(".mix", "limits of both directions decide the mix; leave one of them out, or mix");
  }
}

void CheckShared(const v1::Workload& w, const Complain& complain) {
  const v1::Fsync& fsync = w.fsync();
  // As sysbench does it: the I/Os of all threads are counted together, and then each file is
  // synced.
  if (!fsync.shared()) return;
  if (fsync.every_ios() == 0 || !fsync.all_files()) {
    complain(".fsync.shared", "needs every_ios, and all_files: true");
  }
  if (fsync.every() != 0) {
    complain(".fsync.shared", "counts I/Os of all threads; every counts writes of each");
  }
  if (w.files_per_thread()) {
    complain(".fsync.shared", "the threads would sync each other's files; leave files_per_thread");
  }
}

}  // namespace

bool Syncs(const v1::Workload& workload) {
  const v1::Fsync& fsync = workload.fsync();
  return fsync.every() != 0 || fsync.every_ios() != 0 || fsync.at_end();
}

void CheckOrder(const v1::Workload& workload, const Complain& complain) {
  if (workload.has_fsync() && !Syncs(workload)) {
    complain(".fsync", "says not when: write every, every_ios or at_end");
  }
  if (Syncs(workload) && !Writes(workload)) complain(".fsync", "this workload does not write");
  CheckShared(workload, complain);
  CheckMix(workload, complain);
}

}  // namespace lockstep::controller
