#include "controller/runs/enrolments.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "common/timing.h"

namespace lockstep::controller {
namespace {

constexpr char kNobodyKnows[] = ": nobody knows what became of it; see `lockstep devices`";

v1::EnrollReply ReplyOf(const EnrolListing& listing) {
  v1::EnrollReply reply;
  for (const EnrolListing::Entry& entry : listing.entries) *reply.add_devices() = entry.device;
  return reply;
}

}  // namespace

Enrolments::Enrolments(Loop* loop, const common::Clock* clock, storage::FleetStore* store,
                       StampRegistry* stamps, const std::string& secret, Ports ports)
    : loop_(loop),
      clock_(clock),
      store_(store),
      stamps_(stamps),
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
                      v1::DevicesReply fleet) {
  stamps_->Judge(&fleet);
  auto listing = ListEnrolment(request, fleet, fleet_->Hellos(), ports_.used(), *stamps_);
  if (!listing.ok()) return done(listing.status());
  // A request without a token only lists, and is given the token. A release needs none.
  const bool is_order = request.release() || !request.confirm().empty();
  if (!is_order) {
    v1::EnrollReply reply = ReplyOf(*listing);
    if (listing->HasOrders()) reply.set_token(tokens_.Make(listing->Text(), clock_->WallNs()));
    return done(std::move(reply));
  }
  if (absl::Status status = CheckConfirmed(request, *listing); !status.ok()) return done(status);
  // Released devices whose stamps are gone have no order, and may have an enrolment to end.
  if (!listing->HasOrders() && ToEnd(*listing).empty()) return done(ReplyOf(*listing));
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
  // A release only takes consent back, so nobody has to confirm it.
  if (request.release()) return absl::OkStatus();
  constexpr char kAgain[] = "; nothing was written. List them again: `lockstep devices enroll …`";
  const absl::Status age = tokens_.CheckAge(request.confirm(), clock_->WallNs());
  if (!age.ok()) {
    return absl::Status(age.code(), absl::StrCat("confirm: '", request.confirm(), "' ",
                                                 std::string(age.message()), kAgain));
  }
  if (tokens_.IsOf(request.confirm(), listing.Text())) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the confirmed listing is out of date (the devices that match, their hosts or "
                   "their contents have changed), or it was carried out already: a token counts "
                   "once",
                   kAgain));
}

std::vector<std::string> Enrolments::ToEnd(const EnrolListing& listing) const {
  std::vector<std::string> numbers;
  for (const EnrolListing::Entry& entry : listing.entries) {
    // The stamp on the device may be older than the live one, or no longer be there. A release ends
    // all stamps of the device that are live.
    if (entry.order.release()) numbers.push_back(entry.order.stamp_number());
    if (!entry.order.release() && entry.device.left_out() != kNotEnrolled) continue;
    for (std::string& number : stamps_->LiveOf(entry.device_key)) {
      numbers.push_back(std::move(number));
    }
  }
  return numbers;
}

void Enrolments::Execute(EnrolListing listing, const std::string& by, Done done) {
  writing_ = true;
  sent_ = false;
  // Late answers to the execution before this one carry the old number, and are ignored.
  ++id_;
  listing_ = std::move(listing);
  done_ = std::move(done);
  const int64_t now = clock_->WallNs();
  std::vector<measure::StampRecord> added;
  const std::vector<std::string> ended = ToEnd(listing_);
  for (size_t i = 0; i < listing_.entries.size(); ++i) {
    EnrolListing::Entry& entry = listing_.entries[i];
    const v1::EnrollDevice& device = entry.device;
    if (!device.left_out().empty()) continue;
    waiting_[entry.worker_id].push_back(i);
    if (entry.order.release()) continue;
    entry.order.set_stamp_number(common::NewUuid());
    added.push_back({entry.order.stamp_number(), entry.device_key, device.identity(), device.host(),
                     device.path(), by, now, "", 0});
  }
  // The store comes first. A stamp that the store does not know counts for nothing. A stamp that is
  // to be removed counts no more, whatever becomes of the order.
  loop_->Persist(
      [store = store_, added, ended, by, now] {
        return added.empty() ? store->EndStamps(ended, by, now) : store->AddStamps(added);
      },
      [this, id = id_, added, ended, by, now](const absl::Status& status) {
        // The registry follows the store even where the caller was answered long ago: the store may
        // accept the change after the time limit below.
        if (status.ok()) {
          stamps_->Add(added);
          stamps_->End(ended, by, now);
        }
        if (!writing_ || id != id_) return;
        if (status.ok()) return SendOrders(by, now);
        MissAll(
            absl::StrCat("the store: ", std::string(status.message()), "; nothing was written"));
        Finish();
      });
  // Persist() tries again without end while the store is unavailable. Runs are not admitted during
  // that time, so this gives up.
  loop_->After(absl::Nanoseconds(timing::kStoreChangeNs), [this, id = id_] {
    if (!writing_ || sent_ || id != id_) return;
    MissAll("the store has not answered in time; nothing was written");
    Finish();
  });
}

