#pragma once

#include <functional>
#include <mutex>
#include <set>

#include "httplib.h"

namespace lockstep::web {

// The library's server with limits that it does not have: a request, headers and all, is at most
// limits::kPageRequestBytes and has arrived limits::kPageRequestSeconds after its first byte; an
// answer that its reader takes too slowly is broken off; parts of an answer (Range) are not made;
// and CloseAll() ends every connection at once. Thread-safe.
class PageServer final : public httplib::Server {
 public:
  // Once the address is bound: lets limits::kPageBacklog connections wait in the kernel. Beyond the
  // library's 5 each would try again a second later. False when it cannot.
  bool WidenBacklog() const;
  // Ends all connections, and every later one as it comes.
  void CloseAll();

 private:
  class Connection;
  bool process_and_close_socket(socket_t fd) override;

  std::mutex mutex_;
  std::set<socket_t> open_;  // guarded by mutex_
  bool closing_ = false;     // guarded by mutex_
};

}  // namespace lockstep::web
