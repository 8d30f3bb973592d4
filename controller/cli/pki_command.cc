// pki: init, issue, list, renew, revoke

#include <iostream>
#include <memory>
#include <optional>

#include "absl/time/clock.h"
#include "common/files.h"
#include "common/limits.h"
#include "common/text.h"
#include "controller/cli/commands.h"
#include "controller/pki/pki_directory.h"
#include "controller/pki/validity.h"
#include "controller/report/text_table.h"
#include "nlohmann/json.hpp"

namespace lockstep::cli {
namespace {

struct PkiFlags {
  std::string directory = "lockstep-pki";
  std::string authority_name = "Lockstep";
  std::string authority_life = "3650d";
  std::string kind, name;
  std::string role = "submitter";
  std::vector<std::string> addresses;
  std::string life = "365d";
  // Apart from `life`, whose default is that of `issue`: without --valid, `renew` keeps the old
  // length.
  std::string renewed_life;
  std::string csr;
  std::string serial;
  std::string format = "text";
};

pki::Holder HolderOf(const PkiFlags& flags) {
  if (flags.kind == "controller") return pki::Holder::kController;
  if (flags.kind == "worker") return pki::Holder::kWorker;
  return flags.role == "admin"       ? pki::Holder::kAdmin
         : flags.role == "submitter" ? pki::Holder::kSubmitter
                                     : pki::Holder::kViewer;
}

int Init(const PkiFlags& flags) {
  const auto life = pki::ParseValidity("--valid", flags.authority_life);
  if (!life.ok()) return Fail(life.status());
  const absl::Status made =
      pki::PkiDirectory::Init(flags.directory, flags.authority_name, absl::Now(), *life);
  if (!made.ok()) return Fail(made);
  std::cout << flags.directory << " has a new authority. Its key, " << flags.directory
            << "/ca.key, permits everything: keep it here, and off the hosts.\nNext: "
            << "lockstep pki issue controller HOST\n";
  return kOk;
}

int Issue(const PkiFlags& flags) {
  const auto life = pki::ParseValidity("--valid", flags.life);
  if (!life.ok()) return Fail(life.status());
  std::optional<std::string> csr;
  if (!flags.csr.empty()) {
    // The file comes from another machine: its size is bounded before OpenSSL parses it.
    auto read = common::ReadRegularFile(flags.csr, static_cast<size_t>(limits::kCertificateBytes));
    if (!read.ok()) return Fail(read.status());
    csr = *std::move(read);
  }
  auto directory = pki::PkiDirectory::Open(flags.directory);
  if (!directory.ok()) return Fail(directory.status());
  pki::Request request;
  request.holder = HolderOf(flags);
  request.name = flags.name;
  request.addresses = flags.addresses;
  // Workers and people dial a controller by the name that it has been given here.
  if (request.holder == pki::Holder::kController) {
    request.addresses.insert(request.addresses.begin(), flags.name);
  }
  request.not_before = absl::Now();
  request.not_after = request.not_before + *life;
  const auto made = directory->Issue(request, csr);
  if (!made.ok()) return Fail(made.status());
  std::cout << *made << " has what " << flags.name << " needs"
            << (csr ? ", but for the key, which stays where the request was made" : "")
            << ". Copy it there with its modes (scp -rp)";
  if (request.holder == pki::Holder::kController) {
    std::cout << ", and start: lockstep-controller --listen 0.0.0.0:9640 --tls-dir " << *made
              << "\n";
  } else if (request.holder == pki::Holder::kWorker) {
    std::cout << ", and start: lockstep-worker --controller HOST:9640 --allow PATH --tls-dir "
              << flags.name << "\n";
  } else {
    std::cout << ", and use: lockstep --controller HOST:9640 --tls-dir " << flags.name
              << " status\n";
  }
  return kOk;
}

const char* StateOf(const pki::Issued& issued, absl::Time now) {
  if (issued.revoked) return "revoked";
  switch (common::ValidityAt(issued.facts, now)) {
    case common::Validity::kExpired:
      return "EXPIRED";
    // A certificate that was replaced may expire. Only the newest of a name is worth a warning.
    case common::Validity::kSoonExpired:
      return issued.replaced ? "renewed" : "EXPIRES SOON";
    case common::Validity::kValid:
      return issued.replaced ? "renewed" : "valid";
  }
  return "?";
}

int List(const PkiFlags& flags, size_t width) {
  const auto directory = pki::PkiDirectory::Open(flags.directory);
  if (!directory.ok()) return Fail(directory.status());
  const auto list = directory->List();
  if (!list.ok()) return Fail(list.status());
  const absl::Time now = absl::Now();
  const auto instant = [](absl::Time time) {
    return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
  };
  if (flags.format == "json") {
    nlohmann::ordered_json all = {{"authority",
                                   {{"name", directory->authority().name},
                                    {"not_after", instant(directory->authority().not_after)}}},
                                  {"certificates", nlohmann::ordered_json::array()}};
    for (const pki::Issued& issued : *list) {
      all["certificates"].push_back({{"name", issued.facts.name},
                                     {"role", pki::HolderName(issued.holder)},
                                     {"state", StateOf(issued, now)},
                                     {"not_after", instant(issued.facts.not_after)},
                                     {"serial", issued.facts.serial}});
    }
    std::cout << all.dump(2) << "\n";
    return kOk;
  }
  controller::TextTable table({"name", "role", "state", "until (UTC)", "serial"}, {0, 1, 2, 3, 4},
                              {0});
  for (const pki::Issued& issued : *list) {
    table.Add({issued.facts.name, pki::HolderName(issued.holder), StateOf(issued, now),
               instant(issued.facts.not_after), issued.facts.serial});
  }
  // An authority may come from elsewhere (`pki` opens any directory with one): its name is
  // untrusted text.
  std::cout << "the authority " << common::Printable(directory->authority().name, 80) << " "
            << common::DescribeExpiry(directory->authority(), now) << "\n"
            << (table.empty() ? "nothing was issued yet\n" : table.Render("", width));
  return kOk;
}

int Renew(const PkiFlags& flags) {
  std::optional<absl::Duration> life;
  if (!flags.renewed_life.empty()) {
    const auto parsed = pki::ParseValidity("--valid", flags.renewed_life);
    if (!parsed.ok()) return Fail(parsed.status());
    life = *parsed;
  }
  auto directory = pki::PkiDirectory::Open(flags.directory);
  if (!directory.ok()) return Fail(directory.status());
  const auto file = directory->Renew(flags.name, absl::Now(), life);
  if (!file.ok()) return Fail(file.status());
  std::cout << *file << " is new. Copy it over the old cert.pem of " << flags.name
            << ", whose programs read it by themselves. The key is the same.\n";
  return kOk;
}

int Revoke(const PkiFlags& flags) {
  // A name stands for all of its certificates, also those of fleets. Both together could
  // contradict.
  if (flags.name.empty() == flags.serial.empty()) {
    return Fail("say which: a NAME, or a certificate with --serial; `lockstep pki list` has both");
  }
  auto directory = pki::PkiDirectory::Open(flags.directory);
  if (!directory.ok()) return Fail(directory.status());
  const auto revoked = directory->Revoke(flags.name, flags.serial, absl::Now());
  if (!revoked.ok()) return Fail(revoked.status());
  std::cout << *revoked << (*revoked == 1 ? " certificate is" : " certificates are")
            << " newly revoked. A controller whose --tls-dir is in " << flags.directory
            << " knows it within seconds. To any other, copy " << flags.directory << "/crl.pem\n";
  return kOk;
}

CLI::Option* AddName(CLI::App* app, PkiFlags* flags, const char* what) {
  return app->add_option("name", flags->name, what)->type_name("NAME");
}

void AddIssue(CLI::App* pki, const std::shared_ptr<PkiFlags>& flags, int* status) {
  CLI::App* issue = pki->add_subcommand(
      "issue", "Make a key and a certificate for a controller, a worker or a user");
  issue->add_option("kind", flags->kind, "controller, worker or user")
      ->required()
      ->check(CLI::IsMember({"controller", "worker", "user"}));
  AddName(issue, flags.get(),
          "Whose it is; of a controller, the host's name or address by which others reach it")
      ->required();
  issue->add_option("--role", flags->role, "The rights of a user")
      ->check(CLI::IsMember({"viewer", "submitter", "admin"}))
      ->capture_default_str();
  issue
      ->add_option("--address", flags->addresses,
                   "Another name or address of a controller; may be given several times")
      ->allow_extra_args(false);
  issue->add_option("--valid", flags->life, "For how long: 365d, 12h, 30m")->capture_default_str();
  issue->add_option("--csr", flags->csr,
                    "A file with a certificate request (PEM), for a key that stays where it is; "
                    "names in it do not count");
  issue->footer(
      "Examples:\n  lockstep pki issue controller ctl.example --address 192.0.2.10\n  lockstep pki "
      "issue worker node1\n  lockstep pki issue user anna --role admin --valid 90d");
  issue->callback([=] { *status = Issue(*flags); });
}

}  // namespace

void AddPkiCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<PkiFlags>();
  CLI::App* pki = app->add_subcommand(
      "pki", "Certificates of an authority of your own: init, issue, list, renew, revoke");
  pki->require_subcommand(1);
  pki->add_option("--dir", flags->directory, "The authority's directory")
      ->envname("LOCKSTEP_PKI_DIR")
      ->capture_default_str();
  pki->footer(
      "Example:\n  lockstep pki init\n  lockstep pki issue controller ctl.example\n  lockstep pki "
      "issue worker node1");

  CLI::App* init = pki->add_subcommand("init", "Make an authority in a new directory");
  init->add_option("--name", flags->authority_name, "The authority's name")->capture_default_str();
  init->add_option("--valid", flags->authority_life, "For how long: 3650d")->capture_default_str();
  init->callback([=] { *status = Init(*flags); });

  AddIssue(pki, flags, status);

  CLI::App* list =
      pki->add_subcommand("list", "The issued certificates, and until when they are valid");
  list->add_option("--format", flags->format, "How to print")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  list->callback([=] { *status = List(*flags, context->Width()); });

  CLI::App* renew =
      pki->add_subcommand("renew", "Sign a holder's certificate anew, with the same key");
  AddName(renew, flags.get(), "Whose")->required();
  renew->add_option("--valid", flags->renewed_life, "For how long; as before without it");
  renew->callback([=] { *status = Renew(*flags); });

  CLI::App* revoke = pki->add_subcommand(
      "revoke", "Make certificates of a holder count no more; open streams end");
  AddName(revoke, flags.get(), "Whose: all that have not expired");
  revoke->add_option("--serial", flags->serial, "One certificate instead, as `list` shows it");
  revoke->callback([=] { *status = Revoke(*flags); });
}

}  // namespace lockstep::cli
