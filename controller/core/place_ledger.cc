#include "controller/core/place_ledger.h"

#include <algorithm>
#include <tuple>

namespace lockstep::controller {
namespace {

bool Before(const Place& a, const Place& b) { return std::tie(a.thing, a.begin, a.end) < std::tie(b.thing, b.begin, b.end); }

// Whether one of the sorted places has bytes in common with `wanted`.
bool Overlaps(const std::vector<Place>& sorted, const Place& wanted) {
  auto place = std::lower_bound(sorted.begin(), sorted.end(), Place{wanted.thing, 0, 0}, Before);
  for (; place != sorted.end() && place->thing == wanted.thing; ++place) {
    if (place->begin < wanted.end && wanted.begin < place->end) return true;
  }
  return false;
}

}  // namespace

void SortPlaces(std::vector<Place>* places) { std::sort(places->begin(), places->end(), Before); }

bool FindOverlap(const std::vector<Place>& a, const std::vector<Place>& b, size_t* in_a) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Overlaps(b, a[i])) continue;
    *in_a = i;
    return true;
  }
  return false;
}

void PlaceLedger::Hold(const std::string& run_id, const std::string& worker_id, const std::vector<Place>& places) {
  if (places.empty()) return;
  std::vector<Place>& held = places_[{run_id, worker_id}];
  held.insert(held.end(), places.begin(), places.end());
  SortPlaces(&held);
  const auto same = [](const Place& a, const Place& b) { return !Before(a, b) && !Before(b, a); };
  held.erase(std::unique(held.begin(), held.end(), same), held.end());
}

PlaceLedger::Conflict PlaceLedger::Find(const std::string& run_id, const std::vector<Place>& places, int64_t now_ns) {
  for (auto held = places_.begin(); held != places_.end();) {
    const Holder& holder = held->first;
    size_t place = 0;
    if (holder.first == run_id || !FindOverlap(places, held->second, &place)) {
      ++held;
      continue;
    }
    const auto lost = lost_.find(holder);
    if (over_.count(holder.first) == 0 || lost == lost_.end() || !guards_.Pass(common::Guard::kPlacesHeld, lost->second <= now_ns)) {
      return {holder.first, holder.second, place};
    }
    held = places_.erase(held);
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
    if (over_.count(lost->first.first) != 0) places_.erase(lost->first);
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
  for (auto held = places_.lower_bound({run_id, ""}); held != places_.end() && held->first.first == run_id;) {
    held = lost_.count(held->first) == 0 ? places_.erase(held) : std::next(held);
  }
  if (last == 0) over_.erase(run_id);
  return last;
}

}  // namespace lockstep::controller
