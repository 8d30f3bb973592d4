#include "controller/runs/stop_order.h"

#include "common/text.h"

namespace lockstep::controller {
namespace {

constexpr size_t kReasonColumns = 2000;

}  // namespace

v1::StopOrder EncodeStopOrder(const StopOrder& order) {
  v1::StopOrder encoded;
  encoded.set_kind(order.kind == StopOrder::Kind::kRepeat ? v1::StopOrder::KIND_REPEAT
                   : order.state == RunState::kCancelled  ? v1::StopOrder::KIND_CANCEL
                   : order.state == RunState::kAborted    ? v1::StopOrder::KIND_ABORT
                                                          : v1::StopOrder::KIND_FAIL);
  // The reason is a person's text. Workers repeat it to the next controller, and it is bounded for
  // that.
  encoded.set_reason(common::Printable(order.reason, kReasonColumns));
  encoded.set_skip_cleanup(order.skip_cleanup);
  return encoded;
}

std::optional<StopOrder> DecodeStopOrder(const v1::StopOrder& order) {
  StopOrder decoded;
  // A worker has sent it, and may be another program than ours.
  decoded.reason = common::Printable(order.reason(), kReasonColumns);
  decoded.skip_cleanup = order.skip_cleanup();
  decoded.kind = StopOrder::Kind::kEndRun;
  switch (order.kind()) {
    case v1::StopOrder::KIND_REPEAT:
      decoded.kind = StopOrder::Kind::kRepeat;
      return decoded;
    case v1::StopOrder::KIND_CANCEL:
      decoded.state = RunState::kCancelled;
      return decoded;
    case v1::StopOrder::KIND_ABORT:
      decoded.state = RunState::kAborted;
      return decoded;
    case v1::StopOrder::KIND_FAIL:
      decoded.state = RunState::kFailed;
      return decoded;
    // No kind, or one of a newer worker: it is no order that this program could carry out.
    default:
      return std::nullopt;
  }
}

}  // namespace lockstep::controller
