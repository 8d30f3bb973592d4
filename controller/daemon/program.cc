#include "controller/daemon/program.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "CLI/CLI.hpp"
#include "common/clock.h"
#include "common/files.h"
#include "common/log.h"
#include "common/signals.h"
#include "common/text.h"
#include "common/timing.h"
#include "common/tls.h"
#include "common/version_flag.h"
#include "controller/daemon/controller.h"
#include "controller/daemon/election.h"
#include "controller/daemon/open_store.h"
#include "controller/daemon/server.h"
#include "google/protobuf/stubs/logging.h"
#include "proto/protocol_version.h"
#include "proto/worker.pb.h"
#include "storage/conninfo.h"
#include "storage/pg_store.h"

namespace lockstep::controller {
namespace {

struct Flags {
  std::vector<std::string> listen{"127.0.0.1:9640"};
  std::string http;
  std::vector<std::string> http_names;
  std::string store;
  std::string store_file;
  std::string state_directory = common::DefaultStateDirectory();
  std::string ready_file;
  common::TlsFiles tls;
  bool insecure = false;
  bool store_filesystem = false;
  double lease_seconds = timing::kDefaultLeaseNs / 1e9;
  double spool_mib = 1024;
};

const CLI::Validator kFinite(
    [](const std::string& text) {
      return std::isfinite(std::strtod(text.c_str(), nullptr)) ? "" : "not a number: " + text;
    },
    "");

void AddFlags(CLI::App* app, Flags* flags) {
  app->add_option(
         "--listen", flags->listen,
         "HOST:PORT for workers and users; may be given several times; port 0 takes a free one")
      ->capture_default_str();
  app->add_option("--http", flags->http, "HOST:PORT of the web page (read-only); off without it");
  app->add_option("--http-name", flags->http_names,
                  "Another name by which browsers reach the page; may be given several times");
  app->add_option("--store", flags->store,
                  "postgresql://…, or KEYWORD=VALUE …, of a server to use instead of the embedded "
                  "one; its password belongs into --store-file, PGPASSFILE or service=NAME")
      ->excludes(app->add_option("--store-file", flags->store_file,
                                 "A file that only its owner reads, with what --store would say: "
                                 "every local user can read the arguments of a process"));
  app->add_option("--state-dir", flags->state_directory,
                  "The directory of the embedded PostgreSQL and of the spool")
      ->capture_default_str();
  app->add_option("--lease", flags->lease_seconds,
                  "Seconds of silence after which a worker is lost")
      ->capture_default_str()
      ->check(CLI::Range(timing::kMinLeaseNs / 1e9, 3600.0) & kFinite);
  app->add_option("--spool-mib", flags->spool_mib,
                  "MiB of samples that wait on this disk at most while the store is unavailable; "
                  "beyond it runs are stopped")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e9) & kFinite);
  app->add_flag("--allow-store-filesystem", flags->store_filesystem,
                "Jobs that say store_filesystem: true may lay out files on the file system of the "
                "embedded store");
  app->add_option("--ready-file", flags->ready_file,
                  "Written with the addresses once everything listens");
  app->add_option("--tls-cert", flags->tls.certificate, "PEM certificate of this controller");
  app->add_option("--tls-key", flags->tls.key, "PEM key of the certificate");
  app->add_option("--tls-ca", flags->tls.authority,
                  "PEM certificate of the authority that signed the workers' and users'");
  app->add_option("--tls-crl", flags->tls.revocations,
                  "PEM list of the certificates that the authority has revoked");
  app->add_option(
      "--tls-dir", flags->tls.directory,
      "A directory with cert.pem, key.pem, ca.pem and perhaps crl.pem, as `lockstep pki "
      "issue` makes it, instead of the four");
  app->add_flag(
      "--insecure-plaintext", flags->insecure,
      "Listen beyond loopback without TLS: anyone who reaches the port commands every worker");
}

