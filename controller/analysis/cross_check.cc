#include "controller/analysis/cross_check.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"

namespace lockstep::controller {
namespace {

// Journals and metadata beside the load; less than this is agreement.
constexpr double kTolerance = 0.05;
constexpr double kSmallBytes = 4 << 20;
constexpr double kCoalesced = 1.5;

v1::CrossCheck Make(v1::CrossCheck::Verdict verdict, double factor, std::string reason) {
  v1::CrossCheck check;
  check.set_verdict(verdict);
  check.set_factor(factor);
  check.set_reason(std::move(reason));
  return check;
}

bool Less(double device, double engine) { return device < engine * (1 - kTolerance) - kSmallBytes / 4; }
bool More(double device, double engine) { return device > engine * (1 + kTolerance) + kSmallBytes; }

std::string Bytes(double bytes) { return common::FormatSize(std::round(bytes)); }

}  // namespace

v1::CrossCheck CrossCheckOf(const CrossCheckInput& in) {
  const double engine = in.engine_read_bytes + in.engine_write_bytes;
  const double device = in.device_read_bytes + in.device_write_bytes;
  const double factor = engine > 0 ? device / engine : 0;
  if (in.lost) return Make(v1::CrossCheck::NOT_ATTRIBUTABLE, factor, "a host was lost: what it did is among the device's bytes, and not among the engines'");
  if (!in.attributable || engine <= 0) {
    return Make(v1::CrossCheck::NOT_ATTRIBUTABLE, factor, "a workload spreads over several devices, so its bytes cannot be told apart here");
  }
  if (Less(in.device_read_bytes, in.engine_read_bytes) || Less(in.device_write_bytes, in.engine_write_bytes)) {
    const bool reads = Less(in.device_read_bytes, in.engine_read_bytes);
    const double served = reads ? in.engine_read_bytes - in.device_read_bytes : in.engine_write_bytes - in.device_write_bytes;
    const double of = reads ? in.engine_read_bytes : in.engine_write_bytes;
    if (!in.buffered) {
      return Make(v1::CrossCheck::NOT_ATTRIBUTABLE, factor,
                  absl::StrFormat("the device counted %s less than the engines moved although no page cache is in the way; another device or layer served it", Bytes(served)));
    }
    return Make(v1::CrossCheck::PAGE_CACHE, factor,
                absl::StrFormat("the device %s %s of the engines' %s (%.0f %%): the page cache %s the rest, so these are memory's figures, not the device's",
                                reads ? "read" : "wrote", Bytes(of - served), Bytes(of), 100 * (of - served) / of, reads ? "served" : "still held"));
  }
  if (More(in.device_write_bytes, in.engine_write_bytes) || More(in.device_read_bytes, in.engine_read_bytes)) {
    const bool writes = More(in.device_write_bytes, in.engine_write_bytes);
    const double extra = writes ? in.device_write_bytes - in.engine_write_bytes : in.device_read_bytes - in.engine_read_bytes;
    return Make(v1::CrossCheck::AMPLIFIED, factor,
                absl::StrFormat("the device %s %s more than the engines asked for: %s", writes ? "wrote" : "read", Bytes(extra),
                                writes ? "the file system's journal and metadata, earlier dirty pages, or other programs"
                                       : "read-ahead, partial blocks, or other programs"));
  }
  const double requests = in.device_reads + in.device_writes;
  const double request_bytes = requests > 0 ? device / requests : 0;
  if (in.block_bytes > 0 && request_bytes > kCoalesced * in.block_bytes) {
    return Make(v1::CrossCheck::COALESCED, factor,
                absl::StrFormat("agrees in bytes, but in requests of %s instead of %s (merged ×%.1f): this is the device's rate for large requests, not for blocks of %s",
                                Bytes(request_bytes), Bytes(in.block_bytes), request_bytes / in.block_bytes, Bytes(in.block_bytes)));
  }
  return Make(v1::CrossCheck::AGREE, factor, absl::StrFormat("the device moved %s, the engines %s", Bytes(device), Bytes(engine)));
}

}  // namespace lockstep::controller
