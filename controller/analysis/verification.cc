// Did the blocks hold what they must hold?

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/analysis/analysis.h"
#include "controller/plan/loads.h"
#include "proto/workload.h"

namespace lockstep::controller {
namespace {

constexpr int kMaxDetails = 20;

std::string Describe(const std::string& host, const v1::Mismatch& m) {
  static constexpr const char* kVerdicts[] = {"",          "corrupt", "stale",
                                              "misplaced", "torn",    "never written"};
  std::string text =
      absl::StrCat(host, ": ", kVerdicts[m.verdict()], " at offset ", m.offset(), " of ", m.path(),
                   ": expected ", m.expected(), "; found ", m.found());
  if (m.found_file().empty()) return text;
  absl::StrAppend(&text, " (saved on the host: ", m.found_file(),
                  m.expected_file().empty() ? "" : absl::StrCat(", ", m.expected_file()), ")");
  return text;
}

void AddFound(const v1::Verification& found, const std::string& host, v1::WorkloadReport* out) {
  // Without a block, the message must stay absent: the report counts each one that is there as an
  // expectation.
  if (found.checked() + found.not_checkable() == 0) return;
  v1::VerificationReport* v = out->mutable_verification();
  v->set_checked(v->checked() + static_cast<double>(found.checked()));
  v->set_not_checkable(v->not_checkable() + static_cast<double>(found.not_checkable()));
  const std::pair<uint64_t, const char*> kinds[] = {{found.corrupt(), "corrupt"},
                                                    {found.stale(), "stale"},
                                                    {found.misplaced(), "misplaced"},
                                                    {found.torn(), "torn"},
                                                    {found.never_written(), "never written"}};
  for (const auto& [count, name] : kinds) {
    if (count == 0) continue;
    // The kinds of one host come one after the other, so only the last entry can be equal.
    if (v->hosts().empty() || *v->hosts().rbegin() != host) v->add_hosts(host);
    v->set_mismatches(v->mismatches() + static_cast<double>(count));
    v->set_by_verdict(absl::StrCat(v->by_verdict(), v->by_verdict().empty() ? "" : ", ", count, " ",
                                   name, " on ", host));
  }
}

// Each host in turn contributes one mismatch, until none has more or there are enough. One host
// with a broken device would otherwise take all the lines.
void AddDetails(const std::vector<std::pair<std::string, const v1::Verification*>>& hosts,
                v1::VerificationReport* out) {
  bool is_more = true;
  for (int i = 0; is_more; ++i) {
    is_more = false;
    for (const auto& [host, found] : hosts) {
      if (i >= found->mismatches_size() || out->details_size() >= kMaxDetails) continue;
      out->add_details(Describe(host, found->mismatches(i)));
      is_more = true;
    }
  }
}

bool Names(const v1::Workload& workload, const std::string& target) {
  return std::find(workload.targets().begin(), workload.targets().end(), target) !=
         workload.targets().end();
}

// The hosts whose verified workloads have written the target in this phase of the run or before.
std::vector<std::string> WritersOf(const PhaseView& view, const std::string& target) {
  std::set<std::string> hosts;
  for (const measure::PhaseData& phase : view.data().phases) {
    // The phases are in order. A later phase had written nothing yet.
    if (phase.phase.phase > view.phase().phase.phase) break;
    const v1::RunPhase load = LoadOf(view.data().run.job, phase.phase.spec);
    for (const measure::WorkerPhaseData& worker : phase.workers) {
      for (const v1::WorkloadResult& result : worker.result.workloads()) {
        if (static_cast<int>(result.workload()) >= load.workloads_size()) continue;
        const v1::Workload& w = load.workloads(static_cast<int>(result.workload()));
        if (w.verify() && Names(w, target) && v1::WritesTo(w, target)) {
          hosts.insert(view.HostOf(worker.worker_index));
        }
      }
    }
  }
  return {hosts.begin(), hosts.end()};
}

// Whether a host checks blocks of the target that others may have written.
bool ReadsOthers(const PhaseView& view, const v1::Target& target) {
  if (target.sharing() == v1::SHARING_OWNED || target.sharing() == v1::SHARING_OVERLAPPED) {
    return true;
  }
  const v1::PhaseSpec& spec = view.phase().phase.spec;
  const auto readers = spec.verify().readers();
  return target.sharing() != v1::SHARING_PRIVATE &&
         (readers == v1::READERS_RING || readers == v1::READERS_ALL);
}

// The contents of other hosts' blocks are known from those hosts' own reports alone. A host that
// reports wrongly of its part is believed, and the report says whose word it took.
void AddWitnesses(const PhaseView& view, int index, v1::WorkloadReport* out) {
  constexpr size_t kHostsNamed = 8;
  if (index >= view.load().workloads_size()) return;
  std::vector<std::string> sentences;
  for (const v1::Target& target : view.data().run.job.targets()) {
    if (!Names(view.load().workloads(index), target.name()) || !ReadsOthers(view, target)) continue;
    std::vector<std::string> hosts = WritersOf(view, target.name());
    if (hosts.empty()) continue;
    const size_t more = hosts.size() > kHostsNamed ? hosts.size() - kHostsNamed : 0;
    hosts.resize(hosts.size() - more);
    sentences.push_back(absl::StrCat(
        "what ", target.name(), " must hold is what ", absl::StrJoin(hosts, ", "),
        more > 0 ? absl::StrCat(" and ", more, " more") : "", " reported to have written",
        hosts.size() + more > 1 ? ", each for its own part" : ""));
  }
  out->mutable_verification()->set_rests_on(absl::StrJoin(sentences, "; "));
}

void AddVerification(const PhaseView& view, v1::PhaseReport* report) {
  // by workload: those who found mismatches
  std::map<int, std::vector<std::pair<std::string, const v1::Verification*>>> hosts;
  for (const measure::WorkerPhaseData& worker : view.phase().workers) {
    for (const v1::WorkloadResult& result : worker.result.workloads()) {
      if (static_cast<int>(result.workload()) >= report->workloads_size()) continue;
      AddFound(result.verification(), view.HostOf(worker.worker_index),
               report->mutable_workloads(static_cast<int>(result.workload())));
      if (result.verification().mismatches().empty()) continue;
      hosts[static_cast<int>(result.workload())].emplace_back(view.HostOf(worker.worker_index),
                                                              &result.verification());
    }
  }
  for (int w = 0; w < report->workloads_size(); ++w) {
    if (report->workloads(w).has_verification()) {
      AddWitnesses(view, w, report->mutable_workloads(w));
    }
  }
  for (const auto& [workload, found] : hosts) {
    AddDetails(found, report->mutable_workloads(workload)->mutable_verification());
  }
}

const RegisterAnalysis kVerificationRegistered(order::kVerification, "verification",
                                               &AddVerification);

}  // namespace
}  // namespace lockstep::controller
