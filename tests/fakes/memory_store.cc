#include "tests/fakes/memory_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lockstep::storage {

absl::Status MemoryStore::CheckFate() {
  return fate_(false) == Fate::kDone ? absl::OkStatus()
                                     : absl::UnavailableError("the database is unavailable");
}

absl::Status MemoryStore::Change(const std::function<absl::Status()>& body) {
  const Fate fate = fate_(true);
  if (fate == Fate::kUnavailable) return absl::UnavailableError("the database is unavailable");
  std::lock_guard<std::mutex> lock(db_->mutex);
  if (epoch_ != 0 && !safeguards_.Pass(common::Safeguard::kEpochFence, db_->epoch == epoch_)) {
    return absl::AbortedError(
        absl::StrCat("this controller (epoch ", epoch_, ") was replaced by epoch ", db_->epoch));
  }
  is_late_ = fate == Fate::kDoneLater;
  const absl::Status status = body();
  if (fate == Fate::kDoneButAnswerLost || is_late_) {
    return absl::UnavailableError("the answer was lost");
  }
  return status;
}

absl::StatusOr<MemoryStore::Run*> MemoryStore::Find(const std::string& run_id) {
  const auto found = db_->runs.find(run_id);
  if (found == db_->runs.end()) return absl::NotFoundError(absl::StrCat("no run ", run_id));
  return &found->second;
}

absl::StatusOr<MemoryStore::Phase*> MemoryStore::FindPhase(const v1::PhaseId& id) {
  auto run = Find(id.run_id());
  if (!run.ok()) return run.status();
  const auto found = (*run)->phases.find({id.phase(), id.attempt()});
  if (found == (*run)->phases.end()) return absl::NotFoundError("no such phase");
  return &found->second;
}

