#include "controller/analysis/cross_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"

namespace lockstep::controller {
namespace {

// Journals and metadata add a little to what the load moves, and the counters are read beside its
// clock. Differences below these limits count as agreement.
constexpr double kTolerance = 0.05;
constexpr double kSmallBytes = 4 << 20;
// The block layer merges neighbouring requests (queue/nomerges in sysfs turns that off).
constexpr double kCoalesced = 1.5;

v1::CrossCheck Make(v1::CrossCheck::Verdict verdict, double factor, std::string reason) {
  v1::CrossCheck check;
  check.set_verdict(verdict);
  check.set_factor(factor);
  check.set_reason(std::move(reason));
  return check;
}

bool Less(double device, double engine) {
  // Journals and metadata only add to the device's bytes, so less slack is needed in this
  // direction.
  return device < engine * (1 - kTolerance) - kSmallBytes / 4;
}
bool More(double device, double engine) { return device > engine * (1 + kTolerance) + kSmallBytes; }

std::string Bytes(double bytes) { return common::FormatSize(std::round(bytes)); }

// Whether a device's count below the engines' bytes of a direction shows anything. A count of a
// shorter time may have missed the rest, unless the kernel's own count of the workers (`own`),
// which began before the load, is below them, too.
bool IsWhole(const CrossCheckInput& in, const std::optional<double>& own, double engine) {
  return in.within.empty() || (in.buffered && in.own_is_here && own && Less(*own, engine));
}

// Counters of a part of the time show no cause for what they lack.
std::string MissedText(const CrossCheckInput& in, const char* verb, double device, double engine) {
  return absl::StrFormat("the device %s %s of the engines' %s by its counters, but %s: %s", verb,
                         Bytes(device), Bytes(engine), in.within, "they may have missed the rest");
}

// The device moved less than the engines in one direction; empty when it did not. `own`: as for
// IsWhole().
std::string LessText(const CrossCheckInput& in, const std::optional<double>& own, const char* verb,
                     double device, double engine, const char* how) {
  if (!Less(device, engine)) return "";
  if (!IsWhole(in, own, engine)) return MissedText(in, verb, device, engine);
  if (!in.within.empty()) {
    // The device's count is not of the whole load, and says nothing of a share.
    return absl::StrFormat(
        "the kernel counted %s of the engines' %s for the load itself (/proc/self/io): the page "
        "cache %s the rest, so these are memory's figures, not the device's",
        Bytes(*own), Bytes(engine), how);
  }
  if (!in.buffered && device == 0) {
    return absl::StrFormat(
        "the device %s nothing by its counters, and the engines %s: the kernel may not count "
        "(queue/iostats), or another device or layer served it",
        verb, Bytes(engine));
  }
  if (!in.buffered) {
    return absl::StrFormat(
        "the device %s %s less than the engines although no page cache is in the way: another "
        "device or layer served it, or the kernel did not count for a time (queue/iostats)",
        verb, Bytes(engine - device));
  }
  return absl::StrFormat(
      "the device %s %s of the engines' %s (%.0f %%): the page cache %s the rest, so these are "
      "memory's figures, not the device's",
      verb, Bytes(device), Bytes(engine), 100 * device / engine, how);
}

// When other runs used the device at the same time, only those are named as the cause. Counters of
// a longer time have more in any case.
std::string MoreText(const CrossCheckInput& in, const char* verb, double device, double engine,
                     const std::string& causes) {
  if (!More(device, engine)) return "";
  return absl::StrFormat(
      "the device %s %s where the engines asked for %s, %s more: %s", verb, Bytes(device),
      Bytes(engine), Bytes(device - engine),
      !in.concurrent.empty()
          ? absl::StrCat(in.concurrent,
                         " used this device at the same time: their bytes are among the device's")
      : !in.beyond.empty() ? in.beyond
                           : causes);
}

// The kernel counts read-ahead, parts of blocks and metadata for the process that reads them. Other
// programs read the bytes that the device read beyond that.
bool ReadsAreCounted(const CrossCheckInput& in) { return in.own_read_bytes && in.own_is_here; }

// The bytes that others can have moved on the device, at most those that it moved beyond the
// engines. Programs that ended during the load are not among them, other devices' bytes may be.
double BeyondEngines(double others, double device, double engine) {
  return std::min(others, std::max(0.0, device - engine));
}
double OthersRead(const CrossCheckInput& in) {
  const double not_own = ReadsAreCounted(in) ? in.device_read_bytes - *in.own_read_bytes : 0;
  return BeyondEngines(std::max(in.others_read_bytes, not_own), in.device_read_bytes,
                       in.engine_read_bytes);
}
double OthersWritten(const CrossCheckInput& in) {
  // A load that writes nothing has nothing that could be amplified. Dirty pages of earlier phases
  // are not its own either.
  if (!(in.engine_write_bytes > 0)) return in.device_write_bytes;
  return BeyondEngines(in.others_write_bytes, in.device_write_bytes, in.engine_write_bytes);
}

// Why the device moved more. `others`: bytes that others can have moved.
std::string CausesOf(const CrossCheckInput& in, const char* causes, double others, double device,
                     double engine) {
  if (!(others > 0) || in.others.empty()) return causes;
  return More(device - others, engine)
             ? absl::StrFormat("%s; up to %s of them may be other programs' (%s)", causes,
                               Bytes(others), in.others)
             : absl::StrFormat(
                   "other programs of this host moved bytes at the same time (%s), and these may "
                   "be theirs; a run without them tells",
                   in.others);
}

std::string CausesOfReads(const CrossCheckInput& in) {
  if (ReadsAreCounted(in) && !More(*in.own_read_bytes, in.engine_read_bytes)) {
    return absl::StrFormat(
        "other programs read them, because the kernel counts %s for the load itself "
        "(/proc/self/io)",
        Bytes(*in.own_read_bytes));
  }
  return CausesOf(in, "read-ahead, partial blocks, the file system's metadata, or other programs",
                  OthersRead(in), in.device_read_bytes, in.engine_read_bytes);
}

// Trims on the device itself against its discards; empty when they agree, or cannot be compared.
// Discards of a device that no engine trims are others'.
std::string DiscardText(const CrossCheckInput& in) {
  if (!in.trims_reach_device || !(in.engine_trim_bytes > 0)) return "";
  const bool is_less = Less(in.device_discard_bytes, in.engine_trim_bytes);
  if (is_less && !in.within.empty()) {
    return MissedText(in, "discarded", in.device_discard_bytes, in.engine_trim_bytes);
  }
  if (is_less) {
    return absl::StrFormat(
        "the device discarded %s of the %s that the engines trimmed: another device or layer took "
        "the rest, or the kernel does not count discards there",
        Bytes(in.device_discard_bytes), Bytes(in.engine_trim_bytes));
  }
  return MoreText(in, "discarded", in.device_discard_bytes, in.engine_trim_bytes,
                  "a file system that discards what it frees, or other programs");
}

// Empty where the bytes can be compared. `engine`: bytes that the engines moved.
std::string WhyIncomparable(const CrossCheckInput& in, double engine) {
  if (in.lost) {
    return "a host was lost: what it did is among the device's bytes, and not among the engines'";
  }
  if (!in.attributable || engine + in.engine_trim_bytes <= 0) {
    return "a workload spreads over several devices, or reaches this one through another, so its "
           "bytes cannot be told apart here";
  }
  if (engine <= 0 && !in.trims_reach_device) {
    return "the engines only trimmed files, and a file system need not discard any of that";
  }
  return "";
}

// The kernel counts what a process has it fetch, and what it dirties. A load of which it counted
// less was served by the page cache, whoever moved the device's bytes.
bool AskedForLess(const CrossCheckInput& in) {
  return (in.own_read_bytes && Less(*in.own_read_bytes, in.engine_read_bytes)) ||
         (in.own_write_bytes && Less(*in.own_write_bytes, in.engine_write_bytes));
}

// Whether all that the load read or wrote is known to have reached the device, whatever others
// moved on it. A page that is dirtied again before its write-back counts once in the kernel's count
// of the workers, and was written once. With a sync at the end, none of the counted pages is left
// in memory.
bool ReadsReachedDevice(const CrossCheckInput& in) {
  return !in.buffered || in.engine_read_bytes <= 0 ||
         (in.own_read_bytes && in.own_is_here && !Less(*in.own_read_bytes, in.engine_read_bytes));
}
bool WritesReachedDevice(const CrossCheckInput& in) {
  return !in.buffered || in.engine_write_bytes <= 0 ||
         (in.own_write_bytes && in.own_is_here && in.synced &&
          !Less(*in.own_write_bytes, in.engine_write_bytes));
}

// Why the device's bytes, which agree, need not be the load's; empty if they are. Without a page
// cache they are: all that the engines asked for reached the device.
std::string WhyMayBeOthers(const CrossCheckInput& in) {
  if (!in.buffered) return "";
  if (AskedForLess(in)) {
    return absl::StrFormat(
        "but for the load itself the kernel counts only %s read and %s written (/proc/self/io): "
        "the page cache served the rest, and the device moved bytes of other programs%s",
        Bytes(in.own_read_bytes.value_or(0)), Bytes(in.own_write_bytes.value_or(0)),
        in.others.empty() ? "" : absl::StrCat(" (", in.others, ")"));
  }
  // Reads that the load itself had fetched are on the device. For writes that were not synced, only
  // the dirtying is known to be the load's, not whose dirty pages were written back.
  const bool reads_are_own = in.own_read_bytes && in.own_is_here;
  const bool reads_may =
      !reads_are_own && Less(in.device_read_bytes - in.others_read_bytes, in.engine_read_bytes);
  const bool writes_may =
      !WritesReachedDevice(in) &&
      Less(in.device_write_bytes - in.others_write_bytes, in.engine_write_bytes);
  if (!reads_may && !writes_may) return "";
  const bool sync_tells = !reads_may && in.own_write_bytes && in.own_is_here && !in.synced;
  return absl::StrCat("but other programs of this host moved bytes at the same time (", in.others,
                      "): the device's may be theirs, and the page cache may have served as many "
                      "of the load's",
                      sync_tells ? "; with fsync: {at_end: true} this could be told" : "");
}

std::string AgreeText(const CrossCheckInput& in, double device, double engine) {
  std::vector<std::string> parts;
  if (engine > 0) {
    parts.push_back(
        absl::StrFormat("the device moved %s, the engines %s", Bytes(device), Bytes(engine)));
  }
  if (in.engine_trim_bytes > 0) {
    parts.push_back(absl::StrFormat(
        "the device discarded %s, the engines trimmed %s%s", Bytes(in.device_discard_bytes),
        Bytes(in.engine_trim_bytes),
        in.trims_reach_device ? "" : " in files, of which a file system need not discard any"));
  }
  return absl::StrJoin(parts, "; ");
}

// How many of the engines' blocks a request of the device had on average; 0 if that is not known.
// Others' requests are among the device's, so that it is no more than what the load's own had.
double BlocksPerRequest(const CrossCheckInput& in) {
  const double requests = (in.engine_read_bytes > 0 ? in.device_reads : 0) +
                          (in.engine_write_bytes > 0 ? in.device_writes : 0);
  if (!(requests > 0) || !(in.block_bytes > 0)) return 0;
  return (in.engine_read_bytes + in.engine_write_bytes) / in.block_bytes / requests;
}

// That the load's blocks were merged although the device moved bytes of others, too; empty if that
// does not follow. Requests that the counters missed would make the load's look larger.
std::string MergedBesideOthers(const CrossCheckInput& in) {
  const double merged = BlocksPerRequest(in);
  if (merged <= kCoalesced || !in.within.empty() || !ReadsReachedDevice(in) ||
      !WritesReachedDevice(in)) {
    return "";
  }
  return absl::StrFormat(
      "the engines' blocks of %s reached the device in requests of at least %s on average (merged "
      "at least ×%.1f): this is a rate for large requests, not for blocks of %s",
      Bytes(in.block_bytes), Bytes(merged * in.block_bytes), merged, Bytes(in.block_bytes));
}

// The verdict where the device moved more, and others can have moved the difference.
v1::CrossCheck BesideOthers(const CrossCheckInput& in, double factor, const std::string& reason) {
  const std::string merged = MergedBesideOthers(in);
  if (merged.empty()) return Make(v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE, factor, reason);
  return Make(v1::CrossCheck::VERDICT_COALESCED, factor, absl::StrCat(merged, "; ", reason));
}

// Those that are not empty.
std::string Joined(std::vector<std::string> findings) {
  std::erase(findings, "");
  return absl::StrJoin(findings, "; ");
}

}  // namespace

v1::CrossCheck CrossCheckOf(const CrossCheckInput& in) {
  const double engine = in.engine_read_bytes + in.engine_write_bytes;
  const double device = in.device_read_bytes + in.device_write_bytes;
  // Workloads that move no data are compared by their trims alone.
  const double factor = engine > 0                 ? device / engine
                        : in.engine_trim_bytes > 0 ? in.device_discard_bytes / in.engine_trim_bytes
                                                   : 0;
  if (const std::string why = WhyIncomparable(in, engine); !why.empty()) {
    return Make(v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE, factor, why);
  }
  const bool reads_are_whole = IsWhole(in, in.own_read_bytes, in.engine_read_bytes);
  const bool writes_are_whole = IsWhole(in, in.own_write_bytes, in.engine_write_bytes);
  const std::string less_read =
      LessText(in, in.own_read_bytes, "read", in.device_read_bytes, in.engine_read_bytes, "served");
  const std::string less_written = LessText(in, in.own_write_bytes, "wrote", in.device_write_bytes,
                                            in.engine_write_bytes, "still held");
  const std::string more_read =
      MoreText(in, "read", in.device_read_bytes, in.engine_read_bytes, CausesOfReads(in));
  const std::string more_written =
      MoreText(in, "wrote", in.device_write_bytes, in.engine_write_bytes,
               CausesOf(in,
                        "the file system's journal and metadata, earlier dirty pages, or other "
                        "programs",
                        OthersWritten(in), in.device_write_bytes, in.engine_write_bytes));
  const std::string discarded = DiscardText(in);
  const bool less = !less_read.empty() || !less_written.empty();
  const bool more = !more_read.empty() || !more_written.empty() || !discarded.empty();
  if (less || more) {
    const std::string reason =
        Joined({less_read, less_written, more_read, more_written, discarded});
    // Without a page cache nothing on this host can explain missing bytes: the counters and the
    // load are not about the same device. No cache holds trims back.
    const bool less_discarded = Less(in.device_discard_bytes, in.engine_trim_bytes);
    const bool is_less =
        (!less_read.empty() && reads_are_whole) || (!less_written.empty() && writes_are_whole);
    if ((less && (!in.buffered || !is_less)) || (!discarded.empty() && less_discarded))
      return Make(v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE, factor, reason);
    if (less) return Make(v1::CrossCheck::VERDICT_PAGE_CACHE, factor, reason);
    // Only what the load itself caused is its amplification.
    const double others = OthersRead(in) + OthersWritten(in);
    const bool is_own = !discarded.empty() ||
                        More(in.device_read_bytes - OthersRead(in), in.engine_read_bytes) ||
                        More(in.device_write_bytes - OthersWritten(in), in.engine_write_bytes);
    if (!in.concurrent.empty() || !in.beyond.empty() || !is_own)
      return BesideOthers(in, factor, reason);
    return Make(v1::CrossCheck::VERDICT_AMPLIFIED, engine > 0 ? (device - others) / engine : factor,
                reason);
  }
  if (const std::string why = WhyMayBeOthers(in); !why.empty()) {
    return Make(v1::CrossCheck::VERDICT_NOT_ATTRIBUTABLE, factor,
                absl::StrCat(AgreeText(in, device, engine), ", ", why));
  }
  // The number of requests says something about merging only when the bytes agree, and the counters
  // are of no longer time, in which others had requests. Others only add requests: their mean size
  // would say of the load's own what is true of theirs.
  const double merged = BlocksPerRequest(in);
  if (in.beyond.empty() && merged > kCoalesced) {
    const double request_bytes = merged * in.block_bytes;
    return Make(v1::CrossCheck::VERDICT_COALESCED, factor,
                absl::StrFormat(
                    "agrees in bytes, but in requests of %s instead of %s (merged ×%.1f): this "
                    "is the device's rate for large requests, not for blocks of %s",
                    Bytes(request_bytes), Bytes(in.block_bytes), merged, Bytes(in.block_bytes)));
  }
  return Make(v1::CrossCheck::VERDICT_AGREE, factor, AgreeText(in, device, engine));
}

}  // namespace lockstep::controller
