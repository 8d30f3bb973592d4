// The entries of a file become what they mean.

#include "frontends/iometer/config.h"

#include <iterator>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontends/iometer/entries.h"

namespace lockstep::frontends::iometer {
namespace {

constexpr int64_t kMaxNumber = int64_t{1} << 40;
constexpr size_t kMaxAccessLines = 100;
constexpr size_t kMaxSpecs = 1000;
constexpr size_t kMaxManagers = 1000;
constexpr size_t kMaxWorkers = 1024;  // of a manager

// The names, and the numbers of older files.
constexpr const char* kTestTypes[] = {
    "NORMAL",
    "CYCLE_TARGETS",
    "CYCLE_WORKERS",
    "INCREMENT_TARGETS_PARALLEL",
    "INCREMENT_TARGETS_SERIAL",
    "CYCLE_WORKERS_AND_TARGETS",
    "CYCLE_OUTSTANDING_IOS",
    "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
};

constexpr char kWorkersToSpawn[] = "the managers of the file have their workers";
constexpr char kNetworks[] = "traffic between hosts; only disks are translated";
constexpr Rule kRules[] = {
    {"default disk workers to spawn", Fate::kRemarked, kWorkersToSpawn},
    {"default network workers to spawn", Fate::kRemarked, kWorkersToSpawn},
    {"record results", Fate::kRemarked, "the store keeps the results of every host"},
    {"results display", Fate::kRemarked, "it is of Iometer's window"},
    {"manager network address", Fate::kRemarked,
     "workers connect to the controller, and need no address"},
    // Only some values of these.
    {"worker type", Fate::kRefused, kNetworks},
    {"target type", Fate::kRefused, kNetworks},
    {"test connection rate", Fate::kRefused,
     "opening and closing a target after so many I/Os (test connection rate)"},
};

constexpr Rule kTranslated = {"", Fate::kTranslated};

const Rule& RuleOf(absl::string_view key) {
  for (const Rule& rule : kRules) {
    if (key == rule.name) return rule;
  }
  return kTranslated;
}

class Reader {
 public:
  Reader(const SourceFile& file, Findings* findings)
      : findings_(findings), entries_(ReadEntries(file, findings)) {}

  Config Read() {
    while (const Entry* entry = Next()) {
      if (entry->key == "test setup") {
        ReadSetup();
      } else if (entry->key == "results display") {
        LeaveOut(*entry);
        // These keys are of Iometer's window. None of them changes the load.
        while (const Entry* shown = Next()) {
          if (shown->key == "end results display") break;
        }
      } else if (entry->key == "access specifications") {
        ReadSpecs();
      } else if (entry->key == "manager list") {
        ReadManagers();
      } else {
        Unknown(*entry);
      }
      if (findings_->errors.size() >= kMaxErrors) break;
    }
    return std::move(config_);
  }

 private:
  const Entry* Next() { return at_ < entries_.size() ? &entries_[at_++] : nullptr; }

  void Unknown(const Entry& entry) {
    findings_->Fail(entry.where, "is no key of Iometer at this place");
  }

  // Remarks an entry that is left out. False for any other one.
  bool LeaveOut(const Entry& entry) {
    const Rule& rule = RuleOf(entry.key);
    if (rule.fate != Fate::kRemarked) return false;
    ApplyRule(rule, entry.where, findings_);
    return true;
  }

  Origin OriginOf(const Entry& entry, const Entry::Value& value) const {
    return {entry.where.file, value.line, value.text};
  }

  // The only value of an entry; the entry itself with an error if there is none.
  std::optional<Entry::Value> ValueOf(const Entry& entry) {
    if (!entry.values.empty()) return entry.values[0];
    findings_->Fail(entry.where, "has no value below it");
    return std::nullopt;
  }

  // The numbers of a value; nothing after an error.
  std::optional<std::vector<int64_t>> Numbers(const Entry& entry, const Entry::Value& value,
                                              const std::vector<std::string>& texts, size_t count) {
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < count && i < texts.size(); ++i) {
      int64_t number = 0;
      if (!absl::SimpleAtoi(texts[i], &number) || number < 0 || number > kMaxNumber) break;
      numbers.push_back(number);
    }
    if (numbers.size() == count) return numbers;
    findings_->Fail(OriginOf(entry, value),
                    absl::StrCat("begins not with the ", count, " numbers of '", entry.key, "'"));
    return std::nullopt;
  }

