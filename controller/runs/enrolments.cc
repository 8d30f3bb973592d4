#include "controller/runs/enrolments.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/timing.h"

namespace lockstep::controller {
namespace {

v1::EnrollReply ReplyOf(const EnrolListing& listing) {
  v1::EnrollReply reply;
  for (const EnrolListing::Entry& entry : listing.entries) *reply.add_devices() = entry.device;
  return reply;
}

}  // namespace

Enrolments::Enrolments(Loop* loop, const common::Clock* clock, const std::string& secret,
                       Ports ports)
    : loop_(loop),
      clock_(clock),
      tokens_(secret, "lockstep enrolment token 1"),
      ports_(std::move(ports)),
      devices_(loop, DeviceQueries::Kind::kFreshInspect) {}

void Enrolments::Start(FleetLink* fleet) {
  fleet_ = fleet;
  devices_.Start(fleet);
}

void Enrolments::Enroll(const v1::EnrollRequest& request, const std::string& by, const Done& done) {
  const bool asked = devices_.Query(
      [this, request, by, done](const v1::DevicesReply& fleet) { List(request, by, done, fleet); });
  if (asked) return;
  done(absl::ResourceExhaustedError("too many ask for the devices already; try again"));
}

void Enrolments::List(const v1::EnrollRequest& request, const std::string& by, const Done& done,
                      const v1::DevicesReply& fleet) {
  auto listing = ListEnrolment(request, fleet, fleet_->Hellos(), ports_.used());
  if (!listing.ok()) return done(listing.status());
  const bool is_order = request.release() || !request.confirm().empty();
  if (!is_order) {
    v1::EnrollReply reply = ReplyOf(*listing);
    if (listing->HasOrders()) reply.set_token(tokens_.Make(listing->Text(), clock_->WallNs()));
    return done(std::move(reply));
  }
  if (absl::Status status = CheckConfirmed(request, *listing); !status.ok()) return done(status);
  if (!listing->HasOrders()) return done(ReplyOf(*listing));
  Execute(*std::move(listing), by, done);
}

absl::Status Enrolments::CheckConfirmed(const v1::EnrollRequest& request,
                                        const EnrolListing& listing) const {
  if (writing_) {
    return absl::UnavailableError("other devices are being enrolled or released; try again");
  }
  if (ports_.is_admitting()) {
    return absl::UnavailableError("a run is about to start; try again in a few seconds");
  }
  if (request.release()) return absl::OkStatus();
  constexpr char kAgain[] = "; nothing was written. List them again: `lockstep devices enroll …`";
  const absl::Status age = tokens_.CheckAge(request.confirm(), clock_->WallNs());
  if (!age.ok()) {
    return absl::Status(age.code(), absl::StrCat("confirm: '", request.confirm(), "' ",
                                                 std::string(age.message()), kAgain));
  }
  if (tokens_.IsOf(request.confirm(), listing.Text())) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("what was confirmed is not what is there now: the devices that match, their "
                   "hosts, or what they carry",
                   kAgain));
}

void Enrolments::Execute(EnrolListing listing, const std::string& by, Done done) {
  writing_ = true;
  ++id_;
  listing_ = std::move(listing);
  done_ = std::move(done);
  std::map<std::string, v1::ControllerMessage> messages;  // by worker
  for (size_t i = 0; i < listing_.entries.size(); ++i) {
    const EnrolListing::Entry& entry = listing_.entries[i];
    if (!entry.device.left_out().empty()) continue;
    v1::StampDevices* orders = messages[entry.worker_id].mutable_stamp_devices();
    orders->set_id(id_);
    orders->set_enrolled_by(by);
    orders->set_enrolled_at(absl::FormatTime(
        "%Y-%m-%dT%H:%M:%SZ", absl::FromUnixNanos(clock_->WallNs()), absl::UTCTimeZone()));
    *orders->add_orders() = entry.order;
    waiting_[entry.worker_id].push_back(i);
  }
  for (auto& [worker_id, message] : messages) {
    if (!fleet_->Send(worker_id, std::move(message))) Miss(worker_id, "its worker has gone");
  }
  if (waiting_.empty()) return Finish();
  loop_->After(timing::kStampAnswerNs, [this, id = id_] {
    if (!writing_ || id != id_) return;
    while (!waiting_.empty()) Miss(waiting_.begin()->first, "its worker has not answered in time");
    Finish();
  });
}

void Enrolments::Miss(const std::string& worker_id, const std::string& why) {
  const auto waiting = waiting_.find(worker_id);
  if (waiting == waiting_.end()) return;
  for (const size_t entry : waiting->second) {
    listing_.entries[entry].device.set_left_out(
        why + ": nobody knows what became of it; see `lockstep devices`");
  }
  waiting_.erase(waiting);
}

void Enrolments::OnDevices(const std::string& worker_id, const v1::DeviceList& list) {
  devices_.OnAnswer(worker_id, list);
}

void Enrolments::OnStamps(const std::string& worker_id, const v1::StampResults& results) {
  const auto waiting = waiting_.find(worker_id);
  if (!writing_ || results.id() != id_ || waiting == waiting_.end()) return;
  const std::vector<size_t>& entries = waiting->second;
  if (results.refused_size() != static_cast<int>(entries.size())) {
    Miss(worker_id, "its worker's answer is not of what it was told");
  } else {
    for (size_t i = 0; i < entries.size(); ++i) {
      listing_.entries[entries[i]].device.set_left_out(results.refused(static_cast<int>(i)));
    }
    waiting_.erase(waiting);
  }
  if (waiting_.empty()) Finish();
}

void Enrolments::OnLost(const std::string& worker_id) {
  devices_.OnLost(worker_id);
  if (!writing_ || !waiting_.contains(worker_id)) return;
  Miss(worker_id, "its worker was lost");
  if (waiting_.empty()) Finish();
}

void Enrolments::Finish() {
  v1::EnrollReply reply = ReplyOf(listing_);
  reply.set_carried_out(true);
  const Done done = std::move(done_);
  done_ = nullptr;
  waiting_.clear();
  writing_ = false;
  done(std::move(reply));
  ports_.over();
}

void Enrolments::Drop() {
  devices_.Drop();
  if (!writing_) return;
  while (!waiting_.empty()) Miss(waiting_.begin()->first, "the controller was shut down");
  Finish();
}

}  // namespace lockstep::controller
