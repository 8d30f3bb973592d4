#include "controller/core/place_ledger.h"

#include <algorithm>

namespace lockstep::controller {

void PlaceLedger::Hold(const std::string& run_id, const std::string& worker_id, const std::vector<std::string>& places) {
  for (const std::string& place : places) places_[place].insert({run_id, worker_id});
}

PlaceLedger::Conflict PlaceLedger::Find(const std::string& run_id, const std::vector<std::string>& places, int64_t now_ns) {
  for (const std::string& place : places) {
    const auto held = places_.find(place);
    if (held == places_.end()) continue;
    for (auto holder = held->second.begin(); holder != held->second.end();) {
      const auto lost = lost_.find(*holder);
      if (holder->first == run_id) {
        ++holder;
      } else if (over_.count(holder->first) != 0 && lost != lost_.end() && guards_.Pass(common::Guard::kPlacesHeld, lost->second <= now_ns)) {
        holder = held->second.erase(holder);
      } else {
        return {holder->first, holder->second, place};
      }
    }
  }
  return {};
}

void PlaceLedger::Lose(const std::string& run_id, const std::string& worker_id, int64_t free_ns) { lost_[{run_id, worker_id}] = free_ns; }

void PlaceLedger::Confirm(const std::string& worker_id) {
  for (auto lost = lost_.begin(); lost != lost_.end();) {
    if (lost->first.second != worker_id) {
      ++lost;
      continue;
    }
    if (over_.count(lost->first.first) != 0) {
      for (auto& [place, holders] : places_) holders.erase(lost->first);
    }
    lost = lost_.erase(lost);
  }
}

bool PlaceLedger::Holds(const std::string& worker_id, int64_t now_ns) const {
  return std::any_of(lost_.begin(), lost_.end(), [&](const auto& lost) { return lost.first.second == worker_id && (lost.second > now_ns || over_.count(lost.first.first) == 0); });
}

int64_t PlaceLedger::End(const std::string& run_id) {
  over_.insert(run_id);
  int64_t last = 0;
  for (const auto& [holder, free_ns] : lost_) {
    if (holder.first == run_id) last = std::max(last, free_ns);
  }
  for (auto place = places_.begin(); place != places_.end();) {
    for (auto holder = place->second.begin(); holder != place->second.end();) {
      const bool over = holder->first == run_id && lost_.count(*holder) == 0;
      holder = over ? place->second.erase(holder) : std::next(holder);
    }
    place = place->second.empty() ? places_.erase(place) : std::next(place);
  }
  if (last == 0) over_.erase(run_id);
  return last;
}

}  // namespace lockstep::controller
