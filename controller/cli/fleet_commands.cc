// fleet: workers on other hosts, started, renewed and removed over ssh; and run --ssh.

#include "controller/cli/fleet_commands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/address.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"
#include "common/tls.h"
#include "common/version_text.h"
#include "controller/cli/commands.h"
#include "controller/cli/fleet_busy.h"
#include "controller/cli/local_fleet.h"
#include "controller/cli/local_signals.h"
#include "controller/cli/ssh/fleet.h"
#include "controller/pki/validity.h"

namespace lockstep::cli {
namespace {

struct FleetFlags {
  SshFlags ssh;
  std::vector<std::string> names;  // of `down`
  bool now = false;
  bool forget = false;
};

absl::StatusOr<std::vector<SshHost>> HostsOf(const SshFlags& flags) {
  std::vector<std::string> sets = flags.hosts;
  if (!flags.hosts_file.empty()) {
    const auto content = common::ReadFile(flags.hosts_file, 1 << 20);
    if (!content.ok()) {
      return absl::Status(content.status().code(),
                          "--ssh-file " + std::string(content.status().message()));
    }
    for (const std::string& set : HostFileSets(*content)) sets.push_back(set);
  }
  auto hosts = ParseHosts(sets);
  if (hosts.ok() && hosts->empty()) {
    return absl::InvalidArgumentError(absl::StrCat(flags.hosts_file, ": names no host"));
  }
  return hosts;
}

// A plaintext controller obeys everybody who reaches it. A socket in a directory of mode 0700 lets
// the user and root of a host reach it, which ssh has let in anyway. A port lets every user of the
// host. A controller with TLS obeys certificates alone, whichever way they come.
absl::Status CheckWay(const Context& context, const SshFlags& flags) {
  if (context.tls.IsTlsWanted() && flags.pki.empty()) {
    return absl::InvalidArgumentError(
        "a controller with TLS lets in no worker without a certificate; --pki DIR names the "
        "directory of `lockstep pki` whose authority is to sign the workers' certificates");
  }
  if (!context.tls.IsTlsWanted() && !flags.pki.empty()) {
    return absl::InvalidArgumentError(
        "--pki is for a controller with TLS; name it by --controller, and your own certificate by "
        "--tls-dir");
  }
  if (flags.way == "direct" && common::IsLoopback(context.controller)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--way direct: the hosts cannot dial ", context.controller,
        ", which is an address of this machine alone; name the controller by --controller"));
  }
  if (flags.way == "socket" || context.insecure || context.tls.IsTlsWanted())
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "--way ", flags.way,
      flags.way == "port" ? ": every user of a host could command the controller"
                          : ": the connection would be neither encrypted nor authenticated",
      "; --insecure-plaintext accepts that"));
}

// What a controller with TLS needs. `options->controller` is set.
absl::Status AddCertificates(const Context& context, const SshFlags& flags,
                             SshFleetOptions* options) {
  if (flags.pki.empty()) return absl::OkStatus();
  const auto life = pki::ParseValidity("--valid-for", flags.valid_for);
  if (!life.ok()) return life.status();
  // As they were given: a list of revocations must be there only where it was named.
  const auto tls = common::TlsStore::Open(context.tls);
  if (!tls.ok()) return tls.status();
  // Workers take for the controller what this command takes for it, and nothing else. The file may
  // also have a key, which is not for them.
  options->certificates = {common::AbsolutePath(flags.pki), *life,
                           common::CertificatesOnly((*tls)->Current()->authority),
                           common::HostOf(options->controller)};
  const common::TlsFiles files = common::WithoutDirectory(context.tls);
  options->tls_certificate = common::AbsolutePath(files.certificate);
  options->tls_key = common::AbsolutePath(files.key);
  options->tls_authority = common::AbsolutePath(files.authority);
  return CheckCertificates(options->certificates, absl::Now());
}

