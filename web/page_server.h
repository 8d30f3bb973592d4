#pragma once

#include <functional>
#include <set>

#include "common/mutex.h"
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

  common::Mutex mutex_;
  std::set<socket_t> open_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep::web
