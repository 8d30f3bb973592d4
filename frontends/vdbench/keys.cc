// The keys of vdbench's statements.

#include "frontends/vdbench/keys.h"

namespace lockstep::frontends::vdbench {
namespace {

constexpr char kShell[] = "a host is one whose worker is connected, however that was started";
constexpr char kOneWorker[] = "a host has one worker";
constexpr char kReporting[] = "the report has everything";
constexpr char kOwnRules[] = "a job has rules of its own for it";
constexpr char kRunHits[] = "hits of the whole run; write rhpct and whpct into each wd";
constexpr char kHitLoops[] = "an area that I/Os hit as an axis";
constexpr char kCommands[] = "commands; none is ever run";
constexpr char kFiles[] = "files, directories and operations on them";
constexpr char kDuplicates[] = "vdbench's kind of duplicates";
constexpr char kPriority[] = "a rate of each workload with a priority";
constexpr char kStreams[] = "several streams of one workload";
constexpr char kTrims[] = "trims beside other I/Os by a share of their own";
constexpr char kJournal[] = "vdbench's journal; use verify in a job of your own";

constexpr Rule kHostKeys[] = {
    {"system"},
    {"user", Fate::kRemarked, kShell},
    {"shell", Fate::kRemarked, kShell},
    {"vdbench", Fate::kRemarked, kShell},
    {"jvms", Fate::kRemarked, kOneWorker, "1"},
    {"clients", Fate::kRemarked, kOneWorker, "1"},
    {"mount", Fate::kRefused, "mounting of file systems"},
};

constexpr Rule kStorageKeys[] = {
    {"lun"},
    {"size"},
    {"host"},
    {"offset"},
    {"align", Fate::kRefused, "an alignment of its own for each storage"},
    {"threads"},
    {"range"},
    {"hitarea"},
    {"openflags"},
    {"count"},
    {"journal", Fate::kRefused, kJournal},
    {"streams", Fate::kRefused, kStreams},
    {"resetbus", Fate::kRefused, "resets of a bus"},
    {"resetlun", Fate::kRefused, "resets of a LUN"},
    {"replay", Fate::kRefused, "replay of a trace"},
    {"unmap", Fate::kRefused, kTrims, "no"},
};

constexpr Rule kWorkloadKeys[] = {
    {"sd"},
    {"host"},
    {"xfersize"},
    {"rdpct"},
    {"readpct"},
    {"wrpct"},
    {"writepct"},
    {"seekpct"},
    {"skew"},
    {"range"},
    {"hotband", Fate::kRefused, "vdbench's hot bands"},
    {"rhpct"},
    {"whpct"},
    {"stride"},
    {"iorate", Fate::kRefused, kPriority},
    {"priority", Fate::kRefused, kPriority},
    {"threads"},
    {"openflags"},
    {"streams", Fate::kRefused, kStreams},
    {"variable", Fate::kRefused, "a rate that changes"},
    {"unmap", Fate::kRefused, kTrims, "no"},
};

constexpr Rule kRunKeys[] = {
    {"wd"},
    {"sd"},
    {"iorate"},
    {"curve"},
    {"elapsed"},
    {"interval"},
    {"warmup"},
    {"pause"},
    {"maxdata"},
    {"distribution"},
    {"threads"},
    {"xfersize"},
    {"rdpct"},
    {"openflags"},
    {"seekpct", Fate::kRefused, "an order of offsets of the whole run; write it into each wd"},
    {"rhpct", Fate::kRefused, kRunHits, "0"},
    {"whpct", Fate::kRefused, kRunHits, "0"},
    {"hitarea", Fate::kRemarked, kNoHits},
    {"forxfersize"},
    {"forthreads"},
    {"forrdpct"},
    {"foriorate"},
    {"forseekpct", Fate::kRefused, "the order of offsets as an axis"},
    {"forrhpct", Fate::kRefused, kHitLoops},
    {"forwhpct", Fate::kRefused, kHitLoops},
    {"forhitarea", Fate::kRefused, kHitLoops},
    {"forcompratio", Fate::kRefused, "content as an axis"},
    {"fwd", Fate::kRefused, kFiles},
    {"fwdrate", Fate::kRefused, kFiles},
    {"forfwdrate", Fate::kRefused, kFiles},
    {"format", Fate::kRefused, kFiles, "no"},
    {"operations", Fate::kRefused, kFiles},
    {"startcmd", Fate::kRefused, kCommands},
    {"endcmd", Fate::kRefused, kCommands},
    {"stopafter", Fate::kRefused, "an end of each workload after so many I/Os"},
};

constexpr Rule kGeneralKeys[] = {
    {"compratio"},
    {"compression"},
    {"concatenatesds", Fate::kRefused, "one address space over several devices", "no"},
    {"create_anchors", Fate::kRemarked, kOwnRules},
    {"data_errors", Fate::kRemarked, kOwnRules},
    {"dedupratio", Fate::kRefused, kDuplicates, "1"},
    {"dedupunit", Fate::kRefused, kDuplicates},
    {"formatsds", Fate::kRemarked, kOwnRules},
    {"histogram", Fate::kRemarked, kReporting},
    {"include"},
    {"journal", Fate::kRefused, kJournal},
    {"loop", Fate::kRefused, "repetitions of all runs", "1"},
    {"messagescan", Fate::kRemarked, kReporting},
    {"monitor", Fate::kRemarked, kReporting},
    {"patterns", Fate::kRemarked, kOwnRules},
    {"port", Fate::kRemarked, kReporting},
    {"report", Fate::kRemarked, kReporting},
    {"report_run_totals", Fate::kRemarked, kReporting},
    {"startcmd", Fate::kRefused, kCommands},
    {"endcmd", Fate::kRefused, kCommands},
    {"validate", Fate::kRefused, "vdbench's validation; use verify in a job of your own", "no"},
    {"abort_failed_skew", Fate::kRemarked, kOwnRules},
};

constexpr KindRule kRules[] = {
    {Kind::kHost, "hd", kHostKeys},         {Kind::kStorage, "sd", kStorageKeys},
    {Kind::kWorkload, "wd", kWorkloadKeys}, {Kind::kRun, "rd", kRunKeys},
    {Kind::kFileSystem, "fsd", {}},         {Kind::kFileWorkload, "fwd", {}},
    {Kind::kGeneral, "", kGeneralKeys},
};

}  // namespace

absl::Span<const KindRule> KindRules() { return kRules; }

const KindRule& RuleOf(Kind kind) {
  for (const KindRule& rule : kRules) {
    if (rule.kind == kind) return rule;
  }
  return kRules[0];
}

}  // namespace lockstep::frontends::vdbench