absl::StatusOr<SshFleetOptions> OptionsOf(const Context& context, const SshFlags& flags) {
  if (absl::Status way = CheckWay(context, flags); !way.ok()) return way;
  SshFleetOptions options;
  auto hosts = HostsOf(flags);
  if (!hosts.ok()) return hosts.status();
  options.hosts = *std::move(hosts);
  auto archive = FindWorkerArchive(flags.archive);
  if (!archive.ok()) return archive.status();
  options.archive = *std::move(archive);
  if (!flags.config.empty()) options.config = common::AbsolutePath(flags.config);
  options.directory = flags.directory;
  options.version = common::VersionText();
  const std::vector<std::string> addresses = absl::StrSplit(context.controller, ',');
  // --controller may name several addresses. ssh forwards to one.
  options.controller = addresses[0];
  if (options.controller.starts_with("unix:")) {
    return absl::InvalidArgumentError("--controller: ssh forwards to HOST:PORT only");
  }
  if (absl::Status status = AddCertificates(context, flags, &options); !status.ok()) return status;
  options.way = flags.way == "socket" ? SshConnection::Way::kSocket
                : flags.way == "port" ? SshConnection::Way::kPort
                                      : SshConnection::Way::kDirect;
  options.allow = flags.allow;
  for (const std::string& entry : flags.allow_expendable) {
    options.arguments.insert(options.arguments.end(), {"--allow-expendable", entry});
  }
  for (const std::string& entry : flags.allow_settings) {
    options.arguments.insert(options.arguments.end(), {"--allow-settings", entry});
  }
  options.arguments.insert(options.arguments.end(), {"--observe", flags.observe});
  if (flags.way == "direct" && !context.tls.IsTlsWanted()) {
    options.arguments.emplace_back("--insecure-plaintext");
  }
  options.allow_problems = flags.allow_problems;
  options.parallel = flags.parallel;
  options.alone_seconds = flags.alone_seconds;
  options.is_cancelled = [] { return LocalSignals::received() != 0; };
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  return options;
}

std::string NamesOf(const std::vector<FleetRecord>& fleet) {
  std::vector<std::string> names;
  for (const FleetRecord& record : fleet) names.push_back(record.name);
  return absl::StrJoin(names, " ");
}

// Names what earlier commands have left, and takes the hosts out that are among it: two workers
// would share the host's disks, and its name.
absl::Status CheckRecords(const std::vector<FleetRecord>& before, const SshFleetOptions& options) {
  if (before.empty()) return absl::OkStatus();
  std::set<std::string> taken;
  for (const FleetRecord& record : before) taken.insert(record.name);
  std::vector<std::string> twice;
  for (const SshHost& host : options.hosts) {
    if (taken.contains(host.name)) twice.push_back(host.name);
  }
  if (twice.empty()) {
    std::cerr << "up already, or not completely removed by an earlier command: " << NamesOf(before)
              << " (lockstep fleet list)\n";
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "these hosts have a worker already, or what an earlier command could not "
      "remove: ",
      absl::StrJoin(twice, " "), "; first: lockstep fleet down ", absl::StrJoin(twice, " ")));
}

size_t CountUp(const std::vector<HostOutcome>& outcomes) {
  return static_cast<size_t>(
      std::count_if(outcomes.begin(), outcomes.end(),
                    [](const HostOutcome& outcome) { return outcome.status.ok(); }));
}

// The records of what BringUp() has begun, and not of what another command has begun.
std::vector<FleetRecord> RecordsOf(const std::vector<HostOutcome>& outcomes,
                                   const FleetRecords& records) {
  std::set<std::string> own;
  for (const HostOutcome& outcome : outcomes) own.insert(outcome.token);
  auto all = records.Load();
  if (!all.ok()) return {};
  std::erase_if(*all, [&](const FleetRecord& record) { return !own.contains(record.token); });
  return *std::move(all);
}

