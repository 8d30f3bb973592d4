#include "worker/iscsi/luns.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files.h"

namespace lockstep::worker {
namespace {

// Only so many LUNs of a target are asked whether they claim the same identity.
constexpr size_t kMaxLuns = 64;
// URLs come from jobs: what is remembered of them must not grow without end.
constexpr size_t kMaxSeen = 10000;
// The ends of a LUN, where signatures lie: at the begin (btrfs's at 64 KiB, VMFS's at 2 MiB) and at
// the end (md, GPT, RAID of firmware).
constexpr uint64_t kHead = 4 << 20;
constexpr uint64_t kTail = 1 << 20;
constexpr uint32_t kPiece = 128 << 10;

int64_t Deadline(int64_t limit_ns) { return common::SystemClock().MonotonicNs() + limit_ns; }

// Two LUNs of one target may claim one identity. Nothing that would hold on other hosts tells them
// apart.
absl::Status CheckAlone(IscsiSession* session, const common::IscsiUrl& url, int64_t deadline_ns) {
  const auto luns = session->Luns(deadline_ns);
  if (!luns.ok()) return luns.status();
  size_t asked = 0;
  for (const int lun : *luns) {
    if (lun == url.lun) continue;
    if (asked++ == kMaxLuns) break;
    const auto identity = session->IdentityOf(lun, deadline_ns);
    // One that does not say (a controller's own LUN) is not the same.
    if (absl::IsDeadlineExceeded(identity.status())) return identity.status();
    if (!identity.ok() || *identity != session->facts().identity) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        url.text(), ": LUN ", lun, " of this target claims the same identity (", *identity,
        "), so that nobody can tell them apart; give each one of its own on the array"));
  }
  return absl::OkStatus();
}

absl::Status Copy(IscsiSession* session, uint64_t begin, uint64_t end, int fd, int64_t deadline) {
  for (uint64_t at = begin; at < end; at += kPiece) {
    const auto length = static_cast<uint32_t>(std::min<uint64_t>(kPiece, end - at));
    const auto data = session->Read(at, length, deadline);
    if (!data.ok()) return data.status();
    if (data->size() != length)
      return absl::UnavailableError("a LUN gives less than was asked for");
    if (pwrite(fd, data->data(), data->size(), static_cast<off_t>(at)) !=
        static_cast<ssize_t>(data->size())) {
      return common::ErrnoStatus(errno, "memory for a LUN's first sectors");
    }
  }
  return absl::OkStatus();
}

// Reads every byte. Returns what it finds, in words; empty for nothing but zeros.
absl::StatusOr<std::string> ReadWhole(IscsiSession* session, uint64_t size, int64_t until_ns) {
  for (uint64_t at = 0; at < size; at += kPiece) {
    const int64_t now = common::SystemClock().MonotonicNs();
    if (now >= until_ns) return UnknownContent(size);
    const auto length = static_cast<uint32_t>(std::min<uint64_t>(kPiece, size - at));
    const auto data = session->Read(at, length, until_ns);
    if (absl::IsDeadlineExceeded(data.status())) return UnknownContent(size);
    if (!data.ok()) return data.status();
    const size_t found = std::string_view(*data).find_first_not_of('\0');
    if (found != std::string_view::npos) return DataAt(at + found);
  }
  return std::string();
}

// Reads and judges the content of the session's LUN.
absl::StatusOr<DeviceContent> ContentIn(IscsiSession* session, const LunSpec& lun,
                                        ContentDepth depth, int64_t deadline_ns,
                                        int64_t read_until_ns) {
  // libblkid reads files: a sparse one of the LUN's size, with what it looks at.
  const common::FileDescriptor file(memfd_create("lun", MFD_CLOEXEC));
  const uint64_t size = session->facts().size_bytes;
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    return common::ErrnoStatus(errno, "memory for a LUN's first sectors");
  }
  const uint64_t head = std::min(size, kHead);
  absl::Status status = Copy(session, 0, head, file.get(), deadline_ns);
  const uint64_t tail = std::max(head, size - std::min(size, kTail));
  if (status.ok()) status = Copy(session, tail, size, file.get(), deadline_ns);
  for (const Spot& spot : SpotsOf(size)) {
    if (!status.ok() || depth == ContentDepth::kSignature) break;
    const uint64_t end = std::min(spot.offset + spot.length, tail);
    if (spot.offset < head || spot.offset >= end) continue;
    // Whole blocks of the LUN.
    const uint64_t block = lun.facts.block_bytes;
    status = Copy(session, spot.offset / block * block, (end + block - 1) / block * block,
                  file.get(), deadline_ns);
  }
  if (!status.ok()) return status;
  // The sparse file has zeros wherever nothing was copied, so that every byte is read from the LUN
  // itself.
  auto content =
      ContentOf(file.get(), lun.url.text(),
                depth == ContentDepth::kEmptiness ? ContentDepth::kSamples : depth, read_until_ns);
  if (!content.ok() || !content->what.empty() || depth != ContentDepth::kEmptiness) return content;
  auto whole = ReadWhole(session, size, read_until_ns);
  if (!whole.ok()) return whole.status();
  content->what = *std::move(whole);
  // The samples are all that is known of a LUN that only seems blank.
  if (!content->what.empty()) content->fingerprint = content->samples;
  return content;
}

}  // namespace

