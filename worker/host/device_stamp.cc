#include "worker/host/device_stamp.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/text.h"
#include "worker/host/signed_text.h"

namespace lockstep::worker {
namespace {

constexpr char kFirstLine[] = "lockstep device stamp 1\n";
// O_DIRECT can read a block of this size, whether logical blocks have 512 or 4096 bytes.
constexpr size_t kBlock = 4096;
constexpr size_t kMaxName = 256;

// The lines of one end's block.
struct Lines {
  std::string identity, size, number, end, by, at;
};

absl::StatusOr<std::string> ComposeEnd(const Lines& lines, const MarkKeys& keys) {
  auto block = SignText(absl::StrCat(kFirstLine, "device ", lines.identity, "\nbytes ", lines.size,
                                     "\nnumber ", lines.number, "\nend ", lines.end,
                                     "\nenrolled by ", lines.by, "\nenrolled at ", lines.at, "\n"),
                        keys);
  if (!block.ok()) return block;
  if (block->size() > kBlock) {
    return absl::InvalidArgumentError("its identity is too long for a stamp");
  }
  block->resize(kBlock, '\0');
  std::string bytes;
  bytes.reserve(kStampBytes);
  // Copies fill the whole end, so that any use of it breaks the stamp.
  while (bytes.size() < kStampBytes) bytes += *block;
  return bytes;
}

DeviceStamp Broken(const std::string& message) {
  return {DeviceStamp::State::kBroken, message, "", ""};
}

constexpr char kAttachment[] = " attachment ";

// Why a stamp that names `stamped` is not of the device `present`.
std::string OtherDevice(const std::string& stamped, const std::string& present) {
  const auto [device, attachment] =
      std::pair<std::string, std::string>(absl::StrSplit(stamped, absl::MaxSplits(kAttachment, 1)));
  const bool is_again = absl::StartsWith(present, device + kAttachment);
  return is_again ? "is of an earlier attachment of it (" + attachment +
                        "): a loop device is enrolled until it is detached"
                  : "is of another device, " + stamped;
}

// The offset at which the bytes differ from copies of their first block; their size if they do not.
size_t FirstDifference(const std::string& bytes) {
  for (size_t at = kBlock; at < bytes.size(); ++at) {
    if (bytes[at] != bytes[at - kBlock]) return at;
  }
  return bytes.size();
}

// One end's region, of which all blocks must be the same.
absl::StatusOr<Lines> ParseEnd(const std::string& bytes, uint64_t offset, const MarkKeys& keys) {
  if (bytes.rfind(kFirstLine, 0) != 0) {
    return absl::DataLossError(absl::StrCat("is overwritten at offset ", offset));
  }
  if (const size_t at = FirstDifference(bytes); at < bytes.size()) {
    return absl::DataLossError(absl::StrCat("is overwritten at offset ", offset + at));
  }
  std::string block = bytes.substr(0, kBlock);
  block.resize(std::min(block.find('\0'), block.size()));
  const SignedText read = ReadSigned(block, keys);
  switch (read.trust) {
    case MarkKeys::Trust::kForged:
      return absl::DataLossError("was not signed by the worker that it names, or was altered");
    case MarkKeys::Trust::kUnknownStore:
      return absl::DataLossError(
          "was signed by a worker that this controller's store does not know");
    case MarkKeys::Trust::kTrusted:
      break;
  }
  Lines lines;
  TakeLines(read.text, {{"device ", &lines.identity},
                        {"bytes ", &lines.size},
                        {"number ", &lines.number},
                        {"end ", &lines.end},
                        {"enrolled by ", &lines.by},
                        {"enrolled at ", &lines.at}});
  return lines;
}

DeviceStamp Judge(const std::string& first, const std::string& last, const std::string& identity,
                  uint64_t size_bytes, const MarkKeys& keys) {
  const auto begin = ParseEnd(first, 0, keys);
  if (!begin.ok()) return Broken(std::string(begin.status().message()));
  if (begin->identity != identity) return Broken(OtherDevice(begin->identity, identity));
  // After a resize the device ends elsewhere, and the second stamp does not lie at its end.
  if (begin->size != absl::StrCat(size_bytes)) {
    return Broken(absl::StrCat("was made when the device had ", begin->size, " bytes"));
  }
  const auto end = ParseEnd(last, size_bytes - kStampBytes, keys);
  if (!end.ok()) return Broken(std::string(end.status().message()));
  // Each end says which one it is, so that a copy of the device's first MiB to its end makes no
  // stamp.
  if (begin->end != "first" || end->end != "last" || end->identity != identity ||
      end->size != begin->size || end->number != begin->number) {
    return Broken("has two ends that were not made together");
  }
  return {DeviceStamp::State::kCounts, "", common::Printable(begin->at + " by " + begin->by, 128),
          begin->number};
}

}  // namespace

std::string StampIdentity(const v1::BlockDevice& device) {
  const std::string& identity = device.identity();
  // A zram that is reset keeps its name and its disk sequence, and holds other bytes.
  if (absl::StartsWith(identity, "zram:")) return "";
  if (!absl::StartsWith(identity, "loop-file:")) return identity;
  // Without the sequence (before Linux 5.15) attachments cannot be told apart.
  if (device.disk_sequence() == 0) return "";
  return absl::StrCat(identity, kAttachment, common::ReadTrimmed("/proc/sys/kernel/random/boot_id"),
                      "/", device.disk_sequence());
}

absl::StatusOr<StampBytes> ComposeStamp(const StampFacts& facts, const MarkKeys& keys) {
  if (facts.identity.empty() || !common::IsPlainLine(facts.identity)) {
    return absl::InvalidArgumentError(
        "it has no identity by which its stamp could be known to be its own (zram has none, nor "
        "has a loop device before Linux 5.15)");
  }
  if (facts.number.empty() || !common::IsPlainLine(facts.number)) {
    return absl::InvalidArgumentError("the controller gave its stamp no number");
  }
  if (facts.size_bytes < kMinStamped) {
    return absl::InvalidArgumentError(
        absl::StrCat("its ", facts.size_bytes, " bytes are too few for stamps"));
  }
  Lines lines;
  lines.identity = facts.identity;
  lines.size = absl::StrCat(facts.size_bytes);
  lines.number = facts.number;
  // A line break in a name would begin a line of its own, and of several lines with one name
  // TakeLines() believes the last.
  lines.by = common::Printable(facts.by, kMaxName);
  lines.at = common::Printable(facts.at, kMaxName);
  StampBytes bytes;
  for (auto [end, out] : {std::pair("first", &bytes.first), std::pair("last", &bytes.last)}) {
    lines.end = end;
    auto composed = ComposeEnd(lines, keys);
    if (!composed.ok()) return composed.status();
    *out = *std::move(composed);
  }
  return bytes;
}

absl::StatusOr<DeviceStamp> ReadStamp(const ReadBytes& read, const std::string& identity,
                                      uint64_t size_bytes, const MarkKeys& keys) {
  if (size_bytes < kMinStamped) return DeviceStamp();
  // Most devices have no stamp: one block tells that, instead of 2 MiB.
  const auto block = read(0, kBlock);
  if (!block.ok()) return block.status();
  if (block->rfind(kFirstLine, 0) != 0) return DeviceStamp();
  const auto first = read(0, kStampBytes);
  if (!first.ok()) return first.status();
  const auto last = read(size_bytes - kStampBytes, kStampBytes);
  if (!last.ok()) return last.status();
  if (first->size() != kStampBytes || last->size() != kStampBytes) {
    return absl::UnavailableError("the ends of the device cannot be read");
  }
  return Judge(*first, *last, identity, size_bytes, keys);
}

absl::StatusOr<DeviceStamp> StampOn(int fd, const std::string& path, const v1::BlockDevice& device,
                                    const MarkKeys& keys) {
  if (device.identity().empty()) return DeviceStamp();
  return ReadStamp(
      [&](uint64_t offset, uint32_t length) { return ReadDevice(fd, path, offset, length); },
      StampIdentity(device), device.size_bytes(), keys);
}

void AddStampText(const DeviceStamp& stamp, DeviceContent* content) {
  if (stamp.state != DeviceStamp::State::kBroken || content->what.empty()) return;
  absl::StrAppend(&content->what, "; its stamp ", stamp.message);
}

absl::StatusOr<uint64_t> UsableBytes(const v1::BlockDevice& device, int64_t wanted,
                                     uint64_t stamp_bytes) {
  const uint64_t stamps = 2 * stamp_bytes;
  const uint64_t has = device.size_bytes() > stamps ? device.size_bytes() - stamps : 0;
  const auto bytes = static_cast<uint64_t>(wanted);
  if (bytes <= has) return bytes == 0 ? has : bytes;
  return absl::InvalidArgumentError(
      absl::StrCat(device.path(), ": has ", has, " bytes",
                   stamps == 0 ? "" : absl::StrCat(" beside the ", stamps, " of its stamps"),
                   ", the job says ", bytes));
}

void SetContent(const DeviceContent& content, const DeviceStamp& stamp, v1::BlockDevice* device) {
  device->set_enrolled(stamp.enrolled);
  device->set_stamp_number(stamp.number);
  device->set_content_fingerprint(content.fingerprint);
  device->set_blank(content.is_blank);
  if (content.what.empty()) return;
  device->set_in_use("carries " + content.what);
  device->set_has_signature(content.has_signature);
}

}  // namespace lockstep::worker
