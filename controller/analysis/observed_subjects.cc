#include "controller/analysis/observed_subjects.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "controller/analysis/observed_figures.h"

namespace lockstep::controller {
namespace {

ObservedSample SampleOf(const v1::DeviceReport& device) {
  ObservedSample sample{device.name(), {}};
  for (int f = 0; f < kObservedFigureCount; ++f) {
    if (kObservedFigures[f].of_device == nullptr) continue;
    const std::optional<double> value = kObservedFigures[f].of_device(device);
    if (value) sample.values[f] = *value;
  }
  return sample;
}

ObservedSample SampleOf(const v1::KernelReport& kernel) {
  ObservedSample sample;
  for (int f = 0; f < kObservedFigureCount; ++f) {
    if (kObservedFigures[f].of_host == nullptr) continue;
    const std::optional<double> value = kObservedFigures[f].of_host(kernel);
    if (value) sample.values[f] = *value;
  }
  return sample;
}

// Hosts that share a kernel are observed once, under the name of the first.
template <typename Report>
std::string NameOfHost(const Report& report) {
  return report.hosts().empty() ? "" : report.hosts(0);
}

struct DeviceOfRun {
  size_t run;
  const v1::DeviceReport* device;
};

// The devices of one host and phase, in all runs.
class DeviceMatcher {
 public:
  DeviceMatcher(ObservedSubject pattern, const std::vector<DeviceOfRun>& devices)
      : pattern_(std::move(pattern)), devices_(devices) {
    for (const DeviceOfRun& d : devices_) {
      if (d.device->identity().empty()) continue;
      Seen& seen = seen_[{d.run, d.device->identity()}];
      ++seen.all;
      seen.topmost += !d.device->nested();
    }
  }

  std::vector<ObservedSubject> Match() {
    for (const DeviceOfRun& d : devices_) {
      const std::string& identity = d.device->identity();
      if (!identity.empty()) AddTo(KeyOf(d), identity, d);
    }
    // A device without an identity joins another run's of its name. Those with one must all be
    // there by then, or the result would depend on the order of the runs.
    const size_t known = subjects_.size();
    for (const DeviceOfRun& d : devices_) {
      if (!d.device->identity().empty()) continue;
      const std::optional<size_t> same = OnlyOneNamed(d, known);
      if (same) {
        subjects_[*same].samples[d.run] = SampleOf(*d.device);
      } else {
        AddTo(absl::StrCat("name ", d.device->name()), "", d);
      }
    }
    return std::move(subjects_);
  }

 private:
  struct Seen {
    int all = 0, topmost = 0;
  };

  // The paths of a LUN have its identity, and so has the multipath device on top of them. The
  // topmost device keeps the identity as its key. Each of the others has its name, too.
  std::string KeyOf(const DeviceOfRun& d) const {
    const Seen& seen = seen_.at({d.run, d.device->identity()});
    const bool is_only = seen.all == 1 || (seen.topmost == 1 && !d.device->nested());
    return absl::StrCat("identity ", d.device->identity(),
                        is_only ? "" : absl::StrCat(" ", d.device->name()));
  }

  void AddTo(const std::string& key, const std::string& identity, const DeviceOfRun& d) {
    const auto [found, is_new] = by_key_.emplace(key, subjects_.size());
    if (is_new) {
      subjects_.push_back(pattern_);
      subjects_.back().identity = identity;
    }
    subjects_[found->second].samples[d.run] = SampleOf(*d.device);
  }

  std::optional<size_t> OnlyOneNamed(const DeviceOfRun& d, size_t known) const {
    std::optional<size_t> found;
    for (size_t i = 0; i < known; ++i) {
      const auto& samples = subjects_[i].samples;
      const bool has_name = std::any_of(samples.begin(), samples.end(), [&](const auto& sample) {
        return sample && sample->name == d.device->name();
      });
      if (!has_name || samples[d.run]) continue;
      if (found) return std::nullopt;
      found = i;
    }
    return found;
  }

  const ObservedSubject pattern_;
  const std::vector<DeviceOfRun>& devices_;
  std::map<std::pair<size_t, std::string>, Seen> seen_;  // by run and identity
  std::map<std::string, size_t> by_key_;
  std::vector<ObservedSubject> subjects_;
};

// The observe phases of one name.
struct PhaseOfRuns {
  std::string name;
  std::vector<std::pair<size_t, const v1::ObservedPhaseOfRun*>> runs;
};

class SubjectFinder {
 public:
  explicit SubjectFinder(size_t runs) : runs_(runs) {}

