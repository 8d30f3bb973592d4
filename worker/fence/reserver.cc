#include "worker/fence/reserver.h"

#include <fcntl.h>
#include <linux/pr.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "worker/host/kernel_blocks.h"
#include "worker/iscsi/session.h"

namespace lockstep::worker {
namespace {

// Statuses of devices, as the kernel hands them on.
constexpr int kScsiConflict = 0x18;
constexpr int kScsiCheckCondition = 0x02;
// In the next byte: the kernel's own word for a device that cannot do it (scsi_priv.h,
// SCSIML_STAT_TGT_FAILURE).
constexpr int kScsiTargetFailure = 0x04;
// Each path of a multipath device may report a condition once. At most 16 paths are expected.
constexpr int kConditionTries = 16;
constexpr useconds_t kConditionPauseUs = 10000;
constexpr int kNvmeConflict = 0x83;

// The paths underneath a multipath device of dm's; none of other devices. They are the same LUN:
// who may write the one may register over the other.
std::vector<common::FileDescriptor> PathsUnder(const common::FileDescriptor& device) {
  std::vector<common::FileDescriptor> paths;
  struct stat facts;
  const KernelBlocks kernel;
  if (fstat(device.get(), &facts) != 0) return paths;
  const auto name = kernel.NameOf(facts.st_rdev);
  if (!name.ok() || name->rfind("dm-", 0) != 0 || !kernel.IsMultipath(*name)) return paths;
  for (const std::string& part : kernel.PartsOf(*name).underneath) {
    common::FileDescriptor path(
        open(absl::StrCat("/dev/", part).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (path.valid()) paths.push_back(std::move(path));
  }
  return paths;
}

class DeviceReserver final : public Reserver {
 public:
  DeviceReserver(common::FileDescriptor device, std::string path)
      : device_(std::move(device)), paths_(PathsUnder(device_)), path_(std::move(path)) {}

  absl::Status Register(uint64_t key) override {
    // The host may still be registered with the key of an earlier run, which nobody here knows.
    return RegisterEach({0, key, PR_FL_IGNORE_KEY, 0});
  }
  // With the old key given, the device compares it: a registration that was taken away is a
  // conflict and does not come back.
  absl::Status Rejoin(uint64_t key) override { return RegisterEach({key, key, 0, 0}); }
  absl::Status Reserve(uint64_t key) override {
    pr_reservation reservation = {key, PR_WRITE_EXCLUSIVE_REG_ONLY, 0};
    return Call(device_, IOC_PR_RESERVE, &reservation);
  }
  absl::Status Preempt(uint64_t key, uint64_t lost) override {
    pr_preempt preempt = {key, lost, PR_WRITE_EXCLUSIVE_REG_ONLY, 0};
    return Call(device_, IOC_PR_PREEMPT, &preempt);
  }
  absl::StatusOr<ReservationFacts> Read() override {
    return absl::UnimplementedError(path_ + ": this kernel tells no registered keys");
  }

 private:
  // dm's own registration gives up at the first path that reports a condition, and takes the
  // others' registrations back, also those that were there before (dm_pr_register, Linux 6.1): each
  // path is registered by itself.
  absl::Status RegisterEach(pr_registration registration) {
    if (paths_.empty()) return Call(device_, IOC_PR_REGISTER, &registration);
    absl::Status first;
    for (const common::FileDescriptor& path : paths_) {
      const absl::Status status = Call(path, IOC_PR_REGISTER, &registration);
      if (first.ok()) first = status;
      // A registration that is given up is given up on all paths.
      if (!first.ok() && registration.new_key != 0) return first;
    }
    return first;
  }

  // The answer is an errno, or, of devices that speak SCSI or NVMe, their own status.
  template <typename Argument>
  absl::Status Call(const common::FileDescriptor& device, unsigned long request,
                    Argument* argument) {
    int answer = ioctl(device.get(), request, argument);
    // A SCSI device first tells each path what has happened since (UNIT ATTENTION: another host has
    // released its reservation, say) instead of doing what it was told. The kernel hands on no more
    // than that it checked its condition, and asks each path of a multipath device.
    const auto reports_condition = [&answer] {
      return answer > 0 && (answer & 0xff) == kScsiCheckCondition &&
             (answer >> 8 & 0xff) != kScsiTargetFailure;
    };
    for (int i = 0; i < kConditionTries && reports_condition(); ++i) {
      usleep(kConditionPauseUs);
      answer = ioctl(device.get(), request, argument);
    }
    if (answer == 0) return absl::OkStatus();
    const bool is_conflict =
        answer > 0 ? (answer & 0xff) == kScsiConflict || (answer & 0xff) == kNvmeConflict
                   : errno == EBADE;
    if (is_conflict) return absl::FailedPreconditionError(path_ + ": reservation conflict");
    if (reports_condition()) {
      return absl::UnavailableError(
          path_ +
          ": a reservation fails: the device goes on reporting a condition (UNIT ATTENTION)");
    }
    if (answer > 0 && (answer & 0xff) == kScsiCheckCondition) {
      return absl::UnimplementedError(absl::StrCat(
          path_,
          ": the device has no persistent reservations, or none that outlast a loss of its power "
          "(APTPL), which is what the kernel asks for"));
    }
    if (answer > 0) {
      return absl::UnavailableError(
          absl::StrCat(path_, ": a reservation fails with the device's status ", answer));
    }
    if (errno == EOPNOTSUPP || errno == ENOTTY || errno == EINVAL) {
      return absl::UnimplementedError(path_ + ": the device has no persistent reservations");
    }
    return common::ErrnoStatus(errno, path_ + ": reservation");
  }

  const common::FileDescriptor device_;
  const std::vector<common::FileDescriptor> paths_;
  const std::string path_;
};

class LunReserver final : public Reserver {
 public:
  LunReserver(const LunSpec& lun, int64_t limit_ns)
      : session_(lun.numeric, lun.login), limit_ns_(limit_ns) {}

  absl::Status Await(const LunSpec& lun) {
    if (absl::Status ready = session_.AwaitReady(Deadline()); !ready.ok()) return ready;
    if (IsSameLun(session_.facts(), lun.facts)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(lun.url.text(), ": another LUN answers than the one that was looked at"));
  }

  absl::Status Register(uint64_t key) override {
    return session_.Reserve(ReservationAction::kRegisterAndIgnore, 0, key, Deadline());
  }
  absl::Status Rejoin(uint64_t key) override { return session_.Rejoin(key, Deadline()); }
  absl::Status Reserve(uint64_t key) override {
    return session_.Reserve(ReservationAction::kReserve, key, 0, Deadline());
  }
  absl::Status Preempt(uint64_t key, uint64_t lost) override {
    return session_.Reserve(ReservationAction::kPreempt, key, lost, Deadline());
  }
  absl::StatusOr<ReservationFacts> Read() override { return session_.ReadReservation(Deadline()); }

 private:
  int64_t Deadline() const { return common::SystemClock().MonotonicNs() + limit_ns_; }

  IscsiSession session_;
  const int64_t limit_ns_;
};

}  // namespace

std::unique_ptr<Reserver> NewDeviceReserver(common::FileDescriptor device, std::string path) {
  return std::make_unique<DeviceReserver>(std::move(device), std::move(path));
}

absl::StatusOr<std::unique_ptr<Reserver>> NewLunReserver(const LunSpec& lun, int64_t limit_ns) {
  auto reserver = std::make_unique<LunReserver>(lun, limit_ns);
  if (absl::Status ready = reserver->Await(lun); !ready.ok()) return ready;
  return reserver;
}

}  // namespace lockstep::worker