// Brings the hosts up as `flags` say. Returns kOk, or an exit status after a message, when there is
// nothing to go on with; then everything is down again.
int BringUpOrNothing(const SshFlags& flags, const SshFleetOptions& options,
                     const FleetRecords& records, std::vector<FleetRecord>* fleet, size_t* up) {
  const auto before = records.Load();
  if (!before.ok()) return Fail(before.status());
  if (absl::Status status = CheckRecords(*before, options); !status.ok()) return Fail(status);
  const std::vector<HostOutcome> outcomes = BringUp(options, records);
  *up = CountUp(outcomes);
  *fleet = RecordsOf(outcomes, records);
  const bool cancelled = options.is_cancelled();
  // After a signal nothing may stay behind, even if every host is up.
  if (*up == outcomes.size() && !cancelled) return kOk;
  if (*up > 0 && !flags.all_or_nothing && !cancelled) return kOk;
  if (!fleet->empty()) {
    std::cerr << "ending what was started\n";
    TakeDown(*fleet, records, flags.parallel);
  }
  if (cancelled) return kCancelled;
  return Fail(*up == 0 ? std::string("no host is up")
                       : absl::StrCat(outcomes.size() - *up, " of ", outcomes.size(),
                                      " hosts failed (--all-or-nothing)"));
}

int FleetUp(const Context& context, const SshFlags& flags) {
  const auto options = OptionsOf(context, flags);
  if (!options.ok()) return Fail(options.status());
  // Asked before 64 hosts find out one by one.
  if (const auto stub = context.Connect(); !stub.ok()) return Fail(stub.status());
  const LocalSignals signals;
  const FleetRecords records(flags.state_directory);
  std::vector<FleetRecord> fleet;
  size_t up = 0;
  if (const int status = BringUpOrNothing(flags, *options, records, &fleet, &up); status != kOk) {
    return status;
  }
  std::cout << up << " of " << options->hosts.size() << " hosts are up: " << context.program
            << " run FILE runs a job on them, and " << context.program
            << " fleet down ends them and removes everything.\n";
  return up == options->hosts.size() ? kOk : kDegraded;
}

// Forgets hosts that were lost for good. A host that answers, and names what is left, keeps its
// record, as does one whose certificate is not revoked: nobody would revoke it any more.
void ForgetUnreachable(std::vector<FleetRecord> fleet, const FleetRecords& records,
                       std::vector<HostOutcome>* outcomes) {
  for (size_t i = 0; i < fleet.size(); ++i) {
    absl::Status& status = (*outcomes)[i].status;
    if (status.ok() || absl::IsFailedPrecondition(status)) continue;
    if ((*outcomes)[i].is_certified) {
      std::cerr << fleet[i].name
                << ": not forgotten, because its certificate is not revoked; --pki "
                << "names where its authority is now\n";
      continue;
    }
    status = SshConnection(&fleet[i], &records, {}).Forget();
    if (status.ok()) {
      std::cout << fleet[i].name << ": forgotten; a worker that is still there ends by itself\n";
    }
  }
}

int FleetDown(const Context& context, const FleetFlags& flags) {
  if (flags.forget && flags.names.empty()) return Fail("--forget: name the hosts");
  const FleetRecords records(flags.ssh.state_directory);
  const auto fleet = FindRecords(records, flags.names);
  if (!fleet.ok()) return Fail(fleet.status());
  if (fleet->empty()) {
    std::cout << "no such host is up, and nothing is left on one\n";
    return kOk;
  }
  // The samples of a run are delivered when it ends; a worker that ends before takes them with it.
  const auto busy = flags.now ? std::vector<std::string>() : BusyHosts(context, *fleet);
  if (!busy.ok()) return Fail(busy.status());
  if (!busy->empty()) {
    return Fail(absl::StrCat("a run is in progress on ", absl::StrJoin(*busy, " "),
                             "; wait for its end, or stop it (lockstep stop last), or give --now"));
  }
  std::vector<HostOutcome> outcomes =
      TakeDown(*fleet, records, flags.ssh.parallel, common::AbsolutePath(flags.ssh.pki));
  if (flags.forget) ForgetUnreachable(*fleet, records, &outcomes);
  for (const HostOutcome& outcome : outcomes) {
    for (const std::string& target : outcome.targets) {
      std::cout << outcome.name << ": a job's file stays: " << target << "\n";
    }
  }
  const size_t done = CountUp(outcomes);
  if (done == outcomes.size()) return kOk;
  return Fail(absl::StrCat(outcomes.size() - done, " of ", outcomes.size(),
                           " hosts are not done; lockstep fleet down tries them again. A worker "
                           "without a controller ends by itself, and removes its files"));
}