// The connection string that a private file holds.
absl::StatusOr<std::string> ReadStoreFile(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return common::ErrnoStatus(errno, "--store-file " + path);
  // A pipe would keep the controller waiting for a writer.
  if (!S_ISREG(facts.st_mode)) {
    return absl::InvalidArgumentError("--store-file " + path + ": is not a regular file");
  }
  if ((facts.st_mode & 0077) != 0) {
    return absl::FailedPreconditionError("--store-file " + path +
                                         ": others may read it; chmod 600 it");
  }
  const std::string text = common::ReadTrimmed(path);
  if (text.empty()) {
    return absl::InvalidArgumentError("--store-file " + path + ": holds no connection string");
  }
  return text;
}

// Every local user can read a process's arguments (proc(5), cmdline): the store's address does not
// stay there.
void BlankStoreArgument(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    char* from = nullptr;
    if (word == "--store" && i + 1 < argc) from = argv[i + 1];
    if (word.rfind("--store=", 0) == 0) from = argv[i] + strlen("--store=");
    if (from == nullptr) continue;
    if (storage::HasPassword(from)) {
      log::Warn(
          "the password in --store was readable for every local user while this program started; "
          "use --store-file, PGPASSFILE or service=NAME");
    }
    // In place: the kernel shows the memory of the arguments, not the pointers in argv.
    memset(from, '*', strlen(from));
  }
}

absl::Status CheckBinds(const Flags& flags) {
  for (const std::string& address : flags.listen) {
    if (absl::Status status = common::CheckAddress(address); !status.ok()) {
      return absl::Status(status.code(), "--listen " + std::string(status.message()));
    }
    if (flags.tls.IsTlsWanted() || common::IsLoopback(address) || flags.insecure) continue;
    return absl::FailedPreconditionError(
        "--listen " + address +
        ": others could reach it and command every worker; give --tls-cert, --tls-key and "
        "--tls-ca, or --insecure-plaintext");
  }
  if (!flags.http.empty() && !common::IsLoopback(flags.http) && !flags.tls.IsTlsWanted() &&
      !flags.insecure) {
    return absl::FailedPreconditionError(
        "--http " + flags.http +
        ": others could read every result; bind it to loopback, or give --tls-cert, --tls-key and "
        "--tls-ca, or --insecure-plaintext");
  }
  return absl::OkStatus();
}

