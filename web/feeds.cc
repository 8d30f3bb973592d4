#include "web/feeds.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "google/protobuf/util/json_util.h"
#include "web/http.h"

namespace lockstep::web {
namespace {

// A write must end within limits::kPageStallSeconds. With 64 KiB at once, and the rest of the last
// event, a browser that takes a few kB/s still keeps up.
constexpr size_t kAtOnce = 65536;
constexpr int kDigits = 4;
// Every worker's progress makes an event, and a browser needs about one a second.
constexpr std::chrono::milliseconds kProgressEvery(900);

template <typename Number>
Number Rounded(Number value) {
  if (!std::isfinite(value) || value == 0) return value;
  const double scale = std::pow(10, kDigits - 1 - std::floor(std::log10(std::abs(value))));
  return static_cast<Number>(std::round(static_cast<double>(value) * scale) / scale);
}

// All figures to as many digits as people read: what is sent every second is short.
void RoundFigures(google::protobuf::Message* message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection* r = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_double = field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
    if (!is_double && field->cpp_type() != FieldDescriptor::CPPTYPE_FLOAT) continue;
    // Time is not a figure: to the millisecond.
    if (field->name() == "end_seconds") {
      r->SetDouble(message, field, std::round(r->GetDouble(*message, field) * 1e3) / 1e3);
      continue;
    }
    if (!field->is_repeated()) {
      if (is_double) r->SetDouble(message, field, Rounded(r->GetDouble(*message, field)));
      continue;
    }
    for (int i = 0; i < r->FieldSize(*message, field); ++i) {
      if (is_double) {
        r->SetRepeatedDouble(message, field, i, Rounded(r->GetRepeatedDouble(*message, field, i)));
      } else {
        r->SetRepeatedFloat(message, field, i, Rounded(r->GetRepeatedFloat(*message, field, i)));
      }
    }
  }
}

// The number is the event's id. A browser sends the last one back as Last-Event-ID when it connects
// again, and events without a number leave it as it is.
Feed::Text TextOf(uint64_t sequence, const v1::WatchEvent& event) {
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(event, &json).ok()) return nullptr;
  const std::string id = sequence == 0 ? "" : absl::StrCat("id: ", sequence, "\n");
  return std::make_shared<const std::string>(absl::StrCat(id, "data: ", json, "\n\n"));
}

// Only an OK from the controller means that the run has ended. Any other status is the watch's end,
// and the page tries again unless that would be in vain.
std::string LastText(const grpc::Status& status) {
  if (status.ok()) return "event: end\ndata: {}\n\n";
  const bool for_good = status.error_code() == grpc::StatusCode::NOT_FOUND ||
                        status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  return absl::StrCat("event: failed\ndata: {\"retry\":", for_good ? "false" : "true",
                      ",\"error\":", Quoted(status.error_message()), "}\n\n");
}

}  // namespace

std::shared_ptr<Feed> Feed::Begin(v1::Controller::Stub* stub, Calls* calls,
                                  const std::string& run_id,
                                  std::function<void(const Feed*)> over) {
  std::shared_ptr<Feed> feed(new Feed);
  if (!calls->Begin(&feed->context_)) return nullptr;
  // gRPC has the address only: the feed owns itself until OnDone(), even when the last browser has
  // left.
  feed->self_ = feed;
  feed->calls_ = calls;
  feed->over_ = std::move(over);
  feed->request_.set_run_id(run_id);
  // One stream serves all browsers, so it asks for everything. Read() leaves out what one of them
  // does not want.
  feed->request_.set_from_begin(true);
  feed->request_.set_all_hosts(true);
  stub->async()->Watch(&feed->context_, &feed->request_, feed.get());
  feed->StartRead(&feed->incoming_);
  feed->StartCall();
  return feed;
}

void Feed::OnReadDone(bool ok) {
  if (!ok) return;
  Event event;
  event.sequence = incoming_.sequence();
  incoming_.clear_sequence();
  if (incoming_.has_interval()) {
    RoundFigures(incoming_.mutable_interval());
    event.whole = TextOf(event.sequence, incoming_);
    // The rates of every host make most of an interval's size, and only browsers that show every
    // host want them. Both texts are made once, not for each browser.
    incoming_.mutable_interval()->clear_all_iops();
    incoming_.mutable_interval()->clear_all_p99_ns();
    event.fleet = TextOf(event.sequence, incoming_);
  } else {
    event.fleet = event.whole = TextOf(event.sequence, incoming_);
  }
  {
    common::MutexLock lock(&mutex_);
    const bool is_progress = incoming_.has_progress();
    const auto now = std::chrono::steady_clock::now();
    if (is_progress && now - progress_at_ < kProgressEvery) {
      event.fleet = event.whole = nullptr;
    } else if (is_progress) {
      progress_at_ = now;
      // Only the last message of progress counts.
      if (progress_ && *progress_ >= first_) {
        Event& passed = events_[*progress_ - first_];
        bytes_ -= SizeOf(passed);
        passed.fleet = passed.whole = nullptr;
        bytes_ += SizeOf(passed);
      }
      progress_ = first_ + events_.size();
    }
    if (event.fleet != nullptr && event.whole != nullptr) Add(std::move(event));
  }
  WakeAll();
  incoming_.Clear();
  StartRead(&incoming_);
}

