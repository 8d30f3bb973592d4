#include "doctor/controller_call.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/address.h"
#include "common/dial.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/time_limit.h"
#include "common/units.h"
#include "common/version.h"
#include "doctor/certificates.h"
#include "grpcpp/grpcpp.h"
#include "proto/protocol_version.h"

namespace lockstep::doctor {
namespace {

constexpr std::chrono::seconds kDialTime{3};
constexpr std::chrono::seconds kCallTime{5};
constexpr int kCalls = 5;
// The clock bound, and with it the bound of the start skew, is at least half a round trip.
constexpr double kSlowCallNs = 20e6;
// The spool fills while the store is unavailable. At half of it there is still time to act.
constexpr double kAlmostFull = 0.5;

using std::chrono::steady_clock;

double SinceNs(steady_clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(steady_clock::now() - begin).count();
}

std::string NameOfCode(grpc::StatusCode code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

std::shared_ptr<grpc::Channel> Dial(const std::string& address,
                                    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                    const std::string& server_name) {
  grpc::ChannelArguments arguments;
  common::DemandServerName(server_name, &arguments);
  // As the programs dial: not through the proxy that the environment names.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Channels of a process share their connections otherwise. The time of this one would be that of
  // a connection which is there already.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The status of a large fleet has all hosts' devices, more than gRPC's default of 4 MiB.
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

void CheckServerCertificate(const grpc::ClientContext& call, int64_t now_s, Findings* findings) {
  const auto context = call.auth_context();
  if (context == nullptr) return;
  for (const grpc::string_ref& pem : context->FindPropertyValues("x509_pem_cert")) {
    const auto facts = common::ReadCertificate(std::string(pem.data(), pem.size()));
    if (!facts.ok()) continue;
    CheckValidity(*facts, "the controller's certificate", now_s,
                  "lockstep pki renew; the controller reads the new file by itself", findings);
  }
}

// Several calls: the first one pays for the connection.
bool Call(ReachedController* controller, int64_t now_s, Findings* findings) {
  std::vector<double> times_ns;
  for (int i = 0; i < kCalls; ++i) {
    grpc::ClientContext call;
    call.set_deadline(std::chrono::system_clock::now() + kCallTime);
    const auto begin = steady_clock::now();
    const grpc::Status status = controller->stub->GetStatus(&call, {}, &controller->status);
    if (!status.ok()) {
      findings->Problem(
          "call",
          absl::StrCat("GetStatus: ", NameOfCode(status.error_code()), ": ",
                       status.error_message()),
          {"the controller takes connections and does not serve",
           "read the controller's log; a certificate without a role of this authority is a viewer "
           "(docs/reference/security.md)"});
      return false;
    }
    times_ns.push_back(SinceNs(begin));
    if (i == 0) CheckServerCertificate(call, now_s, findings);
  }
  std::sort(times_ns.begin(), times_ns.end());
  const double median_ns = times_ns[times_ns.size() / 2];
  const std::string found = absl::StrFormat(
      "a call takes %s (median of %d, from %s to %s)", common::FormatDuration(median_ns), kCalls,
      common::FormatDuration(times_ns.front()), common::FormatDuration(times_ns.back()));
  if (median_ns > kSlowCallNs) {
    findings->Warn("latency", found,
                   {"hosts' clocks are known no better than half a round trip, and the start skew "
                    "of a phase is bounded by that",
                    "run the controller nearer to the hosts, or look at the network: mtr HOST"});
  } else {
    findings->Ok("latency", found);
  }
  return true;
}

void CheckWorkers(const v1::StatusReply& status, Findings* findings) {
  int lost = 0;
  for (const v1::AttachedWorker& worker : status.workers()) lost += worker.disconnected() ? 1 : 0;
  const std::string workers = absl::StrCat(status.workers_size(), " attached");
  if (status.workers().empty()) {
    findings->Warn("workers", "none is attached",
                   {"a job needs at least one",
                    "on each host: lockstep-worker --controller HOST:PORT --allow PATH"});
  } else if (lost > 0) {
    findings->Warn("workers", absl::StrCat(workers, ", ", lost, " of them disconnected"),
                   {"after the lease they are lost, and on_worker_loss decides",
                    "lockstep hosts; then lockstep-worker --doctor on these hosts"});
  } else {
    findings->Ok("workers", workers);
  }
}

std::string WhyNotAllowed(const std::string& address, const ControllerTarget& target) {
  if (absl::Status status = common::CheckAddress(address); !status.ok()) {
    return std::string(status.message());
  }
  if (target.tls.IsTlsWanted() || target.insecure || common::IsLoopback(address)) return "";
  return absl::StrCat(address, " is not on this machine, and no certificate is given (--tls-dir)");
}

// Reads the files of --tls-…; null, after a finding, where they cannot be used. They may lie on a
// file server that is unavailable.
std::shared_ptr<grpc::ChannelCredentials> ReadCredentials(const common::TlsFiles& files,
                                                          int64_t now_s, v1::DoctorReport* report) {
  struct Seen {
    v1::DoctorReport report;
    std::shared_ptr<grpc::ChannelCredentials> credentials;
  };
  const auto seen = std::make_shared<Seen>();
  const absl::Status status =
      common::WithinLimit("the files of --tls-…", limits::kProbeNs, [files, now_s, seen] {
        Findings certificates(&seen->report, "certificates");
        CheckCertificates(files, now_s, &certificates);
        const auto credentials = common::ClientCredentials(files);
        if (credentials.ok()) seen->credentials = *credentials;
        return absl::OkStatus();
      });
  if (status.ok()) {
    report->MergeFrom(seen->report);
    return seen->credentials;
  }
  Findings(report, "certificates")
      .Problem("certificate", std::string(status.message()),
               {"without its three files this program cannot connect",
                "findmnt -T FILE; is its server up?"});
  return nullptr;
}

// Why the controller would refuse a worker of this program for its protocol. Empty if it would not,
// or does not say what it speaks. The controller's lowest version is at least that of the oldest
// guard that it admits.
std::string WhyNoCommonProtocol(const v1::StatusReply& status) {
  if (status.protocol().highest() == 0) return "";
  v1::Hello hello;
  v1::SetOffer(v1::OwnProtocol(), &hello);
  hello.set_software_version(common::kSoftwareVersion);
  const v1::ProtocolOffer controller = {status.protocol().lowest(), status.protocol().highest()};
  const auto agreed = v1::Agree(hello, controller, /*lowest_guard=*/0, status.version());
  return std::string(agreed.status().message());
}

}  // namespace

void CheckStatus(const v1::StatusReply& status, Caller caller, Findings* findings) {
  const std::string refused = caller == Caller::kWorker ? WhyNoCommonProtocol(status) : "";
  if (!refused.empty()) {
    findings->Problem("version", refused,
                      {"the controller refuses this worker",
                       "install the named release there (docs/guide/install.md)"});
  } else if (status.version() == common::kSoftwareVersion) {
    findings->Ok("version", absl::StrCat("both ends are ", status.version()));
  } else {
    findings->Warn(
        "version",
        absl::StrCat("the controller is ", status.version(), ", this program is ",
                     common::kSoftwareVersion),
        {"a worker without a common version of the protocol is refused, and a command may lack "
         "what the controller offers",
         "install the same version on both (lockstep --version, docs/guide/install.md)"});
  }
  findings->Ok("role", absl::StrCat("this caller is ", status.principal(), ", ", status.role()));
  const v1::StoreState& store = status.store_state();
  if (store.unavailable()) {
    findings->Problem(
        "store",
        absl::StrFormat("unavailable for %.0f s: %s", store.unavailable_seconds(), store.reason()),
        {"no new phase starts, and running phases fill the spool",
         absl::StrCat("start the PostgreSQL server of ", status.store(), ", and read its log")});
  } else {
    findings->Ok("store", absl::StrCat("the controller's store answers: ", status.store()));
  }
  const double limit = store.spool_limit_bytes();
  if (limit > 0 && store.spooled_bytes() > kAlmostFull * limit) {
    findings->Warn("spool",
                   absl::StrCat(common::FormatSize(store.spooled_bytes()), " of ",
                                common::FormatSize(limit), " are used"),
                   {"a full spool stops the runs",
                    "look why the store takes no samples: lockstep "
                    "status"});
  }
  if (caller == Caller::kPerson) CheckWorkers(status, findings);
}

std::unique_ptr<ReachedController> CheckController(const ControllerTarget& target, int64_t now_s,
                                                   v1::DoctorReport* report) {
  const auto credentials = ReadCredentials(target.tls, now_s, report);
  if (credentials == nullptr) return nullptr;
  if (target.addresses.empty()) {
    Findings(report, "controller")
        .Problem("connection", "--controller names no address",
                 {"without a controller there is nothing to do", "--controller HOST:PORT"});
  }
  std::vector<std::pair<std::string, std::string>> failed;
  std::unique_ptr<ReachedController> reached;
  for (const std::string& address : target.addresses) {
    if (std::string why = WhyNotAllowed(address, target); !why.empty()) {
      failed.emplace_back(address, std::move(why));
      continue;
    }
    const auto channel = Dial(address, credentials, target.tls.server_name);
    const auto begin = steady_clock::now();
    if (!common::AwaitConnection(channel.get(), kDialTime)) {
      failed.emplace_back(address,
                          common::WhyNotConnected(channel, address, target.tls.IsTlsWanted(),
                                                  target.tls.server_name));
      continue;
    }
    Findings findings(report, "controller", address);
    findings.Ok("connection", absl::StrCat(target.tls.IsTlsWanted() ? "TLS" : "plaintext", ", in ",
                                           common::FormatDuration(SinceNs(begin))));
    reached = std::make_unique<ReachedController>();
    reached->address = address;
    reached->stub = v1::Controller::NewStub(channel);
    // The programs, too, stay with the first address that answers.
    if (!Call(reached.get(), now_s, &findings)) return nullptr;
    CheckStatus(reached->status, target.caller, &findings);
    break;
  }
  for (const auto& [address, why] : failed) {
    Findings findings(report, "controller", address);
    const bool is_dialled = WhyNotAllowed(address, target).empty();
    // An address that fails is a problem only if no other one works.
    if (reached != nullptr) {
      findings.Warn("connection", why,
                    {"this address is tried first, and costs its time",
                     "name it last, or start a "
                     "controller there"});
    } else {
      findings.Problem(
          "connection", why,
          {"without a controller there is nothing to do",
           is_dialled ? "lockstep up starts one here; --controller HOST:PORT names another"
                      : "--controller HOST:PORT --tls-dir DIRECTORY, as the program that is "
                        "to connect has them"});
    }
  }
  return reached;
}

}  // namespace lockstep::doctor
