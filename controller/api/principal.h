#pragma once

#include <string>

#include "grpcpp/grpcpp.h"

namespace lockstep::controller {

// The role of a caller, which says what it may do. Each role but worker includes those before it; a
// worker attaches and delivers, and may not submit. A worker may read what a viewer reads.
enum class Role { kViewer, kSubmitter, kWorker, kAdmin };
const char* RoleName(Role role);

struct Principal {
  std::string name;
  Role role = Role::kViewer;
  bool authenticated = false;  // by a certificate
  // The name in the certificate, or nothing.
  std::string certificate() const { return authenticated ? name : ""; }
};

// The caller. With TLS: the certificate's common name, and the role from its alternative DNS name
// ROLE.role.lockstep. The role is viewer if the certificate has no role, several roles, or no
// common name. Without TLS, which is for loopback unless the operator said otherwise: `local`, an
// admin.
Principal PrincipalOf(const grpc::ServerContextBase& context);

// OK, or PERMISSION_DENIED naming the role that is needed.
grpc::Status Require(const Principal& principal, Role role);

}  // namespace lockstep::controller
