// lockstep-controller: takes jobs, moves workers through them in lockstep, and keeps what they
// measured.

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "CLI/CLI.hpp"
#include "common/clock.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/queue.h"
#include "common/text.h"
#include "common/timing.h"
#include "common/tls.h"
#include "common/version.h"
#include "controller/service/controller_service.h"
#include "controller/service/crash_marks.h"
#include "controller/service/set_aside.h"
#include "google/protobuf/stubs/logging.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/spdlog.h"
#include "storage/active_lock.h"
#include "storage/embedded.h"
#include "storage/pg_store.h"
#include "storage/spool.h"
#include "web/server.h"

namespace {

using namespace lockstep;

struct Flags {
  std::vector<std::string> listen{"127.0.0.1:9640"};
  std::string http;
  std::vector<std::string> http_names;
  std::string store;
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
                  "postgresql://… of a server to use instead of the embedded one");
  app->add_option("--state-dir", flags->state_directory,
                  "Where the embedded PostgreSQL and the spool live")
      ->capture_default_str();
  app->add_option("--lease", flags->lease_seconds,
                  "Seconds of silence after which a worker is lost")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 3600.0) & kFinite);
  app->add_option("--spool-mib", flags->spool_mib,
                  "The most that waits on this disk while the store is away, MiB; beyond it runs "
                  "are stopped")
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
  app->add_flag(
      "--insecure-plaintext", flags->insecure,
      "Listen beyond loopback without TLS: anyone who reaches the port commands every worker");
}

absl::Status CheckBinds(const Flags& flags) {
  for (const std::string& address : flags.listen) {
    if (absl::Status status = common::CheckAddress(address); !status.ok()) {
      return absl::Status(status.code(), "--listen " + std::string(status.message()));
    }
    if (flags.tls.any() || common::IsLoopback(address) || flags.insecure) continue;
    return absl::FailedPreconditionError(
        "--listen " + address +
        ": others could reach it and command every worker; give --tls-cert, --tls-key and "
        "--tls-ca, or --insecure-plaintext");
  }
  if (!flags.http.empty() && !common::IsLoopback(flags.http) && !flags.insecure) {
    return absl::FailedPreconditionError(
        "--http " + flags.http +
        ": others could read every result; bind it to loopback, or give --insecure-plaintext");
  }
  return absl::OkStatus();
}

// "boot_id/device" underneath a path, to warn about targets on the same one.
std::string DeviceOf(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return "";
  char resolved[PATH_MAX];
  const std::string link = "/sys/dev/block/" + std::to_string(major(facts.st_dev)) + ":" +
                           std::to_string(minor(facts.st_dev));
  if (realpath(link.c_str(), resolved) == nullptr) return "";
  std::string device(resolved);
  if (access((device + "/partition").c_str(), F_OK) == 0) {
    device = device.substr(0, device.rfind('/'));
  }
  return common::ReadTrimmed("/proc/sys/kernel/random/boot_id") + "/" +
         device.substr(device.rfind('/') + 1);
}

// "boot_id:device number" of the file system that holds a path, as workers name those of targets.
std::string FilesystemOf(const std::string& path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0) return "";
  return common::ReadTrimmed("/proc/sys/kernel/random/boot_id") + ":" +
         std::to_string(major(facts.st_dev)) + ":" + std::to_string(minor(facts.st_dev));
}

constexpr auto kShutdownWait = std::chrono::seconds(8);

struct OpenedStore {
  std::unique_ptr<storage::EmbeddedPostgres> embedded;
  std::unique_ptr<storage::PgStore> store;
  controller::StorePlace place;
  std::string conninfo;
};

