#pragma once

namespace lockstep::common {

// "0.1.0 (commit 3f2a1bc0d9e4)", as the programs' --version says it. The commit ends with
// "-changed" where the sources differed from it, and is "unknown" outside of a Git checkout. The
// text lives for ever.
const char* VersionText();
// The commit alone.
const char* VersionCommit();

}  // namespace lockstep::common
