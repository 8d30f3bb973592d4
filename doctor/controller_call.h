#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/tls.h"
#include "doctor/findings.h"
#include "proto/controller.grpc.pb.h"

namespace lockstep::doctor {

// A controller that answers.
struct ReachedController {
  std::string address;
  std::unique_ptr<v1::Controller::Stub> stub;
  v1::StatusReply status;
};

// Dials each address, and calls the first that answers some times: whether it can be reached, how
// long a call takes, its version, its certificate, the role that it gives the caller, its store and
// its workers. Null when none answers. Takes some seconds per address at most.
enum class Caller { kPerson, kWorker };  // a worker may be the first one
struct ControllerTarget {
  Caller caller = Caller::kPerson;
  std::vector<std::string> addresses;
  common::TlsFiles tls;
  bool insecure = false;  // plaintext beyond this machine
};
std::unique_ptr<ReachedController> CheckController(const ControllerTarget& target, int64_t now_s,
                                                   v1::DoctorReport* report);

// Checks the status that a controller reports of itself. Pure.
void CheckStatus(const v1::StatusReply& status, Caller caller, Findings* findings);

}  // namespace lockstep::doctor