size_t Feed::SizeOf(const Event& event) {
  const size_t texts = event.fleet == nullptr ? 0 : event.fleet->size();
  return sizeof event + texts + (event.whole == event.fleet ? 0 : event.whole->size());
}

void Feed::Add(Event event) {
  bytes_ += SizeOf(event);
  events_.push_back(std::move(event));
  constexpr auto kLimit = static_cast<size_t>(limits::kPageFeedBytes);
  // The newest event keeps its hosts, whatever its size: browsers that watch live have not read it
  // yet.
  while (bytes_ > kLimit && without_hosts_ + 1 < first_ + events_.size()) {
    without_hosts_ = std::max(without_hosts_, first_);
    Event& old = events_[without_hosts_++ - first_];
    bytes_ -= SizeOf(old);
    old.whole = old.fleet;
    bytes_ += SizeOf(old);
  }
  while (bytes_ > kLimit && events_.size() > 1) {
    bytes_ -= SizeOf(events_.front());
    events_.pop_front();
    ++first_;
  }
}

void Feed::WakeAll() {
  std::vector<std::shared_ptr<Watcher>> awake;
  {
    common::MutexLock lock(&mutex_);
    // Pointers are weak, since a connection owns its feed. They are locked here and used without
    // mutex_: the last reference to a connection may end below, and its destructor calls Leave().
    for (const auto& [raw, weak] : watchers_) {
      if (auto watcher = weak.lock()) awake.push_back(std::move(watcher));
    }
  }
  for (const auto& watcher : awake) watcher->Wake();
}

void Feed::OnDone(const grpc::Status& status) {
  const std::shared_ptr<Feed> keep = std::move(self_);
  {
    common::MutexLock lock(&mutex_);
    Event last;
    last.fleet = last.whole = std::make_shared<const std::string>(LastText(status));
    Add(std::move(last));
    ended_ = true;
  }
  // The feed leaves the list before browsers wake: one that connects again must get a new feed.
  // over_ takes the lock of Feeds, which Leave() takes before this one's, so mutex_ is free here.
  over_(this);
  WakeAll();
  // Last, because Calls::CancelAll() waits for it, and Feeds may be gone afterwards.
  calls_->End(&context_);
}

Feed::Part Feed::Read(uint64_t index, bool all_hosts, uint64_t after) const {
  common::MutexLock lock(&mutex_);
  Part part;
  size_t bytes = 0;
  // A slow browser may be behind what is kept. It goes on with the oldest event that is left.
  part.next = std::max(index, first_);
  while (part.next < first_ + events_.size() && bytes < kAtOnce) {
    const Event& event = events_[part.next++ - first_];
    const Text& text = all_hosts ? event.whole : event.fleet;
    if (text == nullptr || (event.sequence > 0 && event.sequence <= after)) continue;
    bytes += text->size();
    part.texts.push_back(text);
  }
  part.over = ended_ && part.next == first_ + events_.size();
  return part;
}

void Feed::Join(const std::shared_ptr<Watcher>& watcher) {
  common::MutexLock lock(&mutex_);
  watchers_[watcher.get()] = watcher;
}

size_t Feed::Leave(Watcher* watcher) {
  common::MutexLock lock(&mutex_);
  watchers_.erase(watcher);
  return watchers_.size();
}

absl::StatusOr<std::shared_ptr<Feed>> Feeds::Join(const std::string& run_id,
                                                  const std::shared_ptr<Watcher>& watcher) {
  common::MutexLock lock(&mutex_);
  std::shared_ptr<Feed>& feed = feeds_[run_id];
  if (feed == nullptr) {
    // The new entry counts already.
    if (feeds_.size() > static_cast<size_t>(limits::kPageFeeds)) {
      feeds_.erase(run_id);
      return absl::ResourceExhaustedError(absl::StrCat(
          limits::kPageFeeds, " runs are watched through the page; lockstep watch shows others"));
    }
    feed = Feed::Begin(stub_, calls_, run_id, [this, run_id](const Feed* ended) {
      common::MutexLock again(&mutex_);
      const auto found = feeds_.find(run_id);
      if (found != feeds_.end() && found->second.get() == ended) feeds_.erase(found);
    });
    if (feed == nullptr) {
      feeds_.erase(run_id);
      return absl::UnavailableError("the controller is shutting down");
    }
  }
  // Still under the lock: a Leave() in between would find no watcher and cancel the feed.
  feed->Join(watcher);
  return feed;
}

void Feeds::Leave(const std::string& run_id, const std::shared_ptr<Feed>& feed, Watcher* watcher) {
  common::MutexLock lock(&mutex_);
  if (feed->Leave(watcher) > 0) return;
  feed->Cancel();
  const auto found = feeds_.find(run_id);
  if (found != feeds_.end() && found->second == feed) feeds_.erase(found);
}

}  // namespace lockstep::web
