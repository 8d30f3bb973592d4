#include "controller/plan/enrolment.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/units.h"
#include "controller/plan/fleet_uses.h"
#include "controller/plan/selection.h"
#include "proto/protocol_version.h"

namespace lockstep::controller {
namespace {

constexpr size_t kHostsShown = 8;

// A device as one worker sees it.
struct Sighting {
  const v1::HostDevices* host = nullptr;
  const v1::BlockDevice* device = nullptr;
};

using Workers = std::map<std::string, const v1::Hello*>;  // by id

// All sightings of each device, by key. A device without an identity cannot be recognised on
// another host, so its key is its path under one kernel.
std::map<std::string, std::vector<Sighting>> SightingsOf(const v1::DevicesReply& fleet) {
  std::map<std::string, std::vector<Sighting>> sightings;
  for (const v1::HostDevices& host : fleet.hosts()) {
    std::set<std::string> mapped;  // LUNs over several paths: these are no devices of their own
    for (const v1::BlockDevice& device : host.devices()) {
      if (device.transport() == "multipath") mapped.insert(device.identity());
    }
    for (const v1::BlockDevice& device : host.devices()) {
      if (device.transport() != "multipath" && mapped.contains(device.identity())) continue;
      const std::string key = device.identity().empty()
                                  ? absl::StrCat(host.boot_id(), "/", device.path())
                                  : DeviceKey(device.identity(), host.boot_id());
      sightings[key].push_back({&host, &device});
    }
  }
  return sightings;
}

// The devices that the request asks for, ready to be matched.
class Wanted {
 public:
  static absl::StatusOr<Wanted> Make(const v1::EnrollRequest& request,
                                     const v1::DevicesReply& fleet) {
    if (request.hosts().empty() && request.model().empty() && request.identities().empty()) {
      return absl::InvalidArgumentError(
          "say which devices: --hosts, --model, or the devices' identities or paths");
    }
    Wanted wanted(request);
    std::set<std::string> attached;
    for (const v1::HostDevices& host : fleet.hosts()) attached.insert(host.host());
    std::vector<std::string> missing;
    for (const std::string& text : request.hosts()) {
      const auto names = ExpandHostNames(text);
      if (!names.ok()) return names.status();
      for (const std::string& name : *names) {
        wanted.hosts_.insert(name);
        if (!attached.contains(name)) missing.push_back(name);
      }
    }
    if (!missing.empty()) {
      const size_t shown = std::min(missing.size(), kHostsShown);
      const size_t more = missing.size() - shown;
      missing.resize(shown);
      return absl::NotFoundError(
          absl::StrCat("no worker is attached of ", absl::StrJoin(missing, ", "),
                       more > 0 ? absl::StrCat(" and ", more, " more") : ""));
    }
    wanted.named_.insert(request.identities().begin(), request.identities().end());
    return wanted;
  }

  // Whether the request names the device: by its identity, or by a path that one of the wanted
  // hosts has it under.
  bool Names(const std::vector<Sighting>& sightings) {
    bool is_named = false;
    for (const Sighting& seen : sightings) {
      // A path names a device on the wanted hosts only: /dev/sdb is another device on each host.
      if (!IsOn(seen)) continue;
      std::vector<std::string> names(seen.device->links().begin(), seen.device->links().end());
      names.insert(names.end(), {seen.device->identity(), seen.device->path()});
      for (const std::string& name : names) {
        if (name.empty() || !named_.contains(name)) continue;
        // The loop goes on after a match. NotFound() needs every name that somebody has.
        found_.insert(name);
        is_named = true;
      }
    }
    return is_named;
  }
  // The sightings that the request names by a path, or all of them if it names none by a path.
  // Misconfigured LUNs can share an identity: a path then chooses one, and the other one is left
  // alone.
  std::vector<Sighting> Meant(const std::vector<Sighting>& sightings) const {
    std::vector<Sighting> meant;
    for (const Sighting& seen : sightings) {
      const auto& links = seen.device->links();
      const bool is_named =
          named_.contains(seen.device->path()) ||
          std::any_of(links.begin(), links.end(),
                      [this](const std::string& link) { return named_.contains(link); });
      if (IsOn(seen) && is_named) meant.push_back(seen);
    }
    return meant.empty() ? sightings : meant;
  }
  bool Matches(const std::vector<Sighting>& sightings, bool is_named) const {
    if (!named_.empty() && !is_named) return false;
    return std::any_of(sightings.begin(), sightings.end(), [&](const Sighting& seen) {
      if (!IsOn(seen)) return false;
      // A partition is enrolled only if the request names it. A request by host or model means
      // whole disks.
      if (!is_named && !seen.device->disk_identity().empty()) return false;
      return request_.model().empty() ||
             fnmatch(request_.model().c_str(), seen.device->model().c_str(), 0) == 0;
    });
  }
  // Names that nobody has.
  std::vector<std::string> NotFound() const {
    std::vector<std::string> missing;
    std::set_difference(named_.begin(), named_.end(), found_.begin(), found_.end(),
                        std::back_inserter(missing));
    return missing;
  }

