// devices: what the hosts have, and which of it is Lockstep's to overwrite.

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/commands.h"
#include "controller/report/json.h"
#include "controller/report/text_table.h"
#include "proto/fields.h"

namespace lockstep::cli {
namespace {

using controller::TextTable;

// A device under one row: of a kernel once, whatever number of workers it has; of a LUN once,
// whatever number of hosts sees it.
struct ListedDevice {
  const v1::BlockDevice* device = nullptr;  // of those who see it, one who may look at it
  std::vector<std::pair<std::string, std::string>> seen;  // by host: its path there
  std::set<std::string> uses;
  std::set<std::string> paths;  // with their states
  bool tells_paths = false;
  std::map<std::string, std::set<std::string>> names;  // by kernel: its paths there
};

// The LUNs that a host reaches over several paths at once: each of these is no device of its own.
std::set<std::string> MappedOf(const v1::HostDevices& host) {
  std::set<std::string> mapped;
  for (const v1::BlockDevice& device : host.devices()) {
    if (device.transport() == "multipath") mapped.insert(device.identity());
  }
  return mapped;
}

// Whether the identity means the same thing on every host. These prefixes stand for what the device
// or the target reports; a path or a number of the kernel means something to one host only.
bool IsGlobal(const std::string& identity) {
  for (const char* prefix : {"naa.", "eui.", "t10.", "uuid.", "nvme.", "iqn."}) {
    if (identity.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

// Its hosts, and its path there: one where all have the same.
std::pair<std::string, std::string> WhereSeen(const ListedDevice& listed) {
  std::set<std::string> distinct;
  std::vector<std::string> hosts;
  std::vector<std::string> paths;
  for (const auto& [host, path] : listed.seen) {
    distinct.insert(path);
    hosts.push_back(host);
    paths.push_back(path);
  }
  return {absl::StrJoin(hosts, " "),
          distinct.size() == 1 ? *distinct.begin() : absl::StrJoin(paths, " ")};
}

// The ways to it, where there are several or one of them does not run: "sda running, sdb offline".
std::string PathsOf(const ListedDevice& listed) {
  std::vector<std::string> words(listed.paths.begin(), listed.paths.end());
  return listed.tells_paths ? absl::StrCat("; paths: ", absl::StrJoin(words, ", ")) : "";
}

// Names the devices of this identity on a kernel that has several: two paths to one LUN, or two
// LUNs that were given the same.
std::string TwinsOf(const ListedDevice& listed) {
  for (const auto& [kernel, names] : listed.names) {
    if (names.size() < 2) continue;
    return absl::StrCat("; ", names.size(),
                        " devices of one host have this identity: ", absl::StrJoin(names, ", "));
  }
  return "";
}

std::string StateOf(const ListedDevice& listed) {
  const std::string paths = TwinsOf(listed) + PathsOf(listed);
  if (!listed.uses.empty()) return absl::StrJoin(listed.uses, "; ") + paths;
  if (!listed.device->enrolled().empty()) {
    return absl::StrCat("enrolled ", listed.device->enrolled(), paths);
  }
  if (!listed.device->allowed()) return "not used now; not looked at (outside --allow)" + paths;
  return (listed.device->blank() ? "blank"
                                 : "samples find nothing; blank if a run can read it whole") +
         paths;
}

void PrintDevices(const v1::DevicesReply& reply, size_t width) {
  std::map<std::string, ListedDevice> devices;
  std::vector<std::string> order;
  std::set<std::string> taken;  // devices of kernels
  TextTable table({"hosts", "device", "size", "by", "identity", "state"}, {0, 1, 3, 4, 5}, {0, 1});
  for (const v1::HostDevices& host : reply.hosts()) {
    if (!host.missing().empty()) {
      table.Add({host.host(), "-", "-", "-", "-", host.missing()});
    }
    const std::set<std::string> mapped = MappedOf(host);
    for (const v1::BlockDevice& device : host.devices()) {
      // The multipath device stands for its paths, which are no devices to choose by themselves.
      if (device.transport() != "multipath" && mapped.contains(device.identity())) continue;
      const std::string here = absl::StrCat(host.boot_id(), "/", device.name());
      const bool is_lun = device.name() == device.path();
      const std::string key = IsGlobal(device.identity()) ? device.identity() : here;
      ListedDevice& listed = devices[key];
      if (listed.device == nullptr) order.push_back(key);
      // Only a worker that may open the device knows what is on it, so its view is shown.
      const bool better =
          listed.device == nullptr || (device.allowed() && !listed.device->allowed());
      if (better) listed.device = &device;
      const bool looked = device.allowed() || !device.in_use().empty();
      if (looked && !device.in_use().empty()) listed.uses.insert(device.in_use());
      for (const v1::DevicePath& path : device.paths()) {
        // The kernel calls a SCSI device that works `running`, and an NVMe controller `live`.
        const bool runs = path.state() == "running" || path.state() == "live";
        listed.tells_paths = listed.tells_paths || !runs || device.paths_size() > 1;
        listed.paths.insert(absl::StrCat(path.name(), " ", path.state()));
      }
      listed.names[host.boot_id()].insert(device.path());
      // Several workers of one kernel report the same device, which then counts once. A LUN is not
      // part of a kernel, so each worker reports its own way to it.
      if (is_lun || taken.insert(here).second) {
        listed.seen.emplace_back(host.host(), device.path());
      }
    }
  }
  for (const std::string& key : order) {
    const ListedDevice& listed = devices[key];
    const v1::BlockDevice& device = *listed.device;
    const auto [hosts, path] = WhereSeen(listed);
    table.Add({hosts, path, common::FormatSize(static_cast<double>(device.size_bytes())),
               device.transport().empty() ? "-" : device.transport(),
               device.identity().empty() ? "-" : device.identity(), StateOf(listed)});
  }
  std::cout << (table.empty() ? "no device: no worker is attached, or none has one\n"
                              : table.Render("", width));
}

int ShowDevices(const Context& context, const std::string& format) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::DevicesReply reply;
  const grpc::Status status = (*stub)->GetDevices(&call, {}, &reply);
  if (!status.ok()) return Fail(status);
  if (format == "json") {
    std::cout << controller::ToJson(reply);
    return kOk;
  }
  v1::CleanTexts(&reply);
  PrintDevices(reply, context.Width());
  return kOk;
}

// The selection of the devices, as on a command line.
std::string SelectionOf(const v1::EnrollRequest& request) {
  std::string text;
  if (!request.hosts().empty()) {
    absl::StrAppend(&text, " --hosts ", absl::StrJoin(request.hosts(), ","));
  }
  if (!request.model().empty()) absl::StrAppend(&text, " --model '", request.model(), "'");
  for (const std::string& identity : request.identities()) absl::StrAppend(&text, " ", identity);
  return common::Printable(text);
}

enum class StampCommand { kEnroll, kRelease };

StampCommand CommandOf(const v1::EnrollRequest& request) {
  return request.release() ? StampCommand::kRelease : StampCommand::kEnroll;
}

// Both parts of a reply: what is written to, and what is not, with the reasons.
void PrintListing(const v1::EnrollReply& reply, StampCommand command, size_t width) {
  const bool release = command == StampCommand::kRelease;
  TextTable table({"hosts", "device", "size", "identity", release ? "enrolled" : "carries"},
                  {0, 1, 3, 4}, {1, 3});
  for (const v1::EnrollDevice& device : reply.devices()) {
    if (!device.left_out().empty()) continue;
    const std::string carries =
        device.carries().empty() ? "nothing that samples find" : device.carries();
    table.Add({absl::StrJoin(device.hosts(), " "), device.path(),
               common::FormatSize(static_cast<double>(device.size_bytes())), device.identity(),
               release ? device.enrolled() : carries});
  }
  if (!table.empty()) std::cout << table.Render("", width);
  for (const v1::EnrollDevice& device : reply.devices()) {
    if (device.left_out().empty()) continue;
    std::cout << "left out: " << device.host() << " " << device.path() << ": " << device.left_out()
              << "\n";
  }
}

int CountOf(const v1::EnrollReply& reply) {
  int count = 0;
  for (const v1::EnrollDevice& device : reply.devices()) count += device.left_out().empty() ? 1 : 0;
  return count;
}

std::string Devices(int count) { return absl::StrCat(count, count == 1 ? " device" : " devices"); }

// Whether every device that matches is as it was asked for by now.
bool IsAllDone(const v1::EnrollReply& reply, StampCommand command) {
  return std::all_of(
      reply.devices().begin(), reply.devices().end(), [command](const v1::EnrollDevice& device) {
        const bool was_enrolled = command == StampCommand::kEnroll && !device.enrolled().empty();
        return device.left_out().empty() || was_enrolled;
      });
}

int SayWhatWasDone(const v1::EnrollReply& reply, const v1::EnrollRequest& request) {
  const int done = reply.carried_out() ? CountOf(reply) : 0;
  std::cout << Devices(done) << (request.release() ? " released" : " enrolled") << "\n";
  return IsAllDone(reply, CommandOf(request)) ? kOk : kError;
}

// Lists, asks, and carries out what was confirmed.
int EnrollDevices(const Context& context, v1::EnrollRequest request, const std::string& format) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  const auto ask = [&stub](const v1::EnrollRequest& what, v1::EnrollReply* reply) {
    grpc::ClientContext call;
    return (*stub)->Enroll(&call, what, reply);
  };
  v1::EnrollReply reply;
  if (const grpc::Status status = ask(request, &reply); !status.ok()) return Fail(status);
  if (format == "json") {
    std::cout << controller::ToJson(reply);
    // The listing that a script asks for to confirm it later is no failure.
    if (!reply.token().empty()) return kOk;
    const bool is_any = !reply.devices().empty() || request.release();
    return is_any && IsAllDone(reply, CommandOf(request)) ? kOk : kError;
  }
  v1::CleanTexts(&reply);
  PrintListing(reply, CommandOf(request), context.Width());
  const bool is_order = request.release() || !request.confirm().empty();
  if (is_order) return SayWhatWasDone(reply, request);
  if (reply.token().empty()) {
    std::cout << "nothing to enrol\n";
    return !reply.devices().empty() && IsAllDone(reply, StampCommand::kEnroll) ? kOk : kError;
  }
  const int count = CountOf(reply);
  std::cout << "All data on " << (count == 1 ? "this device" : "these devices")
            << " is lost at once. After that, jobs overwrite " << (count == 1 ? "it" : "them")
            << " without asking.\n";
  // The exit status is an error: a script must not take the listing for an enrolment.
  if (!IsInteractive()) {
    std::cout << "nothing was written; to enrol " << Devices(count) << ": lockstep devices enroll"
              << SelectionOf(request) << " --confirm " << reply.token() << "\n";
    return kError;
  }
  if (!SaysYes(absl::StrCat("type yes to enrol ", Devices(count), ": "))) {
    return Fail("nothing was written");
  }
  // The token covers the listing that was just shown. If anything has changed since, the controller
  // refuses, and nothing is written.
  request.set_confirm(reply.token());
  v1::EnrollReply enrolled;
  if (const grpc::Status status = ask(request, &enrolled); !status.ok()) return Fail(status);
  v1::CleanTexts(&enrolled);
  for (const v1::EnrollDevice& device : enrolled.devices()) {
    if (device.left_out().empty()) continue;
    std::cout << device.host() << " " << device.path() << ": " << device.left_out() << "\n";
  }
  return SayWhatWasDone(enrolled, request);
}

// Splits at the commas outside of brackets: node[1,3],node5 has two parts.
std::vector<std::string> SplitHosts(const std::string& list) {
  std::vector<std::string> hosts(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      hosts.emplace_back();
    } else {
      hosts.back() += c;
    }
  }
  return hosts;
}

// enroll and release.
void AddStampCommand(CLI::App* devices, const Context* context, int* status,
                     StampCommand stamp_command) {
  const bool release = stamp_command == StampCommand::kRelease;
  const auto request = std::make_shared<v1::EnrollRequest>();
  // CLI11 fills vectors of the standard library, not repeated fields of protobuf.
  const auto hosts = std::make_shared<std::vector<std::string>>();
  const auto names = std::make_shared<std::vector<std::string>>();
  const auto format = std::make_shared<std::string>("text");
  CLI::App* command = devices->add_subcommand(
      release ? "release" : "enroll",
      release ? "Take the stamps of enrolled devices off (admin)"
              : "Stamp devices, so that jobs may overwrite them without asking (admin)");
  command->add_option(
      "DEVICE", *names,
      "Identities, or paths as `lockstep devices` or the workers' --allow have them");
  command->add_option("--hosts", *hosts, "Only devices that these hosts see: node[1-8],node10")
      ->allow_extra_args(false);
  command->add_option("--model", *request->mutable_model(), "Only of this model, with * and ?");
  if (!release) {
    command
        ->add_option("--confirm", *request->mutable_confirm(),
                     "The token of the listing; without one, and without a terminal, nothing "
                     "is written")
        ->check([](const std::string& token) {
          return token.empty() ? "is empty; give the token of a listing" : "";
        });
    command->alias("enrol");
  }
  command->add_option("--format", *format, "How to print")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(release ? "Example:\n  lockstep devices release --hosts node7"
                          : "Example:\n  lockstep devices enroll --hosts node[1-16] --model "
                            "'SAMSUNG MZQL2*'");
  command->callback([=] {
    request->set_release(release);
    for (const std::string& list : *hosts) {
      for (const std::string& host : SplitHosts(list)) request->add_hosts(host);
    }
    request->mutable_identities()->Assign(names->begin(), names->end());
    *status = EnrollDevices(*context, *request, *format);
  });
}

}  // namespace

void AddDevicesCommand(CLI::App* app, const Context* context, int* status) {
  const auto format = std::make_shared<std::string>("text");
  CLI::App* devices = app->add_subcommand(
      "devices",
      "The hosts' block devices of the last second, their identities and what is on them");
  devices->add_option("--format", *format, "How to print")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  devices->footer("Examples:\n  lockstep devices\n  lockstep devices enroll --hosts node[1-16]");
  AddStampCommand(devices, context, status, StampCommand::kEnroll);
  AddStampCommand(devices, context, status, StampCommand::kRelease);
  devices->callback([=] {
    // CLI11 calls a command's callback after its subcommand's, too.
    if (devices->get_subcommands().empty()) *status = ShowDevices(*context, *format);
  });
}

}  // namespace lockstep::cli
