#include "worker/program.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/files.h"
#include "common/iscsi_url.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/signals.h"
#include "common/text.h"
#include "common/timing.h"
#include "common/tls.h"
#include "common/version.h"
#include "common/version_flag.h"
#include "common/version_text.h"
#include "doctor/controller_call.h"
#include "doctor/findings.h"
#include "google/protobuf/stubs/logging.h"
#include "proto/protocol_version.h"
#include "proto/worker.pb.h"
#include "worker/doctor/allow_checks.h"
#include "worker/doctor/host_checks.h"
#include "worker/host/block_devices.h"
#include "worker/host/certificate_request.h"
#include "worker/host/enrolment.h"
#include "worker/host/facts.h"
#include "worker/host/guard.h"
#include "worker/host/inventory.h"
#include "worker/host/mark_keys.h"
#include "worker/host/reopen.h"
#include "worker/host/time_limit.h"
#include "worker/iscsi/luns.h"
#include "worker/link/agent.h"
#include "worker/load/phase_runner.h"
#include "worker/synthetic/fleet.h"
#include "worker/targets/inspect.h"
#include "worker/targets/marks.h"
#include "worker/worker_flags.h"

namespace lockstep::worker {
namespace {

absl::StatusOr<common::CredentialsSource> Credentials(const Flags& flags) {
  for (const std::string& address : flags.controllers) {
    if (absl::Status status = common::CheckAddress(address); !status.ok()) {
      return absl::Status(status.code(), "--controller " + std::string(status.message()));
    }
    if (!flags.tls.IsTlsWanted() && !common::IsLoopback(address) && !flags.insecure) {
      return absl::FailedPreconditionError("--controller " + address +
                                           ": not on this machine; give --tls-cert, --tls-key and "
                                           "--tls-ca, or --insecure-plaintext");
    }
  }
  return common::MakeCredentialsSource(flags.tls);
}

absl::Status CheckHostName(const std::string& name) {
  if (common::IsHostName(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "'" + common::Printable(name, 100) +
      "' is not a valid host name (letters, digits, '.', '_' and '-', at most 253); give --name");
}

// `identity` keeps the state directory locked.
absl::StatusOr<Agent::Options> MakeOptions(const Flags& flags, Identity* identity) {
  Agent::Options options;
  auto credentials = Credentials(flags);
  if (!credentials.ok()) return credentials.status();
  auto loaded = LoadIdentity(flags.state_directory);
  if (!loaded.ok()) return loaded.status();
  *identity = *std::move(loaded);
  options.controllers = flags.controllers;
  options.credentials = *credentials;
  options.tls = flags.tls.IsTlsWanted();
  options.server_name = flags.tls.server_name;
  options.worker_id = identity->worker_id;
  options.max_alone_ns = flags.end_when_alone_s * timing::kSecond;
  options.outbox = {flags.outbox_memory_mib << 20, flags.state_directory + "/outbox",
                    flags.outbox_disk_mib << 20};
  options.host = ReadHostFacts(identity->host_id);
  if (!flags.name.empty()) options.host.set_name(flags.name);
  if (absl::Status named = CheckHostName(options.host.name()); !named.ok()) return named;
  for (const std::string& label : flags.labels) {
    const size_t equals = label.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError("--label '" + label + "': write KEY=VALUE");
    }
    options.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  return options;
}

// Makes the way to LUNs, and takes the secrets out of the environment.
absl::StatusOr<std::shared_ptr<Luns>> MakeLuns(const Flags& flags, const std::string& host) {
  IscsiSecrets secrets = IscsiSecrets::FromEnvironment();
  if (!flags.iscsi_secrets.empty()) {
    auto loaded = IscsiSecrets::Load(flags.iscsi_secrets);
    if (!loaded.ok()) {
      return absl::Status(loaded.status().code(),
                          "--iscsi-secrets " + std::string(loaded.status().message()));
    }
    secrets = *std::move(loaded);
  }
  std::string initiator = flags.iscsi_initiator;
  if (initiator.empty()) {
    // A wrong name would be reported as one of iSCSI, which nobody has given.
    if (absl::Status named = CheckHostName(host); !named.ok()) return named;
    // An iSCSI name has at most 223 bytes, and a host name up to 253.
    initiator = "iqn.2026-11.lockstep:" + absl::AsciiStrToLower(host).substr(0, 150);
    std::replace(initiator.begin(), initiator.end(), '_', '-');  // which no iSCSI name has
  }
  // An initiator's name follows the rules for a target's name.
  if (!common::ParseIscsiUrl("iscsi://host/" + initiator + "/0").ok()) {
    return absl::InvalidArgumentError("--iscsi-initiator '" + common::Printable(initiator, 100) +
                                      "' is no iSCSI name (iqn.…)");
  }
  return std::make_shared<Luns>(initiator, std::move(secrets));
}

int Fail(const absl::Status& status) {
  std::cerr << "lockstep-worker: " << status.message() << "\n";
  return 1;
}
int Ended(const absl::Status& status) { return status.ok() ? 0 : Fail(status); }

// Declares that files are this fleet's to overwrite and remove. Everybody who may use the worker's
// key may do so. A worker may use the state directory during that time.
int Adopt(const Flags& flags) {
  const auto keys = MarkKeys::Load(flags.state_directory);
  if (!keys.ok()) return Fail(keys.status());
  for (const std::string& path : flags.adopt) {
    const size_t slash = path.rfind('/');
    if (path.empty() || path[0] != '/' || slash == 0) {
      return Fail(absl::InvalidArgumentError("--adopt " + path +
                                             ": give an absolute path, of a file in a directory"));
    }
    const auto guard = Guard::Make({path.substr(0, slash)}, {}, nullptr, *keys);
    if (!guard.ok()) return Fail(guard.status());
    const auto allowed = guard->Locate(path);
    if (!allowed.ok()) return Fail(allowed.status());
    // The path that is shown must be the one that is signed: a link on the way may be another
    // user's.
    if (const std::string real = RealPath(path); real != path) {
      return Fail(absl::InvalidArgumentError(
          absl::StrCat("--adopt ", path, ": leads to ", real.empty() ? "nothing" : real,
                       "; look whether that is the file you mean, and give that path")));
    }
    const absl::Status adopted = Adopt(*guard, *allowed);
    if (!adopted.ok()) return Fail(adopted);
    std::cout << path << ": adopted; jobs may overwrite and remove it\n";
  }
  return 0;
}

// For who removes a worker that was killed, and its state directory with it.
int RestoreSettings(const Flags& flags) {
  // The lock in it: a worker that still runs restores its settings itself.
  const auto identity = LoadIdentity(flags.state_directory);
  if (!identity.ok()) return Fail(identity.status());
  EnvironmentKeeper environment(flags.state_directory);
  for (const std::string& words : environment.Recover()) std::cerr << words << "\n";
  return environment.has_recovered_all() ? 0 : 1;
}

// The keys of this worker, where it has some. Loading makes missing ones, and the doctor must not.
// The state directory may lie on a file system that does not answer.
std::shared_ptr<MarkKeys> ExistingKeys(const std::string& state_directory) {
  auto keys = std::make_shared<std::shared_ptr<MarkKeys>>();
  const std::string path = state_directory + "/mark-key";
  const absl::Status status =
      WithinLimit(path, limits::kProbeNs, [path, state_directory, keys]() -> absl::Status {
        if (access(path.c_str(), R_OK) != 0) return absl::NotFoundError(path);
        auto loaded = MarkKeys::Load(state_directory);
        if (!loaded.ok()) return loaded.status();
        *keys = *std::move(loaded);
        return absl::OkStatus();
      });
  return status.ok() ? *keys : nullptr;
}

// The result of MakeLuns(), whose file of secrets may lie on such a file system, too.
absl::StatusOr<std::shared_ptr<Luns>> MakeLunsInTime(const Flags& flags, const std::string& host) {
  using Made = absl::StatusOr<std::shared_ptr<Luns>>;
  const auto made = std::make_shared<Made>(absl::UnknownError(""));
  const absl::Status status =
      WithinLimit("--iscsi-secrets " + flags.iscsi_secrets, limits::kProbeNs, [flags, host, made] {
        *made = MakeLuns(flags, host);
        return absl::OkStatus();
      });
  return status.ok() ? *made : Made(status);
}

// Checks, and prints what it finds. Nothing is made, written or opened for writing.
int Doctor(const Flags& flags) {
  v1::DoctorReport report;
  const auto now = std::chrono::system_clock::now();
  const int64_t now_s = std::chrono::system_clock::to_time_t(now);
  report.set_at(absl::FormatTime(absl::RFC3339_sec, absl::FromChrono(now), absl::UTCTimeZone()));
  report.set_version(common::kSoftwareVersion);
  report.set_commit(common::VersionCommit());
  const v1::HostFacts facts = ReadHostFacts("");
  const std::string name = flags.name.empty() ? facts.name() : flags.name;
  doctor::Findings host(&report, "host", name);
  CheckHost("", {TryRing(), ReadWallClock(), facts.cpus()}, &host);
  CheckStateDirectory(flags.state_directory, flags.outbox_disk_mib << 20, &host);
  doctor::Findings allow(&report, "allow", name);
  const auto luns = MakeLunsInTime(flags, name);
  if (luns.ok()) {
    CheckAllowed({flags.allow, flags.allow_expendable, *luns, ExistingKeys(flags.state_directory)},
                 &allow);
  } else {
    allow.Problem("iscsi", std::string(luns.status().message()),
                  {"a worker with these flags does not start", "see lockstep-worker --help"});
  }
  if (flags.doctor == "all") {
    doctor::CheckController({doctor::Caller::kWorker, flags.controllers, flags.tls, flags.insecure},
                            now_s, &report);
  }
  const int status = doctor::Conclude(&report);
  std::cout << (flags.doctor_json
                    ? doctor::DoctorJson(report)
                    : doctor::RenderDoctor(report, isatty(1) != 0 && getenv("NO_COLOR") == nullptr
                                                       ? doctor::Colour::kYes
                                                       : doctor::Colour::kNo))
            << std::flush;
  const bool is_written = std::cout.good();
  // A thread may hang in a file system that does not answer. exit(3) would run destructors under
  // it, and some file systems (FUSE) keep even _exit(2) waiting: who reads the output must not.
  close(STDOUT_FILENO);
  _exit(is_written ? status : 2);
}

Agent::Parts PartsOf(const PhaseRunner::Parts& runner, const std::shared_ptr<MarkKeys>& keys,
                     bool allow_enroll) {
  Agent::Parts parts;
  const Guard* const guard = runner.guard;
  parts.make_executor = [runner](PhaseCallbacks callbacks) {
    return std::make_unique<PhaseRunner>(runner, std::move(callbacks));
  };
  parts.inspect = [guard, policy = runner.policy, host = runner.host](const v1::Inspect& inspect) {
    return InspectTargets(*guard, *policy, inspect, {host, inspect.worker_index()});
  };
  parts.list_devices = [] { return ThisKernel().List(); };
  parts.inspect_devices = [guard] { return TakeInventory(*guard); };
  parts.stamp = [guard, allow_enroll](const v1::StampDevices& orders) {
    return StampAll(*guard, allow_enroll, orders);
  };
  parts.welcomed = [keys](const v1::Welcome& welcome) {
    const absl::Status status =
        keys->SetEndorsement(welcome.mark_authority(), welcome.mark_endorsement());
    if (!status.ok()) log::Error("no file can be laid out: {}", std::string(status.message()));
  };
  return parts;
}

// Signals end `end`; one thread waits for them. Whatever the others do, the process ends soon
// after.
void OnSignal(const sigset_t& signals, std::function<void()> end) {
  std::thread([signals, end = std::move(end)] {
    int number = 0;
    sigwait(&signals, &number);
    log::Info("stopping");
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::nanoseconds(limits::kShutdownNs));
      log::Error("a thread does not stop: the process ends without it");
      log::Flush();
      // exit(3) would run destructors, which wait for the thread that does not stop.
      _exit(1);
    }).detach();
    end();
  }).detach();
}

