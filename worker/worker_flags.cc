#include "worker/worker_flags.h"

namespace lockstep::worker {
namespace {

void AddDoctorFlags(CLI::App* app, Flags* flags) {
  CLI::Option* doctor =
      app->add_option("--doctor", flags->doctor,
                      "Only check this host with the other flags as they are given, and the way to "
                      "the controller (all) or not (host), and end: with 0 if all is well, 1 with "
                      "warnings, 2 with problems. Changes nothing")
          ->expected(0, 1)
          ->default_str("all")
          ->check(CLI::IsMember({"all", "host"}));
  app->add_flag("--doctor-json", flags->doctor_json, "With --doctor: print JSON")->needs(doctor);
}

void AddSyntheticAndSpoolFlags(CLI::App* app, Flags* flags) {
  app->add_option("--simulate", flags->simulate,
                  "Rehearse a fleet: attach this many synthetic workers, which do no I/O and make "
                  "their figures up")
      ->check(CLI::Range(1, 100000));
  app->add_option(
         "--simulate-iops", flags->simulate_iops,
         "I/Os of each kind in an interval, of the synthetic workers in turn: 1000,10000,50000")
      ->delimiter(',')
      ->capture_default_str();
  app->add_option("--outbox-memory-mib", flags->outbox_memory_mib,
                  "Samples that no controller has committed yet are kept in memory up to this, MiB")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app->add_option("--outbox-disk-mib", flags->outbox_disk_mib,
                  "… then in the state directory up to this, MiB; beyond it the phase is stopped")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 30));
  app->add_option("--end-when-alone", flags->end_when_alone_s,
                  "End when there has been no controller for so many seconds; never without it")
      ->check(CLI::Range(1, 86400 * 365));
  app->add_flag("--restore-settings", flags->restore_settings,
                "Only restore the settings that a killed worker with this --state-dir has left "
                "changed, and end");
}

}  // namespace

void AddFlags(CLI::App* app, Flags* flags) {
  app->add_option("--controller", flags->controllers,
                  "HOST:PORT of the controller; several are tried in turn")
      ->capture_default_str();
  app->add_option("--allow", flags->allow,
                  "A directory, file or device, a device's identity, or an iSCSI LUN "
                  "(iscsi://HOST/IQN/LUN, or without LUN all of a target), that jobs may use; "
                  "everything else is refused");
  app->add_option("--allow-expendable", flags->allow_expendable,
                  "Identity of a device that jobs may overwrite although it carries a signature or "
                  "data (see lockstep devices)");
  app->add_flag(
      "--allow-enroll", flags->allow_enroll,
      "Let admins enrol devices that --allow names (lockstep devices enroll). After that, "
      "jobs overwrite these without asking");
  app->add_option("--approve-label", flags->approve_labels,
                  "KEY=VALUE: a job with this label overwrites what is expendable here without a "
                  "plan's token (for CI)");
  app->add_option("--allow-settings", flags->allow_settings,
                  "A device, or its identity, whose scheduler and queue jobs may change for a "
                  "phase, or a mount point that they may remount");
  app->add_option(
         "--observe", flags->observe,
         "Which block devices observe phases see, without opening them: those that --allow "
         "covers (allowed), or all of the host (all)")
      ->check(CLI::IsMember({"allowed", "all"}))
      ->capture_default_str();
  app->add_option("--adopt", flags->adopt,
                  "Only sign a mark for this file, which was not made by a worker of this fleet, "
                  "and end: jobs may then overwrite and remove it")
      ->check(CLI::ExistingFile);
  app->add_option("--iscsi-initiator", flags->iscsi_initiator,
                  "This worker's iSCSI name, by which arrays give it LUNs; otherwise "
                  "iqn.2026-11.lockstep:HOST");
  app->add_option("--iscsi-secrets", flags->iscsi_secrets,
                  "A file that only its owner reads, with lines of TARGET USER PASSWORD for CHAP; "
                  "or LOCKSTEP_ISCSI_USER and LOCKSTEP_ISCSI_PASSWORD in the environment");
  app->add_option("--state-dir", flags->state_directory, "The directory of this worker's identity")
      ->capture_default_str();
  app->add_option("--name", flags->name,
                  "Name of this host in reports; its own host name otherwise");
  app->add_option("--label", flags->labels, "KEY=VALUE by which jobs can select this worker");
  app->add_option("--tls-cert", flags->tls.certificate, "PEM certificate of this worker");
  app->add_option("--tls-key", flags->tls.key, "PEM key of the certificate");
  app->add_option("--tls-ca", flags->tls.authority,
                  "PEM certificate of the authority that signed the controller's");
  app->add_option(
      "--tls-dir", flags->tls.directory,
      "A directory with cert.pem, key.pem and ca.pem, as `lockstep pki issue` makes it, "
      "instead of the three");
  app->add_option("--tls-server-name", flags->tls.server_name,
                  "The name or address that the controller's certificate must have, where that is "
                  "not the one that is dialled: a socket or port that ssh forwards");
  app->add_option("--request-certificate", flags->key_directory,
                  "Only make a key in this directory, print a request for its certificate, and "
                  "end. A line of standard input, unless that is a terminal, is its challenge");
  AddSyntheticAndSpoolFlags(app, flags);
  app->add_flag("--insecure-plaintext", flags->insecure,
                "Dial a controller on another machine without TLS");
  AddDoctorFlags(app, flags);
}

}  // namespace lockstep::worker
