#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "grpcpp/grpcpp.h"
#include "proto/controller.grpc.pb.h"
#include "web/calls.h"

namespace lockstep::web {

// A client that waits for events.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // There is more. Called from any thread; returns at once.
  virtual void Wake() = 0;
};

// The events of one run in progress, as text for server-sent events: made once for all browsers,
// which read them at their own pace. Keeps limits::kPageFeedBytes of them: of the earliest
// intervals first the hosts go, then the intervals. Thread-safe.
class Feed final : public grpc::ClientReadReactor<v1::WatchEvent> {
 public:
  // `over`: the controller has ended it; called once. Null when the page is ending.
  static std::shared_ptr<Feed> Begin(v1::Controller::Stub* stub, Calls* calls,
                                     const std::string& run_id,
                                     std::function<void(const Feed*)> over);

  using Text = std::shared_ptr<const std::string>;
  struct Part {
    std::vector<Text> texts;
    uint64_t next = 0;  // where to go on
    bool over = false;  // nothing comes after it
  };
  // From an index on, as much as may be sent at once; of events with numbers only those with higher
  // ones than `after`. The first index is 0.
  Part Read(uint64_t index, bool all_hosts, uint64_t after) const;

  void Join(const std::shared_ptr<Watcher>& watcher);
  // How many are left.
  size_t Leave(Watcher* watcher);
  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  Feed() = default;
  struct Event {
    uint64_t sequence = 0;  // 0: it has none
    Text fleet, whole;      // null: it has passed
  };
  static size_t SizeOf(const Event& event);
  void Add(Event event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeAll();

  std::shared_ptr<Feed> self_;
  Calls* calls_ = nullptr;
  std::function<void(const Feed*)> over_;
  grpc::ClientContext context_;
  v1::WatchRequest request_;
  v1::WatchEvent incoming_;
  mutable common::Mutex mutex_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  uint64_t first_ ABSL_GUARDED_BY(mutex_) = 0;  // index of events_.front()
  uint64_t without_hosts_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<uint64_t> progress_ ABSL_GUARDED_BY(mutex_);  // index of the last one
  // When the last one was let through.
  std::chrono::steady_clock::time_point progress_at_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<Watcher*, std::weak_ptr<Watcher>> watchers_ ABSL_GUARDED_BY(mutex_);
};

// Feeds by run: one while somebody watches it. Thread-safe.
class Feeds {
 public:
  Feeds(v1::Controller::Stub* stub, Calls* calls) : stub_(stub), calls_(calls) {}
  // RESOURCE_EXHAUSTED when too many runs are watched.
  absl::StatusOr<std::shared_ptr<Feed>> Join(const std::string& run_id,
                                             const std::shared_ptr<Watcher>& watcher);
  void Leave(const std::string& run_id, const std::shared_ptr<Feed>& feed, Watcher* watcher);

 private:
  v1::Controller::Stub* stub_;
  Calls* calls_;
  common::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Feed>> feeds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep::web
