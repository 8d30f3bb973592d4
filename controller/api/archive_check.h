#pragma once

#include "measure/run_data.h"
#include "storage/store.h"

namespace lockstep::controller {

// Whether what an archive says fits together, so that it can be reported like a run of this store's
// own: whoever wrote it may mean harm. INVALID_ARGUMENT with what does not fit.
absl::Status CheckArchivedRun(const measure::RunData& data,
                              const storage::HistoryStore::ReadStored& read);

}  // namespace lockstep::controller