void Enrolments::SendOrders(const std::string& by, int64_t wall_ns) {
  sent_ = true;
  // Miss() erases from waiting_, so all messages are made before the first one is sent.
  std::map<std::string, v1::ControllerMessage> messages;  // by worker
  for (const auto& [worker_id, entries] : waiting_) {
    v1::StampDevices* orders = messages[worker_id].mutable_stamp_devices();
    orders->set_id(id_);
    orders->set_enrolled_by(by);
    orders->set_enrolled_at(
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixNanos(wall_ns), absl::UTCTimeZone()));
    for (const size_t entry : entries) *orders->add_orders() = listing_.entries[entry].order;
  }
  for (auto& [worker_id, message] : messages) {
    if (!fleet_->Send(worker_id, std::move(message))) {
      Miss(worker_id, absl::StrCat("its worker was lost", kNobodyKnows));
    }
  }
  if (waiting_.empty()) return Finish();
  loop_->After(absl::Nanoseconds(timing::kStampAnswerNs), [this, id = id_] {
    if (!writing_ || id != id_) return;
    MissAll(absl::StrCat("its worker has not answered in time", kNobodyKnows));
    Finish();
  });
}

void Enrolments::Miss(const std::string& worker_id, const std::string& why) {
  const auto waiting = waiting_.find(worker_id);
  if (waiting == waiting_.end()) return;
  // The stamps of this worker stay live, because it may have written them. The next listing shows
  // what is on the devices.
  for (const size_t entry : waiting->second) listing_.entries[entry].device.set_left_out(why);
  waiting_.erase(waiting);
}

void Enrolments::MissAll(const std::string& why) {
  while (!waiting_.empty()) Miss(waiting_.begin()->first, why);
}

void Enrolments::Answer(size_t number, const std::string& refused) {
  EnrolListing::Entry& entry = listing_.entries[number];
  if (refused.empty()) return;
  if (entry.order.release()) {
    entry.device.set_left_out(refused + "; its stamp counts no more all the same");
  } else {
    entry.device.set_left_out(refused);
    unwritten_.push_back(entry.order.stamp_number());
  }
}

void Enrolments::OnDevices(const std::string& worker_id, const v1::DeviceList& list) {
  devices_.OnAnswer(worker_id, list);
}

void Enrolments::OnStamps(const std::string& worker_id, const v1::StampResults& results) {
  const auto waiting = waiting_.find(worker_id);
  if (!writing_ || results.id() != id_ || waiting == waiting_.end()) return;
  const std::vector<size_t>& entries = waiting->second;
  // An answer refers to the orders by position. With another length, nobody can tell which order
  // was refused.
  if (results.refused_size() != static_cast<int>(entries.size())) {
    Miss(worker_id, absl::StrCat("its worker's answer does not match the orders", kNobodyKnows));
  } else {
    for (size_t i = 0; i < entries.size(); ++i) {
      Answer(entries[i], results.refused(static_cast<int>(i)));
    }
    waiting_.erase(waiting);
  }
  if (waiting_.empty()) Finish();
}

void Enrolments::OnLost(const std::string& worker_id) {
  devices_.OnLost(worker_id);
  if (!writing_ || !waiting_.contains(worker_id)) return;
  Miss(worker_id, sent_ ? absl::StrCat("its worker was lost", kNobodyKnows)
                        : "its worker was lost; nothing was written");
  if (waiting_.empty()) Finish();
}

void Enrolments::Finish() {
  v1::EnrollReply reply = ReplyOf(listing_);
  reply.set_carried_out(true);
  // The state is reset before the callbacks: over() admits runs, and that checks is_writing().
  const Done done = std::move(done_);
  done_ = nullptr;
  // A stamp that was not written must not stay live. A worker that writes it late would enrol a
  // device although the reply says that it is not enrolled.
  if (!unwritten_.empty()) {
    const std::string by = "its worker, which did not write it";
    const int64_t now = clock_->WallNs();
    stamps_->End(unwritten_, by, now);
    loop_->Persist([store = store_, numbers = std::move(unwritten_), by,
                    now] { return store->EndStamps(numbers, by, now); },
                   [](const absl::Status&) {});
    unwritten_.clear();
  }
  waiting_.clear();
  writing_ = false;
  done(std::move(reply));
  ports_.over();
}

void Enrolments::Drop() {
  devices_.Drop();
  if (!writing_) return;
  MissAll(absl::StrCat("the controller was shut down", kNobodyKnows));
  Finish();
}

}  // namespace lockstep::controller