absl::StatusOr<OpenedStore> OpenStore(const Flags& flags) {
  OpenedStore opened;
  storage::PgStore::Options options;
  if (flags.store.empty()) {
    const std::string directory = flags.state_directory + "/postgres";
    auto embedded = storage::EmbeddedPostgres::Start(directory);
    if (!embedded.ok()) return embedded.status();
    opened.embedded = *std::move(embedded);
    opened.place = {DeviceOf(directory), FilesystemOf(directory), flags.store_filesystem};
    options.conninfo = opened.embedded->conninfo();
    options.reader_conninfo = opened.embedded->reader_conninfo();
    options.description = "embedded PostgreSQL in " + directory;
  } else {
    options.conninfo = flags.store;
    auto reader = storage::DeriveReaderConninfo(flags.store);
    if (!reader.ok()) return reader.status();
    options.description = "PostgreSQL at " + reader->substr(reader->find(' ') == std::string::npos
                                                                ? reader->size()
                                                                : reader->find(' ') + 1);
  }
  opened.conninfo = options.conninfo;
  auto store = storage::PgStore::Open(std::move(options));
  if (!store.ok()) return store.status();
  opened.store = *std::move(store);
  return opened;
}

void RaiseFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Fail(const absl::Status& status) {
  std::cerr << "lockstep-controller: " << status.message() << "\n";
  return 1;
}

// Waits until no other controller of this store is active. False, when a signal ends the waiting.
absl::StatusOr<bool> BecomeActive(storage::ActiveLock* lock, const sigset_t& signals) {
  const auto signal_within = [&](const timespec& pause) {
    return sigtimedwait(&signals, nullptr, &pause) > 0;
  };
  for (bool said = false;; said = true) {
    auto held = lock->Hold();
    if (!held.ok() && !said) return held.status();
    if (held.ok() && *held) return true;
    if (!said) {
      spdlog::info("standby: {} is active; this controller takes over when that one is gone",
                   lock->Holder());
    }
    if (held.ok()) {
      if (signal_within({0, 500000000})) return false;
      continue;
    }
    // A server that was away loses everybody's lock: the controller that was active has the first
    // try when it is back.
    while (!lock->Connect().ok()) {
      if (signal_within({1, 0})) return false;
    }
    if (signal_within({3, 0})) return false;
  }
}

// Tries again while the store is away. CANCELLED when a signal came.
absl::Status Insist(const sigset_t& signals, const std::function<absl::Status()>& work) {
  while (true) {
    const absl::Status status = work();
    if (!storage::MayPass(status)) return status;
    spdlog::error("the store is out of reach, trying again: {}", std::string(status.message()));
    const timespec pause{1, 0};
    if (sigtimedwait(&signals, nullptr, &pause) > 0) return absl::CancelledError("a signal came");
  }
}

void EndThisController(const std::string& reason) {
  spdlog::critical("{}: this one ends", reason);
  // Nothing may be tidied up here: what was this controller's is another one's by now.
  std::_Exit(3);
}

// A controller that is to end waits a while for a store that hangs, not longer.
class Impatience {
 public:
  explicit Impatience(storage::PgStore* store) : store_(store) {}
  ~Impatience() {
    over_.Push(0);
    if (thread_.joinable()) thread_.join();
  }
  void Begin() {
    thread_ = std::thread([this] {
      if (!over_.Pop(2 * kShutdownWait)) store_->GiveUp();
    });
  }

 private:
  storage::PgStore* const store_;
  common::Queue<int> over_;
  std::thread thread_;
};

