#pragma once

#include <memory>
#include <string>

#include "grpcpp/channel.h"

namespace lockstep::common {

// Why a channel to `address` does not become ready, in words and with what to do: the name does not
// resolve, nobody listens, the other side does not take this side's certificate (or the other way
// round), or something else listens there. Takes some seconds at most.
std::string WhyNotConnected(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& address, bool tls);

}  // namespace lockstep::common
