#pragma once

#include <memory>

#include "storage/pg_store.h"

namespace lockstep::storage {

class PgStore::Lease {
 public:
  Lease(PgStore* store, std::unique_ptr<PgConnection> connection, bool is_probe)
      : store_(store), connection_(std::move(connection)), is_probe_(is_probe) {}
  Lease(Lease&&) = default;
  ~Lease() {
    if (connection_ == nullptr) return;
    common::MutexLock lock(&store_->mutex_);
    store_->silent_ = !connection_->healthy();
    if (is_probe_) store_->probing_ = false;
    if (store_->silent_) store_->idle_.clear();  // they have lost the server, too
    if (connection_->idle()) store_->idle_.push_back(std::move(connection_));
  }
  PgConnection* operator->() const { return connection_.get(); }
  PgConnection* get() const { return connection_.get(); }

 private:
  PgStore* store_;
  std::unique_ptr<PgConnection> connection_;
  bool is_probe_;
};

}  // namespace lockstep::storage