int Rehearse(const Flags& flags, const sigset_t& signals) {
  SyntheticFleet::Options options;
  options.workers = flags.simulate;
  options.controllers = flags.controllers;
  options.iops = flags.simulate_iops;
  if (!flags.name.empty()) options.name = flags.name;
  auto credentials = Credentials(flags);
  if (!credentials.ok()) return Fail(credentials.status());
  options.credentials = (*credentials)();
  options.server_name = flags.tls.server_name;
  SyntheticFleet fleet(std::move(options), &common::SystemClock());
  OnSignal(signals, [&fleet] { fleet.Stop(); });
  return Ended(fleet.Run());
}

// Attaches to a controller, and does what it says until a signal comes.
int Serve(const Flags& flags, const sigset_t& signals) {
  const auto luns = MakeLuns(flags, flags.name.empty() ? ReadHostFacts("").name() : flags.name);
  if (!luns.ok()) return Fail(luns.status());
  Identity identity;
  auto options = MakeOptions(flags, &identity);
  if (!options.ok()) return Fail(options.status());
  const auto keys = MarkKeys::Load(flags.state_directory);
  if (!keys.ok()) return Fail(keys.status());
  options->mark_key = (*keys)->public_key();
  auto guard = Guard::Make(flags.allow, flags.allow_expendable, *luns, *keys);
  if (!guard.ok()) return Fail(guard.status());
  options->allow = guard->allow();
  options->allow_expendable = guard->allow_expendable();
  options->allow_enroll = flags.allow_enroll;
  const ObserveScope observes =
      flags.observe == "all" ? ObserveScope::kAll : ObserveScope::kAllowed;
  if (flags.allow.empty()) {
    log::Warn("--allow names nothing: every job {}will be refused here",
              observes == ObserveScope::kAll ? "that does more than observe " : "");
  }

  const auto policy = HostPolicy::Make(flags.allow_settings, flags.approve_labels, observes);
  if (!policy.ok()) return Fail(policy.status());
  // Settings that a killed worker has left changed are restored before the first phase, which would
  // take them for the host's own.
  EnvironmentKeeper environment(flags.state_directory);
  for (const std::string& words : environment.Recover()) log::Warn("{}", words);

  PhaseRunner::Parts runner;
  runner.guard = &*guard;
  runner.policy = &*policy;
  runner.environment = &environment;
  runner.clock = &common::SystemClock();
  runner.host = options->host.name();
  runner.mismatch_directory = flags.state_directory + "/mismatches";
  Agent agent(*options, PartsOf(runner, *keys, flags.allow_enroll), &common::SystemClock());
  OnSignal(signals, [&agent] { agent.Stop(); });
  return Ended(agent.Run());
}

}  // namespace