  static std::vector<std::string> Words(const std::string& text) {
    return absl::StrSplit(text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  }
  static std::vector<std::string> Columns(const std::string& text) {
    std::vector<std::string> columns = absl::StrSplit(text, ',');
    for (std::string& column : columns) absl::StripAsciiWhitespace(&column);
    return columns;
  }

  // ---- Test setup.

  void ReadSetup() {
    while (const Entry* entry = Next()) {
      const std::string& key = entry->key;
      if (key == "end test setup") return;
      if (key == "test description") {
        if (entry->values.empty()) continue;
        config_.setup.description = entry->values[0].text;
        config_.setup.description_from = OriginOf(*entry, entry->values[0]);
      } else if (key == "run time") {
        ReadRunTime(*entry);
      } else if (key == "ramp up time (s)") {
        ReadRamp(*entry);
      } else if (key == "worker cycling" || key == "disk cycling" || key == "target cycling") {
        // The names of these keys differ between versions.
        ReadSteps(*entry, 2,
                  key == "worker cycling" ? &config_.setup.workers : &config_.setup.targets);
      } else if (key == "queue depth cycling") {
        ReadSteps(*entry, 3, &config_.setup.depth);
      } else if (key == "test type") {
        ReadTestType(*entry);
      } else if (!LeaveOut(*entry)) {
        Unknown(*entry);
      }
    }
  }

  void ReadRunTime(const Entry& entry) {
    const auto value = ValueOf(entry);
    if (!value) return;
    const auto numbers = Numbers(entry, *value, Words(value->text), 3);
    if (!numbers) return;
    // Together they stay below 32,000,000 seconds, the longest run of a job.
    constexpr int64_t kMaxHours = 8000;
    const Origin where = OriginOf(entry, *value);
    if ((*numbers)[0] > kMaxHours || (*numbers)[1] > kMaxHours || (*numbers)[2] > 1000000) {
      return findings_->Fail(where, "is longer than a job may last");
    }
    config_.setup.run_seconds = (*numbers)[0] * 3600 + (*numbers)[1] * 60 + (*numbers)[2];
    config_.setup.run_from = where;
  }

  void ReadRamp(const Entry& entry) {
    const auto value = ValueOf(entry);
    if (!value) return;
    const auto numbers = Numbers(entry, *value, Words(value->text), 1);
    if (!numbers) return;
    if ((*numbers)[0] > 1000000) {
      return findings_->Fail(OriginOf(entry, *value), "is longer than a ramp may last");
    }
    config_.setup.ramp_seconds = (*numbers)[0];
    config_.setup.ramp_from = OriginOf(entry, *value);
  }

  // start, perhaps end, step, LINEAR or EXPONENTIAL.
  void ReadSteps(const Entry& entry, size_t count, Steps* steps) {
    const auto value = ValueOf(entry);
    if (!value) return;
    const std::vector<std::string> words = Words(value->text);
    const auto numbers = Numbers(entry, *value, words, count);
    if (!numbers) return;
    steps->where = OriginOf(entry, *value);
    steps->start = numbers->front();
    steps->end = (*numbers)[1];
    steps->step = numbers->back();
    const std::string type = words.size() > count ? words[count] : "";
    if (!absl::EqualsIgnoreCase(type, "LINEAR") && !absl::EqualsIgnoreCase(type, "EXPONENTIAL")) {
      return findings_->Fail(steps->where, "ends with neither LINEAR nor EXPONENTIAL");
    }
    // Iometer takes steps of 1 as linear ones, whatever the file says.
    steps->is_exponential = absl::EqualsIgnoreCase(type, "EXPONENTIAL") && steps->step != 1;
  }

  void ReadTestType(const Entry& entry) {
    const auto value = ValueOf(entry);
    if (!value) return;
    size_t number = 0;
    for (size_t i = 0; i < std::size(kTestTypes); ++i) {
      if (!absl::EqualsIgnoreCase(value->text, kTestTypes[i])) continue;
      // The table has the order of TestType.
      config_.setup.type = static_cast<TestType>(i);
      return;
    }
    if (absl::SimpleAtoi(value->text, &number) && number < std::size(kTestTypes)) {
      config_.setup.type = static_cast<TestType>(number);
      return;
    }
    findings_->Fail(OriginOf(entry, *value), "is no type of a test");
  }

  // ---- Access specifications.

  void ReadSpecs() {
    while (const Entry* entry = Next()) {
      if (entry->key == "end access specifications") return;
      if (entry->key == "access specification name,default assignment") {
        const auto value = ValueOf(*entry);
        if (!value) continue;
        // The name may have commas.
        const std::string name = value->text.substr(0, value->text.rfind(','));
        config_.specs.push_back(
            {std::string(absl::StripAsciiWhitespace(name)), OriginOf(*entry, *value), {}});
        if (config_.specs.size() > kMaxSpecs) {
          return findings_->Fail(entry->where, "is beyond the 1,000 that are read");
        }
      } else if (absl::StartsWith(entry->key, "size,% of size")) {
        if (config_.specs.empty()) {
          Unknown(*entry);
          continue;
        }
        for (const Entry::Value& value : entry->values) ReadAccessLine(*entry, value);
        CheckShares(*entry);
      } else {
        Unknown(*entry);
      }
      if (findings_->errors.size() >= kMaxErrors) return;
    }
  }

  void ReadAccessLine(const Entry& entry, const Entry::Value& value) {
    // The columns: size, share, reads and random I/Os in percent, delay in milliseconds, burst and
    // alignment. The eighth one, the size of a reply, is for networks.
    const auto numbers = Numbers(entry, value, Columns(value.text), 7);
    if (!numbers) return;
    const std::vector<int64_t>& n = *numbers;
    const Origin where = OriginOf(entry, value);
    if (n[1] > 100 || n[2] > 100 || n[3] > 100) {
      return findings_->Fail(where, "has more than 100 %");
    }
    if (n[0] < 512 || n[0] > (64 << 20) || n[0] % 512 != 0) {
      return findings_->Fail(where, "has a size that is no multiple of 512 up to 64 MiB");
    }
    if (n[4] > 86400000) return findings_->Fail(where, "has a delay of more than a day");
    if (n[5] < 1 || n[5] > 1000000000) return findings_->Fail(where, "has no burst from 1 on");
    if (n[6] > (64 << 20) || n[6] % 512 != 0) {
      return findings_->Fail(where, "has an alignment that is no multiple of 512 up to 64 MiB");
    }
    std::vector<AccessLine>& lines = config_.specs.back().lines;
    if (lines.size() >= kMaxAccessLines) {
      return findings_->Fail(where, "is beyond the 100 lines of a specification");
    }
    lines.push_back({n[0], n[1], n[2], n[3], n[4], n[5], n[6], where});
  }

  void CheckShares(const Entry& entry) {
    int64_t sum = 0;
    // Iometer draws the line of each burst by these shares.
    for (const AccessLine& line : config_.specs.back().lines) sum += line.share;
    if (sum == 100) return;
    findings_->Fail(entry.where,
                    absl::StrCat("has lines whose % of size add up to ", sum, ", not to 100"));
  }

  // ---- Managers and workers.

  void ReadManagers() {
    while (const Entry* entry = Next()) {
      if (entry->key == "end manager list") return;
      if (entry->key != "manager id, manager name") {
        Unknown(*entry);
        continue;
      }
      const auto value = ValueOf(*entry);
      if (!value) continue;
      // The number in front only counts the managers.
      const size_t comma = value->text.find(',');
      const std::string name = comma == std::string::npos ? "" : value->text.substr(comma + 1);
      config_.managers.push_back(
          {std::string(absl::StripAsciiWhitespace(name)), OriginOf(*entry, *value), {}});
      if (config_.managers.size() > kMaxManagers) {
        return findings_->Fail(entry->where, "is beyond the 1,000 that are read");
      }
      ReadManager(&config_.managers.back());
      if (findings_->errors.size() >= kMaxErrors) return;
    }
  }

  void ReadManager(Manager* manager) {
    while (const Entry* entry = Next()) {
      if (entry->key == "end manager") return;
      if (entry->key == "manager network address") {
        // The line below it is empty as a rule.
        if (!entry->values.empty()) LeaveOut(*entry);
        continue;
      }
      if (entry->key != "worker") {
        Unknown(*entry);
        continue;
      }
      if (manager->workers.size() >= kMaxWorkers) {
        return findings_->Fail(entry->where, "is beyond the 1,024 workers of a manager");
      }
      const std::string name = entry->values.empty() ? "" : entry->values[0].text;
      manager->workers.push_back({.name = name, .where = entry->where});
      ReadWorker(&manager->workers.back());
      if (findings_->errors.size() >= kMaxErrors) return;
    }
  }

  void ReadWorker(Worker* worker) {
    while (const Entry* entry = Next()) {
      const std::string& key = entry->key;
      if (key == "end worker") return;
      if (key == "worker type" || key == "target type") {
        // The rest of a network worker has keys of its own: one error is enough.
        if (!CheckDisk(*entry)) return SkipWorker();
      } else if (absl::StartsWith(key, "number of outstanding ios,")) {
        ReadDepth(*entry, worker);
      } else if (absl::StartsWith(key, "disk maximum size,")) {
        ReadSize(*entry, worker);
      } else if (key == "assigned access specs" || key == "target") {
        for (const Entry::Value& value : entry->values) {
          (key == "target" ? worker->targets : worker->specs)
              .push_back({value.text, OriginOf(*entry, value)});
        }
      } else if (key != "default target settings for worker" &&
                 key != "end default target settings for worker" &&
                 key != "end assigned access specs" && key != "target assignments" &&
                 key != "end target" && key != "end target assignments") {
        Unknown(*entry);
      }
      if (findings_->errors.size() >= kMaxErrors) return;
    }
  }

  bool CheckDisk(const Entry& entry) {
    const auto value = ValueOf(entry);
    if (!value) return false;
    if (absl::EqualsIgnoreCase(value->text, "DISK")) return true;
    ApplyRule(RuleOf(entry.key), OriginOf(entry, *value), findings_);
    return false;
  }

  void SkipWorker() {
    while (const Entry* entry = Next()) {
      if (entry->key == "end worker") return;
    }
  }

  void ReadDepth(const Entry& entry, Worker* worker) {
    const auto value = ValueOf(entry);
    if (!value) return;
    const std::vector<std::string> columns = Columns(value->text);
    const auto numbers = Numbers(entry, *value, columns, 1);
    if (!numbers) return;
    worker->depth = (*numbers)[0];
    worker->depth_from = OriginOf(entry, *value);
    // The columns: outstanding I/Os, test connection rate, transactions per connection, whether the
    // seed is fixed, and the seed.
    // Workers of disks that reopen them measure the opening, too. A job opens its targets once.
    if (columns.size() > 1 && absl::EqualsIgnoreCase(columns[1], "ENABLED")) {
      ApplyRule(RuleOf("test connection rate"), worker->depth_from, findings_);
    }
    if (columns.size() < 5 || !absl::EqualsIgnoreCase(columns[3], "ENABLED")) return;
    worker->fixed_seed = true;
    if (!absl::SimpleAtoi(columns[4], &worker->seed) || worker->seed < 0) {
      findings_->Fail(worker->depth_from, "has a fixed seed that is no whole number");
    }
  }

  void ReadSize(const Entry& entry, Worker* worker) {
    const auto value = ValueOf(entry);
    if (!value) return;
    const std::vector<std::string> columns = Columns(value->text);
    // Older files have no data pattern.
    const auto numbers = Numbers(entry, *value, columns, columns.size() > 2 ? 3 : 2);
    if (!numbers) return;
    // Sectors have 512 bytes, and 0 is all of the disk.
    worker->max_sectors = (*numbers)[0];
    worker->first_sector = (*numbers)[1];
    worker->size_from = OriginOf(entry, *value);
    if (numbers->size() < 3) return;
    if ((*numbers)[2] > 2) {
      return findings_->Fail(worker->size_from, "has a data pattern that is none of 0, 1, 2");
    }
    worker->pattern = static_cast<DataPattern>((*numbers)[2]);
  }

  Findings* findings_;
  const std::vector<Entry> entries_;
  size_t at_ = 0;
  Config config_;
};

}  // namespace

absl::Span<const Rule> Rules() { return kRules; }

Config ReadConfig(const SourceFile& file, Findings* findings) {
  return Reader(file, findings).Read();
}

}  // namespace lockstep::frontends::iometer
