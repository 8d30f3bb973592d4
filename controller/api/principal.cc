#include "controller/api/principal.h"

#include <set>

#include "common/text.h"
#include "grpc/grpc_security_constants.h"

namespace lockstep::controller {
namespace {

std::string ToString(const grpc::string_ref& text) { return {text.data(), text.size()}; }

}  // namespace

const char* RoleName(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kSubmitter:
      return "submitter";
    case Role::kWorker:
      return "worker";
    case Role::kAdmin:
      return "admin";
  }
  return "?";
}

Principal PrincipalOf(const grpc::ServerContextBase& context) {
  const auto auth = context.auth_context();
  // With TLS the server has verified the peer's certificate before any call arrives, so a peer
  // without one comes through a port without TLS, or is the web page of this process.
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return {"local", Role::kAdmin, false};
  Principal principal;
  principal.authenticated = true;
  for (const auto& name : auth->FindPropertyValues("x509_common_name")) {
    principal.name = common::Printable(ToString(name), 128);
  }
  // Only DNS names give a role. An authority that checks these may let anybody have any e-mail
  // address or URI.
  std::set<Role> roles;
  for (const auto& name : auth->FindPropertyValues(GRPC_PEER_DNS_PROPERTY_NAME)) {
    const std::string text = ToString(name);
    for (Role role : {Role::kViewer, Role::kSubmitter, Role::kWorker, Role::kAdmin}) {
      if (text == std::string(RoleName(role)) + ".role.lockstep") roles.insert(role);
    }
  }
  if (roles.size() == 1) principal.role = *roles.begin();
  // Runs and their limits belong to names. Callers without one would share their runs, so they only
  // read.
  if (principal.name.empty()) {
    principal.name = "unnamed";
    principal.role = Role::kViewer;
  }
  return principal;
}

grpc::Status Require(const Principal& principal, Role role) {
  // The enum has workers above submitters. Without this exception a certificate from a worker's
  // host could submit and stop jobs.
  const bool worker_asks = principal.role == Role::kWorker;
  const bool allowed = principal.role == Role::kAdmin || role == principal.role ||
                       role == Role::kViewer ||
                       (!worker_asks && role != Role::kWorker && principal.role >= role);
  if (allowed) return grpc::Status::OK;
  return {grpc::StatusCode::PERMISSION_DENIED,
          principal.name + " is a " + RoleName(principal.role) + "; this needs the role " +
              RoleName(role) + " (a certificate with the alternative name " + RoleName(role) +
              ".role.lockstep)"};
}

}  // namespace lockstep::controller
