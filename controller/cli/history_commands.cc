// compare, gate, label, note, prune: what is asked of runs, and done with them, when they are over.

#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/commands.h"
#include "controller/report/comparison_text.h"
#include "controller/report/github.h"
#include "controller/report/json.h"
#include "proto/fields.h"

namespace lockstep::cli {
namespace {

struct HistoryFlags {
  std::vector<std::string> sets;
  v1::RunFilter filter;
  std::string baseline;
  std::string max_regression = "5%";
  std::string judged;
  std::string junit;
  std::string format = "text";
  std::string run = "last";
  std::string older_than;
  std::string at;
  uint32_t remove = 0;  // the number of a note
  bool samples = false;
  bool dry_run = false;
  bool yes = false;
};
using SharedHistoryFlags = std::shared_ptr<HistoryFlags>;

controller::ComparisonText TextOptions(const Context& context) {
  return {context.Colour(1), context.Width()};
}

// key=value: the runs with that label; else ids with commas between.
v1::RunsOf SetOf(const std::string& text, const v1::RunFilter& filter) {
  v1::RunsOf set;
  // The name becomes the head of a column, so ids are shortened.
  std::vector<std::string> starts;
  for (const auto& id : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    starts.push_back(std::string(id.substr(0, 8)));
  }
  const bool by_label = text.find('=') != std::string::npos;
  set.set_name(by_label            ? text
               : starts.size() > 2 ? absl::StrCat(starts[0], " and ", starts.size() - 1, " more")
               : starts.empty()    ? "(no runs)"
                                   : absl::StrJoin(starts, ","));
  const size_t equals = text.find('=');
  // Ids name their runs completely. The filter narrows down a set that is given by a label.
  if (equals == std::string::npos) {
    for (const auto& id : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      set.add_run_ids(std::string(id));
    }
  } else {
    *set.mutable_filter() = filter;
    (*set.mutable_filter()->mutable_labels())[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return set;
}

int GetComparison(const Context& context, const HistoryFlags& flags,
                  std::optional<double> max_regression, v1::Comparison* comparison) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::CompareRequest request;
  for (const std::string& text : flags.sets) *request.add_sets() = SetOf(text, flags.filter);
  if (max_regression) request.set_max_regression(*max_regression);
  for (const auto& figure : absl::StrSplit(flags.judged, ',', absl::SkipEmpty())) {
    request.add_judged(std::string(figure));
  }
  const grpc::Status status = (*stub)->Compare(&call, request, comparison);
  return status.ok() ? kOk : Fail(status);
}

void PrintComparison(const Context& context, const std::string& format, v1::Comparison comparison) {
  if (format == "json") {
    std::cout << controller::ToJson(comparison);
  } else if (format == "junit") {
    std::cout << controller::RenderJUnit(comparison);
  } else if (format == "github") {
    std::cout << controller::RenderGithub(comparison);
  } else if (format == "markdown") {
    v1::CleanTexts(&comparison);
    std::cout << controller::RenderMarkdown(comparison);
  } else {
    // The JSON and XML writers escape what they print. Only the text for a terminal must be
    // cleaned.
    v1::CleanTexts(&comparison);
    std::cout << controller::RenderComparison(comparison, TextOptions(context));
  }
}

// Whether the set is given by a label that no run has. An id without a run is an error instead.
bool HasNoRun(const Context& context, const v1::RunsOf& set) {
  if (!set.has_filter()) return false;
  const auto stub = context.Connect();
  // The comparison that follows says why.
  if (!stub.ok()) return false;
  grpc::ClientContext call;
  v1::HistoryRequest request;
  *request.mutable_filter() = set.filter();
  request.set_limit(1);
  v1::HistoryReply reply;
  return (*stub)->GetHistory(&call, request, &reply).ok() && reply.runs().empty();
}

// What a gate whose baseline has no run prints and writes: a comparison without figures. The other
// sets are not in it, because nobody has counted their runs.
v1::Comparison WithoutBaseline(const std::string& baseline, double max_regression) {
  v1::Comparison comparison;
  comparison.add_sets()->set_name(baseline);
  comparison.add_conclusions(
      absl::StrCat("no run matches ", baseline, ", the baseline: cannot tell"));
  comparison.set_max_regression(max_regression);
  return comparison;
}

// Prints the comparison. The file is written whatever the verdict is: a CI system shows the cases
// of a failed gate, too.
int WriteComparison(const Context& context, const HistoryFlags& flags,
                    const v1::Comparison& comparison) {
  if (!flags.junit.empty()) {
    const int written = WriteOutput(flags.junit, controller::RenderJUnit(comparison));
    if (written != kOk) return written;
  }
  PrintComparison(context, flags.format, comparison);
  return kOk;
}

// Says to standard error what the comparison means for the gate, and returns its exit status.
int JudgeGate(const v1::Comparison& comparison) {
  // A comparison without a single figure proves nothing, and must not pass.
  bool can_tell = comparison.can_tell_size() > 0 && comparison.figures_size() > 0;
  for (const bool can : comparison.can_tell()) can_tell = can_tell && can;
  // A figure that only the baseline has may be that of a phase that no longer works. One that it
  // lacks may have become worse.
  const bool only_observed =
      !comparison.has_load() && comparison.figures().empty() && !comparison.observed().empty();
  const bool complete = comparison.missing() == 0;
  const bool regressed = comparison.regressions() > 0;
  const bool drifts = comparison.drifting() > 0;
  // The verdict goes to standard error, so that JSON and JUnit on standard output stay readable for
  // programs.
  std::cerr << (regressed       ? absl::StrCat("gate: ", comparison.regressions(),
                                         comparison.regressions() == 1 ? " figure" : " figures",
                                               " regressed\n")
                : only_observed ? "gate: the runs only observe: none of their figures is judged\n"
                : !can_tell     ? "gate: too few runs to tell\n"
                : !complete
                    ? absl::StrCat("gate: ", comparison.missing(),
                                   comparison.missing() == 1 ? " figure is" : " figures are",
                                   " missing in the baseline or in the runs: cannot tell\n")
                : drifts ? absl::StrCat("gate: ", comparison.drifting(),
                                        comparison.drifting() == 1 ? " figure is" : " figures are",
                                        " worse, by no more than a drift of the machine could "
                                        "be: cannot tell\n")
                         : "gate: no regression found\n");
  // A regression decides, even if other figures cannot be judged.
  return regressed ? kNotMet : can_tell && complete && !drifts ? kOk : kCannotTell;
}

int Gate(const Context& context, HistoryFlags flags) {
  const auto share = common::ParseRatio(flags.max_regression);
  if (!share.ok()) return Fail(absl::StrCat("--max-regression: ", share.status().message()));
  // ParseRatio() reads a bare 5 as 500 %. Without this check, a forgotten % would let every
  // regression pass.
  if (*share > 1) {
    return Fail(absl::StrFormat("--max-regression: %s is more than all of it; write 5%%",
                                flags.max_regression));
  }
  // A script whose variable is not set would never find a regression.
  if (flags.baseline.find('=') + 1 == flags.baseline.size()) {
    return Fail(absl::StrCat("--baseline: '", flags.baseline, "' has no value after the ="));
  }
  // The runs to judge must be there. A wrong --job would empty the baseline as well, and must not
  // pass for a baseline that nobody has measured.
  for (const std::string& text : flags.sets) {
    const v1::RunsOf set = SetOf(text, flags.filter);
    if (HasNoRun(context, set)) return Fail(absl::StrCat("no run matches ", set.name()));
  }
  // The first build that is measured has no baseline. A pipeline must be able to tell that from an
  // error.
  if (const v1::RunsOf baseline = SetOf(flags.baseline, flags.filter);
      HasNoRun(context, baseline)) {
    const v1::Comparison nothing = WithoutBaseline(baseline.name(), *share);
    if (const int status = WriteComparison(context, flags, nothing); status != kOk) return status;
    std::cerr << "gate: " << common::Printable(nothing.conclusions(0)) << "\n";
    return kCannotTell;
  }
  // The controller compares every other set with the first one.
  flags.sets.insert(flags.sets.begin(), flags.baseline);
  v1::Comparison comparison;
  if (const int status = GetComparison(context, flags, *share, &comparison); status != kOk) {
    return status;
  }
  if (const int status = WriteComparison(context, flags, comparison); status != kOk) return status;
  return JudgeGate(comparison);
}

int SetLabels(const Context& context, const HistoryFlags& flags) {
  v1::LabelsRequest request;
  request.set_run_id(flags.run);
  for (const std::string& text : flags.sets) {
    const size_t equals = text.find('=');
    // Only a word without = removes a label: a value may end in a dash.
    if (equals == std::string::npos && text.size() > 1 && text.back() == '-') {
      request.add_removed_labels(text.substr(0, text.size() - 1));
    } else if (equals == std::string::npos || equals == 0) {
      return Fail(absl::StrCat("'", text, "': write key=value, or key- to remove it"));
    } else {
      (*request.mutable_labels())[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::LabelsReply reply;
  const grpc::Status status = (*stub)->SetLabels(&call, request, &reply);
  if (!status.ok()) return Fail(status);
  std::vector<std::string> labels;
  for (const auto& [key, value] : reply.labels()) labels.push_back(absl::StrCat(key, "=", value));
  std::sort(labels.begin(), labels.end());
  std::cout << common::Printable(
                   absl::StrCat("run ", reply.run_id(), ": ",
                                labels.empty() ? "no labels" : absl::StrJoin(labels, " ")))
            << "\n";
  return kOk;
}

std::string NoteText(const v1::NoteReply& reply) {
  const v1::EventReport& note = reply.note();
  return absl::StrCat(note.at(), " by ", note.author(), " (#", note.number(), ")");
}

int RemoveNote(const Context& context, const HistoryFlags& flags) {
  v1::RemoveNoteRequest request;
  request.set_run_id(flags.run);
  request.set_number(flags.remove);
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::NoteReply reply;
  const grpc::Status status = (*stub)->RemoveNote(&call, request, &reply);
  if (!status.ok()) return Fail(status);
  // With its text, so that whoever removed the wrong one can write it again.
  std::cout << common::Printable(absl::StrCat("run ", reply.run_id(), ": removed the note of ",
                                              NoteText(reply), ": ", reply.note().message()))
            << "\n";
  return kOk;
}

int AddNote(const Context& context, const HistoryFlags& flags) {
  v1::NoteRequest request;
  request.set_run_id(flags.run);
  request.set_at(flags.at);
  // Words without quotes are one text.
  request.set_text(absl::StrJoin(flags.sets, " "));
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::NoteReply reply;
  const grpc::Status status = (*stub)->AddNote(&call, request, &reply);
  if (!status.ok()) return Fail(status);
  std::cout << common::Printable(
                   absl::StrCat("run ", reply.run_id(), ": noted at ", NoteText(reply)))
            << "\n";
  return kOk;
}

int Prune(const Context& context, const HistoryFlags& flags) {
  v1::PruneRequest request;
  *request.mutable_filter() = flags.filter;
  request.set_samples_only(flags.samples);
  // A prune cannot be undone. Without --yes it only shows what the filter matches.
  request.set_dry_run(flags.dry_run || !flags.yes);
  if (!flags.older_than.empty()) {
    // The later one of the two would win, and delete what the other keeps.
    if (!flags.filter.until().empty()) {
      return Fail("--older-than and --until both say which runs are old enough; give one of them");
    }
    const auto age = common::ParseDuration(flags.older_than);
    if (!age.ok()) return Fail(absl::StrCat("--older-than: ", age.status().message()));
    request.mutable_filter()->set_until(absl::FormatTime(
        absl::RFC3339_sec, absl::Now() - absl::Nanoseconds(*age), absl::UTCTimeZone()));
  }
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::PruneReply reply;
  const grpc::Status status = (*stub)->Prune(&call, request, &reply);
  if (!status.ok()) return Fail(status);
  v1::CleanTexts(&reply);
  for (const v1::RunSummary& run : reply.oldest()) {
    std::cout << "  " << run.run_id().substr(0, 8) << "  " << run.submitted_at() << "  "
              << run.job_name() << ", " << run.state() << "\n";
  }
  if (reply.runs() > reply.oldest_size()) {
    std::cout << absl::StrFormat("  … and %.0f more\n", reply.runs() - reply.oldest_size());
  }
  const std::string what = absl::StrFormat("%s%.0f run%s", flags.samples ? "the samples of " : "",
                                           reply.runs(), reply.runs() == 1 ? "" : "s");
  std::cout << (request.dry_run() ? absl::StrCat(what, " would be removed; --yes removes them\n")
                                  : absl::StrCat(what, " removed\n"));
  return kOk;
}

void WithSets(CLI::App* command, const SharedHistoryFlags& flags, const char* what, int least) {
  command->add_option("RUNS", flags->sets, what)->required()->expected(least, 8);
  AddRunFilter(command, &flags->filter);
}

void WithJudged(CLI::App* command, const SharedHistoryFlags& flags) {
  command->add_option("--judge", flags->judged,
                      "Judge these figures, too, with commas between: cpu_per_io, "
                      "context_switches_per_io, amplification (less is better). Percentiles (p50, "
                      "p99, p99.9) are judged where both sides have them; one that is named here "
                      "must be known");
}

void AddCompare(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<HistoryFlags>();
  CLI::App* compare = app->add_subcommand(
      "compare",
      "Compare sets of runs, figure by figure, and say which differences are more than chance");
  WithSets(compare, flags,
           "Two or more sets of runs; the others are compared with the first one. A set is ids "
           "with commas between, or key=value: all runs with that label",
           2);
  WithJudged(compare, flags);
  compare->add_option("--format", flags->format, "How to print")
      ->check(CLI::IsMember({"text", "json", "junit", "github", "markdown"}))
      ->capture_default_str();
  compare->footer("Example:\n  lockstep compare firmware=1.2 firmware=1.3 --job nightly");
  compare->callback([=] {
    v1::Comparison comparison;
    *status = GetComparison(*context, *flags, std::nullopt, &comparison);
    if (*status == kOk) PrintComparison(*context, flags->format, comparison);
  });
}

void AddGate(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<HistoryFlags>();
  CLI::App* gate =
      app->add_subcommand("gate", "Say by the exit status whether runs are worse than a baseline");
  WithSets(gate, flags, "The runs to judge: ids with commas between, or key=value", 1);
  gate->add_option("--baseline", flags->baseline, "The runs to judge them by, in the same way")
      ->required();
  gate->add_option("--max-regression", flags->max_regression, "How much worse is still accepted")
      ->capture_default_str();
  WithJudged(gate, flags);
  gate->add_option("--junit", flags->junit, "Write JUnit's XML to this file, too");
  gate->add_option("--format", flags->format, "How to print")
      ->check(CLI::IsMember({"text", "json", "junit", "github", "markdown"}))
      ->capture_default_str();
  gate->footer(
      "Exit status: 0 no regression found, 4 a regression, 5 it cannot tell (too few runs or no "
      "baseline, figures that one side lacks, or no more than a drift of the machine), 1 anything "
      "else.\n\nExample:\n  lockstep gate build=771 --baseline "
      "build=770 --job nightly "
      "--max-regression 5%");
  gate->callback([=] { *status = Gate(*context, *flags); });
}

void AddLabel(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<HistoryFlags>();
  CLI::App* label = app->add_subcommand("label", "Change the labels of a run");
  label->add_option("RUN", flags->run, "The run's id, the start of one, or last")->required();
  label->add_option("LABELS", flags->sets, "key=value, or key- to remove it")->required();
  label->footer("Example:\n  lockstep label last firmware=1.3 scratch-");
  label->callback([=] { *status = SetLabels(*context, *flags); });
}

void AddNoteCommand(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<HistoryFlags>();
  CLI::App* note = app->add_subcommand(
      "note", "Note what happened at a moment of a run; charts and reports show it (submitter)");
  note->add_option("RUN", flags->run, "The run's id, the start of one, or last")->required();
  CLI::Option* text = note->add_option("TEXT", flags->sets, "The text of the note")->expected(-1);
  CLI::Option* at =
      note->add_option("--at", flags->at,
                       "When: +12s after the run's start, 2026-11-22T08:00 (UTC) or RFC 3339; now "
                       "if it is left out");
  note->add_option("--remove", flags->remove,
                   "Remove the note with this number, as the report shows it, instead of writing "
                   "one; yours, or anybody's (admin)")
      ->check(CLI::Range(1U, std::numeric_limits<uint32_t>::max()))
      ->excludes(text)
      ->excludes(at);
  note->footer(
      "Examples:\n  lockstep note last \"second switch powered off\"\n  lockstep note 3f2a --at "
      "+12s \"failover began\"\n  lockstep note 3f2a --remove 2");
  note->callback([=] {
    if (flags->remove > 0) {
      *status = RemoveNote(*context, *flags);
      return;
    }
    // TEXT cannot be `required`, because --remove goes without it.
    if (flags->sets.empty()) throw CLI::RequiredError("TEXT, or --remove NUMBER");
    *status = AddNote(*context, *flags);
  });
}

void AddPrune(CLI::App* app, const Context* context, int* status) {
  const auto flags = std::make_shared<HistoryFlags>();
  CLI::App* prune = app->add_subcommand("prune", "Remove old runs, or only their samples (admin)");
  AddRunFilter(prune, &flags->filter);
  prune->add_option("--older-than", flags->older_than,
                    "Only those submitted longer ago than this: 90d");
  prune->add_flag("--samples", flags->samples,
                  "Remove only the samples of intervals: results and figures stay");
  prune->add_flag("--yes", flags->yes,
                  "Remove them; without this it only lists what would be removed");
  prune->add_flag("--dry-run", flags->dry_run, "Only list what would be removed")
      ->excludes("--yes");
  prune->footer("Example:\n  lockstep prune --older-than 90d --label keep=no --samples --yes");
  prune->callback([=] { *status = Prune(*context, *flags); });
}

}  // namespace

int CompareRuns(const Context& context, const std::vector<NamedRuns>& sets,
                const std::string& format) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::CompareRequest request;
  for (const NamedRuns& set : sets) {
    v1::RunsOf* runs = request.add_sets();
    runs->set_name(set.name);
    runs->mutable_run_ids()->Add(set.ids.begin(), set.ids.end());
  }
  v1::Comparison comparison;
  const grpc::Status status = (*stub)->Compare(&call, request, &comparison);
  if (!status.ok()) return Fail(status);
  PrintComparison(context, format, comparison);
  return kOk;
}

int ShowTrends(const Context& context, const v1::HistoryRequest& asked, const std::string& format) {
  auto stub = context.Connect();
  if (!stub.ok()) return Fail(stub.status());
  grpc::ClientContext call;
  v1::TrendsRequest request;
  *request.mutable_filter() = asked.filter();
  request.set_limit(asked.limit());
  request.set_offset(asked.offset());
  v1::TrendsReply reply;
  const grpc::Status status = (*stub)->GetTrends(&call, request, &reply);
  if (!status.ok()) return Fail(status);
  if (format == "json") {
    std::cout << controller::ToJson(reply);
  } else if (reply.trends().empty()) {
    std::cout << "no two runs that can be compared\n";
  } else {
    v1::CleanTexts(&reply);
    std::cout << controller::RenderTrends(reply, TextOptions(context));
  }
  return kOk;
}

void AddHistoryCommands(CLI::App* app, const Context* context, int* status) {
  AddCompare(app, context, status);
  AddGate(app, context, status);
  AddLabel(app, context, status);
  AddNoteCommand(app, context, status);
  AddPrune(app, context, status);
}

}  // namespace lockstep::cli