// "certificate until 2026-11-27 20:15:00Z"
std::string CertificateOf(const FleetRecord& record) {
  const absl::Time end = absl::FromUnixSeconds(record.valid_to_s);
  return absl::StrCat(end <= absl::Now() ? "CERTIFICATE EXPIRED " : "certificate until ",
                      absl::FormatTime("%Y-%m-%d %H:%M:%SZ", end, absl::UTCTimeZone()));
}

int FleetList(const FleetFlags& flags) {
  const auto fleet = FleetRecords(flags.ssh.state_directory).Load();
  if (!fleet.ok()) return Fail(fleet.status());
  for (FleetRecord record : *fleet) {
    const bool connected = SshConnection(&record, nullptr, {}).IsConnected();
    std::cout << record.name << "  " << (connected ? "connected" : "CONNECTION LOST") << "  since "
              << absl::FormatTime("%Y-%m-%d %H:%M:%SZ", absl::FromUnixSeconds(record.began_s),
                                  absl::UTCTimeZone())
              << "  " << common::Printable(record.directory)
              << (record.serial.empty() ? "" : absl::StrCat("  ", CertificateOf(record))) << "\n";
  }
  if (fleet->empty()) std::cerr << "no host is up\n";
  return kOk;
}

int FleetRenew(const FleetFlags& flags) {
  const auto life = pki::ParseValidity("--valid-for", flags.ssh.valid_for);
  if (!life.ok()) return Fail(life.status());
  const FleetRecords records(flags.ssh.state_directory);
  auto fleet = FindRecords(records, flags.names);
  if (!fleet.ok()) return Fail(fleet.status());
  std::erase_if(*fleet, [](const FleetRecord& record) { return record.serial.empty(); });
  if (fleet->empty()) return Fail("no such host is up that has a certificate (fleet list)");
  const LocalSignals signals;
  const std::vector<HostOutcome> outcomes = RenewFleet(
      *fleet, records, {common::AbsolutePath(flags.ssh.pki), *life, flags.ssh.parallel, [] {
                          return LocalSignals::received() != 0;
                        }});
  const size_t done = CountUp(outcomes);
  if (done == outcomes.size()) return kOk;
  return Fail(absl::StrCat(outcomes.size() - done, " of ", outcomes.size(),
                           " hosts have no new certificate; lockstep fleet renew tries again, and "
                           "lockstep fleet list shows when the old ones expire"));
}

