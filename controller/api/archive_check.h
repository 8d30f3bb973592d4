#pragma once

#include "measure/run_data.h"
#include "storage/store.h"

namespace lockstep::controller {

// OK if the parts of an archived run fit together, so that reports can read it as a run that this
// store has recorded itself. The author of an archive may mean harm. INVALID_ARGUMENT names the
// part that does not fit. `read`: the archived rows beside the run's own.
absl::Status CheckArchivedRun(const measure::RunData& data,
                              const storage::HistoryStore::ReadStored& read);

}  // namespace lockstep::controller
