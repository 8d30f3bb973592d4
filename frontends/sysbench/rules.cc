// The options of sysbench 1.0: general ones, and those of fileio.

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "frontends/sysbench/options.h"

namespace lockstep::frontends::sysbench {
namespace {

constexpr auto kTranslated = Fate::kTranslated;
constexpr auto kRemarked = Fate::kRemarked;
constexpr auto kRefused = Fate::kRefused;

constexpr char kUniform[] = "fileio draws offsets uniformly, whatever --rand-type says";
constexpr char kDatabases[] = "is for sysbench's database tests; leave it out";

}  // namespace

const std::vector<OptionRule>& Rules() {
  // All options of sysbench 1.0 stand here: an unknown one is an error, as for sysbench itself.
  static const auto* const kRules = new std::vector<OptionRule>{
      {"threads", Kind::kCount, "1", kTranslated, ""},
      {"events", Kind::kCount, "0", kTranslated, ""},
      {"time", Kind::kCount, "10", kTranslated, ""},
      {"forced-shutdown", Kind::kText, "off", kTranslated, ""},
      {"thread-stack-size", Kind::kSize, "64K", kRemarked,
       "the stacks of Lockstep's threads have a fixed size, and no I/O depends on it"},
      {"rate", Kind::kCount, "0", kTranslated, ""},
      {"report-interval", Kind::kCount, "0", kTranslated, ""},
      {"report-checkpoints", Kind::kList, "", kRefused,
       "the report has one set of totals; use --report-interval, or a line for each part"},
      {"debug", Kind::kFlag, "off", kRefused, "there is no trace of each I/O; leave it out"},
      {"validate", Kind::kFlag, "off", kTranslated, ""},
      {"help", Kind::kFlag, "off", kRefused, "`lockstep sysbench --help` explains the command"},
      {"version", Kind::kFlag, "off", kRefused, "`lockstep --version` prints Lockstep's version"},
      {"config-file", Kind::kText, "", kRefused,
       "sysbench 1.0 takes no option of fileio from it; write the options into the line"},
      {"tx-rate", Kind::kCount, "0", kTranslated, ""},
      {"max-requests", Kind::kCount, "0", kTranslated, ""},
      {"max-time", Kind::kCount, "0", kTranslated, ""},
      {"num-threads", Kind::kCount, "1", kTranslated, ""},
      {"test", Kind::kText, "", kTranslated, ""},
      {"rand-type", Kind::kText, "special", kTranslated, kUniform},
      {"rand-spec-iter", Kind::kCount, "12", kRemarked, kUniform},
      {"rand-spec-pct", Kind::kCount, "1", kRemarked, kUniform},
      {"rand-spec-res", Kind::kCount, "75", kRemarked, kUniform},
      {"rand-seed", Kind::kCount, "0", kTranslated, ""},
      {"rand-pareto-h", Kind::kReal, "0.2", kRemarked, kUniform},
      {"verbosity", Kind::kCount, "3", kRefused, "the report is that of verbosity 3; leave it out"},
      {"percentile", Kind::kCount, "95", kTranslated, ""},
      {"histogram", Kind::kFlag, "off", kRefused,
       "a run always keeps its histograms; `lockstep report --format hlog` prints them"},
      {"db-driver", Kind::kText, "", kRefused, kDatabases},
      {"db-ps-mode", Kind::kText, "auto", kRefused, kDatabases},
      {"db-debug", Kind::kFlag, "off", kRefused, kDatabases},
      {"file-num", Kind::kCount, "128", kTranslated, ""},
      {"file-block-size", Kind::kSize, "16384", kTranslated, ""},
      {"file-total-size", Kind::kSize, "2G", kTranslated, ""},
      {"file-test-mode", Kind::kText, "", kTranslated, ""},
      {"file-io-mode", Kind::kText, "sync", kTranslated, ""},
      {"file-async-backlog", Kind::kCount, "128", kTranslated, ""},
      {"file-extra-flags", Kind::kList, "", kTranslated, ""},
      {"file-fsync-freq", Kind::kCount, "100", kTranslated, ""},
      {"file-fsync-all", Kind::kFlag, "off", kTranslated, ""},
      {"file-fsync-end", Kind::kFlag, "on", kTranslated, ""},
      {"file-fsync-mode", Kind::kText, "fsync", kTranslated, ""},
      {"file-merged-requests", Kind::kCount, "0", kTranslated, ""},
      {"file-rw-ratio", Kind::kReal, "1.5", kTranslated, ""},
  };
  return *kRules;
}

const OptionRule* FindRule(absl::string_view name) {
  // sysbench takes - and _ in a name for the same.
  const std::string wanted = absl::StrReplaceAll(name, {{"_", "-"}});
  for (const OptionRule& rule : Rules()) {
    if (wanted == rule.name) return &rule;
  }
  // Which of them there are depends on the drivers that sysbench was built with.
  static const OptionRule kDriver{"", Kind::kText, "", Fate::kRefused, kDatabases};
  const bool is_driver = absl::StartsWith(wanted, "mysql-") || absl::StartsWith(wanted, "pgsql-");
  return is_driver ? &kDriver : nullptr;
}

std::vector<std::string> NamesLike(absl::string_view start) {
  const std::string wanted = absl::StrReplaceAll(start, {{"_", "-"}});
  std::vector<std::string> names;
  for (const OptionRule& rule : Rules()) {
    if (!wanted.empty() && absl::StartsWith(rule.name, wanted)) names.emplace_back(rule.name);
  }
  return names;
}

}  // namespace lockstep::frontends::sysbench
