#include "web/idle_connections.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep::web {

namespace ip = boost::asio::ip;

std::string NetworkOf(const ip::address& address) {
  if (!address.is_v6()) return address.to_string();
  const ip::address_v6 v6 = address.to_v6();
  // A socket that listens on `::` reports IPv4 peers as ::ffff:a.b.c.d (ipv6(7)). Cut to 64 bits
  // they would all be one network.
  if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
  const ip::address_v6::bytes_type bytes = v6.to_bytes();
  return std::string(bytes.begin(), bytes.begin() + 8);
}

IdleConnections::Key IdleConnections::Add(const ip::address& from, Served served,
                                          std::function<void()> close) {
  common::MutexLock lock(&mutex_);
  return entries_.insert(entries_.end(), {NetworkOf(from), served, std::move(close)});
}

// An entry whose connection was told to close stays until the connection removes it, so that its
// key stays valid.
void IdleConnections::Remove(Key key) {
  common::MutexLock lock(&mutex_);
  entries_.erase(key);
}

bool IdleConnections::CloseOne() {
  std::function<void()> close;
  {
    common::MutexLock lock(&mutex_);
    // By whether they had an answer, and network.
    std::map<std::pair<Served, std::string>, std::pair<int64_t, Entry*>> groups;
    for (Entry& entry : entries_) {
      if (entry.close == nullptr) continue;
      auto& [count, oldest] = groups[{entry.served, entry.network}];
      if (count++ == 0) oldest = &entry;
    }
    if (groups.empty()) return false;
    const Served served = groups.begin()->first.first;
    const auto largest =
        std::max_element(groups.begin(), groups.end(), [served](const auto& a, const auto& b) {
          const auto rank = [served](const auto& group) {
            return group.first.first == served ? group.second.first : 0;
          };
          return rank(a) < rank(b);
        });
    close = std::exchange(largest->second.second->close, nullptr);
  }
  // The lock is free here. `close` may hold the last reference to its connection, whose destructor
  // calls Remove().
  close();
  return true;
}

}  // namespace lockstep::web
