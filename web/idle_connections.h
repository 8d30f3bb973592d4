#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>

#include "boost/asio/ip/address.hpp"
#include "common/mutex.h"

namespace lockstep::web {

// Connections to the page that have no request in progress. When all connections are taken, one of
// these is closed for each that comes, so that connections that say nothing keep nobody out.
// Thread-safe.
class IdleConnections {
 public:
  // Whether the connection has had an answer before.
  enum class Served { kNo, kYes };

 private:
  struct Entry {
    std::string network;
    Served served;
    std::function<void()> close;
  };

 public:
  using Key = std::list<Entry>::iterator;

  // `close` ends the connection; it is called at most once, by any thread, and returns at once.
  Key Add(const boost::asio::ip::address& from, Served served, std::function<void()> close);
  void Remove(Key key);
  // Closes one, and does not count it any more: of those that never had an answer, if there are
  // any, the oldest one of the network with most of them. False when there is none.
  bool CloseOne();

 private:
  common::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

// An IPv4 address, or the first 64 bits of an IPv6 address: what one host can have of its own.
std::string NetworkOf(const boost::asio::ip::address& address);

}  // namespace lockstep::web
