#include "worker/fence/reserver.h"

#include <linux/pr.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "worker/iscsi/session.h"

namespace lockstep::worker {
namespace {

// Statuses of devices, as the kernel hands them on.
constexpr int kScsiConflict = 0x18;
constexpr int kNvmeConflict = 0x83;

class DeviceReserver final : public Reserver {
 public:
  DeviceReserver(common::FileDescriptor device, std::string path)
      : device_(std::move(device)), path_(std::move(path)) {}

  absl::Status Register(uint64_t key) override {
    pr_registration registration = {0, key, PR_FL_IGNORE_KEY, 0};
    return Call(IOC_PR_REGISTER, &registration);
  }
  absl::Status Rejoin(uint64_t key) override {
    pr_registration registration = {key, key, 0, 0};
    return Call(IOC_PR_REGISTER, &registration);
  }
  absl::Status Reserve(uint64_t key) override {
    pr_reservation reservation = {key, PR_WRITE_EXCLUSIVE_REG_ONLY, 0};
    return Call(IOC_PR_RESERVE, &reservation);
  }
  absl::Status Preempt(uint64_t key, uint64_t lost) override {
    pr_preempt preempt = {key, lost, PR_WRITE_EXCLUSIVE_REG_ONLY, 0};
    return Call(IOC_PR_PREEMPT, &preempt);
  }
  absl::StatusOr<ReservationFacts> Read() override {
    return absl::UnimplementedError(path_ + ": this kernel tells no registered keys");
  }

 private:
  // The answer is an errno, or, of devices that speak SCSI or NVMe, their own status.
  template <typename Argument>
  absl::Status Call(unsigned long request, Argument* argument) {
    const int answer = ioctl(device_.get(), request, argument);
    if (answer == 0) return absl::OkStatus();
    const bool is_conflict =
        answer > 0 ? (answer & 0xff) == kScsiConflict || (answer & 0xff) == kNvmeConflict
                   : errno == EBADE;
    if (is_conflict) return absl::FailedPreconditionError(path_ + ": reservation conflict");
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
