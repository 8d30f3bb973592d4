#include "controller/service/principal.h"

namespace lockstep::controller {
namespace {

std::string ToString(const grpc::string_ref& text) { return {text.data(), text.size()}; }

}  // namespace

const char* RoleName(Role role) {
  switch (role) {
    case Role::kViewer: return "viewer";
    case Role::kSubmitter: return "submitter";
    case Role::kWorker: return "worker";
    case Role::kAdmin: return "admin";
  }
  return "?";
}

Principal PrincipalOf(const grpc::ServerContextBase& context) {
  const auto auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return {"local", Role::kAdmin};
  Principal principal;
  for (const auto& name : auth->FindPropertyValues("x509_common_name")) principal.name = ToString(name);
  for (const auto& name : auth->FindPropertyValues("x509_subject_alternative_name")) {
    const std::string text = ToString(name);
    for (Role role : {Role::kViewer, Role::kSubmitter, Role::kWorker, Role::kAdmin}) {
      if (text == std::string(RoleName(role)) + ".role.lockstep") principal.role = role;
    }
  }
  if (principal.name.empty()) principal.name = "unnamed";
  return principal;
}

grpc::Status Require(const Principal& principal, Role role) {
  const bool worker_asks = principal.role == Role::kWorker;
  const bool allowed = principal.role == Role::kAdmin || role == principal.role || role == Role::kViewer ||
                       (!worker_asks && role != Role::kWorker && principal.role >= role);
  if (allowed) return grpc::Status::OK;
  return {grpc::StatusCode::PERMISSION_DENIED, principal.name + " is a " + RoleName(principal.role) + "; this needs the role " + RoleName(role) +
                                                   " (a certificate with the alternative name " + RoleName(role) + ".role.lockstep)"};
}

}  // namespace lockstep::controller
