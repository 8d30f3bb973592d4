// The service's part about the fleet's devices and hosts: Devices, Enroll, Forget.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/log.h"
#include "common/text.h"
#include "controller/api/await.h"
#include "controller/api/controller_service.h"

namespace lockstep::controller {

grpc::ServerUnaryReactor* ControllerService::GetDevices(grpc::CallbackServerContext* context,
                                                        const v1::DevicesRequest* request,
                                                        v1::DevicesReply* reply) {
  bool admitted = false;
  Call* call = Admit(context, Role::kViewer, *request, &admitted);
  if (!admitted) return call;
  const auto answer = std::make_shared<Answer>(call);
  parts_.coordinator->Devices([answer, reply](const v1::DevicesReply* devices) {
    if (devices == nullptr) {
      return answer->Give(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                       "too many ask for the devices already; try again"));
    }
    *reply = *devices;
    // Every viewer may call this. The ids that workers attach with and the hashes of what devices
    // carry stay with the controller.
    for (v1::HostDevices& host : *reply->mutable_hosts()) {
      host.clear_worker_id();
      for (v1::BlockDevice& device : *host.mutable_devices()) device.clear_content_fingerprint();
    }
    answer->Give(grpc::Status::OK);
  });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::Enroll(grpc::CallbackServerContext* context,
                                                    const v1::EnrollRequest* request,
                                                    v1::EnrollReply* reply) {
  const Principal principal = PrincipalOf(*context);
  // The audit log names the devices whose stamps were written or removed, which only the reply
  // tells.
  const auto subject = [reply] {
    constexpr size_t kNamed = 256;
    std::vector<std::string> done;
    size_t more = 0;
    for (const v1::EnrollDevice& device : reply->devices()) {
      if (!reply->carried_out() || !device.left_out().empty()) continue;
      done.size() < kNamed ? done.push_back(device.identity()) : void(++more);
    }
    return absl::StrCat(absl::StrJoin(done, " "),
                        more > 0 ? absl::StrCat(" and ", more, " more") : "");
  };
  Audited audited;
  // Without a confirmation the call only lists candidates. It changes nothing and has no entry in
  // the audit log.
  const bool only_lists = !request->release() && request->confirm().empty();
  if (!only_lists) audited = {request->release() ? "release" : "enroll", "", subject};
  bool admitted = false;
  Call* call = Admit(context, Role::kAdmin, *request, &admitted, audited);
  if (!admitted) return call;
  const auto answer = std::make_shared<Answer>(call);
  parts_.coordinator->Enroll(*request, principal.name,
                             [answer, reply](absl::StatusOr<v1::EnrollReply> enrolled) {
                               if (!enrolled.ok()) return answer->Give(ToGrpc(enrolled.status()));
                               *reply = *std::move(enrolled);
                               answer->Give(grpc::Status::OK);
                             });
  return call;
}

grpc::ServerUnaryReactor* ControllerService::Forget(grpc::CallbackServerContext* context,
                                                    const v1::ForgetRequest* request,
                                                    v1::ForgetReply* reply) {
  const Principal principal = PrincipalOf(*context);
  bool admitted = false;
  Call* call = Admit(context, Role::kAdmin, *request, &admitted,
                     {"forget", "", [request] { return request->host(); }});
  if (!admitted) return call;
  ask_.Serve(call, [this, principal, request, reply] {
    if (!common::IsHostName(request->host())) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "host: is not a valid host name");
    }
    // The store comes first. If only the fleet forgot the host, the next controller would load the
    // binding from the store again.
    if (const absl::Status status = parts_.store->ForgetHost(request->host()); !status.ok()) {
      return ToGrpc(status);
    }
    reply->set_forgotten(parts_.fleet->Forget(request->host()));
    log::Warn("{} has had the certificate of host {} forgotten", principal.name, request->host());
    return grpc::Status::OK;
  });
  return call;
}

}  // namespace lockstep::controller
