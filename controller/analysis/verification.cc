// Did the blocks hold what they must hold?

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/analysis/analysis.h"

namespace lockstep::controller {
namespace {

constexpr int kMostDetails = 20;

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
    v->set_mismatches(v->mismatches() + static_cast<double>(count));
    v->set_by_verdict(absl::StrCat(v->by_verdict(), v->by_verdict().empty() ? "" : ", ", count, " ",
                                   name, " on ", host));
  }
}

// Each host in turn tells of one mismatch, until none has more or there are enough.
void AddDetails(const std::vector<std::pair<std::string, const v1::Verification*>>& hosts,
                v1::VerificationReport* out) {
  bool is_more = true;
  for (int i = 0; is_more; ++i) {
    is_more = false;
    for (const auto& [host, found] : hosts) {
      if (i >= found->mismatches_size() || out->details_size() >= kMostDetails) continue;
      out->add_details(Describe(host, found->mismatches(i)));
      is_more = true;
    }
  }
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
  for (const auto& [workload, found] : hosts) {
    AddDetails(found, report->mutable_workloads(workload)->mutable_verification());
  }
}

const RegisterAnalysis kRegistered(order::kVerification, "verification", &AddVerification);

}  // namespace
}  // namespace lockstep::controller