  void Find(const PhaseOfRuns& phase) {
    AddTotal(phase);
    FindAmbiguous(phase);
    std::map<std::string, ObservedSubject> hosts;
    std::map<std::string, std::vector<DeviceOfRun>> devices;
    for (const auto& [run, observed] : phase.runs) {
      for (const v1::KernelReport& kernel : observed->kernels()) {
        const std::string host = NameOfHost(kernel);
        const auto pattern = Pattern(ObservedSubject::Kind::kHost, phase, host);
        hosts.emplace(host, pattern).first->second.samples[run] = SampleOf(kernel);
      }
      for (const v1::DeviceReport& device : observed->devices()) {
        const std::string host = NameOfHost(device);
        devices[host].push_back({run, &device});
        hosts.emplace(host, Pattern(ObservedSubject::Kind::kHost, phase, host));
      }
    }
    for (auto& [name, host] : hosts) {
      if (is_ambiguous_.contains(name)) continue;
      found_.subjects.push_back(std::move(host));
      const auto pattern = Pattern(ObservedSubject::Kind::kDevice, phase, name);
      for (ObservedSubject& device : DeviceMatcher(pattern, devices[name]).Match()) {
        found_.subjects.push_back(std::move(device));
      }
    }
  }

  ObservedSubjects Take() { return std::move(found_); }

 private:
  ObservedSubject Pattern(ObservedSubject::Kind kind, const PhaseOfRuns& phase,
                          const std::string& host) const {
    ObservedSubject subject;
    subject.kind = kind;
    subject.phase = phase.name;
    subject.host = host;
    subject.samples.resize(runs_);
    return subject;
  }

  void AddTotal(const PhaseOfRuns& phase) {
    // The sum over one device is that device, and a reader would see one change twice.
    const bool has_sum = std::any_of(phase.runs.begin(), phase.runs.end(), [](const auto& run) {
      return run.second->total().devices() > 1;
    });
    if (!has_sum) return;
    ObservedSubject total = Pattern(ObservedSubject::Kind::kAllDevices, phase, "");
    for (const auto& [run, observed] : phase.runs) {
      if (observed->total().devices() == 0) continue;
      total.samples[run] = SampleOf(AsDevice(observed->total()));
    }
    found_.subjects.push_back(std::move(total));
  }

  // Two hosts of one name cannot be told apart in another run.
  void FindAmbiguous(const PhaseOfRuns& phase) {
    is_ambiguous_.clear();
    for (const auto& [run, observed] : phase.runs) {
      std::set<std::string> kernels;
      std::set<std::pair<std::string, std::string>> devices;
      for (const v1::KernelReport& kernel : observed->kernels()) {
        const std::string host = NameOfHost(kernel);
        if (!kernels.insert(host).second) is_ambiguous_.insert(host);
      }
      for (const v1::DeviceReport& device : observed->devices()) {
        const std::string host = NameOfHost(device);
        if (!devices.emplace(host, device.name()).second) is_ambiguous_.insert(host);
      }
    }
    for (const std::string& host : is_ambiguous_) {
      found_.ambiguous.push_back(absl::StrCat(phase.name, " ", host));
    }
  }

  const size_t runs_;
  std::set<std::string> is_ambiguous_;  // hosts of the phase
  ObservedSubjects found_;
};

}  // namespace

ObservedSubjects ObservedSubjectsOf(const std::vector<const v1::RunFigures*>& runs) {
  // In the order of the first run that has them.
  std::vector<PhaseOfRuns> phases;
  for (size_t r = 0; r < runs.size(); ++r) {
    for (const v1::ObservedPhaseOfRun& observed : runs[r]->observed()) {
      auto phase = std::find_if(phases.begin(), phases.end(),
                                [&](const PhaseOfRuns& of) { return of.name == observed.name(); });
      if (phase == phases.end()) phase = phases.insert(phase, {observed.name(), {}});
      phase->runs.emplace_back(r, &observed);
    }
  }
  SubjectFinder finder(runs.size());
  for (const PhaseOfRuns& phase : phases) finder.Find(phase);
  return finder.Take();
}

}  // namespace lockstep::controller