Luns::Luns(std::string initiator, IscsiSecrets secrets)
    : initiator_(std::move(initiator)), secrets_(std::move(secrets)) {}

absl::Status Luns::CheckSame(const std::string& url, const std::string& identity) {
  const common::MutexLock lock(&mutex_);
  if (seen_.size() >= kMaxSeen && !seen_.contains(url)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(url, ": this worker has seen ", kMaxSeen, " LUNs already; restart it"));
  }
  // An array may give a LUN's number to another LUN. The URL permits the one that had it first, as
  // --allow permits the device that had a name when the worker started.
  const auto [place, is_new] = seen_.emplace(url, identity);
  if (place->second == identity) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      url, ": is another LUN now (", identity, ") than when this worker first saw it (",
      place->second, "); restart the worker if that is meant"));
}

absl::StatusOr<LunSpec> Luns::Probe(const common::IscsiUrl& url, int64_t limit_ns) {
  LunSpec lun;
  lun.url = url;
  lun.login = {initiator_, secrets_.Of(url.target)};
  const int64_t deadline = Deadline(limit_ns);
  IscsiSession session(url, lun.login);
  if (absl::Status status = session.AwaitReady(deadline); !status.ok()) return status;
  lun.facts = session.facts();
  if (lun.facts.identity.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(url.text(),
                     ": the LUN gives no identity (VPD page 0x83), by which it could "
                     "be known again"));
  }
  if (absl::Status status = CheckAlone(&session, url, deadline); !status.ok()) return status;
  if (absl::Status status = CheckSame(url.text(), lun.facts.identity); !status.ok()) return status;
  // The name is resolved once. Later sessions must reach the portal that was inspected, and they
  // need no name server during a load.
  lun.numeric = url;
  if (const std::string peer = session.peer(); !peer.empty()) lun.numeric.portal = peer;
  return lun;
}

absl::Status Luns::InSession(const LunSpec& lun, int64_t limit_ns, const Work& work) {
  const int64_t deadline = Deadline(limit_ns);
  IscsiSession session(lun.numeric, lun.login);
  if (absl::Status status = session.AwaitReady(deadline); !status.ok()) return status;
  // Each session checks this: an array may have given the number to another LUN between two logins.
  if (!IsSameLun(session.facts(), lun.facts)) {
    return absl::FailedPreconditionError(
        absl::StrCat(lun.url.text(), ": another LUN answers than a moment ago"));
  }
  return work(&session, deadline);
}

absl::StatusOr<DeviceContent> Luns::WhatIsOn(const LunSpec& lun, ContentDepth depth,
                                             int64_t limit_ns, int64_t read_until_ns) {
  absl::StatusOr<DeviceContent> content = DeviceContent();
  const absl::Status status =
      InSession(lun, limit_ns, [&](IscsiSession* session, int64_t deadline_ns) {
        content = ContentIn(session, lun, depth, deadline_ns, read_until_ns);
        return content.status();
      });
  if (!status.ok()) return status;
  return content;
}

absl::StatusOr<std::string> ReadPieces(IscsiSession* session, uint64_t offset, uint64_t length,
                                       int64_t deadline_ns) {
  std::string bytes;
  while (bytes.size() < length) {
    const auto piece = static_cast<uint32_t>(std::min<uint64_t>(kPiece, length - bytes.size()));
    const auto data = session->Read(offset + bytes.size(), piece, deadline_ns);
    if (!data.ok()) return data.status();
    if (data->size() != piece) return absl::UnavailableError("the LUN gave less than was asked");
    bytes += *data;
  }
  return bytes;
}

absl::Status WritePieces(IscsiSession* session, uint64_t offset, const std::string& data,
                         int64_t deadline_ns) {
  for (uint64_t at = 0; at < data.size(); at += kPiece) {
    const absl::Status status = session->Write(offset + at, data.substr(at, kPiece), deadline_ns);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lockstep::worker