// Everything from the open store to the signal that ends it.
int Serve(const Flags& flags, OpenedStore opened, const sigset_t& signals) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string self = common::Printable(host, 200) + ":" + std::to_string(getpid());
  storage::ActiveLock lock(opened.conninfo, "lockstep-controller " + self);
  const auto active = BecomeActive(&lock, signals);
  if (!active.ok()) return Fail(active.status());
  if (!*active) return 0;
  absl::StatusOr<uint64_t> epoch;
  absl::StatusOr<std::string> store_id;
  absl::Status ready_to_lead =
      Insist(signals, [&] { return (epoch = opened.store->AcquireEpoch(self)).status(); });
  if (ready_to_lead.ok()) {
    ready_to_lead = Insist(signals, [&] { return (store_id = opened.store->StoreId()).status(); });
  }
  if (absl::IsCancelled(ready_to_lead)) return 0;
  if (!ready_to_lead.ok()) return Fail(ready_to_lead);
  // What is spooled is of one store.
  auto spool = storage::FileSpool::Open(flags.state_directory + "/spool/" + *store_id,
                                        static_cast<uint64_t>(flags.spool_mib * 1048576));
  if (!spool.ok()) return Fail(spool.status());
  auto marks = controller::CrashMarks::Open(flags.state_directory);
  if (!marks.ok()) return Fail(marks.status());
  auto credentials = common::ServerCredentials(flags.tls);
  if (!credentials.ok()) return Fail(credentials.status());

  const common::Clock* clock = &common::SystemClock();
  controller::Watchers watchers;
  controller::ThreadLoop loop(clock, EndThisController);
  Impatience impatience(opened.store.get());
  const auto working = [&marks](const std::string& run_id) { return (*marks)->WorkOn(run_id); };
  controller::Coordinator coordinator(
      {opened.store.get(), &watchers, clock, &loop, {}, opened.place, working});
  controller::IngestPipeline::Options pipeline;
  pipeline.store = opened.store.get();
  pipeline.spool = spool->get();
  pipeline.clock = clock;
  pipeline.fenced = EndThisController;
  pipeline.store_state = [&](bool away, const std::string& reason) {
    coordinator.OnStoreState(away, reason);
  };
  pipeline.spool_full = [&](const std::string& reason) { coordinator.OnSpoolFull(reason); };
  controller::IngestPipeline ingest(std::move(pipeline));
  absl::StatusOr<controller::Inheritance> inheritance;
  absl::StatusOr<std::vector<storage::WorkerOwner>> owners;
  absl::Status inherited = Insist(signals, [&] { return ingest.Replay(); });
  if (inherited.ok()) {
    inherited = Insist(signals, [&] { return (owners = opened.store->WorkerOwners()).status(); });
  }
  if (inherited.ok()) {
    inherited = Insist(signals, [&] {
      return controller::SetAside(opened.store.get(), (*marks)->crashes(), clock);
    });
  }
  if (inherited.ok()) {
    inherited = Insist(
        signals, [&] { return (inheritance = controller::Inherit(opened.store.get())).status(); });
  }
  if (absl::IsCancelled(inherited)) return 0;
  if (!inherited.ok()) return Fail(inherited);
  std::vector<controller::Fleet::Binding> bindings;
  for (const storage::WorkerOwner& owner : *owners) {
    bindings.push_back({owner.worker_id, owner.host, owner.certificate});
  }
  controller::Fleet fleet(
      {*epoch, *store_id, static_cast<int64_t>(flags.lease_seconds * 1e9), bindings}, clock,
      {[&](const v1::Hello& hello) { coordinator.OnAttached(hello); },
       [&](const std::string& id, const v1::WorkerMessage& message) {
         coordinator.OnMessage(id, message);
       },
       [&](const std::string& id, const std::string& reason) { coordinator.OnLost(id, reason); },
       [&](const std::string& text) { coordinator.OnIntruder(text); }});
  coordinator.Start(&fleet, &ingest, *std::move(inheritance));
  ingest.StartThread();
  loop.Start();
  const auto shut_down = [&] {
    common::Queue<int> ended;
    coordinator.Shutdown([&ended] { ended.Push(0); });
    ended.Pop(kShutdownWait);
    loop.Stop();
    coordinator.DropQuestions();
  };

  const controller::ServiceParts parts{*epoch,  opened.store.get(), &coordinator, &fleet,
                                       &ingest, &watchers};
  controller::ControllerService service(parts);
  controller::WorkerGateway gateway(parts);
  grpc::ServerBuilder builder;
  // a second controller on the port must fail, not share it
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits::kWorkerBytes));
  builder.SetMaxSendMessageSize(static_cast<int>(limits::kReportBytes));
  // Connections of nobody's do not stay, and what is being received has a limit in all.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(limits::kIdleConnectionMs));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(limits::kHelloNs / 1000000));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(limits::kStreamsOfAConnection));
  builder.SetResourceQuota(
      grpc::ResourceQuota("controller").Resize(static_cast<size_t>(limits::kGrpcBytes)));
  // Workers' keepalives on idle connections (worker/link/agent.cc) are no abuse.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  std::vector<int> ports(flags.listen.size(), 0);
  for (size_t i = 0; i < flags.listen.size(); ++i) {
    builder.AddListeningPort(flags.listen[i], *credentials, &ports[i]);
  }
  builder.RegisterService(&service);
  builder.RegisterService(&gateway);
  auto server = builder.BuildAndStart();
  for (size_t i = 0; i < ports.size(); ++i) {
    if (server != nullptr && (ports[i] != 0 || flags.listen[i].rfind("unix:", 0) == 0)) continue;
    loop.Stop();
    return Fail(
        absl::UnavailableError("cannot listen on " + flags.listen[i] +
                               "; is another controller running there? (lockstep status asks it)"));
  }
  std::unique_ptr<web::Server> web;
  if (!flags.http.empty()) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kReportBytes));
    auto started =
        web::Server::Start(flags.http, flags.http_names, server->InProcessChannel(arguments));
    if (!started.ok()) {
      loop.Stop();
      return Fail(started.status());
    }
    web = *std::move(started);
  }

  std::string ready;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string address =
        flags.listen[i].substr(0, flags.listen[i].rfind(':') + 1) + std::to_string(ports[i]);
    spdlog::info("listening on {}{}", address, flags.tls.any() ? " (mutual TLS)" : " (plaintext)");
    ready += "listen " + address + "\n";
  }
  if (web != nullptr) {
    spdlog::info("web page at {}", web->url());
    ready += "http " + web->url() + "\n";
  }
  spdlog::info("store: {} (epoch {})", opened.store->Describe(), *epoch);
  if (!flags.ready_file.empty()) {
    if (absl::Status status = common::WriteFileAtomically(flags.ready_file, ready); !status.ok()) {
      loop.Stop();
      return Fail(status);
    }
  }

  // The lock is looked after meanwhile: a controller that finds another one in its place ends.
  const timespec pause{0, 300000000};
  for (int look = 1; sigtimedwait(&signals, nullptr, &pause) < 0; ++look) {
    if (opened.embedded != nullptr && look % 4 == 0) opened.embedded->KeepAlive();
    if (look % 32 == 0) opened.store->GuardReader();
    const auto held = lock.Hold();
    // After a partition it may be this one's own old session that has the lock, for some seconds
    // yet: the epoch knows.
    if (held.ok() && !*held && absl::IsAborted(opened.store->StillActive())) {
      EndThisController("another controller, " + lock.Holder() + ", is active");
    }
  }
  spdlog::info("shutting down");
  impatience.Begin();
  shut_down();
  web.reset();
  watchers.Shutdown();
  fleet.Shutdown();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // what is wrong with a message is answered to who sent it, not logged for ever
  google::protobuf::SetLogHandler(nullptr);
  Flags flags;
  CLI::App app(
      "Takes storage tests, moves workers through them in lockstep, and keeps what they measured.");
  app.set_version_flag("--version", common::kSoftwareVersion);
  app.footer(
      "Example:\n  lockstep-controller --listen 0.0.0.0:9640 --tls-cert c.pem --tls-key c.key "
      "--tls-ca ca.pem --http 127.0.0.1:9641");
  AddFlags(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  spdlog::set_default_logger(spdlog::stderr_color_mt("controller"));
  if (absl::Status status = CheckBinds(flags); !status.ok()) return Fail(status);

  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  auto opened = OpenStore(flags);
  if (!opened.ok()) return Fail(opened.status());
  return Serve(flags, *std::move(opened), signals);
}
