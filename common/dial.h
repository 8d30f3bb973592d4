#pragma once

#include <memory>
#include <string>

#include "grpcpp/channel.h"

namespace lockstep::common {

// Why a channel to `address` does not become ready, and what to do, in words: the name does not
// resolve, nothing listens there, one side refuses the other's certificate, or some other program
// listens there. Takes some seconds at most.
std::string WhyNotConnected(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& address, bool tls);

}  // namespace lockstep::common