int RunProgram(int argc, char** argv) {
  // The sender of a message hears what is wrong with it. The log would repeat it for ever.
  google::protobuf::SetLogHandler(nullptr);
  Flags flags;
  CLI::App app("Runs storage load on this host when a Lockstep controller says so.");
  common::AddVersionFlag(&app, v1::OwnProtocolJson());
  app.footer(
      "Example:\n  lockstep-worker --controller ctl.example:9640 --allow /mnt/san --tls-cert w.pem "
      "--tls-key w.key --tls-ca ca.pem");
  AddFlags(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  log::SetName("worker");

  const sigset_t signals = common::BlockSignals({SIGINT, SIGTERM});
  // libiscsi writes to connections that the other end may have closed.
  signal(SIGPIPE, SIG_IGN);

  if (!flags.doctor.empty()) return Doctor(flags);
  if (!flags.adopt.empty()) return Adopt(flags);
  if (flags.restore_settings) return RestoreSettings(flags);
  if (!flags.key_directory.empty()) {
    std::istream* const challenge = isatty(0) != 0 ? nullptr : &std::cin;
    return Ended(RequestCertificate(flags.key_directory, challenge, &std::cout));
  }
  if (flags.simulate > 0) return Rehearse(flags, signals);
  return Serve(flags, signals);
}

}  // namespace lockstep::worker