 private:
  explicit Wanted(const v1::EnrollRequest& request) : request_(request) {}
  bool IsOn(const Sighting& seen) const {
    return hosts_.empty() || hosts_.contains(seen.host->host());
  }

  const v1::EnrollRequest& request_;
  std::set<std::string> hosts_, named_, found_;
};

// Chooses the host that writes the stamp, or says why none may. The lowest name wins, whatever the
// order of attachment: the token covers the worker's id, so the listing and its confirmation must
// choose the same one.
const Sighting* WriterOf(const std::vector<Sighting>& sightings, const Workers& workers,
                         bool release, std::string* why) {
  std::vector<std::string> unwilling, unable;
  const Sighting* writer = nullptr;
  for (const Sighting& seen : sightings) {
    const auto worker = workers.find(seen.host->worker_id());
    if (worker == workers.end() || !seen.device->allowed()) continue;
    if (!v1::HasFeature(*worker->second, v1::PROTOCOL_FEATURE_STAMPS)) {
      unable.push_back(seen.host->host());
      continue;
    }
    // A release takes consent back, so it needs no --allow-enroll.
    if (!release && !worker->second->allow_enroll()) {
      unwilling.push_back(seen.host->host());
    } else if (writer == nullptr || seen.host->host() < writer->host->host()) {
      writer = &seen;
    }
  }
  if (writer != nullptr) return writer;
  if (unwilling.empty() && !unable.empty()) {
    *why = absl::StrCat("its workers cannot write stamps (", absl::StrJoin(unable, ", "),
                        "); start one that can: `lockstep status --format json` has the features "
                        "of each");
    return nullptr;
  }
  *why = unwilling.empty()
             ? "no worker's --allow names it; start one that does"
             : absl::StrCat("its workers were started without --allow-enroll (",
                            absl::StrJoin(unwilling, ", "), "); start them again with it");
  return nullptr;
}

bool HasOneSize(const std::vector<Sighting>& sightings) {
  // Stamps lie at both ends. A host with an outdated size would look for the second one elsewhere.
  return std::all_of(sightings.begin(), sightings.end(), [&](const Sighting& seen) {
    return seen.device->size_bytes() == sightings.front().device->size_bytes();
  });
}

// Runs by the keys of the devices that they use. A run on a partition counts as a user of its disk,
// too.
std::map<std::string, std::string> WithDisks(std::map<std::string, std::string> used,
                                             const FleetUses& uses) {
  std::map<std::string, std::string> disks;
  for (const auto& [key, run_id] : used) {
    if (const std::string disk = uses.DiskOf(key); !disk.empty()) disks.emplace(disk, run_id);
  }
  used.merge(disks);
  return used;
}

// In words; empty when nobody does.
std::string WhoUses(const std::vector<std::string>& in_fleet, const std::string& run_id) {
  if (!in_fleet.empty()) return in_fleet.front();
  return run_id.empty() ? "" : absl::StrCat("run ", run_id.substr(0, 8), " uses it");
}

// Why a device is not enrolled that a worker may enrol; empty when it can be.
std::string WhyNot(const v1::BlockDevice& device, bool is_named) {
  if (!device.enrolled().empty()) return "is enrolled already";
  if (device.identity().empty()) {
    return "it has no identity by which its stamp could be known to be its own";
  }
  if (device.read_only()) return "it is read-only";
  if (device.size_bytes() < static_cast<uint64_t>(limits::kMinEnrolledBytes)) {
    return absl::StrCat("it has less than ",
                        common::FormatSize(static_cast<double>(limits::kMinEnrolledBytes)),
                        ", too little for stamps; name it in each job");
  }
  // A device whose content was not read has no fingerprint. A token for it would still count after
  // the content has changed.
  if (!device.in_use().empty() && device.content_fingerprint().empty()) return device.in_use();
  if (device.has_signature() && !is_named) {
    return "it " + device.in_use() + "; name it to enrol it all the same";
  }
  return "";
}

EnrolListing::Entry Describe(const std::vector<Sighting>& sightings, const Sighting& shown) {
  const v1::BlockDevice& device = *shown.device;
  EnrolListing::Entry entry;
  entry.device.set_host(shown.host->host());
  entry.device.set_path(device.path());
  entry.device.set_identity(device.identity());
  entry.device.set_model(device.model());
  entry.device.set_size_bytes(device.size_bytes());
  entry.device.set_enrolled(device.enrolled());
  // The worker describes content in `in_use` with this prefix. Other texts there name a user.
  constexpr char kCarries[] = "carries ";
  if (absl::StartsWith(device.in_use(), kCarries)) {
    entry.device.set_carries(device.in_use().substr(sizeof kCarries - 1));
  }
  std::set<std::string> hosts;
  for (const Sighting& seen : sightings) hosts.insert(seen.host->host());
  for (const std::string& host : hosts) entry.device.add_hosts(host);
  return entry;
}

v1::StampOrder OrderFor(const v1::BlockDevice& device, bool release) {
  // The worker writes nothing unless all of these facts still hold: minutes can pass between the
  // listing and its confirmation.
  v1::StampOrder order;
  order.set_path(device.path());
  order.set_identity(device.identity());
  order.set_size_bytes(device.size_bytes());
  order.set_disk_sequence(device.disk_sequence());
  order.set_content_fingerprint(device.content_fingerprint());
  order.set_release(release);
  if (release) order.set_stamp_number(device.stamp_number());
  return order;
}

}  // namespace

bool EnrolListing::HasOrders() const {
  return std::any_of(entries.begin(), entries.end(),
                     [](const Entry& entry) { return entry.device.left_out().empty(); });
}

std::string EnrolListing::Text() const {
  std::vector<std::string> orders;
  for (const Entry& entry : entries) {
    if (!entry.device.left_out().empty()) continue;
    // The length stands before each order, because serialized bytes can contain line ends: two
    // different listings must not give one text.
    const std::string order = entry.order.SerializeAsString();
    orders.push_back(
        absl::StrCat(entry.worker_id, "\n", order.size(), "\n", order, "\n", entry.history));
  }
  std::sort(orders.begin(), orders.end());
  return absl::StrJoin(orders, "\n");
}

absl::StatusOr<EnrolListing> ListEnrolment(const v1::EnrollRequest& request,
                                           const v1::DevicesReply& fleet,
                                           const std::vector<v1::Hello>& hellos,
                                           const std::map<std::string, std::string>& used,
                                           const StampRegistry& stamps) {
  auto wanted = Wanted::Make(request, fleet);
  if (!wanted.ok()) return wanted.status();
  for (const v1::HostDevices& host : fleet.hosts()) {
    if (host.missing().empty()) continue;
    return absl::UnavailableError(
        absl::StrCat(host.host(), ": does not say what its kernel uses (", host.missing(),
                     "): it may have mounted one of the devices; end its worker, or wait for it"));
  }
  Workers workers;
  for (const v1::Hello& hello : hellos) workers[hello.worker_id()] = &hello;
  const FleetUses uses(fleet);
  const std::map<std::string, std::string> runs = WithDisks(used, uses);
  EnrolListing listing;
  for (const auto& [key, sightings] : SightingsOf(fleet)) {
    const bool is_named = wanted->Names(sightings);
    if (!wanted->Matches(sightings, is_named)) continue;
    std::string why;
    const std::vector<Sighting> meant = wanted->Meant(sightings);
    const Sighting* writer = WriterOf(meant, workers, request.release(), &why);
    const bool is_allowed = std::any_of(sightings.begin(), sightings.end(),
                                        [](const Sighting& s) { return s.device->allowed(); });
    if (!is_allowed && !is_named) continue;
    const Sighting& shown = writer == nullptr ? meant.front() : *writer;
    auto run = runs.find(key);
    const std::string disk = uses.DiskOf(key);
    if (run == runs.end() && used.contains(disk)) run = runs.find(disk);
    const std::string run_id = run == runs.end() ? "" : run->second;
    // A device that is neither enrolled nor used by a run has nothing to release. A stamp that no
    // longer counts can be removed, too.
    const bool is_enrolled =
        !shown.device->enrolled().empty() || !shown.device->stamp_number().empty();
    if (request.release() && !is_named && !is_enrolled && run_id.empty()) continue;
    if (why.empty()) why = WhoUses(uses.Of(key), run_id);
    if (why.empty() && !HasOneSize(sightings)) {
      why = "its hosts see it with different sizes; rescan it on those that are behind";
    }
    if (why.empty()) {
      why = request.release() ? is_enrolled ? "" : kNotEnrolled : WhyNot(*shown.device, is_named);
    }
    EnrolListing::Entry entry = Describe(sightings, shown);
    if (!shown.device->identity().empty()) entry.device_key = key;
    if (why.empty()) {
      entry.worker_id = shown.host->worker_id();
      entry.order = OrderFor(*shown.device, request.release());
      entry.history = stamps.HistoryOf(key);
    }
    entry.device.set_left_out(why);
    if (listing.entries.size() == static_cast<size_t>(limits::kEnrollDevices)) {
      return absl::ResourceExhaustedError(absl::StrCat("more than ", limits::kEnrollDevices,
                                                       " devices match; choose fewer at a time"));
    }
    listing.entries.push_back(std::move(entry));
  }
  if (const auto missing = wanted->NotFound(); !missing.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no attached worker", request.hosts().empty() ? "" : " of these hosts",
                     " has a device ", missing.front(), "; see `lockstep devices`"));
  }
  return listing;
}

}  // namespace lockstep::controller