void RaiseFileLimit() {
  rlimit limit;
  // Every worker has two connections, and the soft limit is often 1,024 files.
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Fail(const absl::Status& status) {
  std::cerr << "lockstep-controller: " << status.message() << "\n";
  return 1;
}

absl::StatusOr<Listener::Options> ListenerOptions(const Flags& flags) {
  std::shared_ptr<common::TlsStore> tls;
  if (flags.tls.IsTlsWanted()) {
    auto opened = common::TlsStore::Open(flags.tls);
    if (!opened.ok()) return opened.status();
    tls = *std::move(opened);
  }
  // A page on loopback needs no TLS: no other machine can listen in.
  return Listener::Options{flags.listen, tls, flags.http, flags.http_names,
                           common::IsLoopback(flags.http) ? nullptr : tls};
}

// Waits until this controller is the active one, and takes over. CANCELLED when a signal came.
absl::StatusOr<std::unique_ptr<Controller>> Lead(const Flags& flags, const std::string& self,
                                                 const std::shared_ptr<common::TlsStore>& tls,
                                                 OpenedStore* opened, Election* election) {
  if (absl::Status status = election->BecomeActive(); !status.ok()) return status;
  // Only the active controller migrates the store: the one before it may be of an older version and
  // still be writing.
  if (absl::Status status = opened->store->BringUpToDate(); !status.ok()) return status;
  return Controller::Start(
      {self, flags.state_directory, static_cast<int64_t>(flags.lease_seconds * 1e9),
       static_cast<uint64_t>(flags.spool_mib * 1048576), tls},
      opened, election, &common::SystemClock());
}

// Looks after the store, and for a successor, until a signal comes.
void AwaitSignal(const sigset_t& signals, const OpenedStore& opened, Election* election) {
  // Every 300 ms the lock is checked, every 1.2 s the embedded server, and every 9.6 s the reading
  // role, which can lift its own limits.
  constexpr timespec kPause{0, 300000000};
  constexpr int kMaxInspectionsPerRestart = 4;  // of an embedded server that has died
  constexpr int kMaxInspectionsPerGrant = 32;   // of what the reading role may do
  for (int look = 1; sigtimedwait(&signals, nullptr, &kPause) < 0; ++look) {
    if (opened.embedded != nullptr && look % kMaxInspectionsPerRestart == 0)
      opened.embedded->KeepAlive();
    if (look % kMaxInspectionsPerGrant == 0) opened.store->GuardReader();
    election->CheckForSuccessor();
  }
}

// From the open store to the signal that ends it.
int Serve(const Flags& flags, OpenedStore opened, const sigset_t& signals) {
  char host[256] = {};
  // A name that is cut need not be terminated (gethostname(2)). The last byte stays zero.
  gethostname(host, sizeof host - 1);
  const std::string self = common::Printable(host, 200) + ":" + std::to_string(getpid());
  // The certificates are read before the wait for the lock. A standby whose files are wrong fails
  // at its start, and not when it is needed.
  const auto listening = ListenerOptions(flags);
  if (!listening.ok()) return Fail(listening.status());
  Election election(opened.conninfo, self, opened.store.get(), signals);
  auto active = Lead(flags, self, listening->tls, &opened, &election);
  if (absl::IsCancelled(active.status())) return 0;
  if (!active.ok()) return Fail(active.status());
  // A standby does not listen. Clients with several addresses find the active controller by that.
  auto listener = Listener::Start(*listening, (*active)->parts());
  if (!listener.ok()) return Fail(listener.status());
  log::Info("store: {} (epoch {})", opened.store->Describe(), (*active)->epoch());
  if (opened.embedded != nullptr) opened.embedded->WriteHolderAddress((*listener)->address());
  if (!flags.ready_file.empty()) {
    // A rename shows the whole file or none to the program that waits for it.
    const absl::Status written =
        common::WriteFileAtomically(flags.ready_file, (*listener)->addresses());
    if (!written.ok()) return Fail(written);
  }
  AwaitSignal(signals, opened, &election);
  log::Info("shutting down");
  // The controller goes first, since its open streams would keep the server from ending.
  (*active)->Shutdown([&] { (*listener)->StopPage(); });
  (*listener)->Shutdown();
  return 0;
}

}  // namespace

int RunProgram(int argc, char** argv) {
  // A malformed message is answered to its sender. If it were logged, anybody who reaches the port
  // could fill the disk.
  google::protobuf::SetLogHandler(nullptr);
  Flags flags;
  CLI::App app(
      "Takes storage tests, moves workers through them in lockstep, and keeps what they measured.");
  common::AddVersionFlag(&app, v1::OwnProtocolJson());
  app.footer(
      "Example:\n  lockstep-controller --listen 0.0.0.0:9640 --tls-cert c.pem --tls-key c.key "
      "--tls-ca ca.pem --http 127.0.0.1:9641");
  AddFlags(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  log::SetName("controller");
  // The server's programs have another working directory.
  flags.state_directory = common::AbsolutePath(flags.state_directory);
  BlankStoreArgument(argc, argv);
  if (!flags.store_file.empty()) {
    auto store = ReadStoreFile(flags.store_file);
    if (!store.ok()) return Fail(store.status());
    flags.store = *std::move(store);
  }
  if (absl::Status status = CheckBinds(flags); !status.ok()) return Fail(status);

  const sigset_t signals = common::BlockSignals({SIGINT, SIGTERM});
  // A write to a connection that its peer has closed would otherwise end the process.
  signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  if (absl::Status owner = common::CheckNobodyElses(flags.state_directory); !owner.ok()) {
    return Fail(owner);
  }
  auto opened = OpenStore({flags.store, flags.state_directory, flags.store_filesystem});
  if (!opened.ok()) return Fail(opened.status());
  return Serve(flags, *std::move(opened), signals);
}

}  // namespace lockstep::controller