absl::StatusOr<uint64_t> MemoryStore::AcquireEpoch(const std::string&) {
  epoch_ = 0;
  uint64_t epoch = 0;
  const absl::Status status = Change([&] {
    epoch = ++db_->epoch;
    db_->earlier_cursors.clear();
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  epoch_ = epoch;
  return epoch;
}

absl::Status MemoryStore::RegisterWorker(const v1::Hello& hello) {
  return Change([&]() -> absl::Status {
    if (hello.certificate().empty()) return absl::OkStatus();
    const WorkerOwner owner = {hello.worker_id(), hello.host().host_id(), hello.host().name(),
                               hello.certificate()};
    for (const auto& [host, other] : db_->owners) {
      const bool is_others =
          host == owner.host ? other.certificate != owner.certificate
                             : other.worker_id == owner.worker_id || other.host_id == owner.host_id;
      if (is_others) return absl::FailedPreconditionError("belongs to another");
    }
    db_->owners[owner.host] = owner;
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<WorkerOwner>> MemoryStore::WorkerOwners() {
  std::lock_guard<std::mutex> lock(db_->mutex);
  std::vector<WorkerOwner> owners;
  for (const auto& [host, owner] : db_->owners) owners.push_back(owner);
  return owners;
}

absl::Status MemoryStore::ForgetHost(const std::string& host) {
  return Change([&] {
    db_->owners.erase(host);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<measure::StampRecord>> MemoryStore::Stamps() {
  if (absl::Status status = CheckFate(); !status.ok()) return status;
  std::lock_guard<std::mutex> lock(db_->mutex);
  return db_->stamps;
}

absl::Status MemoryStore::AddStamps(const std::vector<measure::StampRecord>& stamps) {
  return Change([&] {
    for (const measure::StampRecord& added : stamps) {
      const bool is_there = std::any_of(db_->stamps.begin(), db_->stamps.end(),
                                        [&](const auto& s) { return s.number == added.number; });
      if (is_there) continue;
      for (measure::StampRecord& stamp : db_->stamps) {
        if (stamp.ended_ns != 0 || stamp.device_key != added.device_key) continue;
        stamp.ended_by = added.enrolled_by;
        stamp.ended_ns = added.enrolled_ns;
      }
      db_->stamps.push_back(added);
    }
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::EndStamps(const std::vector<std::string>& numbers, const std::string& by,
                                    int64_t at_wall_ns) {
  return Change([&] {
    for (measure::StampRecord& stamp : db_->stamps) {
      const bool is_meant =
          std::find(numbers.begin(), numbers.end(), stamp.number) != numbers.end();
      if (!is_meant || stamp.ended_ns != 0) continue;
      stamp.ended_by = by;
      stamp.ended_ns = at_wall_ns;
    }
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::Enqueue(const measure::RunRecord& run) {
  return Change([&] {
    if (!db_->runs.insert({run.run_id, Run()}).second) return absl::OkStatus();
    db_->runs[run.run_id].record = run;
    db_->runs[run.run_id].record.state = measure::RunState::kQueued;
    db_->order.push_back(run.run_id);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<measure::RunRecord>> MemoryStore::Queue() {
  if (absl::Status status = CheckFate(); !status.ok()) return status;
  std::lock_guard<std::mutex> lock(db_->mutex);
  std::vector<measure::RunRecord> queue;
  for (const std::string& id : db_->order) {
    if (db_->runs[id].record.state != measure::RunState::kQueued) continue;
    queue.push_back(db_->runs[id].record);
    queue.back().outcome = db_->runs[id].ending_reason;
  }
  return queue;
}

absl::StatusOr<std::vector<ActiveRun>> MemoryStore::Active() {
  if (absl::Status status = CheckFate(); !status.ok()) return status;
  std::lock_guard<std::mutex> lock(db_->mutex);
  std::vector<ActiveRun> list;
  for (const std::string& id : db_->order) {
    const Run& run = db_->runs[id];
    if (run.record.state != measure::RunState::kRunning) continue;
    ActiveRun active;
    active.run = run.record;
    active.workers = run.workers;
    active.ending_state = run.ending_state;
    active.ending_reason = run.ending_reason;
    active.skip_cleanup = run.skip_cleanup;
    std::map<uint32_t, const Phase*> last_attempts;
    for (const auto& [key, phase] : run.phases) last_attempts[key.first] = &phase;
    for (const auto& [number, phase] : last_attempts) {
      if (phase->ended) active.ended.push_back(phase->record);
    }
    for (const auto& [key, phase] : run.phases) {
      if (phase.record.go_ns != 0) active.started.insert(key);
      for (const auto& [worker, items] : phase.items) {
        for (const v1::DeliveryItem& item : items) {
          if (item.result().left_contents().empty()) continue;
          *active.left_contents[key][worker].mutable_left_contents() =
              item.result().left_contents();
        }
      }
    }
    if (!run.phases.empty()) {
      const Phase& last = run.phases.rbegin()->second;
      active.phase = last.record;
      active.go_wall_ns = last.go_wall_ns;
      active.clocks = last.clocks;
      active.cursors = last.cursors;
      for (const auto& [worker, items] : last.items) {
        const auto blocks = std::count_if(items.begin(), items.end(),
                                          [](const auto& item) { return item.has_block_writes(); });
        if (blocks != 0) active.block_items[worker] = static_cast<uint64_t>(blocks);
        for (const v1::DeliveryItem& item : items) {
          if (item.result().has_order()) active.orders.push_back(item.result().order());
        }
      }
      active.results = last.results;
    }
    list.push_back(std::move(active));
  }
  return list;
}

absl::StatusOr<std::vector<Quarantine>> MemoryStore::Quarantines() {
  if (absl::Status status = CheckFate(); !status.ok()) return status;
  std::lock_guard<std::mutex> lock(db_->mutex);
  std::vector<Quarantine> list;
  for (const auto& [id, run] : db_->runs) {
    for (const auto& [worker, hold] : run.holds) {
      const measure::RunWorker& lost = run.workers[worker];
      list.push_back({id, lost.worker_id, lost.host, false, run.record.job, lost.inspection, hold});
    }
  }
  return list;
}

absl::Status MemoryStore::SetLost(const std::string& run_id, uint32_t worker_index,
                                  const std::string&, int64_t quarantine_ns) {
  return Change([&]() -> absl::Status {
    auto run = Find(run_id);
    if (!run.ok()) return run.status();
    (*run)->workers[worker_index].lost = true;
    if (quarantine_ns != 0) (*run)->holds[worker_index] = quarantine_ns;
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::SetBack(const std::string& run_id, uint32_t worker_index) {
  return Change([&]() -> absl::Status {
    auto run = Find(run_id);
    if (!run.ok()) return run.status();
    (*run)->workers[worker_index].lost = false;
    (*run)->holds.erase(worker_index);
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::ReleaseQuarantine(const std::string& worker_id) {
  return Change([&] {
    for (auto& [id, run] : db_->runs) {
      for (const measure::RunWorker& worker : run.workers) {
        if (worker.worker_id == worker_id) run.holds.erase(worker.worker_index);
      }
    }
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::SetEnding(const std::string& run_id, measure::RunState state,
                                    const std::string& reason, measure::Cleanup cleanup) {
  return Change([&]() -> absl::Status {
    auto run = Find(run_id);
    if (!run.ok()) return run.status();
    (*run)->ending_state = state;
    (*run)->ending_reason = reason;
    (*run)->skip_cleanup = cleanup == measure::Cleanup::kSkip;
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::StartRun(const std::string& run_id,
                                   const std::vector<measure::RunWorker>& workers) {
  return Change([&]() -> absl::Status {
    auto run = Find(run_id);
    if (!run.ok()) return run.status();
    if ((*run)->record.state == measure::RunState::kRunning && !(*run)->workers.empty())
      return absl::OkStatus();
    if ((*run)->record.state != measure::RunState::kQueued) {
      return absl::FailedPreconditionError(absl::StrCat("run ", run_id, " is not queued any more"));
    }
    (*run)->record.state = measure::RunState::kRunning;
    (*run)->workers = workers;
    for (measure::RunWorker& worker : (*run)->workers) worker.inspection.clear_facts();
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::EndRun(const std::string& run_id, const RunEnd& end) {
  return Change([&]() -> absl::Status {
    auto run = Find(run_id);
    if (!run.ok()) return run.status();
    (*run)->record.state = end.state;
    (*run)->record.outcome = end.outcome;
    (*run)->record.degraded = end.degraded;
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::AddEvent(const std::string& run_id, measure::Severity severity,
                                   const std::string& host, const std::string& message, int64_t) {
  return Change([&] {
    v1::EventReport event;
    event.set_severity(Text(severity));
    event.set_host(host);
    event.set_message(absl::StrCat(run_id.substr(0, 4), " ", message));
    db_->events.push_back(std::move(event));
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::BeginPhase(const std::string& run_id, const measure::PhaseRecord& record,
                                     const std::vector<v1::Workload>&,
                                     const std::vector<uint32_t>& workers) {
  return Change([&]() -> absl::Status {
    auto run = Find(run_id);
    if (!run.ok()) return run.status();
    const auto [added, fresh] = (*run)->phases.insert({{record.phase, record.attempt}, Phase()});
    if (!fresh) return absl::OkStatus();
    added->second.record = record;
    added->second.record.state = measure::PhaseState::kArming;
    for (uint32_t worker : workers) added->second.cursors[worker] = 0;
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::CommitGo(const std::string& run_id, uint32_t phase, uint32_t attempt,
                                   int64_t go_ns, int64_t go_wall_ns,
                                   const std::vector<measure::WorkerClock>& clocks) {
  return Change([&]() -> absl::Status {
    v1::PhaseId id;
    id.set_run_id(run_id);
    id.set_phase(phase);
    id.set_attempt(attempt);
    auto found = FindPhase(id);
    if (!found.ok()) return found.status();
    (*found)->record.state = measure::PhaseState::kRunning;
    (*found)->record.go_ns = go_ns;
    (*found)->go_wall_ns = go_wall_ns;
    (*found)->clocks = clocks;
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::EndPhase(const std::string& run_id, uint32_t phase, uint32_t attempt,
                                   measure::PhaseState state, const std::string& reason,
                                   const measure::Recording&, const v1::PhaseFigures& figures) {
  return Change([&]() -> absl::Status {
    v1::PhaseId id;
    id.set_run_id(run_id);
    id.set_phase(phase);
    id.set_attempt(attempt);
    auto found = FindPhase(id);
    if (!found.ok()) return found.status();
    if ((*found)->ended) return absl::OkStatus();
    (*found)->ended = true;
    (*found)->record.state = state;
    (*found)->record.reason = reason;
    (*found)->record.figures = figures;
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::CommitEndOfLoad(const std::string& run_id, uint32_t phase,
                                          uint32_t attempt, uint32_t interval) {
  return Change([&]() -> absl::Status {
    v1::PhaseId id;
    id.set_run_id(run_id);
    id.set_phase(phase);
    id.set_attempt(attempt);
    auto found = FindPhase(id);
    if (!found.ok()) return found.status();
    (*found)->record.end_of_load = interval;
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::Ingest(const std::vector<IngestBatch>& batches) {
  return Change([&]() -> absl::Status {
    db_->earlier_cursors.clear();  // it waits for what is under way
    for (const IngestBatch& batch : batches) {
      auto phase = FindPhase(batch.phase);
      if (!phase.ok() || !(*phase)->cursors.contains(batch.worker_index) ||
          (*phase)->cursors[batch.worker_index] != batch.first_sequence) {
        return absl::FailedPreconditionError(
            "a worker's samples do not continue where the last ones ended");
      }
    }
    for (const IngestBatch& batch : batches) {
      Phase* phase = *FindPhase(batch.phase);
      if (is_late_) {
        db_->earlier_cursors[KeyOf(batch.phase, batch.worker_index)] = batch.first_sequence;
      }
      phase->cursors[batch.worker_index] += batch.items.size();
      for (const v1::DeliveryItem& item : batch.items) {
        phase->items[batch.worker_index].push_back(item);
        if (item.has_result()) phase->results[batch.worker_index] = item.result().error();
      }
    }
    return absl::OkStatus();
  });
}

absl::Status MemoryStore::ReadIntervals(const v1::PhaseId& id, IntervalDetail detail,
                                        const TakeInterval& take) {
  if (absl::Status status = CheckFate(); !status.ok()) return status;
  std::map<std::pair<uint32_t, uint32_t>, v1::IntervalSample> samples;  // by interval and worker
  {
    std::lock_guard<std::mutex> lock(db_->mutex);
    auto phase = FindPhase(id);
    if (!phase.ok()) return absl::OkStatus();  // nothing is stored of it
    for (const auto& [worker, items] : (*phase)->items) {
      for (const v1::DeliveryItem& item : items) {
        if (item.has_interval()) samples[{item.interval().interval(), worker}] = item.interval();
      }
    }
  }
  for (auto& [from, sample] : samples) {
    if (detail != IntervalDetail::kHosts) {
      sample.clear_host();
      sample.clear_interfaces();
      sample.clear_nfs();
    }
    if (detail == IntervalDetail::kLatencies) sample.clear_devices();
    if (detail == IntervalDetail::kHosts) {
      for (v1::WorkloadSample& workload : *sample.mutable_workloads()) {
        for (v1::OperationCounters& c : *workload.mutable_operations()) c.clear_histograms();
      }
    }
    if (absl::Status status = take(from.second, sample); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status MemoryStore::ReadBlockWrites(const v1::WriteLogRequest& what, const PutWriteLog& put) {
  if (absl::Status status = CheckFate(); !status.ok()) return status;
  std::map<uint32_t, uint64_t> received;
  for (const v1::ReportedBy& by : what.received()) received[by.worker_index()] = by.items();
  std::vector<v1::WriteLogPart> parts;
  {
    std::lock_guard<std::mutex> lock(db_->mutex);
    const auto run = db_->runs.find(what.run_id());
    if (run == db_->runs.end()) return absl::OkStatus();
    for (const auto& [key, phase] : run->second.phases) {
      if (what.has_phase() && key != std::pair(what.phase().phase(), what.phase().attempt())) {
        continue;
      }
      for (const bool is_void : {true, false}) {
        if (is_void && what.has_phase()) continue;
        for (const auto& [worker, items] : phase.items) {
          uint64_t sequence = 0;
          for (const v1::DeliveryItem& item : items) {
            const uint64_t number = sequence++;
            const v1::BlockWrites& writes = item.block_writes();
            const bool wanted = std::find(what.target_keys().begin(), what.target_keys().end(),
                                          writes.target_key()) != what.target_keys().end() &&
                                (is_void || writes.block_size_bytes() == what.block_size_bytes()) &&
                                (!what.has_phase() || number >= received[worker]);
            if (!item.has_block_writes() || !wanted || writes.runs().empty() != is_void) continue;
            v1::WriteLogPart& part = parts.emplace_back();
            *part.mutable_writes() = writes;
            part.set_worker_index(worker);
            part.set_phase(key.first);
            part.set_sequence(number);
          }
        }
      }
      const std::string& kind = phase.record.kind;
      if (!phase.ended || phase.go_wall_ns == 0 || what.has_phase() ||
          (kind != "run" && kind != "precondition")) {
        continue;
      }
      for (const auto& [worker, cursor] : phase.cursors) {
        if (!phase.results.contains(worker)) parts.emplace_back().set_unfinished(worker + 1);
      }
    }
  }
  for (v1::WriteLogPart& part : parts) {
    if (absl::Status status = put(std::move(part)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> MemoryStore::Cursor(const v1::PhaseId& id, uint32_t worker_index) {
  if (absl::Status status = CheckFate(); !status.ok()) return status;
  std::lock_guard<std::mutex> lock(db_->mutex);
  auto phase = FindPhase(id);
  if (!phase.ok()) return phase.status();
  if (!(*phase)->cursors.contains(worker_index)) {
    return absl::NotFoundError("no such phase of this worker");
  }
  const auto earlier = db_->earlier_cursors.find(KeyOf(id, worker_index));
  return earlier != db_->earlier_cursors.end() ? earlier->second : (*phase)->cursors[worker_index];
}

absl::StatusOr<std::string> MemoryStore::ResolveRun(const std::string& text) {
  std::lock_guard<std::mutex> lock(db_->mutex);
  if (db_->runs.contains(text)) return text;
  return absl::NotFoundError("no such run");
}

absl::StatusOr<measure::RunRecord> MemoryStore::GetRun(const std::string& run_id) {
  if (absl::Status status = CheckFate(); !status.ok()) return status;
  std::lock_guard<std::mutex> lock(db_->mutex);
  auto run = Find(run_id);
  if (!run.ok()) return run.status();
  return (*run)->record;
}

}  // namespace lockstep::storage
