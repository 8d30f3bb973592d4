#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace lockstep::common {

// Makes a channel with these arguments demand that the server's certificate is for `server_name`,
// instead of for the name that is dialled. Does nothing when it is empty.
void DemandServerName(const std::string& server_name, grpc::ChannelArguments* arguments);

// Waits until the channel is connected, for at most `limit`. False as soon as the address refuses:
// gRPC itself would go on with growing pauses.
bool AwaitConnection(grpc::Channel* channel, std::chrono::seconds limit);

// Why a channel to `address` does not become ready, and what to do, in words: the name does not
// resolve, nothing listens there, one side refuses the other's certificate, or some other program
// listens there. Takes some seconds at most. `server_name` is as for DemandServerName().
std::string WhyNotConnected(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& address, bool tls,
                            const std::string& server_name = "");

}  // namespace lockstep::common
