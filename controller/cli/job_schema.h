#pragma once

#include <string>

namespace lockstep::cli {

// The JSON schema (draft 2020-12) of job files, by which editors complete and check them. It is
// made of the messages of proto/job.proto and proto/load.proto, of their options and comments.
//
// It accepts every job that `lockstep check` accepts, in all spellings of a job file. It refuses
// unknown fields, values of another form, and numbers out of range if they have no unit. Rules that
// depend on several fields, or on the number before a unit, only `lockstep check` knows. Pure.
std::string JobSchema();

}  // namespace lockstep::cli