void AddSshFlags(CLI::App* command, SshFlags* flags) {
  flags->state_directory = common::DefaultStateDirectory();
  command->add_option("--ssh-file", flags->hosts_file, "A file with hosts for --ssh");
  command->add_option("--ssh-config", flags->config,
                      "The configuration file for ssh, instead of the user's");
  command->add_option("--worker-archive", flags->archive,
                      "The worker's portable archive (tools/package); otherwise the one beside "
                      "this program");
  command->add_option(
      "--remote-directory", flags->directory,
      "The host's directory for the worker: local, executable storage that is not under "
      "test; otherwise TMPDIR, /tmp, /var/tmp, the home directory or /dev/shm");
  command
      ->add_option("--way", flags->way,
                   "How workers reach the controller: a socket or a port of the host that ssh "
                   "forwards, or directly")
      ->check(CLI::IsMember({"socket", "port", "direct"}))
      ->capture_default_str();
  command->add_option("--pki", flags->pki,
                      "For a controller with TLS: the directory of `lockstep pki` whose authority "
                      "signs a certificate for each worker; it is revoked when the worker ends");
  command
      ->add_option("--valid-for", flags->valid_for,
                   "With --pki: for how long a worker's certificate is valid: 24h, 30d")
      ->capture_default_str();
  command->add_flag("--all-or-nothing", flags->all_or_nothing,
                    "If a host fails, end the others again");
  command->add_flag("--allow-problems", flags->allow_problems,
                    "Start the worker also on a host on which the doctor finds a problem");
  command->add_option("--parallel", flags->parallel, "How many hosts at once")
      ->check(CLI::Range(int64_t{1}, limits::kSshAtOnce))
      ->capture_default_str();
  command
      ->add_option("--alone", flags->alone_seconds,
                   "A worker that has had no controller for so many seconds ends, and everything "
                   "is removed")
      ->check(CLI::Range(5, 86400))
      ->capture_default_str();
}

void AddRenew(CLI::App* fleet, const std::shared_ptr<FleetFlags>& flags, int* status) {
  CLI::App* renew = fleet->add_subcommand(
      "renew", "Give the workers new certificates while they go on, before theirs expire");
  renew->add_option("HOST", flags->names, "These hosts only; all without it");
  renew->add_option("--pki", flags->ssh.pki,
                    "The directory of the authority that signs the certificates; otherwise the one "
                    "that fleet up used");
  renew
      ->add_option("--valid-for", flags->ssh.valid_for,
                   "For how long the new certificates are valid, from now: 24h, 30d")
      ->capture_default_str();
  renew->add_option("--parallel", flags->ssh.parallel, "How many hosts at once")
      ->check(CLI::Range(int64_t{1}, limits::kSshAtOnce))
      ->capture_default_str();
  renew->footer("Example:\n  lockstep fleet renew --valid-for 7d");
  renew->callback([=] { *status = FleetRenew(*flags); });
}

}  // namespace

void AddSshRunFlags(CLI::App* command, SshFlags* flags) {
  // The words that follow may be the job file: more hosts are given by commas, or by the option
  // again.
  command
      ->add_option("--ssh", flags->hosts,
                   "Start workers on these hosts for this command, and remove them afterwards: "
                   "node1 or user@node[1-8], as ssh is told; a controller is started here unless "
                   "--controller names one")
      ->allow_extra_args(false);
  AddSshFlags(command, flags);
}

int WithSshFleet(const Context& caller, const SshFlags& ssh, const LocalFlags& local,
                 const std::function<int(const Context&)>& run) {
  if (!ssh.any()) return WithLocalFleet(caller, local, run);
  SshFlags flags = ssh;
  flags.allow = local.allow;
  flags.allow_expendable = local.allow_expendable;
  flags.allow_settings = local.allow_settings;
  flags.observe = local.observe;
  flags.state_directory = common::AbsolutePath(local.state_directory);
  Context context = caller;
  std::unique_ptr<LocalFleet> controller;
  // The controller that is started below listens on loopback, without TLS.
  if (!caller.is_controller_given) context.tls = {};
  // Wrong flags are reported before anything is started.
  if (const auto options = OptionsOf(context, flags); !options.ok()) return Fail(options.status());
  const LocalSignals signals;
  if (!caller.is_controller_given) {
    LocalFleet::Options options;
    options.is_cancelled = [] { return LocalSignals::received() != 0; };
    options.state_directory = flags.state_directory;
    options.listen = "127.0.0.1:0";
    options.workers = 0;
    options.store_filesystem = true;
    options.quiet = true;
    auto started = LocalFleet::Start(options);
    if (absl::IsCancelled(started.status())) return kCancelled;
    if (!started.ok()) return Fail(started.status());
    controller = *std::move(started);
    context.controller = controller->address();
    context.up_command = "lockstep up";
  }
  // The workers end with this command, and so must the run.
  context.is_local = true;
  // Made again, with the address of the controller that was started.
  const auto options = OptionsOf(context, flags);
  if (!options.ok()) return Fail(options.status());
  const FleetRecords records(flags.state_directory);
  std::vector<FleetRecord> fleet;
  size_t up = 0;
  int status = BringUpOrNothing(flags, *options, records, &fleet, &up);
  if (status != kOk) return status;
  status = LocalSignals::received() != 0 ? static_cast<int>(kCancelled) : run(context);
  const std::vector<HostOutcome> ended = TakeDown(fleet, records, flags.parallel);
  if (CountUp(ended) == ended.size()) return status;
  std::cerr << "lockstep: not every host is done; lockstep fleet down tries them again\n";
  // The run's own exit status says more, unless it is a success.
  return status == kOk ? static_cast<int>(kError) : status;
}

void AddFleetCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<FleetFlags>();
  CLI::App* fleet = app->add_subcommand("fleet", "Workers on other hosts, over ssh");
  fleet->require_subcommand(1);
  CLI::App* up = fleet->add_subcommand(
      "up", "Copy a worker to each host, start it, and connect it to the controller");
  up->add_option("--ssh", flags->ssh.hosts, "The hosts, as ssh is told: node1 user@node[2-64]");
  AddSshFlags(up, &flags->ssh);
  up->add_option("--allow", flags->ssh.allow,
                 "A directory, file or device of the hosts, or a device's identity, that jobs may "
                 "use; may be given several times")
      ->allow_extra_args(false)
      ->required();
  up->add_option("--allow-expendable", flags->ssh.allow_expendable,
                 "Identity of a device that jobs may overwrite although it carries a signature or "
                 "data; may be given several times")
      ->allow_extra_args(false);
  up->add_option("--allow-settings", flags->ssh.allow_settings,
                 "A device whose scheduler and queue jobs may change for a phase, or a mount point "
                 "that they may remount; may be given several times")
      ->allow_extra_args(false);
  up->add_option("--observe", flags->ssh.observe,
                 "Which block devices observe phases see: those that --allow covers (allowed), or "
                 "all of the host (all)")
      ->check(CLI::IsMember({"allowed", "all"}))
      ->capture_default_str();
  up->footer(
      "Exit status: 0 all hosts are up, 7 some are, 1 none is.\nExample:\n  lockstep fleet "
      "up --ssh node[1-16] --allow /mnt/san\n  lockstep fleet up --ssh node[1-16] --allow /mnt/san "
      "--controller ctl:9640 --tls-dir anna --pki lockstep-pki");
  up->callback([=] {
    *status = flags->ssh.any() ? FleetUp(*context, flags->ssh)
                               : Fail("name hosts with --ssh or --ssh-file");
  });
  CLI::App* down = fleet->add_subcommand(
      "down", "End the workers, and remove everything that fleet up has put on the hosts");
  down->add_option("HOST", flags->names, "These hosts only; all without it");
  down->add_option(
      "--pki", flags->ssh.pki,
      "The directory of the authority that has signed the workers' certificates; otherwise "
      "the one that fleet up used");
  down->add_flag("--now", flags->now, "Also while a run is in progress, whose samples are lost");
  down->add_flag(
      "--forget", flags->forget,
      "Forget those of the named hosts that cannot be reached, or do not answer any more");
  down->footer("Example:\n  lockstep fleet down");
  down->callback([=] { *status = FleetDown(*context, *flags); });
  AddRenew(fleet, flags, status);
  CLI::App* list = fleet->add_subcommand(
      "list", "Show the hosts that are up, or that an earlier command could not clean up");
  list->footer("Example:\n  lockstep fleet list");
  list->callback([=] { *status = FleetList(*flags); });
}

}  // namespace lockstep::cli
