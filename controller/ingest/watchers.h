#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/mutex.h"
#include "grpcpp/grpcpp.h"
#include "proto/controller.pb.h"

namespace lockstep::controller {

class WatchStream;

// The history of a run so far, within limits::kWatchHistoryBytes. Progress is not kept. The
// earliest intervals lose first their hosts, and then go themselves. Not thread-safe.
class WatchHistory {
 public:
  // The event as it is to be sent, with its number: with what every host did, and without; and
  // without that, but with latencies. The latter is not kept, so `latencies` is null in events().
  struct Numbered {
    std::shared_ptr<const v1::WatchEvent> whole, fleet, latencies;
  };
  // `from`: the number before the first one.
  explicit WatchHistory(uint64_t from = 0) : sequence_(from) {}
  Numbered Add(const v1::WatchEvent& event);
  const std::deque<Numbered>& events() const { return events_; }

 private:
  void Shrink();

  std::deque<Numbered> events_;
  size_t bytes_ = 0;
  size_t without_hosts_ = 0;  // of events_, from the front
  uint64_t sequence_;
};

// The watchers of each run, and the events that they would have seen so far. Thread-safe.
class Watchers {
 public:
  // Before the first event: events of a later controller have higher numbers.
  void Begin(uint64_t epoch) { first_number_ = epoch << kEpochShift; }
  // To everyone who watches the run.
  void Publish(const std::string& run_id, const v1::WatchEvent& event);
  // The run has ended: sends its summary and ends the streams.
  void Close(const std::string& run_id, const v1::RunSummary& summary);
  // With `after`, first the events of the run so far that have higher numbers.
  void Add(const std::string& run_id, std::optional<uint64_t> after, WatchStream* stream);
  void Remove(const std::string& run_id, WatchStream* stream);
  // Ends every stream.
  void Shutdown();
  // How many watch.
  size_t count() const { return count_; }
  void Count(int change) { count_ += change; }

 private:
  // JavaScript's numbers are exact up to 2^53.
  static constexpr int kEpochShift = 32;
  std::atomic<uint64_t> first_number_{0};
  common::Mutex mutex_;
  std::map<std::string, std::set<WatchStream*>> streams_ ABSL_GUARDED_BY(mutex_);
  struct Kept {
    WatchHistory history;
    uint64_t used = 0;  // when an event came last
  };
  // The events of the limits::kWatchHistories runs in progress that had an event last.
  std::map<std::string, Kept> histories_ ABSL_GUARDED_BY(mutex_);
  uint64_t published_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<size_t> count_{0};
};

// One caller of Watch. Kept alive by gRPC until OnDone(), and by whoever holds it. A watcher that
// does not keep up loses interval lines, never other events.
class WatchStream final : public grpc::ServerWriteReactor<v1::WatchEvent> {
 public:
  // `admission` lives until OnDone().
  static std::shared_ptr<WatchStream> Make(Watchers* watchers, bool all_hosts,
                                           std::shared_ptr<void> admission = nullptr);
  // Registers the stream for a run; events published from now on reach it, and before them, with
  // `after`, those with higher numbers that there were.
  void Attach(const std::string& run_id, std::optional<uint64_t> after);
  // Every watcher of a run queues the same event.
  void Send(std::shared_ptr<const v1::WatchEvent> event);
  // The stream gets intervals with latencies, and no hosts. To be called before Attach().
  void IncludeLatencies() { has_latencies_ = true; }
  // Sends an earlier event; it does not count against the queue's limit.
  void Repeat(const WatchHistory::Numbered& event);
  void Send(const WatchHistory::Numbered& event) {
    if (has_latencies_ && event.latencies != nullptr) return Send(event.latencies);
    Send(all_hosts_ ? event.whole : event.fleet);
  }
  // Ends the stream after what is queued.
  void End(const grpc::Status& status);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  WatchStream(Watchers* watchers, bool all_hosts, std::shared_ptr<void> admission)
      : watchers_(watchers), all_hosts_(all_hosts), admission_(std::move(admission)) {
    watchers_->Count(1);
  }
  void FinishLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Watchers* watchers_;
  const bool all_hosts_;
  bool has_latencies_ = false;  // constant from Attach() on
  std::shared_ptr<void> admission_;
  std::shared_ptr<WatchStream> self_;
  common::Mutex mutex_;
  std::string run_id_ ABSL_GUARDED_BY(mutex_);
  // the front one is being written
  std::deque<std::shared_ptr<const v1::WatchEvent>> queue_ ABSL_GUARDED_BY(mutex_);
  size_t repeated_ ABSL_GUARDED_BY(mutex_) = 0;  // of these, from the front
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;  // gRPC has let go of it
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lockstep::controller
